//! The lanes that end at an edge, each with what waits for its place.

use std::collections::BTreeSet;

use handfast_core::{Instant, SeqNum};
use handfast_wire::Packet;
use handfast_wire::sdtp::Stream;

use crate::recent::{Place, Recent};
use crate::sdtp::detection::Extent;
use crate::sdtp::following::Following;
use crate::sdtp::resequence::{Bounds, Incoming, Resequencer};

#[derive(Debug)]
struct Receiver {
    resequencer: Resequencer<Packet>,
    /// The time of its entry among the timers, which is not after its deadline.
    entered: Option<Instant>,
}

/// The receiving ends of lanes.
#[derive(Debug)]
pub(in super::super) struct Receivers {
    lanes: Recent<Receiver, Stream>,
    timers: BTreeSet<(Instant, Stream)>,
    bounds: Bounds,
    following: Following,
}

impl Receivers {
    /// Ends `most` lanes at most.
    pub(in super::super) fn new(most: usize, bounds: Bounds) -> Self {
        Self { lanes: Recent::new(most), timers: BTreeSet::new(), bounds, following: Following::default() }
    }

    pub(in super::super) fn len(&self) -> usize {
        self.lanes.len()
    }

    /// Another edge was here until now.
    pub(in super::super) fn follow(&mut self, now: Instant) {
        self.following.begin(now);
    }

    /// Packets that wait for their place, and their bytes.
    pub(in super::super) fn waiting(&self) -> (usize, u64) {
        let waiting = self.lanes.values().map(|lane| (lane.resequencer.held(), lane.resequencer.bytes()));
        waiting.fold((0, 0), |(packets, bytes), (more, of)| (packets + more, bytes + of))
    }

    /// A packet has come, perhaps as an RD. A first transmission passes whatever its number: an edge that begins anew may give one
    /// again. Those that go on to hosts are added to `out`.
    pub(in super::super) fn on_packet(
        &mut self,
        now: Instant,
        stream: &Stream,
        (extent, repeat): (Extent, bool),
        packet: Packet,
        out: &mut Vec<Packet>,
    ) {
        let place = self.lanes.find(stream).unwrap_or_else(|| self.begin(now, stream, extent, out));
        let Extent { seq, len, .. } = extent;
        let facts = Incoming { seq, len, bytes: packet.ip_len() as u32, timestamp: None, only: repeat };
        self.lanes.touch(now, place).resequencer.on_data(now, facts, packet, out);
        self.rearm(*stream, place);
    }

    fn begin(&mut self, now: Instant, stream: &Stream, extent: Extent, out: &mut Vec<Packet>) -> Place {
        if let Some(silent) = self.lanes.in_the_way() {
            self.forget(&silent, out);
        }
        let resequencer =
            Resequencer::new(self.following.start(now, extent.seq, extent.start()), self.bounds);
        self.lanes.insert(now, *stream, Receiver { resequencer, entered: None })
    }

    /// What waits in it goes on.
    fn forget(&mut self, stream: &Stream, out: &mut Vec<Packet>) {
        let Some(mut lane) = self.lanes.remove(stream) else { return };
        lane.resequencer.flush(out);
        if let Some(entered) = lane.entered {
            self.timers.remove(&(entered, *stream));
        }
    }

    /// These packets will not come.
    pub(in super::super) fn on_never(
        &mut self,
        stream: &Stream,
        start: SeqNum,
        end: SeqNum,
        out: &mut Vec<Packet>,
    ) {
        let Some(place) = self.lanes.find(stream) else { return };
        self.lanes.get_mut(place).resequencer.on_never(start, end, out);
        self.rearm(*stream, place);
    }

    /// What has waited too long goes on.
    pub(in super::super) fn on_timer(&mut self, now: Instant, out: &mut Vec<Packet>) {
        while let Some(&(entered, stream)) = self.timers.first()
            && entered <= now
        {
            self.timers.pop_first();
            let Some(place) = self.lanes.find(&stream) else { continue };
            let lane = self.lanes.get_mut(place);
            lane.entered = None;
            lane.resequencer.on_timer(now, out);
            self.rearm(stream, place);
        }
    }

