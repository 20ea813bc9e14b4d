//! What receives a stream by the kernel's TCP.

use std::io::{self, Read};
use std::os::fd::AsFd;

use handfast_core::{BitRate, Instant};
use handfast_host::app::Sink;
use handfast_host::probe::{End, Probe};
use handfast_host::transport::Transport;
use handfast_io::Watch;
use handfast_plan::StreamId;
use handfast_scenario::{Flow, FlowId};
use socket2::Socket;

use super::receiver::Receiver;
use super::{Board, Goal};
use crate::{Clock, Netns};

/// Connections that wait to be accepted: a stream has one at a time.
const BACKLOG: i32 = 1;

/// The receiver of one of a flow's streams.
pub(crate) struct TcpReceiver {
    flow: FlowId,
    stream: StreamId,
    listener: Socket,
    connection: Option<Socket>,
    sink: Sink,
    probe: Option<Probe>,
    /// Its sender opens a new connection after an error.
    reconnects: bool,
}

impl TcpReceiver {
    /// Listens in its host's namespace.
    ///
    /// # Errors
    /// Where the address is not there, or taken.
    pub(crate) fn listen(
        (id, flow): (FlowId, &Flow),
        (stream, probe): (StreamId, Option<Probe>),
        host: &Netns,
        goal: &Goal,
    ) -> io::Result<Self> {
        let listener = goal.socket(host)?;
        listener.bind(&goal.address.into())?;
        listener.listen(BACKLOG)?;
        let rate: Option<BitRate> = flow.read_rate;
        let reconnects = flow.app.reconnects().is_some();
        let sink = Sink::new(stream, rate);
        let sink = probe.iter().fold(sink, |sink, probe| sink.measured_by(probe.clone()));
        Ok(Self { flow: id, stream, listener, connection: None, sink, probe, reconnects })
    }

    fn next_read(&self) -> Instant {
        self.sink.next_read().unwrap_or(Instant::MAX)
    }

    /// Whatever is wrong with a connection before it is accepted, its sender sees it.
    fn accept(&mut self, clock: Clock, end: Instant, buffer: &mut [u8], board: &Board) {
        let Ok((connection, peer)) = self.listener.accept() else { return };
        self.probe.iter().for_each(|probe| probe.on_open(clock.now(), End::Server));
        if connection.set_nonblocking(true).is_err() {
            return;
        }
        if let Some(old) = self.connection.replace(connection) {
            // What waits in the old one is read at once.
            while let Ok(len @ 1..) = (&old).read(buffer) {
                self.sink.take_bytes(clock.now(), end, &buffer[..len]);
            }
        }
        let port = peer.as_socket().map_or(0, |peer| peer.port());
        self.sink.begin_at(board.begin(self.stream, port));
    }

    fn read(&mut self, clock: Clock, end: Instant, buffer: &mut [u8]) {
        let Some(connection) = &self.connection else { return };
        let most = self.sink.read_size().min(buffer.len());
        match (&*connection).read(&mut buffer[..most]) {
            Ok(len @ 1..) => self.sink.take_bytes(clock.now(), end, &buffer[..len]),
            _ => self.pause_or_close(is_over(connection)),
        }
    }

    /// Nothing could be read: nothing is there yet, or the stream has ended.
    fn pause_or_close(&mut self, over: bool) {
        if over {
            self.connection = None;
            if !self.reconnects {
                self.sink.stop();
            }
        }
    }
}

impl Receiver for TcpReceiver {
    fn flow(&self) -> FlowId {
        self.flow
    }

    fn watches(&self, now: Instant) -> Vec<Watch<'_>> {
        if self.next_read() == Instant::MAX {
            return Vec::new();
        }
        let listens = self.connection.is_none() || self.reconnects;
        let listener = listens.then(|| self.listener.as_fd());
        let reading = self.connection.as_ref().filter(|_| self.next_read() <= now).map(AsFd::as_fd);
        listener.into_iter().chain(reading).map(|fd| Watch::new(fd, true, false)).collect()
    }

    fn deadline(&self, now: Instant) -> Instant {
        if self.connection.is_some() && self.next_read() > now { self.next_read() } else { Instant::MAX }
    }

    fn on_ready(&mut self, clock: Clock, end: Instant, buffer: &mut [u8], board: &Board) {
        if self.connection.is_none() || self.reconnects {
            self.accept(clock, end, buffer, board);
        }
        if self.next_read() <= clock.now() {
            self.read(clock, end, buffer);
        }
    }

    fn delivered(&self) -> u64 {
        self.sink.meter.bytes
    }

    fn wrong_at(&self) -> Option<u64> {
        self.sink.wrong_at
    }

    fn into_transport(self: Box<Self>) -> Option<Box<dyn Transport>> {
        None
    }
}

/// Whether the end of a stream, or an error, is what there is to read.
fn is_over(connection: &Socket) -> bool {
    let mut byte = [std::mem::MaybeUninit::new(0)];
    match connection.peek(&mut byte) {
        Ok(len) => len == 0,
        Err(error) => !matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted),
    }
}
