//! A local program and a connection of our endpoint, and what is on its way between them.

use std::io;

use bytes::{Buf, Bytes};
use handfast_core::Instant;
use handfast_tcp::{Death, Event, State};
use handfast_wire::Payload;

use super::local::LocalStream;
use crate::{ConnectionId, Stack, Watch};

/// Octets taken from either side at a time; so much waits here at most, each way.
const PIECE: usize = 1 << 16;

/// What a relay has carried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Carried {
    /// Connections.
    pub connections: u64,
    /// Of those, the ones that ended before both sides had closed.
    pub broken: u64,
    /// Octets from local programs to the wire.
    pub to_wire: u64,
    /// Octets from the wire to local programs.
    pub to_local: u64,
}

pub(super) struct Pair {
    id: ConnectionId,
    local: LocalStream,
    /// Read from the program and not yet taken by the endpoint.
    to_wire: Bytes,
    /// Read from the endpoint and not yet taken by the program.
    to_local: Bytes,
    /// The program will send nothing more; our FIN follows.
    local_ended: bool,
    /// The peer has sent its FIN.
    wire_ended: bool,
    /// The program has been told so.
    finished: bool,
    over: bool,
}

impl Pair {
    pub(super) fn new(id: ConnectionId, local: LocalStream) -> Self {
        let empty = Bytes::new;
        Self {
            id,
            local,
            to_wire: empty(),
            to_local: empty(),
            local_ended: false,
            wire_ended: false,
            finished: false,
            over: false,
        }
    }

    /// What it waits for on the program's side, besides the wire.
    pub(super) fn watches(&self) -> [Watch<'_>; 2] {
        let [reading, writing] = self.local.fds();
        let wants_more = !self.local_ended && self.to_wire.is_empty();
        [Watch::new(reading, wants_more, false), Watch::new(writing, false, !self.to_local.is_empty())]
    }

    /// Moves what can be moved; `can_read`, `can_write`: what the last wait found. True once it is over.
    pub(super) fn pump(
        &mut self,
        now: Instant,
        stack: &mut Stack,
        (can_read, can_write): (bool, bool),
        carried: &mut Carried,
    ) -> bool {
        let moved = self.move_to_wire(now, stack, can_read, carried).and_then(|()| {
            self.see_events(stack)?;
            self.move_to_local(stack, can_write, carried)
        });
        if moved.is_err() {
            carried.broken += 1;
            self.over = true;
            if let Some(endpoint) = stack.endpoint_mut(self.id) {
                endpoint.abort();
            }
        }
        self.over |= self.finished && self.local_ended && self.to_wire.is_empty();
        if self.over {
            stack.release(now, self.id);
        }
        self.over
    }

    fn move_to_wire(
        &mut self,
        now: Instant,
        stack: &mut Stack,
        can_read: bool,
        carried: &mut Carried,
    ) -> io::Result<()> {
        if can_read && !self.local_ended && self.to_wire.is_empty() {
            let mut buffer = vec![0; PIECE];
            if let Some(count) = self.local.read(&mut buffer)? {
                buffer.truncate(count);
                self.local_ended = count == 0;
                self.to_wire = buffer.into();
            }
        }
        let endpoint = stack.endpoint_mut(self.id).ok_or(io::ErrorKind::NotConnected)?;
        if !self.to_wire.is_empty() {
            let accepted = endpoint.write(Payload::Bytes(self.to_wire.clone()));
            self.to_wire.advance(accepted);
            carried.to_wire += accepted as u64;
        }
        if self.local_ended && self.to_wire.is_empty() {
            endpoint.close(now);
        }
        Ok(())
    }

    fn see_events(&mut self, stack: &mut Stack) -> io::Result<()> {
        let endpoint = stack.endpoint_mut(self.id).ok_or(io::ErrorKind::NotConnected)?;
        while let Some(event) = endpoint.poll_event() {
            match event {
                Event::PeerClosed => self.wire_ended = true,
                Event::Died(Death::Reset) => return Err(io::ErrorKind::ConnectionReset.into()),
                Event::Died(_) => return Err(io::ErrorKind::TimedOut.into()),
                _ => {}
            }
        }
        Ok(())
    }

    fn move_to_local(&mut self, stack: &mut Stack, can_write: bool, carried: &mut Carried) -> io::Result<()> {
        let endpoint = stack.endpoint_mut(self.id).ok_or(io::ErrorKind::NotConnected)?;
        let mut room = can_write || self.to_local.is_empty();
        while room {
            if self.to_local.is_empty() {
                let Some(payload) = endpoint.read(PIECE) else { break };
                self.to_local = payload.to_bytes();
                // Standard output may only be written after it was waited for.
                room = can_write || !matches!(self.local, LocalStream::Stdio);
                continue;
            }
            let written = self.local.write(&self.to_local)?;
            self.to_local.advance(written.unwrap_or(0));
            carried.to_local += written.unwrap_or(0) as u64;
            room = written.is_some() && !matches!(self.local, LocalStream::Stdio);
        }
        if self.wire_ended && !self.finished && self.to_local.is_empty() && endpoint.readable() == 0 {
            self.local.finish();
            self.finished = true;
        }
        Ok(())
    }

    /// Whether the connection needs us no more: closed, or only waiting for late segments.
    pub(super) fn is_quiet(stack: &Stack, id: ConnectionId) -> bool {
        stack.endpoint(id).is_none_or(|endpoint| matches!(endpoint.state(), State::TimeWait | State::Closed))
    }
}
