//! Each packet is sent twice, the second time somewhat later, so that a burst of losses does not take both. The far end passes on
//! the first that comes, in order.
//!
//! The plainest of repetition codes, as RFC 2198 sends audio again and IEEE 802.1CB §7 replicates and eliminates frames (there on
//! two paths, here on one).

mod spec;

use std::collections::VecDeque;

use bytes::Bytes;
use handfast_core::{Duration, Instant, SeqNum};
use handfast_wire::shim::{Message, Shim};
use handfast_wire::{Ecn, Packet};

use crate::shim::order::{Bounds, Order};
use crate::shim::{Made, Outgoing, Protection, opened};

pub use spec::DuplicateSpec;

/// When the copy goes, and how long the far end waits for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// From the packet to its copy.
    pub spacing: Duration,
    /// How long a packet waits at the far end for those before it: longer than `spacing`.
    pub hold: Duration,
    /// Packets that wait at most: for their copy at the near end, and for others at the far end.
    pub packets: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self { spacing: Duration::from_millis(10), hold: Duration::from_millis(30), packets: 4_096 }
    }
}

/// What has become of packets and copies.
#[derive(Clone, Copy, Debug, Default)]
struct Counters {
    /// Copies sent.
    copies: u64,
    /// Packets without a copy, for so many waited.
    uncopied: u64,
    /// Bytes that are no IP packet, or one that RFC 6040 §4.2 drops.
    malformed: u64,
}

/// What is done for one peer.
#[derive(Debug)]
pub(crate) struct Duplicate {
    config: Config,
    next: SeqNum,
    copies: VecDeque<(Instant, Outgoing)>,
    order: Order<Packet>,
    counters: Counters,
}

impl Duplicate {
    pub(crate) fn new(config: Config) -> Self {
        let bounds = Bounds { hold: config.hold, packets: config.packets };
        Self {
            config,
            next: SeqNum(0),
            copies: VecDeque::new(),
            order: Order::new(bounds),
            counters: Counters::default(),
        }
    }
}

impl Protection for Duplicate {
    fn send(&mut self, now: Instant, packet: Bytes, class: u8, made: &mut Made) {
        let shim = Shim { sequence: self.next, message: Message::Copy(packet) };
        self.next += 1;
        let outgoing = Outgoing { shim, class };
        if self.copies.len() < self.config.packets {
            self.copies.push_back((now + self.config.spacing, outgoing.clone()));
        } else {
            self.counters.uncopied += 1;
        }
        made.out.push(outgoing);
    }

    fn receive(&mut self, now: Instant, shim: &Shim, marks: Ecn, made: &mut Made) -> bool {
        let Message::Copy(bytes) = &shim.message else { return false };
        match opened(bytes, marks) {
            Some(packet) => _ = self.order.insert(now, shim.sequence, packet, &mut made.delivered),
            None => self.counters.malformed += 1,
        }
        true
    }

    fn on_timer(&mut self, now: Instant, made: &mut Made) {
        while self.copies.front().is_some_and(|(due, _)| *due <= now) {
            self.counters.copies += 1;
            made.out.extend(self.copies.pop_front().map(|(_, copy)| copy));
        }
        self.order.on_timer(now, &mut made.delivered);
    }

    fn deadline(&self) -> Option<Instant> {
        let copy = self.copies.front().map(|&(due, _)| due);
        copy.into_iter().chain(self.order.deadline()).min()
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let Counters { copies, uncopied, malformed } = self.counters;
        let own = [("copies", copies), ("uncopied", uncopied), ("malformed", malformed)];
        own.into_iter().chain(self.order.counters.totals()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shim::testing::{deliver, loss, packet, relay};
    use proptest::prelude::*;

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    fn sent(machine: &mut Duplicate, ms: u64, number: u32) -> Vec<Outgoing> {
        let mut made = Made::default();
        machine.send(at(ms), packet(number), 0, &mut made);
        made.out
    }

    #[test]
    fn each_packet_goes_twice_with_a_gap_between() {
        let mut near = Duplicate::new(Config::default());
        let first = sent(&mut near, 0, 7);
        assert_eq!((first.len(), near.deadline()), (1, Some(at(10))));
        let mut made = Made::default();
        near.on_timer(at(10), &mut made);
        assert_eq!((made.out, near.deadline()), (first, None));
    }

    #[test]
    fn the_far_end_passes_on_one_of_two() {
        let (mut near, mut far) = (Duplicate::new(Config::default()), Duplicate::new(Config::default()));
        let out = [sent(&mut near, 0, 0), sent(&mut near, 0, 1)].concat();
        assert_eq!(deliver(&mut far, at(1), &out), [0, 1]);
        assert!(deliver(&mut far, at(11), &out).is_empty());
        assert_eq!(far.order.counters.repeated, 2);
    }

    #[test]
    fn a_lost_packet_comes_with_its_copy_before_those_behind_it() {
        let (mut near, mut far) = (Duplicate::new(Config::default()), Duplicate::new(Config::default()));
        let lost = sent(&mut near, 0, 0);
        assert!(deliver(&mut far, at(1), &sent(&mut near, 1, 1)).is_empty());
        assert_eq!(deliver(&mut far, at(11), &lost), [0, 1]);
    }

    #[test]
    fn what_waits_for_its_copy_is_bounded() {
        let mut near = Duplicate::new(Config { packets: 1, ..Config::default() });
        sent(&mut near, 0, 0);
        sent(&mut near, 0, 1);
        assert_eq!((near.copies.len(), near.counters.uncopied), (1, 1));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

        /// On a path that loses anything but both of a pair every packet arrives, once and in order.
        #[test]
        fn every_packet_arrives_once_and_in_order_unless_both_are_lost(lost in loss(120)) {
            let config = Config { hold: Duration::from_secs(9), ..Config::default() };
            let (mut near, mut far) = (Duplicate::new(config), Duplicate::new(config));
            let sent = relay(&mut near, &mut far, 60, Duration::from_millis(3), &lost);
            let come: Vec<_> = (0..60).filter(|number| sent.arrived.contains(number)).collect();
            prop_assert_eq!(sent.delivered, come);
        }
    }
}
