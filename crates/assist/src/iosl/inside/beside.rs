//! What goes beside a connection: datagrams that nobody acknowledges, counted against the connection's window.
//!
//! RFC 8085 §3.1 wants a bound where nobody says what was lost. Here it is the window that TCP has: in a round trip no more leaves than
//! that, what TCP has under way included. As long as only datagrams go the window is what it was at first (RFC 6928), since
//! nothing that is acknowledged makes it larger. Whoever has more to send does not send more: it goes on the connection, as frames,
//! whose acknowledgments make the window larger, until the connection has nothing left to send. Then it goes beside it again.

use std::collections::VecDeque;
use std::net::SocketAddr;

use bytes::Bytes;
use handfast_core::{Duration, Instant};
use handfast_tcp::Snapshot;
use handfast_wire::tcp::in_udp::{BESIDE_DATAGRAM, Number, OWN_HEADER_LEN, emit_beside};

use super::{Connections, InsideId, Leaving, One, Stands};

/// Octets that go beside a connection at once, at most.
pub const MOST_BESIDE: usize = BESIDE_DATAGRAM - OWN_HEADER_LEN;

/// Datagrams that have come and nobody has taken, at most: a driver takes each at once.
const MOST_CAME: usize = 1_024;

/// Before a round trip was measured (RFC 6298 §2.1).
const UNKNOWN_TRIP: Duration = Duration::from_secs(1);

/// What waits for sockets, and for the driver.
#[derive(Debug, Default)]
pub(super) struct Queues {
    to_send: VecDeque<(InsideId, Vec<u8>)>,
    came: VecDeque<(InsideId, Bytes)>,
}

/// What has gone beside a connection of late.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Beside {
    /// Octets that may still be under way: what left a round trip ago has arrived, or is lost.
    under_way: u64,
    since: Instant,
    /// The window was full: all goes on the connection until that has nothing left.
    is_over: bool,
}

impl Beside {
    /// Whether something more may leave. `left`: what the connection has to send still.
    fn may_send(&mut self, now: Instant, path: &Snapshot, left: u64) -> bool {
        self.pass(now, path);
        if self.is_over {
            self.is_over = left + path.flight_size > 0;
        } else {
            self.is_over = self.under_way + path.flight_size >= path.cwnd;
        }
        !self.is_over
    }

    fn on_sent(&mut self, octets: u64) {
        self.under_way += octets;
    }

    /// In a round trip a window's worth arrives.
    fn pass(&mut self, now: Instant, path: &Snapshot) {
        let trip = if path.srtt == Duration::ZERO { UNKNOWN_TRIP } else { path.srtt };
        let passed = u128::from(now.since(self.since).as_nanos()) * u128::from(path.cwnd);
        let arrived = u64::try_from(passed / u128::from(trip.as_nanos())).unwrap_or(u64::MAX);
        if arrived > 0 {
            (self.under_way, self.since) = (self.under_way.saturating_sub(arrived), now);
        }
    }
}

impl Connections {
    /// Whether a datagram may go beside a connection now. If not it may go on it. Beside an association none does: it has no form for
    /// that.
    pub fn may_send_beside(&mut self, now: Instant, id: InsideId) -> bool {
        let is_there = self.stands(id) == Stands::Open;
        let stream = self.all.get_mut(&id).and_then(One::stream_mut);
        // An address that has shown nothing has its three times for the handshake (RFC 9000 §8.1).
        let Some(stream) = stream.filter(|stream| is_there && stream.is_valid) else { return false };
        let (path, left) = (stream.endpoint.snapshot(now), stream.endpoint.unsent());
        stream.beside.may_send(now, &path, left)
    }

    /// Sends one, of [`MOST_BESIDE`] octets at most. It may get lost, here too: where its socket has no room.
    pub fn send_beside(&mut self, id: InsideId, sealed: &[u8]) {
        let stream = self.all.get_mut(&id).and_then(One::stream_mut);
        let Some(stream) = stream.filter(|_| sealed.len() <= MOST_BESIDE) else { return };
        stream.beside.on_sent((OWN_HEADER_LEN + sealed.len()) as u64);
        self.tcp.beside.to_send.push_back((id, sealed.to_vec()));
    }

    /// What has come beside a connection.
    pub fn receive_beside(&mut self) -> Option<(InsideId, Bytes)> {
        self.tcp.beside.came.pop_front()
    }

