//! Who is no connection's: a new one, one whose address is not known, or nobody.

use std::net::SocketAddr;
use std::sync::Arc;

use handfast_core::{Instant, SeqNum};
use handfast_tcp::{Endpoint, Received};
use handfast_wire::tcp::in_udp::{InUdp, Number, Token, emit_segment};
use handfast_wire::tcp::{Flags, Segment};

use super::stream::Stream;
use super::{NO_LIMIT, StreamId, Streams};

/// Answers to strangers that wait to be sent; more are dropped.
const MOST_ANSWERS: usize = 256;

impl Streams {
    /// A segment of no connection: a new one if it is a SYN, and there is room.
    pub(super) fn open(
        &mut self,
        now: Instant,
        key: (SocketAddr, Number),
        segment: &Segment,
    ) -> Option<StreamId> {
        if !self.listens || !is_syn(segment) || self.shaking >= self.config.shaking {
            return None;
        }
        if self.shaking >= self.config.trusting && !self.validation.is_valid(now, key.0) {
            return None;
        }
        let iss = self.sequence_number();
        let mut endpoint = Endpoint::listen(Arc::clone(&self.tcp), 0, iss);
        endpoint.open_fast();
        self.add(Stream::new(endpoint, key, true))
    }

    /// Of a SYN for which there is room nothing is kept until it comes again with its token. What is for no connection is answered
    /// with a reset (RFC 9293 §3.10.7.1). Neither is longer than what it answers.
    pub(super) fn refuse(&mut self, now: Instant, (from, number): (SocketAddr, Number), segment: &Segment) {
        if !self.listens || self.answers.len() >= MOST_ANSWERS {
            return;
        }
        let mut answer = Vec::new();
        let made = if is_syn(segment) {
            if self.shaking >= self.config.shaking || self.validation.is_valid(now, from) {
                return;
            }
            let token = self.validation.challenge(now, from);
            InUdp::Retry { number, token }.emit(&mut answer)
        } else {
            let mut nobody = Endpoint::listen(Arc::clone(&self.tcp), 0, SeqNum(0));
            nobody.close(now);
            nobody.on_segment(now, &Received::plain(segment));
            let Some(reset) = nobody.poll_transmit(now, NO_LIMIT) else { return };
            emit_segment(number, None, false, &reset.segment, &mut answer)
        };
        if made.is_ok() {
            self.answers.push_back((None, from, answer));
        }
    }

    /// The server wants the SYN again, once: a second request for it is somebody else's, or a loop.
    pub(super) fn on_retry(&mut self, key: (SocketAddr, Number), token: Token) {
        let Some(&id) = self.by_peer.get(&key) else { return };
        let Some(stream) = self.all.get_mut(&id) else { return };
        if stream.token.is_some() {
            return;
        }
        let Some(first) = stream.first.take() else { return };
        stream.token = Some(token);
        let mut again = Vec::new();
        if emit_segment(stream.number, Some(&token), true, &first, &mut again).is_ok() {
            self.answers.push_back((Some(id), stream.peer, again));
        }
    }
}

/// The first segment of a connection.
pub(super) fn is_syn(segment: &Segment) -> bool {
    segment.flags.contains(Flags::SYN)
        && !segment.flags.contains(Flags::ACK)
        && !segment.flags.contains(Flags::RST)
}
