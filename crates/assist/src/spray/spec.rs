//! Packet spraying in a scenario.

use handfast_document::{Checked, Located, table};

use crate::Agent;
use crate::spec::{Place, Seat, Site, Spec};

table! {
    /// What switches that spray are told: nothing.
    SprayTable {}
}

/// Switches that send packets in turn over all shortest paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spray;

impl Spec for Spray {
    type Table = SprayTable;
    const SEAT: Seat = Seat::Anywhere;
    const RUNS_IN: &'static [Place] = &[Place::Simulator];

    fn read(_table: &SprayTable, _kind: &Located<String>) -> Checked<Self> {
        Ok(Self)
    }

    /// None: which ports are on shortest paths the driver knows, which makes a [`super::Sprayer`] of them.
    fn machine(&self, _site: Site) -> Result<Option<Box<dyn Agent>>, String> {
        Ok(None)
    }
}