    /// Enters a deadline. One that moves later leaves its entry where it is until that comes up.
    fn rearm(&mut self, stream: Stream, place: Place) {
        let lane = self.lanes.get_mut(place);
        let Some(due) = lane.resequencer.deadline() else { return };
        if lane.entered.is_some_and(|entered| entered <= due) {
            return;
        }
        if let Some(old) = lane.entered.replace(due) {
            self.timers.remove(&(old, stream));
        }
        self.timers.insert((due, stream));
    }

    /// Not after the first deadline of a lane.
    pub(in super::super) fn deadline(&self) -> Option<Instant> {
        self.timers.first().map(|&(entered, _)| entered)
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use handfast_core::Duration;
    use handfast_wire::tcp::Segment;
    use handfast_wire::{Body, Datagram, Payload};

    use super::*;

    const EDGES: [IpAddr; 2] =
        [IpAddr::V4(Ipv4Addr::new(192, 0, 2, 8)), IpAddr::V4(Ipv4Addr::new(192, 0, 2, 9))];

    fn stream(connection: u16) -> Stream {
        Stream { from: EDGES[0], to: EDGES[1], slice: 1, connection }
    }

    fn packet(number: u16) -> Packet {
        let body = Body::Udp(Datagram { src_port: number, dst_port: 1, payload: Payload::EMPTY });
        Packet { body, ..Packet::tcp(EDGES[0], EDGES[1], Segment::EMPTY) }
    }

    fn numbers(packets: &[Packet]) -> Vec<u16> {
        let of = |packet: &Packet| match &packet.body {
            Body::Udp(datagram) => datagram.src_port,
            other => panic!("{other:?}"),
        };
        packets.iter().map(of).collect()
    }

    struct Bench {
        receivers: Receivers,
        out: Vec<Packet>,
    }

    impl Bench {
        fn new(most: usize) -> Self {
            Self { receivers: Receivers::new(most, Bounds::default()), out: Vec::new() }
        }

        fn come(&mut self, ms: u64, lane: u16, number: u16) {
            let extent = Extent { seq: SeqNum(number.into()), len: 1, since_start: number };
            self.receivers.on_packet(
                Instant::from_millis(ms),
                &stream(lane),
                (extent, false),
                packet(number),
                &mut self.out,
            );
        }

        fn left(&mut self) -> Vec<u16> {
            let left = numbers(&self.out);
            self.out.clear();
            left
        }
    }

    #[test]
    fn packets_behind_a_hole_wait_and_those_of_other_lanes_do_not() {
        let mut bench = Bench::new(8);
        bench.come(0, 1, 1);
        bench.come(0, 2, 0);
        assert_eq!(bench.left(), [0], "of the other lane");
        bench.come(10, 1, 0);
        assert_eq!(bench.left(), [0, 1]);
        assert_eq!(bench.receivers.deadline(), Some(Instant::from_millis(200)), "an entry that is too early");
        bench.receivers.on_timer(Instant::from_millis(200), &mut bench.out);
        assert_eq!((bench.left(), bench.receivers.deadline()), (vec![], None));
    }

    #[test]
    fn a_hole_is_waited_for_as_long_as_the_persistence_or_until_it_is_known_to_stay() {
        let mut bench = Bench::new(8);
        bench.come(0, 1, 0);
        bench.come(5, 1, 2);
        assert_eq!(bench.left(), [0]);
        let due = Instant::from_millis(5) + Bounds::default().persistence;
        assert_eq!(bench.receivers.deadline(), Some(due));
        bench.receivers.on_timer(due - Duration::from_nanos(1), &mut bench.out);
        assert!(bench.left().is_empty());
        bench.receivers.on_timer(due, &mut bench.out);
        assert_eq!(bench.left(), [2]);
        bench.come(300, 1, 4);
        bench.receivers.on_never(&stream(1), SeqNum(3), SeqNum(4), &mut bench.out);
        assert_eq!(bench.left(), [4]);
    }

    #[test]
    fn a_lane_in_the_way_loses_nothing() {
        let mut bench = Bench::new(1);
        bench.come(0, 1, 7);
        assert!(bench.left().is_empty());
        bench.come(1, 2, 0);
        assert_eq!(bench.left(), [7, 0]);
        assert_eq!(bench.receivers.deadline(), None, "the timer of the first one is gone");
    }
}
