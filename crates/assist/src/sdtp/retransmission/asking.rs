//! What a retransmission node asks for, and what it says of that downstream (`[sdtp]` §III-C 2 and 3).

use handfast_core::{Instant, SeqNum};
use handfast_wire::sdtp::{Expected, Information, Outcome, Request, Trigger};

use super::{Output, Retransmission};
use crate::sdtp::disorder::additional_length;
use crate::sdtp::requests::timestamp;
use crate::sdtp::thresholds::Inform;

impl Retransmission {
    /// §III-C 2: a loss is detected once `InterCnt` has reached `CntThres`: "out-of-order packet reception indicates packet loss".
    pub(super) fn detect(&mut self, now: Instant, out: &mut Vec<Output>) {
        let base = self.disorder.threshold();
        self.interarrival.loss_shown();
        for num in 0..self.expected.len() {
            if self.expected.hole(num).is_some_and(|hole| self.expected.is_lost(&hole, base)) {
                self.ask(now, num, Trigger::Count, out);
            }
        }
        self.look();
    }

    /// Asks for a hole: §III-C 3, "`StartSeq` and `EndSeq` specify" it.
    pub(super) fn ask(&mut self, now: Instant, num: usize, trigger: Trigger, out: &mut Vec<Output>) {
        let Some(hole) = self.expected.ask(num, trigger, now) else { return };
        if hole.rt_cnt == 1 {
            self.repairs.noticed += self.packets(hole.start, hole.end);
        }
        let expected = Expected { start: hole.start, end: Some(hole.end), start_num: 0 };
        self.send(now, trigger, expected, hole.end, out);
    }

    /// Asks for the next packet of the tail: §III-C 3, where "`EndSeq` fields are unknown, we use `StartSeq` and `StartNum`".
    pub(super) fn ask_ahead(&mut self, now: Instant, out: &mut Vec<Output>) {
        let (start, start_num) = (self.windows.front(), self.expected.ask_ahead(now));
        let end = start + self.ahead(start_num + 1);
        self.send(now, Trigger::Time, Expected { start, end: None, start_num }, end, out);
    }

    fn send(
        &mut self,
        now: Instant,
        trigger: Trigger,
        expected: Expected,
        end: SeqNum,
        out: &mut Vec<Output>,
    ) {
        let request = Request { trigger, expected, timestamp: timestamp(now) };
        self.requests.sent(now, &request, end);
        out.push(Output::Request(request));
        if self.informs(trigger) {
            let r = self.round_trip.expected();
            let add_l = additional_length(r, self.interarrival.interval().unwrap_or(r), trigger);
            out.push(Output::Information(Information {
                trigger,
                expected,
                outcome: Outcome::Later { add_l },
            }));
        }
    }

    /// §III-C 3: an RI goes with an RR "triggered by a packet-level interarrival counter threshold".
    fn informs(&self, trigger: Trigger) -> bool {
        let is_one = match trigger {
            Trigger::Count => self.config.inform != Inform::Never,
            Trigger::Time => self.config.inform == Inform::CountAndTime,
            Trigger::Timeout => false,
        };
        is_one && self.disorder.is_by_packet()
    }
}
