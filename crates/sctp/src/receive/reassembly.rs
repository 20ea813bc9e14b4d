//! Fragments to messages, messages into the order of their streams (§6.5, §6.9).

use std::collections::{BTreeMap, VecDeque};

use bytes::{Bytes, BytesMut};
use handfast_wire::sctp::Data;

use crate::Message;
use crate::tsn::Tsn;

/// What the receiver holds.
#[derive(Clone, Debug)]
pub(crate) struct Reassembly {
    /// Fragments of messages that are not whole.
    fragments: BTreeMap<Tsn, Data>,
    /// Whole messages whose turn in their stream has not come, by stream and SSN.
    waiting: BTreeMap<(u16, u16), Message>,
    ready: VecDeque<Message>,
    /// The SSN that each inbound stream goes on with.
    next_ssn: Vec<u16>,
    /// User data in all of these.
    bytes: u64,
}

impl Reassembly {
    pub(crate) fn new(streams: u16) -> Self {
        let next_ssn = vec![0; usize::from(streams)];
        let (fragments, waiting, ready) = (BTreeMap::new(), BTreeMap::new(), VecDeque::new());
        Self { fragments, waiting, ready, next_ssn, bytes: 0 }
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
            self.deliver(data.ssn, message(&data, data.payload.clone()));
            return;
        }
        self.fragments.insert(tsn, data);
        if let Some((first, last)) = self.whole(tsn) {
            self.join(first, last);
        }
    }

    /// The fragments of the message to which `tsn` belongs, if all are there. §6.9: they have TSNs in a row.
    fn whole(&self, tsn: Tsn) -> Option<(Tsn, Tsn)> {
        let start = self.fragments.get(&tsn)?;
        let belongs = |data: &Data| {
            data.stream == start.stream
                && data.unordered == start.unordered
                && (data.unordered || data.ssn == start.ssn)
        };
        // Forward first: what arrives in order ends here at once.
        let last = walk(tsn, self.fragments.range(tsn..), 1, |data| belongs(data), |data| data.end)?;
        let back = self.fragments.range(..=tsn).rev();
        let first = walk(tsn, back, -1, |data| belongs(data), |data| data.begin)?;
        Some((first, last))
    }

    fn join(&mut self, first: Tsn, last: Tsn) {
        let parts: Vec<Data> = (first..=last).filter_map(|tsn| self.fragments.remove(&tsn)).collect();
        let mut whole = BytesMut::with_capacity(parts.iter().map(|part| part.payload.len()).sum());
        for part in &parts {
            whole.extend_from_slice(&part.payload);
        }
        let begin = &parts[0];
        self.deliver(begin.ssn, message(begin, whole.freeze()));
    }

    /// A message is whole.
    fn deliver(&mut self, ssn: u16, message: Message) {
        if message.unordered {
            self.ready.push_back(message);
            return;
        }
        let (stream, next) = (message.stream, &mut self.next_ssn[usize::from(message.stream)]);
        if *next != ssn {
            // Two messages of one number: the peer breaks §6.5; the later one stays.
            if let Some(replaced) = self.waiting.insert((stream, ssn), message) {
                self.bytes -= replaced.data.len() as u64;
            }
            return;
        }
        let mut turn = Some(message);
        while let Some(message) = turn {
            self.ready.push_back(message);
            *next = next.wrapping_add(1);
            turn = self.waiting.remove(&(stream, *next));
        }
    }

    /// Drops the fragment with the highest TSN, if that is beyond `point`: which one it was.
    pub(crate) fn evict(&mut self, point: Tsn) -> Option<Tsn> {
        let (&tsn, _) = self.fragments.last_key_value()?;
        if tsn <= point {
            return None;
        }
        let dropped = self.fragments.remove(&tsn)?;
        self.bytes -= dropped.payload.len() as u64;
        Some(tsn)
    }
}

/// From `tsn` on, by steps of `step`, over fragments that belong together, to the one that is the `end`.
fn walk<'a>(
    tsn: Tsn,
    fragments: impl Iterator<Item = (&'a Tsn, &'a Data)>,
    step: i64,
    belongs: impl Fn(&Data) -> bool,
    end: impl Fn(&Data) -> bool,
) -> Option<Tsn> {
    let mut expected = tsn;
    for (&at, data) in fragments {
        // A message that begins or ends inside another one breaks §6.9 and is never whole.
        if at != expected || !belongs(data) {
            return None;
        }
        if end(data) {
            return Some(at);
        }
        expected = expected.saturating_add_signed(step);
    }
    None
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
        assert_eq!(held.evict(100), Some(102));
        assert_eq!((held.evict(100), held.bytes()), (None, 1));
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
