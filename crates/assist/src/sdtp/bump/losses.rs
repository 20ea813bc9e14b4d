//! What an edge that only observes would have repaired: the losses that its hosts' own retransmissions show.
//!
//! Octets that pass again were lost behind the edge; octets that fill a hole were lost before it.

use handfast_core::{Instant, SeqNum};
use handfast_wire::Packet;
use handfast_wire::tcp::{Flags, Segment};

use crate::ConnectionKey;
use crate::ranges::Ranges;
use crate::recent::{Place, Recent};

/// Holes of one direction, and retransmissions that a receiver may still report: beyond, the lowest is forgotten.
const MOST_RANGES: usize = 64;

/// What a segment tells of losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    /// None: it takes no numbers, is new, or was overtaken on its way.
    Nothing,
    /// It was lost before it came here.
    Before,
    /// It has passed, and was lost behind.
    Behind,
    /// Its receiver has acknowledged it already.
    Needless,
}

/// One direction of a connection.
#[derive(Debug)]
struct Direction {
    /// After the last octet that has passed.
    next: SeqNum,
    holes: Ranges,
    /// What has passed again.
    again: Ranges,
    /// What the receiver has acknowledged, as far as that has passed.
    acknowledged: Option<SeqNum>,
    /// The latest timestamp.
    newest: Option<SeqNum>,
}

/// The connections that pass.
#[derive(Debug)]
pub(super) struct Losses(Recent<Direction>);

impl Losses {
    /// Remembers so many directions; beyond, the one that was silent longest is forgotten.
    pub(super) fn new(most: usize) -> Self {
        Self(Recent::new(most))
    }

    /// A segment passes: what it shows, and whether its acknowledgment says that a retransmission was needless (RFC 2883).
    pub(super) fn on_segment(&mut self, now: Instant, packet: &Packet, segment: &Segment) -> (Shown, bool) {
        let sent = ConnectionKey {
            src: packet.src,
            dst: packet.dst,
            src_port: segment.src_port,
            dst_port: segment.dst_port,
        };
        let came =
            ConnectionKey { src: sent.dst, dst: sent.src, src_port: sent.dst_port, dst_port: sent.src_port };
        let is_needless = segment.flags.contains(Flags::ACK) && self.acknowledge(&came, segment);
        if segment.flags.contains(Flags::RST) {
            self.0.remove(&sent);
            self.0.remove(&came);
            return (Shown::Nothing, is_needless);
        }
        (self.pass(now, sent, segment), is_needless)
    }

    fn acknowledge(&mut self, came: &ConnectionKey, segment: &Segment) -> bool {
        let Some(place) = self.0.find(came) else { return false };
        self.0.get_mut(place).acknowledge(segment)
    }

    fn pass(&mut self, now: Instant, key: ConnectionKey, segment: &Segment) -> Shown {
        let len = segment.seq_len();
        if len == 0 {
            return Shown::Nothing;
        }
        match self.0.find(&key) {
            Some(place) if !self.is_new(place, segment) => self.0.touch(now, place).pass(segment, len),
            found => {
                if found.is_some() {
                    self.0.remove(&key);
                } else if let Some(silent) = self.0.in_the_way() {
                    self.0.remove(&silent);
                }
                self.0.insert(now, key, Direction::new(segment, len));
                Shown::Nothing
            }
        }
    }

    /// Whether a connection begins that has the ends of an earlier one.
    fn is_new(&mut self, place: Place, segment: &Segment) -> bool {
        let known = self.0.get_mut(place);
        let far = known.next.distance(segment.seq).unsigned_abs() > 1 << 30;
        // A SYN that comes again takes the number before the first octet.
        far || (segment.flags.contains(Flags::SYN) && segment.seq + 1 != known.next)
    }
}

impl Direction {
    fn new(segment: &Segment, len: u32) -> Self {
        Self {
            next: segment.seq + len,
            holes: Ranges::default(),
            again: Ranges::default(),
            acknowledged: None,
            newest: value(segment),
        }
    }

