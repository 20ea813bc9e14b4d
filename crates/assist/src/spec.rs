//! What each kind of agent says of itself: its table in a scenario, where it sits and runs, and how its machine is made.

use std::collections::BTreeMap;
use std::net::IpAddr;

use handfast_core::Stream;
use handfast_document::{Checked, Located, Table};
use handfast_net::Port;

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
    /// Its ports that lead to whom it helps: to stations, or to the hosts of [`Spec::helped`].
    pub radio: Vec<Port>,
    /// For each host the next node with an agent of this kind and scheme on the way there, if there is one.
    pub next: BTreeMap<IpAddr, IpAddr>,
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

    /// The role of the hosts that it helps; [`None`]: the stations of its node.
    fn helped(&self) -> Option<&str> {
        None
    }

    /// The machine of one node; [`None`]: it is more than an [`Agent`], and each driver has an adapter of its own.
    ///
    /// # Errors
    /// One sentence that says why there is none.
    fn machine(&self, site: Site) -> Result<Option<Box<dyn Agent>>, String>;
}
