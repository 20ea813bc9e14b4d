//! Datagrams that wait: the oldest give way, since who waits for a datagram does not want an old one.

use std::collections::VecDeque;

use bytes::Bytes;

#[derive(Debug)]
pub(super) struct Datagrams {
    waiting: VecDeque<Bytes>,
    octets: usize,
    most: usize,
    /// That gave way.
    pub(super) dropped: u64,
}

/// What one costs beside its octets, so that empty ones have an end too.
const EACH: usize = 64;

impl Datagrams {
    pub(super) fn new(most: usize) -> Self {
        Self { waiting: VecDeque::new(), octets: 0, most, dropped: 0 }
    }

    /// Keeps a copy: a part of a record would keep all of it.
    pub(super) fn push(&mut self, datagram: &[u8]) {
        self.octets += datagram.len() + EACH;
        self.waiting.push_back(Bytes::copy_from_slice(datagram));
        while self.octets > self.most && self.waiting.len() > 1 {
            self.pop();
            self.dropped += 1;
        }
    }

    pub(super) fn pop(&mut self) -> Option<Bytes> {
        let datagram = self.waiting.pop_front()?;
        self.octets -= datagram.len() + EACH;
        Some(datagram)
    }

    pub(super) fn first_len(&self) -> Option<usize> {
        self.waiting.front().map(Bytes::len)
    }

    pub(super) fn memory(&self) -> usize {
        self.octets
    }

    /// They are lost, as datagrams may be.
    pub(super) fn clear(&mut self) {
        self.dropped += self.waiting.len() as u64;
        self.waiting.clear();
        self.octets = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_give_way() {
        let mut datagrams = Datagrams::new(400);
        for number in 0..4u8 {
            datagrams.push(&[number; 100]);
        }
        assert_eq!((datagrams.dropped, datagrams.memory()), (2, 328));
        assert_eq!(datagrams.pop().unwrap()[0], 2);
        datagrams.push(&[9; 1_000]);
        assert_eq!((datagrams.dropped, datagrams.first_len()), (3, Some(1_000)), "one is always kept");
        datagrams.clear();
        let record = Bytes::from(vec![0; 16_000]);
        datagrams.push(&record.slice(..1));
        assert!(record.is_unique(), "nobody keeps the record");
        datagrams.clear();
        assert_eq!((datagrams.pop(), datagrams.memory()), (None, 0));
    }
}
