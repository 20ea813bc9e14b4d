//! ARQ of a link in a scenario.

use handfast_core::Duration;
use handfast_document::{Checked, Located, TimeSpan, integer, positive, table};

use super::{Config, LinkArq};
use crate::Agent;
use crate::shim::Protected;
use crate::spec::{Place, Seat, Site, Spec};

integer! {
    /// How often a frame is sent again.
    Retries: u8 = 1..=100
}

table! {
    /// What nodes that send again what a link loses are told.
    LinkArqTable {
        /// How often a frame is sent again at most. Default: 7.
        retries: Retries,
        /// For how long, and how long the far end waits for it. Default: "200ms".
        persistence: TimeSpan,
        /// The near end's timer is never shorter. Default: "10ms".
        timer_min: TimeSpan,
        /// How long a status waits for further frames. Default: "5ms".
        status_delay: TimeSpan,
    }
}

/// What nodes that send again what a link loses are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkArqSpec(pub Config);

impl Spec for LinkArqSpec {
    type Table = LinkArqTable;
    const SEAT: Seat = Seat::Anywhere;
    const RUNS_IN: &'static [Place] = &[Place::Simulator];

    fn read(table: &LinkArqTable, _kind: &Located<String>) -> Checked<Self> {
        let Config { retries, persistence, timer_min, status_delay } = Config::default();
        let time = |given: &Option<Located<TimeSpan>>, key, default: Duration| {
            given.as_ref().map_or(Ok(default), |given| positive(given, key))
        };
        Ok(Self(Config {
            retries: table.retries.as_ref().map_or(retries, |given| given.value.0),
            persistence: time(&table.persistence, "persistence", persistence)?,
            timer_min: time(&table.timer_min, "timer_min", timer_min)?,
            status_delay: time(&table.status_delay, "status_delay", status_delay)?,
        }))
    }

    fn machine(&self, site: Site) -> Result<Option<Box<dyn Agent>>, String> {
        let config = self.0;
        Ok(Some(Box::new(Protected::new(site, || LinkArq::new(config)))))
    }
}
