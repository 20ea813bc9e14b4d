//! The content window list: what has arrived (`[sdtp]` §III-C 1).

use std::collections::VecDeque;

use handfast_core::SeqNum;

/// A number further away than this from what is known belongs to other contents.
const FAR: i32 = 1 << 30;

/// How far apart the first window's right edge and the last one's may be. This, [`FAR`] and [`MEMORY`] together are less than
/// 2^31: so every comparison has a meaning.
const MOST_SPAN: i32 = 1 << 29;

/// How far the first window reaches back; older bytes count as received.
const MEMORY: i32 = 1 << 28;

/// Packets that arrived in sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The left edge: the first number received.
    pub left: SeqNum,
    /// The right edge: the next number expected.
    pub right: SeqNum,
}

/// The content windows of a connection, in order: between two neighbours there is a hole. There is always one; at first it is
/// empty and says what comes first.
#[derive(Clone, Debug)]
pub(super) struct Windows {
    list: VecDeque<Window>,
    most: usize,
}

impl Windows {
    /// Nothing has arrived; `start` comes first. There are never more than `most` windows, and at least one.
    pub(super) fn new(start: SeqNum, most: usize) -> Self {
        Self { list: VecDeque::from([Window { left: start, right: start }]), most: most.max(1) }
    }

    /// Forgets all; `start` comes first.
    pub(super) fn restart(&mut self, start: SeqNum) {
        self.list.clear();
        self.list.push_back(Window { left: start, right: start });
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Window> + '_ {
        self.list.iter().copied()
    }

    /// The first window.
    pub(super) fn first(&self) -> Window {
        self.list.front().copied().unwrap_or(Window { left: SeqNum(0), right: SeqNum(0) })
    }

    /// The right edge of the last window: where the packets begin of which nothing is known.
    pub(super) fn front(&self) -> SeqNum {
        self.list.back().map_or(SeqNum(0), |last| last.right)
    }

    /// Whether a packet is so far from what is known that it belongs to other contents.
    pub(super) fn is_far(&self, start: SeqNum) -> bool {
        start.distance(self.front()) > FAR || self.first().right.distance(start) > FAR
    }

    /// Adds a packet that is not far. Whether one of its bytes is new.
    #[inline]
    pub(super) fn insert(&mut self, start: SeqNum, end: SeqNum) -> bool {
        let is_new = match self.list.back_mut() {
            Some(last) if last.right == start => {
                last.right = end;
                true
            }
            _ => self.merge(start, end),
        };
        self.forget();
        is_new
    }

    fn merge(&mut self, start: SeqNum, end: SeqNum) -> bool {
        let oldest = self.first().left;
        if !end.after(oldest) {
            return false;
        }
        let mut new = Window { left: later(start, oldest), right: end };
        let first = self.list.partition_point(|window| window.right.before(new.left));
        let behind = self.list.partition_point(|window| !window.left.after(end)).max(first);
        if self.list.get(first).is_some_and(|window| window.contains(new)) {
            return false;
        }
        for window in self.list.drain(first..behind) {
            new.left = earlier(new.left, window.left);
            new.right = later(new.right, window.right);
        }
        self.list.insert(first, new);
        true
    }

    /// Moves the first window's left edge, so that it stays comparable.
    fn forget(&mut self) {
        if let Some(first) = self.list.front_mut()
            && first.right.distance(first.left) > MEMORY
        {
            first.left = first.right - MEMORY as u32;
        }
    }

    /// Whether a window may come to them within a hole.
    pub(super) fn has_room(&self) -> bool {
        self.list.len() < self.most
    }

    /// If there are too many windows, or they are too far apart: closes the lowest hole and returns it.
    pub(super) fn close_lowest(&mut self) -> Option<(SeqNum, SeqNum)> {
        let span = self.front().distance(self.first().right);
        if self.list.len() <= self.most && span <= MOST_SPAN {
            return None;
        }
        let first = self.list.pop_front()?;
        let second = self.list.front_mut()?;
        let hole = (first.right, second.left);
        second.left = first.left;
        self.forget();
        Some(hole)
    }
}

impl Window {
    fn contains(self, other: Self) -> bool {
        !self.left.after(other.left) && !self.right.before(other.right)
    }
}

/// The one that comes later.
pub(super) fn later(a: SeqNum, b: SeqNum) -> SeqNum {
    if a.after(b) { a } else { b }
}

/// The one that comes earlier.
pub(super) fn earlier(a: SeqNum, b: SeqNum) -> SeqNum {
    if a.before(b) { a } else { b }
}
