//! The client of a flow over the kernel's TCP: all its connections.

use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::os::fd::AsFd;

use bytes::Bytes;
use handfast_core::{Duration, Instant};
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

/// Attempts after the first one, and the pause before the first of them, which doubles: a simulated client repeats its SYN so (RFC 6298
/// §2.1 and §5.5), whatever the network says.
const ATTEMPTS: u32 = 6;
const FIRST_PAUSE: Duration = Duration::from_secs(1);

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
    /// When it is opened, once it is wanted.
    opens: Instant,
    /// Attempts that have failed.
    failed: u32,
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
        Ok(Self { socket, server, stage, opens: Instant::ZERO, failed: 0, sink, unwritten: Bytes::new() })
    }

    fn connect(&mut self, now: Instant) {
        let connect = || self.socket.connect(&self.server.into());
        // The kernel tells with ECONNABORTED that the attempt before is over; from then on the socket can be used again.
        let aborted = |error: &io::Error| error.kind() == io::ErrorKind::ConnectionAborted;
        let tried = connect().or_else(|error| if aborted(&error) { connect() } else { Err(error) });
        match tried {
            Ok(()) => self.stage = Stage::Connecting,
            Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => self.stage = Stage::Connecting,
            Err(error) => self.on_failure(now, &error),
        }
    }

    /// Whether it is open since now.
    fn has_opened(&mut self, now: Instant) -> bool {
        if self.stage != Stage::Connecting {
            return false;
        }
        match self.socket.take_error() {
            Ok(Some(error)) | Err(error) => self.on_failure(now, &error),
            Ok(None) if self.socket.peer_addr().is_ok() => self.stage = Stage::Open,
            Ok(None) => {}
        }
        self.stage == Stage::Open
    }

    /// It could not be opened: it is tried again where a simulated client would go on trying.
    fn on_failure(&mut self, now: Instant, error: &io::Error) {
        if is_final(error) || self.failed == ATTEMPTS {
            self.stage = Stage::Over;
            return;
        }
        self.opens = now + FIRST_PAUSE * (1 << self.failed);
        self.failed += 1;
        self.stage = Stage::Waiting;
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

/// Whether an attempt that ended so is the last one: the kernel has repeated its SYN as often as the scheme says, or the server has
/// refused. All else comes from the network, as an ICMP message or a missing route, and may pass.
fn is_final(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ETIMEDOUT | libc::ECONNREFUSED | libc::ECONNRESET))
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

    /// The connections that are wanted and not opened.
    fn unopened(&self) -> impl Iterator<Item = &Connection> {
        let wanted = self.connections.iter().take(self.asker.wants());
        wanted.filter(|connection| connection.stage == Stage::Waiting)
    }

    /// Opens what is wanted, and writes what is asked.
    fn go_on(&mut self, now: Instant, board: &Board) {
        let wanted = self.connections.iter_mut().take(self.asker.wants());
        let due =
            |connection: &&mut Connection| connection.stage == Stage::Waiting && connection.opens <= now;
        wanted.filter(due).for_each(|connection| connection.connect(now));
        for (index, connection) in self.connections.iter_mut().enumerate() {
            connection.write(|| self.asker.ask(now, index));
            if self.asker.is_stopped() && connection.stage == Stage::Open {
                // Whatever is wrong with it is seen by who reads.
                let _ = connection.socket.shutdown(std::net::Shutdown::Write);
                connection.stage = Stage::Closed;
            }
            if connection.stage == Stage::Over {
                self.asker.on_over(index);
            }
        }
        board.set_waiting(self.flow, self.asker.is_waiting());
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
        let attempt = self.unopened().map(|connection| connection.opens);
        attempt.chain(self.asker.deadline()).min().unwrap_or(Instant::MAX)
    }

    fn on_time(&mut self, now: Instant, board: &Board) {
        if self.deadline(now) > now {
            return;
        }
        if self.asker.deadline().is_some_and(|due| due <= now) {
            self.asker.on_timer(now);
        }
        self.go_on(now, board);
    }

    fn on_ready(&mut self, clock: Clock, end: Instant, buffer: &mut [u8], board: &Board) {
        for (index, connection) in self.connections.iter_mut().enumerate() {
            if connection.has_opened(clock.now()) {
                self.asker.on_open(clock.now(), index);
            }
            let bytes = connection.read(clock, end, buffer);
            if bytes > 0 {
                self.asker.on_bytes(clock.now(), index, bytes);
            }
        }
        self.go_on(clock.now(), board);
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    fn error(code: i32) -> io::Error {
        io::Error::from_raw_os_error(code)
    }

    /// A client of a server on this host that listens.
    fn client() -> (Connection, TcpListener) {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let domain = (socket2::Domain::IPV4, socket2::Type::STREAM.nonblocking());
        let connection = Connection {
            socket: Socket::new(domain.0, domain.1, None).unwrap(),
            server: server.local_addr().unwrap(),
            stage: Stage::Waiting,
            opens: Instant::ZERO,
            failed: 0,
            sink: Sink::new(0, None),
            unwritten: Bytes::new(),
        };
        (connection, server)
    }

    #[test]
    fn what_the_network_says_is_tried_again_and_waits_longer_each_time() {
        let (mut connection, _server) = client();
        let mut now = Instant::ZERO;
        for seconds in [1, 2, 4, 8, 16, 32] {
            connection.on_failure(now, &error(libc::EHOSTUNREACH));
            assert_eq!(
                (connection.stage, connection.opens.since(now)),
                (Stage::Waiting, Duration::from_secs(seconds))
            );
            now = connection.opens;
        }
        connection.on_failure(now, &error(libc::EHOSTUNREACH));
        assert_eq!(connection.stage, Stage::Over);
    }

    #[test]
    fn what_ends_a_simulated_client_ends_it() {
        for code in [libc::ETIMEDOUT, libc::ECONNREFUSED] {
            let (mut connection, _server) = client();
            connection.on_failure(Instant::ZERO, &error(code));
            assert_eq!(connection.stage, Stage::Over, "{code}");
        }
    }

    /// The kernel's socket after a refusal, by a port at which nobody listens: it opens once somebody does.
    #[test]
    fn a_socket_that_has_failed_opens_later() {
        let (mut connection, server) = client();
        let there = connection.server;
        connection.server = SocketAddr::from(([127, 0, 0, 1], 1));
        connection.connect(Instant::ZERO);
        for _ in 0..100 {
            if connection.socket.take_error().unwrap().is_some() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        connection.server = there;
        connection.connect(Instant::ZERO);
        server.accept().unwrap();
        for _ in 0..100 {
            if connection.has_opened(Instant::ZERO) {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        assert_eq!(connection.stage, Stage::Open);
    }
}
