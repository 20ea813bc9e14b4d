//! The client of a flow over the kernel's TCP: all its connections.

use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::os::fd::AsFd;

use bytes::Bytes;
use handfast_core::Instant;
use handfast_host::app::Sink;
use handfast_host::dialogue::Asker;
use handfast_host::transport::{Figures, Transport};
use handfast_io::Watch;
use handfast_plan::StreamId;
use handfast_scenario::FlowId;
use socket2::Socket;

use super::receiver::Receiver;
use super::{Board, Goal};
use crate::{Clock, Netns};

/// What a person does at the receiving end of a flow.
pub(crate) struct DialogueClient {
    flow: FlowId,
    asker: Asker,
    connections: Vec<Connection>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Waiting,
    Connecting,
    Open,
    /// Nothing is asked any more.
    Closed,
    Over,
}

struct Connection {
    socket: Socket,
    server: SocketAddr,
    stage: Stage,
    sink: Sink,
    /// What the socket had no room for.
    unwritten: Bytes,
}

impl Connection {
    /// Of a stream, from the address of its receiver to that of its sender: what the network loses is counted by these.
    fn new(stream: StreamId, host: &Netns, goal: &Goal, server: SocketAddr) -> io::Result<Self> {
        let socket = goal.socket(host)?;
        socket.bind(&goal.address.into())?;
        let (stage, sink) = (Stage::Waiting, Sink::new(stream, None));
        Ok(Self { socket, server, stage, sink, unwritten: Bytes::new() })
    }

    fn connect(&mut self) {
        self.stage = match self.socket.connect(&self.server.into()) {
            Ok(()) => Stage::Connecting,
            Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => Stage::Connecting,
            Err(_) => Stage::Over,
        };
    }

    /// Whether it is open since now.
    fn has_opened(&mut self) -> bool {
        if self.stage != Stage::Connecting {
            return false;
        }
        if !matches!(self.socket.take_error(), Ok(None)) {
            self.stage = Stage::Over;
        } else if self.socket.peer_addr().is_ok() {
            self.stage = Stage::Open;
        }
        self.stage == Stage::Open
    }

    /// Takes what has come; how many new bytes that were.
    fn read(&mut self, clock: Clock, end: Instant, buffer: &mut [u8]) -> u64 {
        let before = self.sink.meter.bytes;
        while matches!(self.stage, Stage::Open | Stage::Closed) {
            match (&self.socket).read(buffer) {
                Ok(0) => self.stage = Stage::Over,
                Ok(len) => self.sink.take_bytes(clock.now(), end, &buffer[..len]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => self.stage = Stage::Over,
            }
        }
        self.sink.meter.bytes - before
    }

    /// Writes all that the client asks by it; `next` gives the next request.
    fn write(&mut self, mut next: impl FnMut() -> Option<Bytes>) {
        while self.stage == Stage::Open {
            if self.unwritten.is_empty() {
                let Some(request) = next() else { return };
                self.unwritten = request;
            }
            match (&self.socket).write(&self.unwritten) {
                Ok(written) => self.unwritten = self.unwritten.slice(written..),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => self.stage = Stage::Over,
            }
        }
    }

    fn watch(&self) -> Option<Watch<'_>> {
        let socket = self.socket.as_fd();
        match self.stage {
            Stage::Waiting | Stage::Over => None,
            Stage::Connecting => Some(Watch::new(socket, false, true)),
            Stage::Open | Stage::Closed => Some(Watch::new(socket, true, !self.unwritten.is_empty())),
        }
    }
}

impl DialogueClient {
    /// Makes the sockets of all streams in the host's namespace; `goals`: for each stream the address of its receiver and that of its
    /// sender.
    ///
    /// # Errors
    /// Where an address is not there, or taken.
    pub(crate) fn new(
        flow: FlowId,
        asker: Asker,
        host: &Netns,
        goals: impl Iterator<Item = (StreamId, Goal, SocketAddr)>,
    ) -> io::Result<Self> {
        let connection = |(stream, goal, server): (_, Goal, _)| Connection::new(stream, host, &goal, server);
        let connections = goals.map(connection).collect::<io::Result<_>>()?;
        Ok(Self { flow, asker, connections })
    }

    /// Opens what is wanted, and writes what is asked.
    fn go_on(&mut self, now: Instant) {
        let wanted = self.asker.wants();
        let waiting =
            self.connections.iter_mut().take(wanted).filter(|connection| connection.stage == Stage::Waiting);
        waiting.for_each(Connection::connect);
        for (index, connection) in self.connections.iter_mut().enumerate() {
            connection.write(|| self.asker.ask(now, index));
            if self.asker.is_stopped() && connection.stage == Stage::Open {
                // Whatever is wrong with it is seen by who reads.
                let _ = connection.socket.shutdown(std::net::Shutdown::Write);
                connection.stage = Stage::Closed;
            }
        }
    }
}

impl Receiver for DialogueClient {
    fn flow(&self) -> FlowId {
        self.flow
    }

    fn watches(&self, _now: Instant) -> Vec<Watch<'_>> {
        self.connections.iter().filter_map(Connection::watch).collect()
    }

    fn deadline(&self, _now: Instant) -> Instant {
        self.asker.deadline().unwrap_or(Instant::MAX)
    }

    fn on_time(&mut self, now: Instant) {
        if self.asker.deadline().is_some_and(|due| due <= now) {
            self.asker.on_timer(now);
            self.go_on(now);
        }
    }

    fn on_ready(&mut self, clock: Clock, end: Instant, buffer: &mut [u8], _board: &Board) {
        for (index, connection) in self.connections.iter_mut().enumerate() {
            if connection.has_opened() {
                self.asker.on_open(clock.now(), index);
            }
            let bytes = connection.read(clock, end, buffer);
            if bytes > 0 {
                self.asker.on_bytes(clock.now(), index, bytes);
            }
            if connection.stage == Stage::Over {
                self.asker.on_over(index);
            }
        }
        self.go_on(clock.now());
    }

    fn delivered(&self) -> u64 {
        self.connections.iter().map(|connection| connection.sink.meter.bytes).sum()
    }

    fn wrong_at(&self) -> Option<u64> {
        self.connections.iter().find_map(|connection| connection.sink.wrong_at)
    }

    fn figures(&self, end: Instant) -> Figures {
        self.asker.figures(end)
    }

    fn into_transport(self: Box<Self>) -> Option<Box<dyn Transport>> {
        None
    }
}
