//! A path as bytes: its preamble, its handshake, its records.

use std::collections::VecDeque;

use handfast_core::Instant;

use super::LEAST_PLAIN;
use crate::iosl::ids::Socket;
use crate::iosl::secure::{Channel, Reader};

/// Where a path is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// The driver is connecting it.
    Dialling,
    /// The handshake, before anybody has said what the path is for.
    Shaking,
    /// This end has said it, and waits for the answer.
    Offered,
    /// It carries the records of a session.
    Bound,
    /// It is closed after what is to go out.
    Closing,
}

#[derive(Debug)]
pub(super) struct Link {
    pub(super) phase: Phase,
    pub(super) is_initiator: bool,
    /// [`None`]: before the preamble.
    pub(super) channel: Option<Channel>,
    pub(super) preamble: Vec<u8>,
    pub(super) reader: Reader,
    /// What goes out next: messages of the handshake, three at most, or what is left of a record.
    pub(super) out: VecDeque<Vec<u8>>,
    /// Octets of the next record, at most. On a path that nobody knows, a record must be through before the peer's acknowledgment
    /// is missed; each record that comes lets them double.
    pub(super) most: usize,
    /// This end has asked for a new session there.
    pub(super) opens: bool,
    /// Of the session, with the epoch of this path.
    pub(super) of: Option<(Socket, u64)>,
    /// When it is given up unless it is bound by then.
    pub(super) by: Instant,
}

impl Link {
    pub(super) fn new(phase: Phase, of: Option<(Socket, u64)>, by: Instant) -> Self {
        Self {
            phase,
            is_initiator: of.is_some(),
            channel: None,
            preamble: Vec::new(),
            reader: Reader::default(),
            out: VecDeque::new(),
            most: LEAST_PLAIN,
            opens: false,
            of,
            by,
        }
    }

    /// Takes what the preamble lacks; [`Some`] once it is whole.
    pub(super) fn take_preamble(&mut self, stream: &mut &[u8]) -> Option<[u8; 8]> {
        let missing = 8 - self.preamble.len();
        let (taken, rest) = stream.split_at(missing.min(stream.len()));
        self.preamble.extend_from_slice(taken);
        *stream = rest;
        self.preamble.as_slice().try_into().ok()
    }

    /// Of what goes out next, up to `room` octets.
    pub(super) fn take(&mut self, room: usize) -> Option<Vec<u8>> {
        let mut message = self.out.pop_front()?;
        if message.len() > room {
            self.out.push_front(message.split_off(room));
        }
        Some(message).filter(|message| !message.is_empty())
    }

    pub(super) fn memory(&self) -> usize {
        self.reader.memory() + self.out.iter().map(Vec::capacity).sum::<usize>()
    }
}
