//! The receiver: arrivals, reassembly and the room for them (§6.2).

use bytes::Bytes;
use handfast_core::SeqNum;
use handfast_wire::sctp::{Data, Sack};

use super::arrivals::{Arrival, Arrivals};
use super::reassembly::Reassembly;
use crate::Message;
use crate::tsn::{self, Tsn};

/// Chunks of this size on average fill the buffer by their number as well as by their bytes: what holds a chunk takes memory too.
const SMALL_CHUNK: u64 = 16;

/// The most ranges of TSNs beyond the cumulative one, whatever the buffer: what is read leaves its range behind, and a SACK names some
/// hundreds.
const MOST_RANGES: u64 = 4096;

/// What the receiver has of the peer.
#[derive(Clone, Debug)]
pub(crate) struct Inbound {
    arrivals: Arrivals,
    held: Reassembly,
    capacity: u64,
    /// What the last SACK, or INIT, advertised.
    advertised: u64,
}

/// Why a chunk was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// It was there already.
    Duplicate,
    /// There is no room for it now.
    NoRoom,
    /// There is no such stream: the TSN counts as arrived (§6.5).
    Stream,
    /// There will never be room: what has arrived in order is no message yet, and fills the buffer.
    NeverRoom,
}

impl Inbound {
    pub(crate) fn new(first: SeqNum, streams: u16, capacity: u64) -> Self {
        let held = Reassembly::new(streams);
        Self { arrivals: Arrivals::new(tsn::first(first)), held, capacity, advertised: capacity }
    }

    /// The peer begins anew: what is whole can still be read.
    pub(crate) fn restart(&mut self, first: SeqNum, streams: u16) {
        self.arrivals = Arrivals::new(tsn::first(first));
        self.held.restart(streams);
    }

    /// The cumulative TSN ack point.
    pub(crate) fn cumulative(&self) -> SeqNum {
        tsn::to_wire(self.arrivals.cumulative())
    }

    pub(crate) const fn has_gaps(&self) -> bool {
        self.arrivals.has_gaps()
    }

    /// A DATA chunk with user data has come.
    pub(crate) fn on_data(&mut self, data: &Data) -> Result<(), Refused> {
        let point = self.arrivals.cumulative();
        let tsn = tsn::nearest(point, data.tsn);
        match self.arrivals.classify(tsn) {
            Arrival::New => {}
            Arrival::Duplicate => return Err(Refused::Duplicate),
            Arrival::Beyond => return Err(Refused::NoRoom),
        }
        // Chunks that take no room here take some there: those of no stream, those that others replace, those that were read.
        if self.arrivals.is_apart(tsn) && self.arrivals.ranges() as u64 >= self.most_items().min(MOST_RANGES)
        {
            return Err(Refused::NoRoom);
        }
        if !self.held.has_stream(data.stream) {
            self.arrivals.insert(tsn);
            return Err(Refused::Stream);
        }
        self.make_room(tsn, data.payload.len() as u64)?;
        self.arrivals.insert(tsn);
        // A small chunk must not keep the large packet that it came in.
        let payload = Bytes::copy_from_slice(&data.payload);
        self.held.insert(tsn, Data { payload, ..data.clone() });
        Ok(())
    }

    /// §6.2: what fills the first hole has precedence over what is behind it.
    fn make_room(&mut self, tsn: Tsn, len: u64) -> Result<(), Refused> {
        let is_next = tsn == self.arrivals.cumulative() + 1;
        while self.held.bytes() + len > self.capacity || self.held.items() as u64 >= self.most_items() {
            if !is_next {
                return Err(Refused::NoRoom);
            }
            let Some(evicted) = self.held.evict(tsn) else {
                return Err(if self.held.is_readable() { Refused::NoRoom } else { Refused::NeverRoom });
            };
            for tsn in evicted {
                self.arrivals.remove(tsn);
            }
        }
        Ok(())
    }

    const fn most_items(&self) -> u64 {
        self.capacity / SMALL_CHUNK
    }

    /// `a_rwnd`.
    fn room(&self) -> u64 {
        // Many small chunks: closed before their number is the limit, so that what is under way still finds room.
        if self.held.items() as u64 >= self.most_items() / 4 * 3 {
            return 0;
        }
        self.capacity.saturating_sub(self.held.bytes())
    }

    /// Bytes, items and ranges that are held.
    pub(crate) fn held(&self) -> (u64, usize, usize) {
        (self.held.bytes(), self.held.items(), self.arrivals.ranges())
    }

    pub(crate) fn read(&mut self) -> Option<Message> {
        self.held.read()
    }

    /// Whether the window has opened so far that the peer has to hear of it: silly windows are not worth a SACK (§6.2).
    pub(crate) fn has_opened(&self, chunk: u64) -> bool {
        let worth = (2 * chunk).min(self.capacity / 2);
        let room = self.room();
        self.advertised < worth && room >= worth || room >= self.advertised + self.capacity / 2
    }

