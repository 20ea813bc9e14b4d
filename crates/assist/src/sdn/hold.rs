//! What is held for one station: a queue for each of its connections, and one for datagrams.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::IpAddr;

use handfast_wire::tcp::Segment;

use super::ConnectionKey;
use super::datagrams::Datagrams;
use super::frame::Frame;
use super::queue::{Put, Queue};

/// The queues of a station, and in which order they have their turn.
#[derive(Debug, Default)]
pub(crate) struct Hold {
    queues: BTreeMap<ConnectionKey, Queue>,
    /// The connections of which something is held.
    turns: VecDeque<ConnectionKey>,
    /// Addresses to which its connections lead.
    addresses: BTreeSet<IpAddr>,
    cost: u64,
    segments: u64,
    pub(crate) datagrams: Datagrams,
}

/// Addresses of a station that are remembered. It has one of each family, and some more of IPv6.
const MOST_ADDRESSES: usize = 16;

impl Hold {
    /// Whether nothing is held.
    pub(crate) fn is_empty(&self) -> bool {
        self.turns.is_empty() && self.datagrams.is_empty()
    }

    /// What is held of TCP counts so much.
    pub(crate) fn cost(&self) -> u64 {
        self.cost
    }

    /// Segments held.
    pub(crate) fn segments(&self) -> u64 {
        self.segments
    }

    /// A connection's queue is made (`[sdn]` §3.4: at its handshake). Whether it is new.
    pub(crate) fn open(&mut self, key: ConnectionKey) -> bool {
        let known = self.queues.len();
        self.queues.entry(key).or_default();
        self.lead_to(key.dst);
        self.queues.len() > known
    }

    /// Something has come for this address.
    pub(crate) fn lead_to(&mut self, address: IpAddr) {
        if self.addresses.len() < MOST_ADDRESSES {
            self.addresses.insert(address);
        }
    }

    /// Whether connections or datagrams to this address were seen.
    pub(crate) fn leads_to(&self, address: IpAddr) -> bool {
        self.addresses.contains(&address)
    }

    /// Whether the connection has a queue.
    pub(crate) fn knows(&self, key: &ConnectionKey) -> bool {
        self.queues.contains_key(key)
    }

    /// Forgets a connection of which nothing is held. Whether it did.
    pub(crate) fn forget(&mut self, key: &ConnectionKey) -> bool {
        let idle = self.queues.get(key).is_some_and(Queue::is_empty);
        idle && self.queues.remove(key).is_some()
    }

    /// Connections with a queue.
    pub(crate) fn connections(&self) -> usize {
        self.queues.len()
    }

    /// Whether a segment brings nothing new.
    pub(crate) fn has(&self, key: &ConnectionKey, segment: &Segment) -> bool {
        self.queues.get(key).is_some_and(|queue| queue.has(segment))
    }

    /// What is held of a connection counts so much.
    pub(crate) fn cost_of(&self, key: &ConnectionKey) -> u64 {
        self.queues.get(key).map_or(0, Queue::cost)
    }

    /// Holds a segment of a connection that has a queue.
    pub(crate) fn put(&mut self, key: ConnectionKey, segment: &Segment, frame: Frame) -> Put {
        let queue = self.queues.entry(key).or_default();
        let was_empty = queue.is_empty();
        let put = queue.put(segment, frame);
        match put {
            Put::Held(added) => (self.cost, self.segments) = (self.cost + added, self.segments + 1),
            Put::Replaced(added, removed) => self.cost = self.cost + added - removed,
            Put::Duplicate => {}
        }
        if was_empty && put != Put::Duplicate {
            self.turns.push_back(key);
        }
        put
    }

    /// What leaves next, of segments and of datagrams.
    pub(crate) fn first(&self) -> impl Iterator<Item = &Frame> {
        let segment = self.turns.front().and_then(|key| self.frames(key).next());
        segment.into_iter().chain(self.datagrams.first())
    }

    /// The segment that leaves next: connections take turns, so that a long one does not keep the others waiting.
    pub(crate) fn take(&mut self) -> Option<Frame> {
        let key = self.turns.pop_front()?;
        let queue = self.queues.get_mut(&key)?;
        let frame = queue.take()?;
        if !queue.is_empty() {
            self.turns.push_back(key);
        }
        self.cost -= super::queue::cost(&frame);
        self.segments -= 1;
        Some(frame)
    }

    /// What is held of a connection, in the order in which it leaves.
    pub(crate) fn frames(&self, key: &ConnectionKey) -> impl Iterator<Item = &Frame> {
        self.queues.get(key).into_iter().flat_map(Queue::frames)
    }

    /// The connections of which something is held.
    pub(crate) fn holding(&self) -> impl Iterator<Item = &ConnectionKey> {
        self.turns.iter()
    }