    /// Something beside a connection: one of nobody's is dropped. Whether it is that connection's whoever has the keys knows.
    pub(super) fn on_beside(
        &mut self,
        now: Instant,
        key: (SocketAddr, Number),
        sealed: Bytes,
    ) -> Option<InsideId> {
        let id = self.tcp.find(key)?;
        if self.stream(id).is_some_and(|stream| !stream.is_valid) {
            self.tcp.validation.on_received(now, key.0, (OWN_HEADER_LEN + sealed.len()) as u64);
        }
        if self.tcp.beside.came.len() < MOST_CAME {
            self.tcp.beside.came.push_back((id, sealed));
        }
        Some(id)
    }

    /// The next one to leave, appended to `out`. What finds no room is lost, as at a full interface.
    pub(super) fn next_beside(
        &mut self,
        out: &mut Vec<u8>,
        has_room: impl Fn(InsideId) -> bool,
    ) -> Option<Leaving> {
        while let Some((id, sealed)) = self.tcp.beside.to_send.pop_front() {
            let one = self.all.get(&id).filter(|_| has_room(id));
            if let Some((one, stream)) = one.and_then(|one| Some((one, one.stream()?))) {
                emit_beside(stream.number, &sealed, out);
                return Some(Leaving { of: Some(id), from: stream.local, to: one.peer });
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn path(cwnd: u64, flight_size: u64) -> Snapshot {
        let (srtt, rto) = (Duration::from_millis(100), Duration::from_millis(300));
        Snapshot { cwnd, ssthresh: u64::MAX, flight_size, srtt, rto, sent: 0, acknowledged: 0 }
    }

    fn at(ms: u64) -> Instant {
        Instant::from_millis(1_000 + ms)
    }

    #[test]
    fn a_call_goes_beside_and_a_flood_goes_on_the_connection_until_that_is_idle() {
        let mut beside = Beside::default();
        for number in 0..500 {
            assert!(beside.may_send(at(20 * number), &path(12_000, 0), 0), "a call");
            beside.on_sent(200);
        }
        let sent = (0..100).take_while(|_| {
            let may = beside.may_send(at(10_000), &path(12_000, 0), 0);
            beside.on_sent(1_000);
            may
        });
        assert_eq!(sent.count(), 12, "a window");
        assert!(!beside.may_send(at(11_000), &path(12_000, 1), 0), "nor what would overtake");
        assert!(!beside.may_send(at(11_000), &path(12_000, 0), 1));
        assert!(beside.may_send(at(11_000), &path(12_000, 0), 0));
    }

    /// RFC 6298 §2.1: as if a round trip took a second.
    #[test]
    fn a_path_that_was_not_measured_gets_a_window_a_second() {
        let unknown = Snapshot { srtt: Duration::ZERO, ..path(12_000, 0) };
        for (wait, may) in [(999, false), (1_001, true)] {
            let mut beside = Beside::default();
            assert!(beside.may_send(at(0), &unknown, 0));
            beside.on_sent(24_000);
            assert_eq!(beside.may_send(at(wait), &unknown, 0), may, "after {wait} ms");
        }
    }

    /// What is asked so often that less than an octet has arrived meanwhile is no time lost.
    #[test]
    fn to_ask_often_changes_nothing() {
        let slow = path(1_000, 0);
        let mut beside = Beside::default();
        assert!(beside.may_send(at(0), &slow, 0));
        beside.on_sent(1_500);
        let asked = (1..100_000).map(|turn| at(0) + Duration::from_micros(turn));
        let first = asked.into_iter().find(|now| {
            // Whether the connection is full is not asked: that would be so until nothing is left.
            beside.pass(*now, &slow);
            beside.under_way < 1_000
        });
        let took = first.unwrap().since(at(0)).as_millis();
        assert!((50..=51).contains(&took), "{took} ms for half a window, whose round trip takes 100 ms");
    }

    proptest! {
        /// In any round trip no more leaves than two windows: what was under way at its beginning, and what came free within it.
        #[test]
        fn no_more_leaves_than_the_window_has_room_for(steps in prop::collection::vec((0u64..20, 1u64..1_232), 1..400)) {
            let (mut beside, mut now, mut left) = (Beside::default(), at(0), Vec::new());
            for (wait, len) in steps {
                now += Duration::from_millis(wait);
                if beside.may_send(now, &path(12_000, 0), 0) {
                    beside.on_sent(len);
                    left.push((now, len));
                }
                let begin = now.as_nanos() - Duration::from_millis(100).as_nanos();
                let of_trip: u64 = left.iter().filter(|(at, _)| at.as_nanos() > begin).map(|(_, len)| len).sum();
                prop_assert!(of_trip <= 2 * 12_000 + 1_232, "{of_trip}");
            }
        }
    }
}
