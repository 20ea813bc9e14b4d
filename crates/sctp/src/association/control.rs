//! Control chunks on their way out.

use std::net::IpAddr;

use bytes::Bytes;
use handfast_core::Instant;
use handfast_wire::sctp::{Cause, Chunk, HEADER_LEN, Packet};

use super::Association;
use crate::{Received, State, Transmit};

/// Control chunks that wait at most. What is dropped beyond it is repeated by a timer, or asked for again by the peer.
const MAX_CONTROL: usize = 32;

/// Bytes of the headers of ERROR and of a cause, and their padding.
const REPORT_HEADERS: usize = 12;

/// A control chunk and where it goes.
#[derive(Clone, Debug)]
pub(super) struct Control {
    chunk: Chunk,
    tag: u32,
    from: IpAddr,
    to: IpAddr,
}

impl Control {
    /// §4.3, §6.10: whether it may share a packet.
    const fn is_alone(&self) -> bool {
        matches!(self.chunk, Chunk::Init(_) | Chunk::InitAck(_) | Chunk::ShutdownComplete { .. })
    }

    /// §5.1: COOKIE ECHO and COOKIE ACK come first in their packet.
    const fn is_first(&self) -> bool {
        matches!(self.chunk, Chunk::CookieEcho(_) | Chunk::CookieAck)
    }

    /// Whether it may share the packet that `other` begins.
    fn goes_with(&self, other: &Self) -> bool {
        !self.is_alone()
            && !self.is_first()
            && !other.is_alone()
            && (self.tag, self.from, self.to) == (other.tag, other.from, other.to)
    }
}

impl Association {
    /// A chunk leaves by a path.
    pub(super) fn send(&mut self, path: usize, chunk: Chunk) {
        let path = self.paths.get(path);
        let (from, to) = (path.local, path.remote);
        // §8.5.1 A: the tag of a packet with INIT is zero.
        let tag = if matches!(chunk, Chunk::Init(_)) { 0 } else { self.remote_tag };
        self.push_control(Control { chunk, tag, from, to });
    }

    /// A chunk goes back to where a packet came from (§6.4).
    pub(super) fn reply(&mut self, received: &Received<'_>, tag: u32, chunk: Chunk) {
        self.push_control(Control { chunk, tag, from: received.to, to: received.from });
    }

    fn push_control(&mut self, control: Control) {
        if self.control.len() < MAX_CONTROL {
            self.control.push_back(control);
        }
    }

    /// ERROR with one cause leaves, if a packet has room for it.
    pub(super) fn report(&mut self, path: usize, code: u16, value: Bytes) {
        if value.len() + REPORT_HEADERS <= self.pmdcs as usize {
            self.send(path, Chunk::Error(vec![Cause::Other { code, value }]));
        }
    }

    /// Says goodbye.
    pub(super) fn send_abort(&mut self, cause: Cause) {
        // What else waits is of no use any more. §8.5.1 B: before the peer's tag is known there is nothing to say.
        self.control = handfast_core::ShortQueue::new();
        if self.state != State::CookieWait {
            let path = self.paths.for_data().unwrap_or(self.paths.primary());
            self.send(path, Chunk::Abort { reflected: false, causes: vec![cause] });
        }
    }

    /// Control chunks that wait, as many as a packet takes.
    pub(super) fn control_packet(&mut self, now: Instant) -> Option<Transmit> {
        let first = self.control.pop_front()?;
        let mut len = HEADER_LEN + first.chunk.wire_len();
        let mut chunks = Vec::new();
        while let Some(next) = self.control.front()
            && next.goes_with(&first)
            && len + next.chunk.wire_len() <= self.packet_len()
        {
            len += next.chunk.wire_len();
            chunks.extend(self.control.pop_front().map(|control| control.chunk));
        }
        let Control { chunk, tag, from, to } = first;
        if matches!(chunk, Chunk::CookieEcho(_)) {
            self.put_early(now, self.packet_len().saturating_sub(len), &mut chunks);
        }
        chunks.insert(0, chunk);
        Some(Transmit { packet: self.packet(tag, chunks), from, to })
    }

    pub(super) fn packet(&self, tag: u32, chunks: Vec<Chunk>) -> Packet {
        Packet { src_port: self.local_port, dst_port: self.remote_port, tag, chunks }
    }
}
