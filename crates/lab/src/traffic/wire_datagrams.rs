//! Our own endpoint as the sender of a flow that does not use TCP: the sending machine on a packet socket.

use handfast_core::Instant;
use handfast_host::stack::Pair;
use handfast_host::transport::{Transport, Way};
use handfast_plan::StreamId;

use super::Board;
use super::sender::Sent;
use crate::Stack;

/// The end that sends a flow.
pub(super) struct WireDatagrams {
    stream: StreamId,
    machine: Box<dyn Transport>,
    pair: Pair,
}

impl WireDatagrams {
    /// Between a local and a remote address.
    pub(super) fn new(stream: StreamId, machine: Box<dyn Transport>, pair: Pair) -> Self {
        Self { stream, machine, pair }
    }

    pub(super) fn deadline(&self) -> Instant {
        self.machine.deadline().unwrap_or(Instant::MAX)
    }

    /// Does what is due, and sends what there is to send.
    pub(super) fn on_time(&mut self, now: Instant, stack: &mut Stack, board: &Board) {
        if self.deadline() <= now {
            self.machine.on_timer(now);
        }
        while let Some((_, data)) = self.machine.poll_transmit(now) {
            stack.send_datagram(self.pair, data);
        }
        board.set_active(self.stream, self.machine.has_begun() && self.machine.ending().is_none());
    }

    /// A datagram has come to the host; whether it was for this flow.
    pub(super) fn on_datagram(&mut self, now: Instant, pair: Pair, data: &bytes::Bytes) -> bool {
        let is_mine = pair == self.pair;
        if is_mine {
            self.machine.on_datagram(now, Way(0), data);
        }
        is_mine
    }

    pub(super) fn finish(self) -> (StreamId, Sent) {
        (self.stream, Sent { transport: Some(self.machine), ..Sent::default() })
    }
}
