//! Our TCP endpoint on a real wire: a host that the kernel knows nothing of, on an interface without addresses.

mod neighbours;
mod stack;

use std::io;
use std::os::fd::AsFd;

use handfast_core::{Duration, Instant};
use handfast_io::{Watch, index_of, wait};
use handfast_wire::Checksums;

pub use stack::{ConnectionId, Dropped, Identity, Stack};

use crate::{Arrival, BATCH, Clock, Inbox, Interface, PacketSocket};

/// A [`Stack`] on an interface. Everything happens within [`WireHost::turn`], on the caller's thread.
pub struct WireHost {
    stack: Stack,
    socket: PacketSocket,
    interface: Interface,
    inbox: Inbox,
    outbox: Vec<Vec<u8>>,
    clock: Clock,
    refused: u64,
}

impl WireHost {
    /// On `interface` of the calling thread's namespace. The kernel must have no address there, or both would answer.
    ///
    /// # Errors
    /// Where there is no such interface, or without `CAP_NET_RAW`.
    pub fn new(interface: &str, stack: Stack, clock: Clock) -> io::Result<Self> {
        Ok(Self {
            stack,
            socket: PacketSocket::on(interface)?,
            interface: index_of(interface)?,
            inbox: Inbox::new(),
            outbox: vec![Vec::new(); BATCH],
            clock,
            refused: 0,
        })
    }

    /// Its connections.
    pub fn stack(&mut self) -> &mut Stack {
        &mut self.stack
    }

    /// Its clock.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Frames that the interface did not take; TCP has sent them again.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Sends what there is to send; then, if nothing has come in, waits until something has, a timer is due, one of `others`
    /// is ready, or `longest` has passed; and takes in what has come.
    ///
    /// # Errors
    /// What the kernel says when a socket fails.
    pub fn turn(&mut self, others: &mut [Watch<'_>], longest: Duration) -> io::Result<()> {
        self.send_all();
        let until = self.stack.deadline().unwrap_or(Instant::MAX);
        let now = self.clock.now();
        wait(Some(self.socket.as_fd()), others, until.since(now).min(longest))?;
        self.receive_all()?;
        self.stack.on_timer(self.clock.now());
        self.send_all();
        Ok(())
    }

    fn receive_all(&mut self) -> io::Result<()> {
        let more = self.socket.receive(&mut self.inbox);
        let now = self.clock.now();
        for Arrival { frame, checksum_missing, .. } in self.inbox.arrivals() {
            let checksums = if checksum_missing { Checksums::Trust } else { Checksums::Verify };
            if let Some(frame) = frame {
                self.stack.on_frame(now, frame, checksums);
            }
        }
        // What is left waits for the next turn: acknowledgements go out in between.
        match more {
            // The interface went down; it may come back, and TCP lives on meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NetworkDown => Ok(()),
            more => more.map(|_| ()),
        }
    }

    fn send_all(&mut self) {
        let mut count = BATCH;
        while count == BATCH {
            let now = self.clock.now();
            count = 0;
            while count < BATCH && self.stack.poll_frame(now, &mut self.outbox[count]) {
                count += 1;
            }
            let mut frames: [(Interface, &[u8]); BATCH] = [(0, &[]); BATCH];
            for (slot, frame) in frames.iter_mut().zip(&self.outbox) {
                *slot = (self.interface, frame);
            }
            self.refused += self.socket.send(&frames[..count]).refused as u64;
        }
    }
}
