//! Fragments to messages, messages into the order of their streams (§6.5, §6.9).

use std::collections::{BTreeMap, VecDeque};
use std::ops::RangeInclusive;

use bytes::{Bytes, BytesMut};
use handfast_wire::sctp::Data;

use super::fragments::Fragments;
use crate::Message;
use crate::tsn::Tsn;

/// What the receiver holds.
#[derive(Clone, Debug)]
pub(crate) struct Reassembly {
    fragments: Fragments,
    /// Whole messages whose turn in their stream has not come, by stream and SSN.
    waiting: BTreeMap<(u16, u16), Waiting>,
    /// The same by their last TSN: what is furthest makes room for what is missing.
    furthest: BTreeMap<Tsn, (u16, u16)>,
    ready: VecDeque<Message>,
    /// The SSN that each inbound stream goes on with.
    next_ssn: Vec<u16>,
    /// User data in all of these.
    bytes: u64,
}

/// A message that waits, and the TSNs that it came in.
#[derive(Clone, Debug)]
struct Waiting {
    message: Message,
    tsns: RangeInclusive<Tsn>,
}

impl Reassembly {
    pub(crate) fn new(streams: u16) -> Self {
        Self {
            fragments: Fragments::default(),
            waiting: BTreeMap::new(),
            furthest: BTreeMap::new(),
            ready: VecDeque::new(),
            next_ssn: vec![0; usize::from(streams)],
            bytes: 0,
        }
    }

    /// The peer begins anew: what is whole can still be read.
    pub(crate) fn restart(&mut self, streams: u16) {
        let ready = std::mem::take(&mut self.ready);
        let bytes = ready.iter().map(|message| message.data.len() as u64).sum();
        *self = Self { ready, bytes, ..Self::new(streams) };
    }

    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Fragments and messages.
    pub(crate) fn items(&self) -> usize {
        self.fragments.len() + self.waiting.len() + self.ready.len()
    }

    pub(crate) fn has_stream(&self, stream: u16) -> bool {
        usize::from(stream) < self.next_ssn.len()
    }

    pub(crate) fn is_readable(&self) -> bool {
        !self.ready.is_empty()
    }

    pub(crate) fn read(&mut self) -> Option<Message> {
        let message = self.ready.pop_front()?;
        self.bytes -= message.data.len() as u64;
        Some(message)
    }

    /// Takes a chunk of a stream that there is, with a TSN that is new.
    pub(crate) fn insert(&mut self, tsn: Tsn, data: Data) {
        self.bytes += data.payload.len() as u64;
        if data.begin && data.end {
            self.deliver(tsn..=tsn, data.ssn, message(&data, data.payload.clone()));
            return;
        }
        let Some((tsns, parts)) = self.fragments.insert(tsn, data) else { return };
        let mut whole = BytesMut::with_capacity(parts.iter().map(|part| part.payload.len()).sum());
        for part in &parts {
            whole.extend_from_slice(&part.payload);
        }
        self.deliver(tsns, parts[0].ssn, message(&parts[0], whole.freeze()));
    }

    /// A message is whole.
    fn deliver(&mut self, tsns: RangeInclusive<Tsn>, ssn: u16, message: Message) {
        if message.unordered {
            self.ready.push_back(message);
            return;
        }
        let (stream, next) = (message.stream, self.next_ssn[usize::from(message.stream)]);
        if next == ssn {
            self.ready.push_back(message);
            self.go_on(stream);
            return;
        }
        // Two messages of one number: the peer breaks §6.5; the later one stays.
        self.forget((stream, ssn));
        self.furthest.insert(*tsns.end(), (stream, ssn));
        self.waiting.insert((stream, ssn), Waiting { message, tsns });
    }

    /// A message of the stream has had its turn: so have those that it kept waiting.
    fn go_on(&mut self, stream: u16) {
        loop {
            let next = &mut self.next_ssn[usize::from(stream)];
            *next = next.wrapping_add(1);
            let Some(turn) = self.waiting.remove(&(stream, *next)) else { return };
            self.furthest.remove(turn.tsns.end());
            self.ready.push_back(turn.message);
        }
    }

    /// Drops a message that waits, if there is one of this number: its TSNs.
    fn forget(&mut self, number: (u16, u16)) -> Option<RangeInclusive<Tsn>> {
        let Waiting { message, tsns } = self.waiting.remove(&number)?;
        self.furthest.remove(tsns.end());
        self.bytes -= message.data.len() as u64;
        Some(tsns)
    }

