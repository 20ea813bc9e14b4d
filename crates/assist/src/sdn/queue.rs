//! What is held of one TCP connection.

use std::collections::VecDeque;

use handfast_core::SeqNum;
use handfast_wire::tcp::{Flags, Segment};

use super::classify::{Seen, look};
use super::frame::Frame;

/// What a held frame costs besides its bytes, when bounds are counted: its place in a queue and its allocation.
const OVERHEAD: u64 = 128;

/// What a held frame counts.
pub(crate) fn cost(frame: &[u8]) -> u64 {
    frame.len() as u64 + OVERHEAD
}

#[derive(Debug)]
struct Held {
    seq: SeqNum,
    len: u32,
    frame: Frame,
}

impl Held {
    fn end(&self) -> SeqNum {
        self.seq + self.len
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Came {
    Segment(SeqNum),
    Probe,
}

/// What is held of one direction of a connection: each byte once, but for a probe.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    /// In order of sequence numbers.
    segments: VecDeque<Held>,
    /// With timestamps, in which order they came.
    came: VecDeque<Came>,
    /// A tail loss probe: the newest segment once more.
    probe: Option<(SeqNum, Frame)>,
    /// Whether what is held bears timestamps (RFC 7323 §3.2: all segments of a connection do, or none).
    timed: bool,
    /// The newest acknowledgment without data: it says all that an earlier one said.
    ack: Option<(SeqNum, Frame)>,
    /// A reset, which ends the connection and therefore comes last.
    reset: Option<Frame>,
    cost: u64,
}

/// What became of a segment.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Put {
    /// It is held; the difference of what is held, in bytes of cost.
    Held(u64),
    /// It is held in the place of an older acknowledgment; cost of the new and of the old one.
    Replaced(u64, u64),
    /// All its bytes are held already.
    Duplicate,
}

impl Queue {
    pub(crate) fn is_empty(&self) -> bool {
        self.segments.is_empty() && self.probe.is_none() && self.ack.is_none() && self.reset.is_none()
    }

    /// Whether a segment brings nothing new (`[sdn]` Algorithm 1, line 4: packets ∉ Controller.Buffer).
    pub(crate) fn has(&self, segment: &Segment) -> bool {
        if segment.flags.contains(Flags::RST) {
            return self.reset.is_some();
        }
        match segment.seq_len() {
            _ if self.is_probe(segment) => false,
            0 => self.ack.as_ref().is_some_and(|(ack, _)| segment.ack.before(*ack)),
            len => self.covers(segment.seq, segment.seq + len) && !self.differs(segment),
        }
    }

    /// Whether it repeats the newest of several segments, for the first time: a tail loss probe. RFC 8985 §7.4: its sender takes
    /// it for the repair of a loss, and reduces cwnd, unless the receiver reports by DSACK that it had come twice. So it follows
    /// the original. A retransmission timer repeats the oldest.
    fn is_probe(&self, segment: &Segment) -> bool {
        let newest = self.segments.back().filter(|_| self.segments.len() > 1 && self.probe.is_none());
        newest.is_some_and(|held| held.seq == segment.seq && held.len == segment.seq_len())
    }

    /// Whether every byte from `from` to `end` is held, in one segment or in several.
    fn covers(&self, from: SeqNum, end: SeqNum) -> bool {
        let mut covered = from;
        let first = self.segments.partition_point(|held| !held.end().after(from));
        for held in self.segments.range(first..) {
            if held.seq.after(covered) {
                return false;
            }
            if held.end().after(covered) {
                covered = held.end();
            }
            if !covered.before(end) {
                return true;
            }
        }
        false
    }

    /// Whether the same octets are held with another content: one of the two is forged, and nobody here can say which.
    fn differs(&self, segment: &Segment) -> bool {
        let first = self.segments.partition_point(|held| held.seq.before(segment.seq));
        let alike = |held: &&Held| held.seq == segment.seq && held.len == segment.seq_len();
        let mut twins =
            self.segments.range(first..).take_while(|held| held.seq == segment.seq).filter(alike).peekable();
        let same = |held: &Held| match look(&held.frame) {
            Seen::Tcp(_, other) => other.payload == segment.payload,
            _ => true,
        };
        twins.peek().is_some() && !twins.any(same)
    }

    /// Holds a segment unless it brings nothing new. The frame is kept as it is.
    pub(crate) fn put(&mut self, segment: &Segment, frame: Frame) -> Put {
        if self.has(segment) {
            return Put::Duplicate;
        }
        let (added, len) = (cost(&frame), segment.seq_len());
        self.cost += added;
        if segment.flags.contains(Flags::RST) {
            self.reset = Some(frame);
        } else if self.is_probe(segment) {
            self.probe = Some((segment.seq, frame));
            if self.timed {
                self.came.push_back(Came::Probe);
            }
        } else if len > 0 {
            self.insert(segment, Held { seq: segment.seq, len, frame });
        } else if let Some((_, old)) = self.ack.replace((segment.ack, frame)) {
            self.cost -= cost(&old);
            return Put::Replaced(added, cost(&old));
        }
        Put::Held(added)
    }

