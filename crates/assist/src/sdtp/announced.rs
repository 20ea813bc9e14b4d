//! What nodes upstream have said of packets that are not missed here yet.

use handfast_core::SeqNum;

use super::expected::ExpectedList;
use super::windows::later;

/// How many are remembered; beyond, the oldest is forgotten: then a packet may be asked for that would have come.
const MOST: usize = 64;

/// A packet that comes late.
#[derive(Clone, Copy, Debug)]
struct Late {
    start: SeqNum,
    end: SeqNum,
    add_l: u16,
}

/// The packets beyond the last content window of which an RI has told.
#[derive(Clone, Debug, Default)]
pub(super) struct Announced(Vec<Late>);

impl Announced {
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Remembers what lies beyond `front`.
    pub(super) fn insert(&mut self, front: SeqNum, start: SeqNum, end: SeqNum, add_l: u16) {
        if !end.after(front) {
            return;
        }
        if self.0.len() >= MOST {
            self.0.remove(0);
        }
        self.0.push(Late { start: later(start, front), end, add_l });
    }

    /// The last content window ends at `front` now: tells the holes below, and forgets what is told.
    pub(super) fn advance(&mut self, front: SeqNum, holes: &mut ExpectedList) {
        for late in &mut self.0 {
            if late.start.before(front) {
                holes.raise(late.start, late.end, late.add_l);
                late.start = front;
            }
        }
        self.0.retain(|late| late.end.after(front));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
