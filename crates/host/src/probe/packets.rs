//! When each packet of a stream was written, sent, had arrived and was delivered.
//!
//! A packet is one write of an application that writes at set times; of any other application, what one segment has sent first.
//! Segments may cut the bytes otherwise when they are repeated: a packet has arrived when all of its bytes have.

use handfast_core::{Bytes, Duration, Instant};

use super::arrivals::Arrivals;

/// What has not happened.
const NEVER: Instant = Instant::MAX;

/// A packet: it begins where the one before ends.
#[derive(Clone, Copy, Debug)]
struct Packet {
    /// The position after its last byte.
    end: u64,
    /// When its first byte was sent first; [`NEVER`]: not known.
    sent: Instant,
    arrived: Instant,
    delivered: Instant,
}

/// Writes of `size` bytes every `interval` from `start` on.
#[derive(Clone, Copy, Debug)]
struct Writes {
    size: u64,
    interval: Duration,
    start: Instant,
}

/// The times of one packet; [`None`]: it has not happened, or is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketTime {
    /// When the application wrote it; not known of one that writes as there is room.
    pub written: Option<Instant>,
    /// When its first byte was sent first; not known where a kernel sends it.
    pub sent: Option<Instant>,
    /// When the last of its bytes had come to the receiving host.
    pub arrived: Option<Instant>,
    /// When the receiving application had got all of it, in order.
    pub delivered: Option<Instant>,
}

/// The packets of a stream, up to a number of them.
#[derive(Debug)]
pub struct PacketTimes {
    /// [`None`]: the application writes as there is room.
    writes: Option<Writes>,
    most: usize,
    packets: Vec<Packet>,
    /// Where the next packet begins.
    next: u64,
    arrivals: Arrivals,
    /// So many are delivered.
    delivered: usize,
    unmeasured: u64,
}

impl PacketTimes {
    /// Of an application that writes that much that often from `start` on; [`None`]: as there is room.
    pub(super) fn new(writes: Option<(Bytes, Duration)>, start: Instant, most: usize) -> Self {
        let writes = writes.map(|(size, interval)| Writes { size: size.get(), interval, start });
        // An application that writes nothing sends nothing.
        let writes = writes.filter(|writes| writes.size > 0);
        let (packets, arrivals) = (Vec::new(), Arrivals::default());
        Self { writes, most, packets, next: 0, arrivals, delivered: 0, unmeasured: 0 }
    }

    /// A segment with these bytes is sent, perhaps not for the first time.
    pub(super) fn on_sent(&mut self, now: Instant, offset: u64, len: u64) {
        let end = offset + len;
        while self.next < end {
            self.next = self.writes.map_or(end, |writes| (self.next / writes.size + 1) * writes.size);
            if self.packets.len() < self.most {
                let packet = Packet { end: self.next, sent: now, arrived: NEVER, delivered: NEVER };
                self.packets.push(packet);
            } else {
                self.unmeasured += 1;
            }
        }
    }

    /// The application has given these bytes to a kernel, which sends them when it will.
    pub(super) fn on_written(&mut self, offset: u64, len: u64) {
        self.on_sent(NEVER, offset, len);
    }

    /// A segment with these bytes has arrived, perhaps not for the first time.
    pub(super) fn on_arrival(&mut self, now: Instant, offset: u64, len: u64) {
        let end = offset + len;
        if len == 0 || self.packets.last().is_none_or(|last| offset >= last.end) {
            return;
        }
        let (from, to) = self.arrivals.add(offset, end);
        let mut place = self.packets.partition_point(|packet| packet.end <= offset);
        while place < self.packets.len() && self.begin(place) < end {
            let whole = self.begin(place) >= from && self.packets[place].end <= to;
            let packet = &mut self.packets[place];
            if whole && packet.arrived == NEVER {
                packet.arrived = now;
            }
            place += 1;
        }
    }

    /// The receiving application has got so many bytes.
    pub(super) fn on_delivered(&mut self, now: Instant, bytes: u64) {
        let waiting = self.packets[self.delivered..].iter_mut();
        let got = waiting.take_while(|packet| packet.end <= bytes);
        self.delivered += got.map(|packet| packet.delivered = now).count();
    }

    fn begin(&self, place: usize) -> u64 {
        place.checked_sub(1).map_or(0, |before| self.packets[before].end)
    }

