//! The registry of agents: each kind's folder, and at the end of this file a line each.

use handfast_document::{Checked, Deferred, Located, Table};
use schemars::{JsonSchema, Schema, SchemaGenerator};

use crate::Agent;
use crate::spec::{Place, Seat, Site, Spec};

// The folders stand beside this file. They are declared here, so that a new kind touches no file but this one.
#[path = "ack_filter/mod.rs"]
pub mod ack_filter;
#[path = "duplicate/mod.rs"]
pub mod duplicate;
#[path = "eln/mod.rs"]
pub mod eln;
#[path = "fec/mod.rs"]
pub mod fec;
#[path = "iosl/mod.rs"]
pub mod iosl;
#[path = "link_arq/mod.rs"]
pub mod link_arq;
#[path = "proxy/mod.rs"]
pub mod proxy;
#[path = "quick_start/mod.rs"]
pub mod quick_start;
#[path = "sdn/mod.rs"]
pub mod sdn;
#[path = "sdtp/mod.rs"]
pub mod sdtp;
#[path = "snoop/mod.rs"]
pub mod snoop;
#[path = "spray/mod.rs"]
pub mod spray;
#[path = "vho/mod.rs"]
pub mod vho;

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
    read: fn(&Deferred, &Located<String>) -> Checked<AgentKind>,
}

impl Kind {
    /// The settings that the keys of a table stand for.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn read(&self, keys: &Deferred, kind: &Located<String>) -> Checked<AgentKind> {
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
            pub const ALL: &[Kind] = &[$(Kind {
                word: $word,
                summary: $summary,
                seat: <$spec as Spec>::SEAT,
                runs_in: <$spec as Spec>::RUNS_IN,
                keys: <<$spec as Spec>::Table as Table>::KEYS,
                older_keys: <<$spec as Spec>::Table as Table>::OLDER_KEYS,
                schema: <<$spec as Spec>::Table as JsonSchema>::json_schema,
                read: |keys, kind| {
                    let spec: $spec = Spec::read(&keys.read()?, kind)?;
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
            pub fn runs_in(&self) -> &'static [Place] {
                match self {
                    $(Self::$variant(_) => <$spec as Spec>::RUNS_IN,)*
                    Self::Plugin(_) => &[Place::Simulator],
                }
            }

            /// The role of the hosts that it helps, as `Spec::helped`.
            pub fn helped(&self) -> Option<&str> {
                match self {
                    $(Self::$variant(spec) => Spec::helped(spec),)*
                    Self::Plugin(_) => None,
                }
            }

            /// The machine of one node, as `Spec::machine`. The driver knows how to make that of a plug-in.
            ///
            /// # Errors
            /// One sentence that says why there is none.
            pub fn machine(&self, site: Site) -> Result<Option<Box<dyn Agent>>, String> {
                match self {
                    $(Self::$variant(spec) => Spec::machine(spec, site),)*
                    Self::Plugin(_) => Ok(None),
                }
            }
        }
    };
}

agents! {
    "sdn" => Sdn(sdn::spec::Sdn), "a controller that has switches hold what comes for a station while it is away";
    "sdtp" => Sdtp(sdtp::spec::Sdtp), "a controller that has switches repair what is lost between them";
    "snoop" => Snoop(snoop::spec::Snoop), "base stations that keep segments and send again what the radio loses";
    "eln" => Eln(eln::spec::Eln), "base stations that mark acknowledgements: what is missing was lost on the radio, or by a handoff";
    "vho" => Vho(vho::spec::Vho), "stations that tell their peers of their access link when a connection begins, and of each change";
    "iosl" => Iosl(iosl::spec::Iosl), "stations whose socket layer suspends connections before the link goes, and restores them";
    "quick-start" => QuickStart(quick_start::QuickStartRouters), "routers that approve the rates senders ask for (RFC 4782)";
    "ack-filter" => AckFilter(ack_filter::AckFilterSpec), "base stations that pass on the last of several acknowledgments (RFC 3449)";
    "spray" => Spray(spray::Spray), "switches that send packets in turn over all shortest paths (RFC 2991)";
    "duplicate" => Duplicate(duplicate::DuplicateSpec), "nodes that send each packet twice to the next of them, which passes on one";
    "fec" => Fec(fec::FecSpec), "nodes that send repair symbols behind blocks of packets (RFC 6363)";
    "link-arq" => LinkArq(link_arq::LinkArqSpec), "nodes that send again what the path to the next of them loses (RFC 3366)";
    "proxy" => Proxy(proxy::ProxySpec), "nodes that split connections: each answers in the place of a host (RFC 3135)";
}