    /// The SACK that leaves now; it has room for so many gap blocks.
    pub(crate) fn sack(&mut self, duplicates: Vec<SeqNum>, most_gaps: usize) -> Sack {
        self.advertised = self.room();
        Sack {
            cumulative: self.cumulative(),
            a_rwnd: u32::try_from(self.advertised).unwrap_or(u32::MAX),
            gaps: self.arrivals.gaps(most_gaps),
            duplicates,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(tsn: u32, len: usize) -> Data {
        Data {
            tsn: SeqNum(tsn),
            stream: 0,
            ssn: (tsn - 1) as u16,
            ppid: 0,
            unordered: false,
            begin: true,
            end: true,
            immediate: false,
            payload: Bytes::from(vec![7; len]),
        }
    }

    #[test]
    fn the_window_is_what_is_left_of_the_buffer() {
        let mut inbound = Inbound::new(SeqNum(1), 1, 1000);
        inbound.on_data(&data(1, 300)).unwrap();
        inbound.on_data(&data(3, 300)).unwrap();
        let sack = inbound.sack(Vec::new(), 9);
        assert_eq!((sack.cumulative, sack.a_rwnd, sack.gaps.len()), (SeqNum(1), 400, 1));
        assert_eq!(inbound.on_data(&data(5, 401)), Err(Refused::NoRoom));
        assert_eq!(inbound.on_data(&data(3, 300)), Err(Refused::Duplicate));
    }

    #[test]
    fn the_first_hole_has_precedence_over_what_is_behind_it() {
        let mut inbound = Inbound::new(SeqNum(1), 1, 1000);
        let fragment = |tsn, begin| Data { ssn: 1, begin, end: false, ..data(tsn, 500) };
        inbound.on_data(&fragment(2, true)).unwrap();
        inbound.on_data(&fragment(3, false)).unwrap();
        inbound.on_data(&data(1, 500)).unwrap();
        let sack = inbound.sack(Vec::new(), 9);
        assert_eq!((sack.cumulative, sack.a_rwnd, sack.gaps), (SeqNum(2), 0, vec![]), "TSN 3 gave way");
    }

    #[test]
    fn a_message_that_fills_the_buffer_is_noticed() {
        let mut inbound = Inbound::new(SeqNum(1), 1, 1000);
        let fragment = |tsn| Data { ssn: 0, begin: tsn == 1, end: false, ..data(tsn, 500) };
        inbound.on_data(&fragment(1)).unwrap();
        inbound.on_data(&fragment(2)).unwrap();
        assert_eq!(inbound.on_data(&fragment(3)), Err(Refused::NeverRoom));
    }

    #[test]
    fn many_small_chunks_close_the_window() {
        let mut inbound = Inbound::new(SeqNum(1), 1, 1600);
        for tsn in 1..=75 {
            inbound.on_data(&data(tsn, 1)).unwrap();
        }
        assert_eq!(inbound.sack(Vec::new(), 9).a_rwnd, 0);
        for tsn in 76..=100 {
            inbound.on_data(&data(tsn, 1)).unwrap();
        }
        assert_eq!(inbound.on_data(&data(101, 1)), Err(Refused::NoRoom));
        while inbound.read().is_some() {}
        assert!(inbound.has_opened(1468));
    }

    #[test]
    fn messages_that_wait_give_way_to_the_first_hole() {
        let mut inbound = Inbound::new(SeqNum(1), 1, 20_000);
        for tsn in 2..=1251 {
            inbound.on_data(&data(tsn, 1)).unwrap();
        }
        assert_eq!(inbound.on_data(&data(1252, 1)), Err(Refused::NoRoom));
        inbound.on_data(&data(1, 1)).unwrap();
        assert_eq!((inbound.cumulative(), inbound.has_gaps()), (SeqNum(1250), false), "TSN 1251 gave way");
        assert_eq!(inbound.on_data(&data(1251, 1)), Err(Refused::NoRoom), "until something is read");
        assert_eq!(std::iter::from_fn(|| inbound.read()).count(), 1250);
        inbound.on_data(&data(1251, 1)).unwrap();
    }

    /// A message of several chunks is dropped whole, with all its TSNs.
    #[test]
    fn a_long_message_that_waits_gives_way() {
        let mut inbound = Inbound::new(SeqNum(1), 1, 1000);
        let part = |tsn, begin| Data { ssn: 1, begin, end: !begin, ..data(tsn, 400) };
        inbound.on_data(&part(2, true)).unwrap();
        inbound.on_data(&part(3, false)).unwrap();
        inbound.on_data(&data(1, 300)).unwrap();
        assert_eq!((inbound.cumulative(), inbound.has_gaps()), (SeqNum(1), false));
        assert_eq!(inbound.held().0, 300);
    }

    /// None of these takes a byte of the buffer.
    #[test]
    fn alternating_tsns_make_no_more_ranges_than_the_buffer_allows() {
        let streams = |tsn| Data { stream: 9, ..data(tsn, 1) };
        let numbers = |tsn| Data { ssn: 7, ..data(tsn, 1) };
        let read = |tsn| Data { unordered: true, ..data(tsn, 1) };
        for (capacity, most) in [(20_000, 1250), (1 << 20, 4096)] {
            for of in [&streams as &dyn Fn(u32) -> Data, &numbers, &read] {
                let mut inbound = Inbound::new(SeqNum(1), 1, capacity);
                let refused = (2..20_000).step_by(2).filter(|&tsn| {
                    let refused = inbound.on_data(&of(tsn)) == Err(Refused::NoRoom);
                    inbound.read();
                    refused
                });
                assert_eq!(refused.count(), 9_999 - most);
                assert_eq!(inbound.held().2, most);
                // What closes a hole is taken.
                assert_ne!(inbound.on_data(&of(1)), Err(Refused::NoRoom));
                assert_eq!(inbound.cumulative(), SeqNum(2));
            }
        }
    }

    #[test]
    fn a_stream_that_is_not_there_counts_as_arrived() {
        let mut inbound = Inbound::new(SeqNum(1), 1, 1000);
        assert_eq!(inbound.on_data(&Data { stream: 1, ..data(1, 9) }), Err(Refused::Stream));
        assert_eq!(inbound.cumulative(), SeqNum(1));
    }
}
