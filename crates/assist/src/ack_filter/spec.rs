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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::net::{IpAddr, Ipv4Addr};

    use handfast_core::{Instant, SeqNum, Stream};
    use handfast_net::{Forward, Outbox, Port};
    use handfast_wire::Packet;
    use handfast_wire::tcp::{Flags, Segment};

    use super::*;
    use crate::{Verdict, View};

    /// How many of nine acknowledgments from the radio go on at once, and how long the first one waits.
    fn filtered(spec: AckFilterSpec) -> (usize, Option<Duration>) {
        let [station, peer] = [1, 2].map(|host| IpAddr::from(Ipv4Addr::new(10, 0, 0, host)));
        let site = Site {
            address: peer,
            radio: vec![Port(1)],
            next: BTreeMap::new(),
            stream: Stream::new(1, "test"),
        };
        let mut machine = spec.machine(site).unwrap().expect("a filter is a machine");
        let mut out = Outbox::default();
        let (mut went_on, mut waits) = (0, None);
        for n in 1..=9_u32 {
            let ack = Segment { flags: Flags::ACK, ack: SeqNum(1000 * n), ..Segment::EMPTY };
            let packet = Packet::tcp(station, peer, ack);
            if machine.look(Instant::ZERO, Port(1), &View::of(&packet), &mut out) == Verdict::Take {
                machine.on_packet(Instant::ZERO, Port(1), packet, &mut out);
            } else {
                went_on += 1;
            }
            went_on += out.drain().filter(|forward| !matches!(forward, Forward::Dropped(_))).count();
            waits = waits.or(machine.deadline().map(|at| at.since(Instant::ZERO)));
        }
        (went_on, waits)
    }

    #[test]
    fn its_machine_is_told_what_the_table_says() {
        let wait = Duration::from_millis(7);
        let (every, waits) = filtered(AckFilterSpec { most: 1, wait });
        let (some, longer) = filtered(AckFilterSpec { most: 3, wait: wait * 2 });
        // Each second, and each fourth.
        assert_eq!((every, some), (4, 2));
        assert_eq!((waits, longer), (Some(wait), Some(wait * 2)));
    }
}
