//! The filter in a scenario.

use handfast_core::Duration;
use handfast_document::{Checked, Located, TimeSpan, integer, positive, table};

use super::{AckFilter, Config};
use crate::Agent;
use crate::spec::{Place, Seat, Site, Spec};

integer! {
    /// How many acknowledgments end in a row.
    Row: u32 = 1..=1_000
}

table! {
    /// What an ACK filter is told.
    AckFilterTable {
        /// So many acknowledgments of a connection end in a row, at most. Default: 3.
        most: Row,
        /// How long an acknowledgment waits for the next one. Default: "5ms".
        wait: TimeSpan,
    }
}

/// What an ACK filter is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckFilterSpec {
    /// So many acknowledgments of a connection end in a row, at most.
    pub most: u32,
    /// How long one waits for the next.
    pub wait: Duration,
}

impl Spec for AckFilterSpec {
    type Table = AckFilterTable;
    const SEAT: Seat = Seat::AccessPoints;
    const RUNS_IN: &'static [Place] = &[Place::Simulator];

    fn read(table: &AckFilterTable, _kind: &Located<String>) -> Checked<Self> {
        let Config { most, wait, .. } = Config::default();
        let given_wait = table.wait.as_ref().map(|wait| positive(wait, "wait")).transpose()?;
        Ok(Self {
            most: table.most.as_ref().map_or(most, |most| most.value.0),
            wait: given_wait.unwrap_or(wait),
        })
    }

    fn machine(&self, site: Site) -> Result<Option<Box<dyn Agent>>, String> {
        let config = Config { most: self.most, wait: self.wait, ..Config::default() };
        Ok(Some(Box::new(AckFilter::new(config, site.radio))))
    }
}
