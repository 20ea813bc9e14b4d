//! Data in a SYN, which the peer reads before the handshake is over: TCP Fast Open (RFC 7413), without its cookie as Linux'
//! `TCP_FASTOPEN_NO_COOKIE` has it.
//!
//! The cookie shows that a client has the address it says. One that has moved has no cookie for its new address. So this is for peers
//! that show who they are by what they say. Until the handshake is over the server sends its initial window and no more: so much can
//! somebody have it send elsewhere, who repeats a SYN from an address that is not his.

use handfast_core::Instant;
use handfast_wire::Payload;
use handfast_wire::tcp::Segment;

use super::Endpoint;
use crate::{DEFAULT_MSS, Event, State};

/// TCP's options at most (RFC 9293 §3.1).
const OPTIONS: u16 = 40;

/// What a connection does about data in SYNs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum FastOpen {
    #[default]
    Off,
    On,
    /// The peer's SYN carried data, and they were taken.
    Taken,
}

impl Endpoint {
    /// The SYN carries the first octets that were written, or those in the peer's are taken, before the handshake is over. To be
    /// called before the first segment. Nobody who is not asked to does that: RFC 7413 §6 has what may come twice then.
    pub fn open_fast(&mut self) {
        self.fast_open = FastOpen::On;
    }

    /// Whether this end may send before the handshake is over.
    #[inline]
    pub(super) fn is_early(&self) -> bool {
        self.fast_open == FastOpen::Taken && self.state == State::SynReceived
    }

    /// What goes out with a SYN: once. RFC 7413 §4.2.2: one that was lost with its data may have been lost for them.
    pub(super) fn early_payload(&mut self) -> Payload {
        let is_first = self.state == State::SynSent && self.tx.max == 0;
        if self.fast_open != FastOpen::On || !is_first || self.tx.buffer.end() == 0 {
            return Payload::EMPTY;
        }
        // RFC 7413 §4.2.1: without a cached MSS of the server's the SYN carries what fits in the default one.
        let most = u64::from(DEFAULT_MSS.min(self.config.mss).saturating_sub(OPTIONS));
        let payload = self.tx.buffer.slice(0, most.min(self.tx.buffer.end()) as usize);
        if payload.is_empty() {
            return payload;
        }
        self.counters.data_segments_sent += 1;
        payload
    }

    /// What has come with the peer's SYN.
    pub(super) fn take_early(&mut self, now: Instant, segment: &Segment) {
        if self.fast_open == FastOpen::Off || segment.payload.is_empty() {
            return;
        }
        let kept = segment.payload.len().min(self.rx.window() as usize);
        self.counters.data_segments_received += 1;
        self.rx.buffer.insert(self.rx.buffer.next(), &segment.payload.slice(0, kept));
        self.fast_open = FastOpen::Taken;
        self.heard(now);
        self.emit(Event::Connected);
    }

    /// Whether a segment acknowledges our SYN, and with it data that went out before the handshake was over, or none.
    pub(super) fn acknowledges_syn(&self, segment: &Segment) -> bool {
        self.tx.position(segment.ack).is_some_and(|ack| (1..=self.tx.max).contains(&ack))
    }

    /// The SYN is acknowledged. RFC 7413 §4.2.2: what the SYN carried and its acknowledgement leaves out goes again, as if it had
    /// not gone. What an early server has sent stays outstanding.
    pub(super) fn settle_early(&mut self, segment: &Segment) {
        let acked = match self.fast_open {
            FastOpen::On => self.tx.position(segment.ack).map_or(1, |ack| ack.clamp(1, self.tx.max)),
            FastOpen::Off | FastOpen::Taken => 1,
        };
        self.tx.una = acked;
        if self.fast_open == FastOpen::Taken {
            self.tx.nxt = self.tx.max;
        } else {
            (self.tx.nxt, self.tx.max) = (acked, acked);
            self.tx.buffer.release(acked - 1);
        }
    }
}
