//! A base station of [eln] in a scenario.

use std::net::IpAddr;

use handfast_core::{Duration, Instant};
use handfast_document::{Checked, Located, Problem, TimeSpan, table};

use super::{BaseStation, Config};
use crate::Agent;
use crate::spec::{Place, Seat, Site, Spec};

/// Advertisements more often than that would be most of what the radio carries.
const LEAST_INTERVAL: Duration = Duration::from_millis(1);

table! {
    /// What a base station of [eln] is told.
    ElnTable {
        /// Between two advertisements of a base station; "0s": it sends none. Default: "100ms".
        advertisement: TimeSpan,
    }
}

/// What a base station of [eln] is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Eln {
    /// Between two of its advertisements; zero: it sends none.
    pub advertisement: Duration,
}

impl Spec for Eln {
    type Table = ElnTable;
    const SEAT: Seat = Seat::AccessPoints;
    const RUNS_IN: &'static [Place] = &[Place::Simulator];

    fn read(table: &ElnTable, _kind: &Located<String>) -> Checked<Self> {
        let Some(given) = &table.advertisement else {
            return Ok(Self { advertisement: Config::default().advertisement });
        };
        let advertisement = given.value.0;
        if advertisement > Duration::ZERO && advertisement < LEAST_INTERVAL {
            return Err(Problem::at(given.span.clone(), "more than a thousand advertisements a second")
                .expected("expected at least \"1ms\", or \"0s\" for none"));
        }
        Ok(Self { advertisement })
    }

    /// The base stations of one network do not advertise in step: each begins at a moment of its own.
    fn machine(&self, mut site: Site) -> Result<Option<Box<dyn Agent>>, String> {
        let IpAddr::V4(address) = site.address else {
            return Err("advertisements are of IPv4".to_owned());
        };
        let &Self { advertisement } = self;
        let first = Instant::ZERO + Duration::from_nanos(1 + site.stream.below(advertisement.as_nanos()));
        let config = Config { advertisement, ..Config::default() };
        Ok(Some(Box::new(BaseStation::new(config, address, site.radio, first))))
    }
}
