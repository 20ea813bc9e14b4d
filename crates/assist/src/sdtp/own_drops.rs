//! What the queues of a node have dropped, where it keeps no copy. An RR for that ends here: what congestion has taken is not
//! repaired, so that the sender learns of it (RFC 2914).

use handfast_core::{Instant, SeqNum};
use handfast_wire::sdtp::{Expected, Stream};

use crate::ranges::Ranges;
use crate::recent::Recent;

/// Ranges that are remembered of a stream; beyond them the lowest one would be repaired.
const MOST_RANGES: usize = 64;

/// Drops, by stream.
#[derive(Debug)]
pub(super) struct OwnDrops(Recent<Ranges, Stream>);

/// The parts of a request.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Parts {
    /// Dropped here, from the first number up to the second.
    pub(super) dropped: Vec<(SeqNum, SeqNum)>,
    /// The rest.
    pub(super) left: Vec<(SeqNum, SeqNum)>,
}

impl OwnDrops {
    /// Remembers `most` streams at most.
    pub(super) fn new(most: usize) -> Self {
        Self(Recent::new(most))
    }

    /// A queue has dropped a packet.
    pub(super) fn on_drop(&mut self, now: Instant, stream: &Stream, seq: SeqNum, len: u32) {
        let place = self.0.find(stream).unwrap_or_else(|| {
            if let Some(silent) = self.0.in_the_way() {
                self.0.remove(&silent);
            }
            self.0.insert(now, *stream, Ranges::default())
        });
        let ranges = self.0.touch(now, place);
        if ranges.is_far_from(seq) {
            *ranges = Ranges::default();
        }
        ranges.insert(seq, seq + len, MOST_RANGES);
    }

    /// A packet passes: it was sent anew, or another stream has the same numbers.
    pub(super) fn on_data(&mut self, stream: &Stream, seq: SeqNum, len: u32) {
        let Some(place) = self.0.find(stream) else { return };
        let ranges = self.0.get_mut(place);
        ranges.remove(seq, seq + len, MOST_RANGES);
        if ranges.is_empty() {
            self.0.remove(stream);
        }
    }

    /// What of a request was dropped here; [`None`]: nothing.
    pub(super) fn part(&mut self, stream: &Stream, expected: &Expected) -> Option<Parts> {
        let place = self.0.find(stream)?;
        let ranges = self.0.get_mut(place);
        let parts = match *expected {
            Expected { start, end: Some(end), .. } => cut(ranges, start, end),
            // The packet that begins here, however long it is.
            Expected { start, end: None, start_num: 0 } => {
                let dropped = ranges.beyond(start).filter(|&(from, _)| !from.after(start));
                Parts {
                    dropped: dropped.map(|(_, end)| (start, end)).into_iter().collect(),
                    left: Vec::new(),
                }
            }
            // Nobody knows the numbers of this one.
            Expected { end: None, .. } => Parts::default(),
        };
        (!parts.dropped.is_empty()).then_some(parts)
    }
}

fn cut(ranges: &Ranges, start: SeqNum, end: SeqNum) -> Parts {
    let (mut parts, mut at) = (Parts::default(), start);
    while let Some((from, to)) = ranges.beyond(at).filter(|&(from, _)| from.before(end) && at.before(end)) {
        if from.after(at) {
            parts.left.push((at, from));
            at = from;
        }
        let to = if to.after(end) { end } else { to };
        parts.dropped.push((at, to));
        at = to;
    }
    if at.before(end) {
        parts.left.push((at, end));
    }
    parts
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::*;

    const START: SeqNum = SeqNum(u32::MAX - 150);

    fn stream(connection: u16) -> Stream {
        let [from, to] = [8, 9].map(|edge| IpAddr::from(Ipv4Addr::new(192, 0, 2, edge)));
        Stream { from, to, slice: 1, connection }
    }

    /// Packets of 100 bytes, by their place.
    fn dropped(places: &[u32]) -> OwnDrops {
        let mut drops = OwnDrops::new(2);
        for place in places {
            drops.on_drop(Instant::ZERO, &stream(1), START + place * 100, 100);
        }
        drops
    }

    fn range(from: u32, to: u32) -> (SeqNum, SeqNum) {
        (START + from * 100, START + to * 100)
    }

    fn part(drops: &mut OwnDrops, from: u32, to: u32) -> Option<Parts> {
        let (start, end) = range(from, to);
        drops.part(&stream(1), &Expected { start, end: Some(end), start_num: 0 })
    }

    #[test]
    fn a_request_is_cut_where_a_queue_has_dropped() {
        let mut drops = dropped(&[1, 2, 5]);
        let parts = |dropped: &[(u32, u32)], left: &[(u32, u32)]| {
            let of = |ranges: &[(u32, u32)]| ranges.iter().map(|&(from, to)| range(from, to)).collect();
            Some(Parts { dropped: of(dropped), left: of(left) })
        };
        assert_eq!(part(&mut drops, 1, 3), parts(&[(1, 3)], &[]));
        assert_eq!(part(&mut drops, 2, 3), parts(&[(2, 3)], &[]));
        assert_eq!(part(&mut drops, 0, 8), parts(&[(1, 3), (5, 6)], &[(0, 1), (3, 5), (6, 8)]));
        assert_eq!(part(&mut drops, 3, 5), None);
        assert_eq!(part(&mut drops, 6, 8), None);
        assert_eq!(part(&mut drops, 3, 3), None);
    }

    #[test]
    fn a_request_without_an_end_means_the_packet_at_its_start() {
        let mut drops = dropped(&[1, 2]);
        let mut ask = |place: u32, start_num| {
            let expected = Expected { start: START + place * 100, end: None, start_num };
            drops.part(&stream(1), &expected).map(|parts| parts.dropped)
        };
        assert_eq!(ask(1, 0), Some(vec![range(1, 3)]));
        assert_eq!(ask(2, 0), Some(vec![range(2, 3)]));
        assert_eq!(ask(0, 0), None);
        assert_eq!(ask(3, 0), None);
        assert_eq!(ask(1, 1), None, "the one after it");
    }

    #[test]
    fn what_passes_anew_may_be_repaired_again() {
        let mut drops = dropped(&[1, 2]);
        drops.on_data(&stream(1), START + 100, 100);
        assert_eq!(part(&mut drops, 1, 2), None);
        assert!(part(&mut drops, 2, 3).is_some());
        drops.on_data(&stream(1), START + 200, 100);
        assert_eq!(part(&mut drops, 0, 9), None);
    }

    #[test]
    fn streams_and_their_ranges_are_bounded() {
        let mut drops = dropped(&[1]);
        for connection in [2, 3] {
            drops.on_drop(Instant::from_millis(connection.into()), &stream(connection), START, 100);
        }
        assert_eq!(part(&mut drops, 1, 2), None, "the one that was silent longest");
        let mut drops = dropped(&(0..=MOST_RANGES as u32).map(|place| 2 * place).collect::<Vec<_>>());
        assert_eq!(part(&mut drops, 0, 1), None, "the lowest");
        assert!(part(&mut drops, 2, 3).is_some());
        drops.on_drop(Instant::ZERO, &stream(1), START + (1 << 31), 100);
        assert_eq!(part(&mut drops, 2, 3), None, "far away another stream has begun");
    }
}
