//! Forward error correction in a scenario.

use handfast_core::Duration;
use handfast_document::{Checked, Located, Probability, Problem, TimeSpan, integer, positive, table};
use handfast_wire::shim::{MOST_INTERLEAVED, MOST_SYMBOLS};

use super::{Config, Fec, MOST_INTERLEAVED_PACKETS};
use crate::Agent;
use crate::shim::Protected;
use crate::spec::{Place, Seat, Site, Spec};

integer! {
    /// Packets or repair symbols of a block.
    Symbols: u8 = 1..=64
}

integer! {
    /// Blocks that are open at the same time.
    Depth: u8 = 1..=16
}

const _: () = assert!(MOST_SYMBOLS == 64 && MOST_INTERLEAVED == 16);

table! {
    /// What nodes that send repair symbols are told.
    FecTable {
        /// Packets of a block at most. Default: 10.
        packets: Symbols,
        /// Blocks that are interleaved: packets belong to them in turn. Default: 1.
        interleave: Depth,
        /// Blocks end so long after the first packet of the first of them at the latest. Default: "50ms".
        wait: TimeSpan,
        /// Repair symbols of a block at most. Default: 4.
        most_repairs: Symbols,
        /// The share of blocks that may lose more than their repair symbols make up for. Default: one in a thousand.
        residual: Probability,
        /// How long a packet waits at the far end for those before it; longer than `wait`. Default: "100ms".
        hold: TimeSpan,
    }
}

/// What nodes that send repair symbols are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FecSpec(pub Config);

impl Spec for FecSpec {
    type Table = FecTable;
    const SEAT: Seat = Seat::Anywhere;
    const RUNS_IN: &'static [Place] = &[Place::Simulator];

    fn read(table: &FecTable, kind: &Located<String>) -> Checked<Self> {
        let mut config = Config::default();
        let symbols =
            |given: &Option<Located<Symbols>>, default| given.as_ref().map_or(default, |given| given.value.0);
        let time = |given: &Option<Located<TimeSpan>>, key, default: Duration| {
            given.as_ref().map_or(Ok(default), |given| positive(given, key))
        };
        config.packets = symbols(&table.packets, config.packets);
        config.most_repairs = symbols(&table.most_repairs, config.most_repairs);
        if let Some(depth) = &table.interleave {
            config.interleave = depth.value.0;
            if usize::from(config.interleave) * usize::from(config.packets) > MOST_INTERLEAVED_PACKETS {
                let problem = Problem::at(depth.span.clone(), "the far end does not keep so many packets");
                let most = MOST_INTERLEAVED_PACKETS;
                return Err(
                    problem.expected(format!("expected at most {most}: `interleave` times `packets`"))
                );
            }
        }
        config.wait = time(&table.wait, "wait", config.wait)?;
        config.hold = time(&table.hold, "hold", config.hold)?;
        if let Some(residual) = &table.residual {
            config.residual_ppm = (residual.value.0 * 1e6) as u32;
        }
        // Symbols of interleaved blocks wait for their places, so long at most.
        let (times, longer) = if config.interleave > 1 { (2, "twice `wait`") } else { (1, "`wait`") };
        if config.hold > config.wait * times {
            return Ok(Self(config));
        }
        let given = table.hold.as_ref().or(table.wait.as_ref());
        let span = given.map_or(kind.span.clone(), |given| given.span.clone());
        let problem = Problem::at(span, "the far end gives a packet up before its block ends");
        Err(problem.expected(format!("expected `hold` longer than {longer}")))
    }

    fn machine(&self, site: Site) -> Result<Option<Box<dyn Agent>>, String> {
        let config = self.0;
        Ok(Some(Box::new(Protected::new(site, || Fec::new(config)))))
    }
}
