//! Flows that do not use TCP: the machines of both ends on the kernel's UDP.

use std::io::{self, Read};
use std::os::fd::AsFd;

use bytes::Bytes;
use handfast_core::Instant;
use handfast_host::transport::{Transport, Way};
use handfast_io::Watch;
use handfast_plan::StreamId;
use handfast_scenario::FlowId;
use socket2::{Domain, Protocol, Socket, Type};

use super::receiver::Receiver;
use super::sender::{Sender, Sent};
use super::{Board, Goal};
use crate::{Clock, Netns};

fn socket(host: &Netns) -> io::Result<Socket> {
    let _there = host.enter()?;
    Socket::new(Domain::IPV4, Type::DGRAM.nonblocking(), Some(Protocol::UDP))
}

/// One end of a flow: its machine and the socket that carries what it sends and receives.
struct End {
    machine: Box<dyn Transport>,
    socket: Socket,
}

impl End {
    fn watch(&self) -> Watch<'_> {
        Watch::new(self.socket.as_fd(), true, false)
    }

    /// Does what is due, and sends what there is to send. A datagram that the kernel refuses is lost, as one that a full queue
    /// drops is.
    fn pump(&mut self, now: Instant) {
        if self.machine.deadline().is_some_and(|due| due <= now) {
            self.machine.on_timer(now);
        }
        while let Some((_, data)) = self.machine.poll_transmit(now) {
            let _ = self.socket.send(&data);
        }
    }

    fn receive(&mut self, clock: Clock, end: Instant, buffer: &mut [u8]) {
        while let Ok(len) = (&self.socket).read(buffer) {
            let now = clock.now();
            if now <= end {
                self.machine.on_datagram(now, Way(0), &Bytes::copy_from_slice(&buffer[..len]));
            }
        }
    }
}

/// The end that sends a flow.
pub(crate) struct DatagramSender {
    stream: StreamId,
    end: End,
    clock: Clock,
    /// When the run ends.
    over: Instant,
    /// What has come for it.
    buffer: Vec<u8>,
}

impl DatagramSender {
    /// Sends from its host's namespace.
    ///
    /// # Errors
    /// Where a socket cannot be made or set up.
    pub(crate) fn new(
        stream: StreamId,
        machine: Box<dyn Transport>,
        host: &Netns,
        goal: &Goal,
        (clock, over): (Clock, Instant),
    ) -> io::Result<Self> {
        let socket = socket(host)?;
        socket.connect(&goal.address.into())?;
        Ok(Self { stream, end: End { machine, socket }, clock, over, buffer: vec![0; super::CHUNK] })
    }
}

impl Sender for DatagramSender {
    fn deadline(&self) -> Instant {
        self.end.machine.deadline().unwrap_or(Instant::MAX)
    }

    fn watch(&self) -> Option<Watch<'_>> {
        Some(self.end.watch())
    }

    fn on_time(&mut self, now: Instant, board: &Board) {
        self.end.pump(now);
        let machine = &self.end.machine;
        board.set_active(self.stream, machine.has_begun() && machine.ending().is_none());
    }

    fn on_ready(&mut self, now: Instant, _board: &Board) {
        self.end.receive(self.clock, self.over, &mut self.buffer);
        self.end.pump(now);
    }

    fn is_closing(&self) -> bool {
        false
    }

    fn look(&mut self, _now: Instant, _board: &Board, _keep: bool) {}

    fn finish(self: Box<Self>, _end: Instant) -> (StreamId, Sent) {
        (self.stream, Sent { transport: Some(self.end.machine), ..Sent::default() })
    }
}

/// The end that receives a flow.
pub(crate) struct DatagramReceiver {
    flow: FlowId,
    end: End,
}

impl DatagramReceiver {
    /// Waits for datagrams in its host's namespace.
    ///
    /// # Errors
    /// Where the address is not there, or taken.
    pub(crate) fn bind(
        flow: FlowId,
        machine: Box<dyn Transport>,
        host: &Netns,
        goal: &Goal,
    ) -> io::Result<Self> {
        let socket = socket(host)?;
        socket.bind(&goal.address.into())?;
        Ok(Self { flow, end: End { machine, socket } })
    }
}

impl Receiver for DatagramReceiver {
    fn flow(&self) -> FlowId {
        self.flow
    }

    fn watches(&self, _now: Instant) -> Vec<Watch<'_>> {
        vec![self.end.watch()]
    }

    fn deadline(&self, _now: Instant) -> Instant {
        Instant::MAX
    }

    fn on_ready(&mut self, clock: Clock, end: Instant, buffer: &mut [u8], _board: &Board) {
        self.end.receive(clock, end, buffer);
    }

    fn delivered(&self) -> u64 {
        self.end.machine.meter().bytes
    }

    fn wrong_at(&self) -> Option<u64> {
        None
    }

    fn into_transport(self: Box<Self>) -> Option<Box<dyn Transport>> {
        Some(self.end.machine)
    }
}
