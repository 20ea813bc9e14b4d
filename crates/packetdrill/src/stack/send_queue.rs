//! The shape of the kernel's send queue: which octets share a buffer, and which segments are pushed.

use std::collections::{BTreeSet, VecDeque};

/// The kernel's send queue, as far as its shape shows.
#[derive(Clone, Debug)]
pub(super) struct SendQueue {
    /// Ends of full buffers, and of the last; positions of the send stream, the first octet being 1.
    pub(super) ends: VecDeque<u64>,
    /// Where the buffer that is being filled begins, as far as it has not been sent.
    pub(super) tail: u64,
    /// Segments that end here are pushed.
    pub(super) pushes: BTreeSet<u64>,
    /// `pushed_seq`.
    pub(super) pushed: u64,
    /// Where packets of several segments began when they first left: what goes again is cut there too.
    pub(super) begins: BTreeSet<u64>,
}

impl Default for SendQueue {
    fn default() -> Self {
        Self { ends: VecDeque::new(), tail: 1, pushes: BTreeSet::new(), pushed: 1, begins: BTreeSet::new() }
    }
}

impl SendQueue {
    /// Whether a segment that ends there has PSH.
    pub(super) fn is_pushed(&self, end: u64) -> bool {
        self.pushes.contains(&end)
    }

    /// All up to `una` is acknowledged.
    pub(super) fn release(&mut self, una: u64) {
        while self.ends.front().is_some_and(|&end| end <= una) {
            self.ends.pop_front();
        }
        self.pushes = self.pushes.split_off(&una);
        self.begins = self.begins.split_off(&una);
    }

    /// `tcp_mark_push`
    pub(super) fn push(&mut self, end: u64) {
        self.pushes.insert(end);
        self.pushed = end;
    }

    /// Nothing is appended to the buffer that ends there.
    pub(super) fn close(&mut self, end: u64) {
        // The next one begins where it ends.
        self.tail = end;
    }

    pub(super) fn is_closed(&self, end: u64) -> bool {
        self.tail == end
    }
}