    fn insert(&mut self, segment: &Segment, held: Held) {
        if self.segments.is_empty() {
            self.timed = segment.timestamps.is_some();
        }
        if self.timed {
            self.came.push_back(Came::Segment(held.seq));
        }
        let place = self.segments.partition_point(|other| !other.seq.after(held.seq));
        self.segments.insert(place, held);
    }

    /// Without timestamps a captured retransmission of what was lost on the stale path goes before what was sent after it. With
    /// them it must not: where it fills the receiver's first hole, its newer timestamp becomes TS.Recent, and the receiver
    /// discards whatever is older (RFC 7323 §5.3, PAWS): all that is held.
    fn next(&mut self) -> Option<Frame> {
        let held = match self.came.pop_front() {
            Some(Came::Segment(first)) => {
                let place = self.segments.partition_point(|held| held.seq.before(first));
                // A peer whose numbers lie more than half the space apart has no order.
                self.segments.remove(place).or_else(|| self.segments.pop_front())
            }
            Some(Came::Probe) => None,
            None => {
                let newer = |(seq, _): &(SeqNum, Frame)| {
                    self.segments.front().is_none_or(|next| next.seq.after(*seq))
                };
                if self.probe.as_ref().is_some_and(newer) { None } else { self.segments.pop_front() }
            }
        };
        held.map(|held| held.frame).or_else(|| self.probe.take().map(|(_, frame)| frame))
    }

    /// Takes out what leaves next: segments in order, then the acknowledgment, then a reset.
    pub(crate) fn take(&mut self) -> Option<Frame> {
        let next = self.next();
        let next = next.or_else(|| self.ack.take().map(|(_, frame)| frame)).or_else(|| self.reset.take())?;
        self.cost -= cost(&next);
        Some(next)
    }

    /// What is held, in the order in which it leaves.
    pub(crate) fn frames(&self) -> impl Iterator<Item = &Frame> {
        let ack = self.ack.as_ref().map(|(_, frame)| frame);
        let probe = self.probe.as_ref().map(|(_, frame)| frame);
        self.segments.iter().map(|held| &held.frame).chain(probe).chain(ack).chain(&self.reset)
    }