    fn pass(&mut self, segment: &Segment, len: u32) -> Shown {
        let (start, end) = (segment.seq, segment.seq + len);
        let is_overtaken =
            self.newest.zip(value(segment)).is_some_and(|(newest, value)| value.before(newest));
        if let Some(value) = value(segment).filter(|_| !is_overtaken) {
            self.newest = Some(value);
        }
        if !start.before(self.next) {
            if start.after(self.next) {
                self.holes.insert(self.next, start, MOST_RANGES);
            }
            self.next = end;
            return Shown::Nothing;
        }
        if end.after(self.next) {
            self.next = end;
        }
        if self.acknowledged.is_some_and(|until| !end.after(until)) {
            return Shown::Needless;
        }
        if self.holes.touch(start, end) {
            self.holes.remove(start, end, MOST_RANGES);
            return if is_overtaken { Shown::Nothing } else { Shown::Before };
        }
        self.again.insert(start, end, MOST_RANGES);
        Shown::Behind
    }

    /// Whether an acknowledgment of what has passed says that the receiver had got it before.
    fn acknowledge(&mut self, segment: &Segment) -> bool {
        let until = segment.ack;
        if until.after(self.next) {
            // Of an octet that has not passed here.
            return false;
        }
        let is_needless = segment.duplicate().is_some_and(|block| {
            let is_one = self.again.touch(block.start, block.end);
            self.again.remove(block.start, block.end, MOST_RANGES);
            is_one
        });
        if self.acknowledged.is_none_or(|before| until.after(before)) {
            self.acknowledged = Some(until);
            self.holes.forget_below(until);
        }
        is_needless
    }
}

