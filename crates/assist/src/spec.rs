//! What each kind of agent says of itself: its table in a scenario, where it sits and runs, and how its machine is made.

use std::net::IpAddr;

use handfast_core::Stream;
use handfast_document::{Checked, Deferred, Located, Table};
use handfast_net::Port;
use schemars::{Schema, SchemaGenerator};

use crate::Agent;

/// In which nodes agents of a kind sit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seat {
    /// In one node of kind "controller".
    Controller,
    /// In access points.
    AccessPoints,
    /// In stations.
    Stations,
    /// In nodes of any kind.
    Anywhere,
}

/// What runs agents of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The simulator.
    Simulator,
    /// The lab.
    Lab,
    /// `handfastd`.
    Field,
}

/// The node at which a machine is made.
#[derive(Debug)]
pub struct Site {
    /// Its address.
    pub address: IpAddr,
    /// Its ports that lead to stations.
    pub radio: Vec<Port>,
    /// Random numbers of the machine's own.
    pub stream: Stream,
}

/// The settings of a kind of agents.
pub trait Spec: Sized {
    /// Its keys in a scenario, beside `kind` and `at`.
    type Table: Table;
    /// Where it sits.
    const SEAT: Seat;
    /// What runs it.
    const RUNS_IN: &'static [Place];

    /// What a table says, with defaults for what it does not. `kind` stands in the same table.
    ///
    /// # Errors
    /// The first thing that is wrong.
    fn read(table: &Self::Table, kind: &Located<String>) -> Checked<Self>;

    /// The machine of one node; [`None`]: it is more than an [`Agent`], and each driver has an adapter of its own.
    ///
    /// # Errors
    /// One sentence that says why there is none.
    fn machine(&self, site: Site) -> Result<Option<Box<dyn Agent>>, String>;
}

/// What is known of a kind without its settings.
#[derive(Clone, Copy)]
pub struct Kind {
    /// The word after `kind =`.
    pub word: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// Where it sits.
    pub seat: Seat,
    /// What runs it.
    pub runs_in: &'static [Place],
    /// Its keys, beside `kind` and `at`.
    pub keys: &'static [&'static str],
    /// Older names of some of them, which are still read.
    pub older_keys: &'static [&'static str],
    /// The JSON Schema of these keys.
    pub schema: fn(&mut SchemaGenerator) -> Schema,
    pub(crate) read: fn(&Deferred, &Located<String>) -> Checked<crate::AgentKind>,
}

impl Kind {
    /// The settings that the keys of a table stand for.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn read(&self, keys: &Deferred, kind: &Located<String>) -> Checked<crate::AgentKind> {
        (self.read)(keys, kind)
    }
}

/// Declares the kinds of agents, a line each: the word, the type of the settings, and what the agent does.
macro_rules! agents {
    ($($word:literal => $variant:ident($spec:ty), $summary:literal;)*) => {
        /// The kinds of agents, with their settings.
        #[derive(Clone, Debug, PartialEq)]
        pub enum AgentKind {
            $(#[doc = $summary] $variant($spec),)*
            /// One that a backend was given from outside, by this name. No scenario file names one.
            Plugin(String),
        }

        impl AgentKind {
            /// All kinds that a scenario file can name.
            pub const ALL: &[$crate::spec::Kind] = &[$($crate::spec::Kind {
                word: $word,
                summary: $summary,
                seat: <$spec as $crate::spec::Spec>::SEAT,
                runs_in: <$spec as $crate::spec::Spec>::RUNS_IN,
                keys: <<$spec as $crate::spec::Spec>::Table as handfast_document::Table>::KEYS,
                older_keys: <<$spec as $crate::spec::Spec>::Table as handfast_document::Table>::OLDER_KEYS,
                schema: <<$spec as $crate::spec::Spec>::Table as schemars::JsonSchema>::json_schema,
                read: |keys, kind| {
                    let spec: $spec = $crate::spec::Spec::read(&keys.read()?, kind)?;
                    Ok(Self::$variant(spec))
                },
            }),*];

            /// What the file, or whoever brought it, calls it.
            pub fn name(&self) -> &str {
                match self {
                    $(Self::$variant(_) => $word,)*
                    Self::Plugin(name) => name,
                }
            }

            /// What runs it: of a plug-in the simulator.
            pub fn runs_in(&self) -> &'static [$crate::spec::Place] {
                match self {
                    $(Self::$variant(_) => <$spec as $crate::spec::Spec>::RUNS_IN,)*
                    Self::Plugin(_) => &[$crate::spec::Place::Simulator],
                }
            }

            /// The machine of one node, as [`spec::Spec::machine`]. The driver knows how to make that of a plug-in.
            ///
            /// # Errors
            /// One sentence that says why there is none.
            pub fn machine(&self, site: $crate::spec::Site) -> Result<Option<Box<dyn Agent>>, String> {
                match self {
                    $(Self::$variant(spec) => $crate::spec::Spec::machine(spec, site),)*
                    Self::Plugin(_) => Ok(None),
                }
            }
        }
    };
}

pub(crate) use agents;