    /// Those that were sent, in order.
    pub fn iter(&self) -> impl Iterator<Item = PacketTime> + '_ {
        let known = |at: Instant| (at != NEVER).then_some(at);
        (0..).zip(&self.packets).map(move |(number, packet)| PacketTime {
            written: self.writes.map(|Writes { interval, start, .. }| start + interval * number),
            sent: known(packet.sent),
            arrived: known(packet.arrived),
            delivered: known(packet.delivered),
        })
    }

    /// Packets that were sent after the last one that is measured.
    pub fn unmeasured(&self) -> u64 {
        self.unmeasured
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    fn bulk(most: usize) -> PacketTimes {
        PacketTimes::new(None, at(0), most)
    }

    fn paced(size: u64) -> PacketTimes {
        PacketTimes::new(Some((Bytes(size), Duration::from_millis(15))), at(100), 9)
    }

    /// Milliseconds, 0 for what has not happened.
    fn times(packets: &PacketTimes) -> Vec<[u64; 3]> {
        let ms = |at: Option<Instant>| at.map_or(0, |at| at.as_nanos() / 1_000_000);
        packets.iter().map(|one| [ms(one.sent), ms(one.arrived), ms(one.delivered)]).collect()
    }

    #[test]
    fn a_packet_that_was_lost_holds_up_those_behind_it() {
        let mut packets = bulk(9);
        for (ms, offset) in [(1, 0), (2, 100), (3, 200)] {
            packets.on_sent(at(ms), offset, 100);
        }
        packets.on_arrival(at(11), 0, 100);
        packets.on_delivered(at(11), 100);
        packets.on_arrival(at(13), 200, 100);
        packets.on_sent(at(20), 100, 100);
        packets.on_arrival(at(30), 100, 100);
        packets.on_delivered(at(30), 300);
        assert_eq!(times(&packets), [[1, 11, 11], [2, 30, 30], [3, 13, 30]]);
        assert!(packets.iter().all(|packet| packet.written.is_none()));
    }

    #[test]
    fn a_retransmission_may_cut_bytes_otherwise() {
        let mut packets = bulk(9);
        packets.on_sent(at(1), 0, 100);
        packets.on_sent(at(2), 100, 100);
        // Half of the second one, then what overlaps both and has new bytes too.
        packets.on_arrival(at(5), 150, 50);
        packets.on_sent(at(6), 50, 250);
        packets.on_arrival(at(8), 50, 250);
        assert_eq!(times(&packets), [[1, 0, 0], [2, 8, 0], [6, 8, 0]]);
        packets.on_arrival(at(9), 0, 100);
        packets.on_arrival(at(10), 0, 300);
        assert_eq!(times(&packets), [[1, 9, 0], [2, 8, 0], [6, 8, 0]]);
    }

    #[test]
    fn of_a_paced_application_each_write_is_a_packet() {
        let mut packets = paced(100);
        // Two writes and a half in one segment, then the rest of the third.
        packets.on_sent(at(200), 0, 250);
        packets.on_sent(at(210), 250, 50);
        packets.on_arrival(at(260), 0, 250);
        packets.on_delivered(at(260), 250);
        packets.on_arrival(at(270), 250, 50);
        packets.on_delivered(at(275), 300);
        assert_eq!(times(&packets), [[200, 260, 260], [200, 260, 260], [200, 270, 275]]);
        let written: Vec<_> = packets.iter().map(|packet| packet.written).collect();
        assert_eq!(written, [100, 115, 130].map(|ms| Some(at(ms))));
    }

    #[test]
    fn of_what_a_kernel_sends_only_writing_and_delivery_are_known() {
        let mut packets = paced(100);
        packets.on_written(0, 100);
        packets.on_written(100, 100);
        packets.on_delivered(at(160), 150);
        assert_eq!(times(&packets), [[0, 0, 160], [0, 0, 0]]);
        assert!(packets.iter().all(|packet| packet.sent.is_none() && packet.written.is_some()));
    }

    #[test]
    fn beyond_the_bound_packets_are_counted_only() {
        let mut packets = bulk(2);
        for offset in [0, 100, 200, 300] {
            packets.on_sent(at(1), offset, 100);
            packets.on_arrival(at(2), offset, 100);
        }
        packets.on_delivered(at(3), 400);
        assert_eq!((times(&packets), packets.unmeasured()), (vec![[1, 2, 3]; 2], 2));
    }

    #[test]
    fn writes_of_nothing_are_no_packets() {
        let mut packets = paced(0);
        packets.on_sent(at(1), 0, 0);
        packets.on_arrival(at(2), 0, 0);
        assert_eq!(packets.iter().count(), 0);
    }
}
