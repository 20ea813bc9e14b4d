//! Datagrams that leave with one call (GSO), where they go the same way.

use handfast_assist::iosl::inside::Leaving;

/// Octets of one call, whatever number of datagrams they are.
const MOST_AT_ONCE: usize = 60_000;

/// Datagrams of one length, but for the last one, which may be shorter.
#[derive(Debug)]
pub(super) struct Batch {
    /// Which way they go.
    pub(super) way: Leaving,
    pub(super) octets: Vec<u8>,
    pub(super) each: usize,
}

impl Batch {
    /// Begins with a datagram; `most` of `longest` octets follow at most.
    pub(super) fn new(way: Leaving, first: &[u8], most: usize, longest: usize) -> Self {
        let mut octets = Vec::with_capacity(MOST_AT_ONCE.min(most * longest));
        octets.extend_from_slice(first);
        Self { way, each: first.len().max(1), octets }
    }

    /// Takes one more datagram, if it may go with it.
    pub(super) fn add(&mut self, way: &Leaving, datagram: &[u8], most: usize) -> bool {
        let len = datagram.len();
        let is_even = self.octets.len().is_multiple_of(self.each) && len <= self.each;
        let fits = self.octets.len() + len <= MOST_AT_ONCE.min(most * self.each);
        let goes = self.way == *way && is_even && fits;
        if goes {
            self.octets.extend_from_slice(datagram);
        }
        goes
    }
}
