//! What a node does when its own queue drops packets.

use handfast_core::{Instant, SeqNum};
use handfast_net::Cause;
use handfast_wire::sdtp::{Expected, Information, Message, Outcome, Request, Stream};

use super::Node;
use crate::View;
use crate::sdtp::caching::Congestion;
use crate::sdtp::detection::Extent;

impl Node {
    /// A packet that had passed was dropped on its way out of this node.
    pub fn on_drop(&mut self, now: Instant, view: &View<'_>, cause: Cause) {
        let Some(sdtp) = view.sdtp().filter(|_| matches!(cause, Cause::QueueFull | Cause::Aqm)) else {
            return;
        };
        let Some(extent) = sdtp.data().and_then(|data| Extent::of(sdtp.sequence, data)) else {
            return;
        };
        let stream = sdtp.stream(view.src, view.dst);
        if !self.hold_dropped(now, &stream, extent, view, cause) {
            self.note_drop(now, &stream, extent.seq, extent.len);
        }
    }

    /// What a queue of this node has dropped is lost: its sender has to learn of that.
    pub(super) fn note_drop(&mut self, now: Instant, stream: &Stream, seq: SeqNum, len: u32) {
        match self.functions_for(stream) {
            Some(functions) if functions.caching => self.caching.on_own_drop(stream, seq, len),
            Some(_) if self.config.caching.congestion != Congestion::Mask => {
                self.own_drops.on_drop(now, stream, seq, len);
            }
            _ => {}
        }
    }

    /// Whether an RR asks for what a queue of this node has dropped: that part is answered with `Never`, and the rest goes on.
    pub(super) fn refuse(
        &mut self,
        stream: &Stream,
        request: &Request,
        out: &mut handfast_net::Outbox,
    ) -> bool {
        let Some(parts) = self.own_drops.part(stream, &request.expected) else { return false };
        self.counters.requests_refused += 1;
        let range = |(start, end)| Expected { start, end: Some(end), start_num: 0 };
        for expected in parts.dropped.into_iter().map(range) {
            let information = Information { trigger: request.trigger, expected, outcome: Outcome::Never };
            self.send(stream, Message::Information(information), out);
        }
        for expected in parts.left.into_iter().map(range) {
            self.send(stream, Message::Request(Request { expected, ..*request }), out);
        }
        true
    }
}