    /// Drops what is held of one connection; the number of frames. Its queue stays.
    pub(crate) fn clear_one(&mut self, key: &ConnectionKey) -> u64 {
        let Some(queue) = self.queues.get_mut(key) else { return 0 };
        let (cost, frames) = (queue.cost(), queue.frames().count() as u64);
        *queue = Queue::default();
        self.turns.retain(|turn| turn != key);
        (self.cost, self.segments) = (self.cost - cost, self.segments - frames);
        frames
    }

    /// Drops all that is held of TCP; the number of frames. The queues stay.
    pub(crate) fn clear(&mut self) -> u64 {
        while let Some(key) = self.turns.pop_front() {
            self.queues.insert(key, Queue::default());
        }
        self.cost = 0;
        std::mem::take(&mut self.segments)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use handfast_core::SeqNum;
    use handfast_wire::Payload;

    fn key(port: u16) -> ConnectionKey {
        let [src, dst] = ["192.0.2.1", "192.0.2.2"].map(|address| address.parse().unwrap());
        ConnectionKey { src, dst, src_port: 80, dst_port: port }
    }

    fn put(hold: &mut Hold, port: u16, seq: u32, tag: u8) -> Put {
        let payload = Payload::Synthetic { stream: 0, offset: 0, len: 10 };
        let segment = Segment { seq: SeqNum(seq), payload, ..Segment::EMPTY };
        hold.put(key(port), &segment, bytes::Bytes::copy_from_slice(&[tag; 72]).into())
    }

    #[test]
    fn connections_take_turns_and_keep_their_order() {
        let mut hold = Hold::default();
        for (port, seq, tag) in [(1, 0, 10), (1, 10, 11), (1, 20, 12), (2, 0, 20), (3, 10, 31), (3, 0, 30)] {
            assert_eq!(put(&mut hold, port, seq, tag), Put::Held(200));
        }
        assert_eq!(put(&mut hold, 3, 0, 99), Put::Duplicate);
        assert_eq!((hold.cost(), hold.segments(), hold.connections()), (1200, 6, 3));
        assert_eq!((hold.cost_of(&key(1)), hold.cost_of(&key(4))), (600, 0));
        let order: Vec<u8> = std::iter::from_fn(|| hold.take()).map(|frame| frame[0]).collect();
        assert_eq!(order, [10, 20, 30, 11, 31, 12]);
        assert_eq!((hold.cost(), hold.segments(), hold.is_empty()), (0, 0, true));
        assert_eq!(hold.connections(), 3, "the queues stay");
    }

    #[test]
    fn a_connection_of_which_something_is_held_is_not_forgotten() {
        let mut hold = Hold::default();
        assert!(hold.open(key(1)) && !hold.open(key(1)));
        put(&mut hold, 1, 0, 1);
        assert!(hold.has(
            &key(1),
            &Segment { payload: Payload::Synthetic { stream: 0, offset: 0, len: 5 }, ..Segment::EMPTY }
        ));
        assert!(!hold.forget(&key(1)));
        hold.take();
        assert!(hold.knows(&key(1)) && hold.forget(&key(1)) && !hold.knows(&key(1)));
        assert!(!hold.forget(&key(1)));
    }

    #[test]
    fn so_many_addresses_are_known_and_no_more() {
        let mut hold = Hold::default();
        let to = |n: usize| ConnectionKey { dst: IpAddr::from((n as u32).to_be_bytes()), ..key(1) };
        for n in 0..=MOST_ADDRESSES {
            hold.open(to(n));
        }
        assert!(hold.leads_to(to(0).dst) && hold.leads_to(to(MOST_ADDRESSES - 1).dst));
        assert!(!hold.leads_to(to(MOST_ADDRESSES).dst));
    }

    #[test]
    fn one_connection_is_cleared_alone() {
        let mut hold = Hold::default();
        for (port, seq) in [(1, 0), (2, 10), (2, 0), (3, 0)] {
            put(&mut hold, port, seq, port as u8 * 10 + seq as u8 / 10);
        }
        let frames = |hold: &Hold, port| hold.frames(&key(port)).map(|frame| frame[0]).collect::<Vec<_>>();
        assert_eq!(frames(&hold, 2), [20, 21]);
        assert_eq!((hold.clear_one(&key(2)), hold.clear_one(&key(9))), (2, 0));
        assert_eq!((hold.cost(), hold.segments(), hold.connections()), (400, 2, 3));
        assert_eq!(hold.holding().copied().collect::<Vec<_>>(), [key(1), key(3)]);
        let order: Vec<u8> = std::iter::from_fn(|| hold.take()).map(|frame| frame[0]).collect();
        assert_eq!(order, [10, 30]);
        assert_eq!(hold.cost(), 0);
    }

    #[test]
    fn clearing_says_how_much_there_was() {
        let mut hold = Hold::default();
        put(&mut hold, 1, 0, 1);
        put(&mut hold, 2, 0, 1);
        assert_eq!((hold.clear(), hold.is_empty(), hold.cost(), hold.connections()), (2, true, 0, 2));
        assert_eq!(put(&mut hold, 1, 0, 1), Put::Held(200));
    }
}
