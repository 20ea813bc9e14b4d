//! Duplication in a scenario.

use handfast_core::Duration;
use handfast_document::{Checked, Located, Problem, TimeSpan, table};

use super::{Config, Duplicate};
use crate::Agent;
use crate::shim::Protected;
use crate::spec::{Place, Seat, Site, Spec};

table! {
    /// What nodes that send everything twice are told.
    DuplicateTable {
        /// From a packet to its copy. Default: "10ms".
        spacing: TimeSpan,
        /// How long a packet waits at the far end for those before it; longer than `spacing`. Default: "30ms".
        hold: TimeSpan,
    }
}

/// What nodes that send everything twice are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DuplicateSpec {
    /// From a packet to its copy.
    pub spacing: Duration,
    /// How long a packet waits at the far end for those before it.
    pub hold: Duration,
}

impl Spec for DuplicateSpec {
    type Table = DuplicateTable;
    const SEAT: Seat = Seat::Anywhere;
    const RUNS_IN: &'static [Place] = &[Place::Simulator];

    fn read(table: &DuplicateTable, kind: &Located<String>) -> Checked<Self> {
        let Config { spacing, hold, .. } = Config::default();
        let time =
            |given: &Option<Located<TimeSpan>>, default| given.as_ref().map_or(default, |time| time.value.0);
        let read = Self { spacing: time(&table.spacing, spacing), hold: time(&table.hold, hold) };
        if read.hold > read.spacing {
            return Ok(read);
        }
        let given = table.hold.as_ref().or(table.spacing.as_ref());
        let span = given.map_or(kind.span.clone(), |given| given.span.clone());
        let problem = Problem::at(span, "the far end gives a packet up before its copy comes");
        Err(problem.expected("expected `hold` longer than `spacing`"))
    }

    fn machine(&self, site: Site) -> Result<Option<Box<dyn Agent>>, String> {
        let config = Config { spacing: self.spacing, hold: self.hold, ..Config::default() };
        Ok(Some(Box::new(Protected::new(site, || Duplicate::new(config)))))
    }
}
