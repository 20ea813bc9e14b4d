//! Snoop in a scenario.

use handfast_core::{Bytes, Duration};
use handfast_document::{Checked, Located, Size, TimeSpan, positive, table};

use super::Config;
use crate::Agent;
use crate::spec::{Place, Seat, Site, Spec};

table! {
    /// What Snoop is told.
    SnoopTable {
        /// IP bytes kept for one connection at most. Default: "1MB".
        cache: Size,
        /// The local timer is never shorter. Default: "100ms".
        local_timer: TimeSpan,
        /// The role of the hosts towards which it repairs losses, wherever they are. Default: the stations of its access point.
        mobiles: String,
    }
}

/// What Snoop is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snoop {
    /// IP bytes kept for one connection at most.
    pub cache: Bytes,
    /// The local timer is never shorter.
    pub local_timer: Duration,
    /// The role of the hosts towards which it repairs; [`None`]: the stations of its access point.
    pub mobiles: Option<String>,
}

impl Spec for Snoop {
    type Table = SnoopTable;
    const SEAT: Seat = Seat::AccessPoints;
    const RUNS_IN: &'static [Place] = &[Place::Simulator];

    fn read(table: &SnoopTable, _kind: &Located<String>) -> Checked<Self> {
        let (Config { per_connection, timer_min, .. }, given) = (Config::default(), table);
        let local_timer = given.local_timer.as_ref().map(|time| positive(time, "local_timer")).transpose()?;
        Ok(Self {
            cache: given.cache.as_ref().map_or(per_connection, |size| size.0),
            local_timer: local_timer.unwrap_or(timer_min),
            mobiles: given.mobiles.as_ref().map(|role| role.value.clone()),
        })
    }

    fn helped(&self) -> Option<&str> {
        self.mobiles.as_deref()
    }

    fn machine(&self, site: Site) -> Result<Option<Box<dyn Agent>>, String> {
        let config = Config { per_connection: self.cache, timer_min: self.local_timer, ..Config::default() };
        Ok(Some(Box::new(super::Snoop::new(config, site.radio))))
    }
}
