//! What a retransmission node makes of an RI of a node upstream (`[sdtp]` §III-C 2).

use std::ops::Range;

use handfast_core::SeqNum;
use handfast_wire::sdtp::{Expected, Information, Outcome};

use super::{MOST_GIVEN_UP, Retransmission};
use crate::sdtp::windows::{earlier, later};

impl Retransmission {
    /// An RI from a node upstream.
    pub fn on_information(&mut self, information: &Information) {
        let Expected { start, end, start_num } = information.expected;
        match (information.outcome, end) {
            (Outcome::Later { add_l }, _) => self.raise(&information.expected, add_l),
            (Outcome::Never, Some(end)) => self.give_up(start..end),
            (Outcome::Never, None) => self.nothing_ahead(start, start_num),
        }
        self.look();
    }

    /// §III-C 2: `CntThres` of packets rises by `AddL`.
    fn raise(&mut self, expected: &Expected, add_l: u16) {
        let from = expected.start + self.ahead(expected.start_num);
        let (start, end) = match expected.end {
            Some(end) => (expected.start, end),
            None => (from, from + self.largest),
        };
        if !self.disorder.is_by_packet() || !self.is_near(start, end) {
            return;
        }
        let front = self.windows.front();
        self.expected.raise(start, end, add_l);
        self.announced.insert(front, start, end, add_l);
        if !start.after(front) && end.after(front) {
            self.interarrival.comes_late(add_l);
        }
    }

    /// Whether a range that another node has named can be compared with what is known.
    fn is_near(&self, start: SeqNum, end: SeqNum) -> bool {
        end.after(start) && !self.windows.is_far(start) && !self.windows.is_far(end)
    }

    /// So many packets behind the last one there is nothing yet: requests by time are needless, until more comes.
    fn nothing_ahead(&mut self, start: SeqNum, packets: u16) {
        let asked = self.expected.tail.asked;
        if start != self.windows.front() || asked <= packets {
            return;
        }
        self.expected.tail.asked = packets;
        self.expected.tail.is_over = true;
        self.requests.came_by_itself(start + self.ahead(packets), start + self.ahead(asked));
    }

    /// What is missing of a range will not come (RI [`Outcome::Never`]): it is neither expected nor asked for any more. With as many
    /// windows as there may be it is, as before.
    pub fn give_up(&mut self, range: Range<SeqNum>) {
        if !self.is_near(range.start, range.end) {
            return;
        }
        while let Some((start, end)) = self.expected.first_in(range.start, range.end)
            && self.windows.has_room()
        {
            if self.forget(start, end).is_some() {
                self.repairs.given_up += self.packets(start, end);
            }
        }
        let front = self.windows.front();
        if range.end.after(front) {
            self.never.insert(later(range.start, front), range.end, MOST_GIVEN_UP);
        }
        self.look();
    }

    /// The last content window ends at `front` now: what was said to never come, before it was missed, is given up.
    pub(super) fn skip_to(&mut self, front: SeqNum) {
        while let Some((start, end)) = self.never.first().filter(|(start, _)| start.before(front)) {
            let end = earlier(end, front);
            self.never.forget_below(end);
            self.give_up(start..end);
        }
    }
}