fn value(segment: &Segment) -> Option<SeqNum> {
    segment.timestamps.map(|timestamps| SeqNum(timestamps.val))
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use handfast_wire::Payload;
    use handfast_wire::tcp::{SackBlock, SackBlocks, Timestamps};

    use super::*;

    const HOSTS: [IpAddr; 2] = [
        IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1)),
        IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2)),
    ];

    struct World {
        losses: Losses,
        first: u32,
    }

    impl World {
        fn new(first: u32) -> Self {
            let mut this = Self { losses: Losses::new(8), first };
            let syn = Segment { seq: SeqNum(first) - 1, flags: Flags::SYN, ..Segment::EMPTY };
            assert_eq!(this.pass(true, syn), (Shown::Nothing, false));
            this
        }

        fn pass(&mut self, there: bool, segment: Segment) -> (Shown, bool) {
            let [src, dst] = if there { HOSTS } else { [HOSTS[1], HOSTS[0]] };
            let ports = if there { (5, 6) } else { (6, 5) };
            let segment = Segment { src_port: ports.0, dst_port: ports.1, ..segment };
            let packet = Packet::tcp(src, dst, segment.clone());
            self.losses.on_segment(Instant::ZERO, &packet, &segment)
        }

        /// Octets at `at`, with a timestamp.
        fn data(&mut self, at: u32, len: u32, val: u32) -> Shown {
            let payload = Payload::Synthetic { stream: 0, offset: 0, len };
            let timestamps = Some(Timestamps { val, ecr: 0 });
            let seq = SeqNum(self.first) + at;
            let segment = Segment { seq, flags: Flags::ACK, timestamps, payload, ..Segment::EMPTY };
            self.pass(true, segment).0
        }

        /// An acknowledgment with blocks; whether it says that something was needless.
        fn ack(&mut self, at: u32, blocks: &[(u32, u32)]) -> bool {
            let seq = |at: u32| SeqNum(self.first) + at;
            let mut sack = SackBlocks::NONE;
            for &(start, end) in blocks {
                assert!(sack.push(SackBlock { start: seq(start), end: seq(end) }));
            }
            let segment = Segment { ack: seq(at), flags: Flags::ACK, sack, ..Segment::EMPTY };
            self.pass(false, segment).1
        }
    }

    #[test]
    fn octets_that_pass_again_were_lost_behind_and_holes_before() {
        for first in [1, u32::MAX - 25] {
            let mut world = World::new(first);
            assert_eq!(world.data(0, 10, 1), Shown::Nothing);
            assert_eq!(world.data(20, 10, 2), Shown::Nothing, "10 to 20 are missing");
            assert_eq!(world.data(0, 10, 3), Shown::Behind);
            assert_eq!(world.data(0, 10, 4), Shown::Behind, "and again: the retransmission was lost");
            assert_eq!(world.data(10, 10, 5), Shown::Before);
            assert_eq!(world.data(10, 10, 6), Shown::Behind, "it came here, and not there");
            assert_eq!(world.data(25, 10, 7), Shown::Behind, "with new octets behind it");
            assert_eq!(world.data(35, 10, 8), Shown::Nothing);
        }
    }

    #[test]
    fn what_was_overtaken_is_no_loss() {
        let mut world = World::new(1);
        world.data(0, 10, 5);
        world.data(20, 10, 7);
        assert_eq!(world.data(10, 10, 6), Shown::Nothing);
        assert_eq!(world.data(10, 10, 9), Shown::Behind);
    }

    #[test]
    fn what_was_acknowledged_is_sent_again_needlessly() {
        let mut world = World::new(1);
        world.data(0, 10, 1);
        world.data(10, 10, 1);
        assert!(!world.ack(10, &[]));
        assert_eq!(world.data(0, 10, 2), Shown::Needless);
        assert_eq!(world.data(10, 10, 2), Shown::Behind);
        assert!(!world.ack(20, &[(0, 10)]), "the first needless one is known already");
        assert!(world.ack(20, &[(10, 20)]), "RFC 2883 §4.1");
        assert!(!world.ack(20, &[(10, 20)]), "once");
    }

    #[test]
    fn blocks_of_what_came_once_say_nothing_of_needless_ones() {
        let mut world = World::new(1);
        for at in [0, 10, 20, 30] {
            world.data(at, 10, 1);
        }
        world.data(10, 10, 2);
        assert!(!world.ack(0, &[(10, 40)]));
        assert!(world.ack(0, &[(10, 20), (10, 40)]), "RFC 2883 §4.2");
    }

    #[test]
    fn ends_that_are_used_again_begin_anew_and_a_syn_that_comes_again_is_a_loss() {
        let mut world = World::new(1000);
        let syn = |seq: u32| Segment { seq: SeqNum(seq), flags: Flags::SYN, ..Segment::EMPTY };
        assert_eq!(world.pass(true, syn(999)).0, Shown::Behind);
        world.data(0, 10, 1);
        assert_eq!(world.pass(true, syn(50)).0, Shown::Nothing);
        world.first = 51;
        assert_eq!(world.data(0, 10, 1), Shown::Nothing);
        let reset = Segment { seq: SeqNum(61), flags: Flags::RST, ..Segment::EMPTY };
        world.pass(true, reset);
        assert_eq!(world.losses.0.len(), 0);
    }

    #[test]
    fn memory_is_bounded() {
        let mut world = World::new(0);
        for at in 1..1000 {
            world.data(at * 20, 10, at);
            world.data(at * 20, 10, at);
        }
        let place = world.losses.0.values().next().unwrap();
        assert_eq!((place.holes.len(), place.again.len()), (MOST_RANGES, MOST_RANGES));
        for port in 0..20 {
            let data = Segment { src_port: port, seq: SeqNum(1), flags: Flags::SYN, ..Segment::EMPTY };
            let packet = Packet::tcp(HOSTS[0], HOSTS[1], data.clone());
            world.losses.on_segment(Instant::ZERO, &packet, &data);
        }
        assert_eq!(world.losses.0.len(), 8);
    }
}