    /// What the held frames count.
    pub(crate) fn cost(&self) -> u64 {
        self.cost
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use handfast_wire::Payload;
    use handfast_wire::tcp::Timestamps;

    fn data(seq: u32, len: u32) -> Segment {
        let payload = Payload::Synthetic { stream: 0, offset: 0, len };
        Segment { seq: SeqNum(seq), flags: Flags::ACK, payload, ..Segment::EMPTY }
    }

    fn frame(tag: u8) -> Frame {
        bytes::Bytes::copy_from_slice(&[tag; 60]).into()
    }

    fn tags(queue: &mut Queue) -> Vec<u8> {
        std::iter::from_fn(|| queue.take()).map(|frame| frame[0]).collect()
    }

    #[test]
    fn a_tail_loss_probe_follows_its_original_once() {
        for timestamps in [None, Some(Timestamps { val: 1, ecr: 0 })] {
            let mut queue = Queue::default();
            let timed = |seq| Segment { timestamps, ..data(seq, 100) };
            for (tag, seq) in [(1, 100), (2, 200)] {
                assert!(matches!(queue.put(&timed(seq), frame(tag)), Put::Held(_)));
            }
            // A retransmission timer repeats the oldest, RFC 8985's probe the newest.
            assert_eq!(queue.put(&timed(100), frame(3)), Put::Duplicate);
            assert!(!queue.has(&timed(200)));
            assert_eq!(queue.put(&timed(200), frame(4)), Put::Held(cost(&frame(4))));
            assert_eq!(queue.put(&timed(200), frame(5)), Put::Duplicate);
            // One that reaches further is none.
            assert!(matches!(queue.put(&timed(300), frame(6)), Put::Held(_)));
            assert_eq!(queue.cost(), 4 * cost(&frame(0)));
            assert_eq!(queue.frames().count(), 4);
            assert_eq!(tags(&mut queue), [1, 2, 4, 6]);
            assert_eq!((queue.cost(), queue.is_empty()), (0, true));
        }
    }

    #[test]
    fn of_one_segment_alone_no_repetition_is_a_probe() {
        let mut queue = Queue::default();
        queue.put(&data(100, 100), frame(1));
        assert_eq!(queue.put(&data(100, 100), frame(2)), Put::Duplicate);
    }

    #[test]
    fn a_segment_is_held_once() {
        let mut queue = Queue::default();
        assert_eq!(queue.put(&data(100, 50), frame(1)), Put::Held(188));
        assert_eq!(queue.put(&data(100, 50), frame(2)), Put::Duplicate);
        assert_eq!(queue.put(&data(110, 10), frame(3)), Put::Duplicate, "a part of it");
        assert_eq!(queue.cost(), 188);
        assert_eq!(tags(&mut queue), [1]);
        assert!(queue.is_empty() && queue.cost() == 0);
        assert_eq!(queue.put(&data(100, 50), frame(4)), Put::Held(188), "what has left can come again");
    }

    #[test]
    fn several_segments_may_cover_one() {
        let mut queue = Queue::default();
        for seq in [100, 150, 250] {
            queue.put(&data(seq, 50), frame(1));
        }
        assert_eq!(queue.put(&data(100, 100), frame(2)), Put::Duplicate);
        assert_eq!(queue.put(&data(120, 60), frame(2)), Put::Duplicate);
        assert_eq!(queue.put(&data(150, 60), frame(3)), Put::Held(188), "200 to 210 is not held");
        assert_eq!(queue.put(&data(150, 150), frame(4)), Put::Held(188), "210 to 250 is not held");
        assert_eq!(queue.put(&data(150, 150), frame(5)), Put::Duplicate);
        assert_eq!(queue.put(&data(99, 2), frame(6)), Put::Held(188));
        assert_eq!(queue.put(&data(299, 2), frame(7)), Put::Held(188));
    }

    #[test]
    fn they_leave_in_order_and_across_the_wrap() {
        let mut queue = Queue::default();
        let start = u32::MAX - 120;
        for (tag, offset) in [(2, 50), (4, 150), (1, 0), (3, 100)] {
            queue.put(&data(start.wrapping_add(offset), 50), frame(tag));
        }
        assert_eq!(queue.put(&data(start, 200), frame(9)), Put::Duplicate);
        assert_eq!(tags(&mut queue), [1, 2, 3, 4]);
    }

    #[test]
    fn with_timestamps_nothing_leaves_before_what_is_older() {
        let at =
            |seq, tsval| Segment { timestamps: Some(Timestamps { val: tsval, ecr: 0 }), ..data(seq, 50) };
        let mut queue = Queue::default();
        // 100 was lost on the stale path, and its repetition comes after what had been sent behind it; so does that of 200.
        for (tag, seq, tsval) in [(1, 150, 7), (2, 250, 8), (3, 100, 300), (4, 300, 300), (5, 200, 310)] {
            assert_eq!(queue.put(&at(seq, tsval), frame(tag)), Put::Held(188));
        }
        for seq in [100, 125, 200] {
            assert_eq!(queue.put(&at(seq, 320), frame(9)), Put::Duplicate, "{seq}");
        }
        assert_eq!(tags(&mut queue), [1, 2, 3, 4, 5]);
        queue.put(&data(300, 50), frame(7));
        queue.put(&data(100, 50), frame(6));
        assert_eq!(tags(&mut queue), [6, 7], "another connection of the same name, without");
    }

    #[test]
    fn numbers_without_an_order_leave_as_well() {
        let at = |seq| Segment { timestamps: Some(Timestamps { val: 1, ecr: 0 }), ..data(seq, 50) };
        let mut queue = Queue::default();
        for (tag, seq) in [(1, 0), (2, 0x5000_0000), (3, 0xa000_0000), (4, 0xf000_0000), (5, 0x3000_0000)] {
            queue.put(&at(seq), frame(tag));
        }
        assert_eq!(tags(&mut queue).len(), 5);
        assert_eq!((queue.cost(), queue.is_empty()), (0, true));
    }

    #[test]
    fn of_acknowledgments_the_newest_counts_and_leaves_after_data() {
        let ack = |ack| Segment { ack: SeqNum(ack), flags: Flags::ACK, ..Segment::EMPTY };
        let mut queue = Queue::default();
        assert_eq!(queue.put(&ack(500), frame(1)), Put::Held(188));
        assert_eq!(queue.put(&ack(400), frame(2)), Put::Duplicate);
        // The same acknowledgment may carry a newer window or timestamp.
        assert_eq!(queue.put(&ack(500), frame(3)), Put::Replaced(188, 188));
        queue.put(&data(100, 50), frame(4));
        assert_eq!(queue.cost(), 2 * 188);
        assert_eq!(tags(&mut queue), [4, 3]);
    }

    #[test]
    fn syn_and_fin_take_their_place_and_a_reset_is_last() {
        let with = |flags, seq| Segment { seq: SeqNum(seq), flags, ..Segment::EMPTY };
        let mut queue = Queue::default();
        assert_eq!(queue.put(&with(Flags::RST, 0), frame(9)), Put::Held(188));
        assert_eq!(queue.put(&with(Flags::RST, 5), frame(8)), Put::Duplicate);
        queue.put(&with(Flags::FIN | Flags::ACK, 151), frame(3));
        queue.put(&data(101, 50), frame(2));
        queue.put(&with(Flags::SYN, 100), frame(1));
        assert_eq!(queue.put(&with(Flags::SYN, 100), frame(7)), Put::Duplicate);
        assert_eq!(queue.cost(), 4 * 188);
        assert_eq!(tags(&mut queue), [1, 2, 3, 9]);
    }
}