    /// Drops the fragment or the message that waits with the highest TSN, if that is beyond `point`: its TSNs.
    pub(crate) fn evict(&mut self, point: Tsn) -> Option<RangeInclusive<Tsn>> {
        let fragment = self.fragments.last().filter(|&tsn| tsn > point);
        let message = self.furthest.last_key_value().filter(|&(&tsn, _)| tsn > point);
        match (fragment, message) {
            (fragment, Some((&last, &number))) if fragment.is_none_or(|tsn| tsn < last) => {
                self.forget(number)
            }
            (Some(tsn), _) => {
                self.bytes -= self.fragments.pop_last()?.payload.len() as u64;
                Some(tsn..=tsn)
            }
            (None, _) => None,
        }
    }
}

fn message(data: &Data, whole: Bytes) -> Message {
    Message { stream: data.stream, ppid: data.ppid, unordered: data.unordered, data: whole }
}

#[cfg(test)]
mod tests {
    use handfast_core::SeqNum;

    use super::*;

    fn data(ssn: u16, flags: &str, text: &'static str) -> Data {
        Data {
            tsn: SeqNum(0),
            stream: 1,
            ssn,
            ppid: 7,
            unordered: flags.contains('U'),
            begin: flags.contains('B'),
            end: flags.contains('E'),
            immediate: false,
            payload: Bytes::from_static(text.as_bytes()),
        }
    }

    fn texts(held: &mut Reassembly) -> Vec<String> {
        std::iter::from_fn(|| held.read()).map(|m| String::from_utf8(m.data.to_vec()).unwrap()).collect()
    }

    #[test]
    fn a_message_is_whole_with_its_last_fragment_in_any_order() {
        for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0], [0, 2, 1]] {
            let mut held = Reassembly::new(2);
            let parts = [data(0, "B", "one "), data(0, "", "two "), data(0, "E", "three")];
            for (n, &at) in order.iter().enumerate() {
                held.insert(100 + at as Tsn, parts[at].clone());
                assert_eq!(held.is_readable(), n == 2, "{order:?}");
            }
            assert_eq!(texts(&mut held), ["one two three"]);
            assert_eq!((held.bytes(), held.items()), (0, 0));
        }
    }

    #[test]
    fn messages_of_a_stream_wait_for_their_turn_and_others_do_not() {
        let mut held = Reassembly::new(2);
        held.insert(102, data(1, "BE", "second"));
        held.insert(103, Data { stream: 0, ..data(0, "BE", "other stream") });
        held.insert(104, data(9, "UBE", "unordered"));
        assert_eq!(texts(&mut held), ["other stream", "unordered"]);
        held.insert(101, data(0, "BE", "first"));
        assert_eq!(texts(&mut held), ["first", "second"]);
    }

    #[test]
    fn fragments_of_two_messages_do_not_mix() {
        let mut held = Reassembly::new(2);
        held.insert(100, data(0, "B", "a"));
        held.insert(101, data(1, "E", "b"));
        held.insert(102, data(0, "B", "c"));
        assert!(!held.is_readable());
        assert_eq!((held.bytes(), held.items()), (3, 3));
    }

    #[test]
    fn only_what_is_beyond_the_point_is_evicted() {
        let mut held = Reassembly::new(2);
        held.insert(100, data(0, "B", "a"));
        held.insert(102, data(0, "", "bc"));
        assert_eq!(held.evict(100), Some(102..=102));
        assert_eq!((held.evict(100), held.bytes()), (None, 1));
    }

    #[test]
    fn the_furthest_of_fragments_and_messages_is_evicted() {
        let mut held = Reassembly::new(2);
        held.insert(102, data(2, "BE", "two"));
        held.insert(103, data(3, "B", "th"));
        held.insert(104, data(3, "E", "ree"));
        held.insert(105, data(4, "B", "fo"));
        held.insert(101, data(1, "BE", "one"));
        held.insert(106, data(9, "UBE", "unordered"));
        let evicted: Vec<_> = std::iter::from_fn(|| held.evict(100)).collect();
        assert_eq!(evicted, [105..=105, 103..=104, 102..=102, 101..=101], "what may be read stays");
        assert_eq!((held.bytes(), held.items()), (9, 1));
        held.insert(100, data(0, "BE", "zero"));
        assert_eq!(texts(&mut held), ["unordered", "zero"]);
    }

    /// A walk over all fragments for each of them would take minutes.
    #[test]
    fn fragments_in_descending_order_take_no_longer() {
        let mut held = Reassembly::new(2);
        let count = 60_000;
        for tsn in (1..count).rev() {
            held.insert(1_000 + tsn, data(0, if tsn == count - 1 { "E" } else { "" }, "x"));
        }
        held.insert(1_000, data(0, "B", "x"));
        assert_eq!(held.read().map(|message| message.data.len() as u64), Some(count));
        assert_eq!((held.bytes(), held.items()), (0, 0));
    }

    #[test]
    fn a_number_used_twice_costs_no_memory() {
        let mut held = Reassembly::new(2);
        for tsn in 100..200 {
            held.insert(tsn, data(5, "BE", "again"));
        }
        assert_eq!((held.bytes(), held.items()), (5, 1));
    }
}
