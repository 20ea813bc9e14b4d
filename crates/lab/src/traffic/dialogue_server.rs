//! The server's end of a connection over the kernel's TCP: it answers requests one after the other.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;

use handfast_core::Instant;
use handfast_host::app::Source;
use handfast_host::dialogue::request::Requests;
use handfast_host::meter::WindowMeter;
use handfast_host::session::{Ending, LOW_WATER};
use handfast_io::{TcpInfo, Watch};
use handfast_plan::StreamId;
use handfast_scenario::FlowId;
use handfast_tcp::Death;
use handfast_wire::Payload;
use socket2::Socket;

use super::sender::{Sender, Sent, Totals, sample};
use super::{Board, CHUNK, Goal};
use crate::Netns;

/// The server of one of a flow's streams.
pub(crate) struct DialogueServer {
    flow: FlowId,
    stream: StreamId,
    listener: Socket,
    connection: Option<Socket>,
    requests: Requests,
    source: Source,
    /// The last byte and the FIN are in the socket.
    closing: bool,
    /// The window in segments.
    window: Option<WindowMeter>,
    sent: Sent,
}

impl DialogueServer {
    /// Listens in its host's namespace.
    ///
    /// # Errors
    /// Where the address is not there, or taken.
    pub(crate) fn listen((flow, stream): (FlowId, StreamId), host: &Netns, goal: &Goal) -> io::Result<Self> {
        let listener = goal.socket(host)?;
        listener.bind(&goal.address.into())?;
        listener.listen(1)?;
        Ok(Self {
            flow,
            stream,
            listener,
            connection: None,
            requests: Requests::default(),
            source: Source::of_answers(),
            closing: false,
            window: None,
            sent: Sent::default(),
        })
    }

    /// The open connection; [`None`]: its client has not come, or it is over.
    fn open(&self) -> Option<&Socket> {
        self.connection.as_ref().filter(|_| self.sent.ending.is_none())
    }

    fn accept(&mut self, now: Instant) {
        let Ok((connection, _)) = self.listener.accept() else { return };
        let set = connection.set_nonblocking(true);
        if set.and_then(|()| connection.set_tcp_notsent_lowat(LOW_WATER as u32)).is_err() {
            return;
        }
        self.connection = Some(connection);
        self.sent.opened = 1;
        self.exchange(now);
    }

    /// Reads requests, and writes answers as far as there is room for them.
    fn exchange(&mut self, now: Instant) {
        if let Err(error) = self.read().and_then(|()| self.write()) {
            let death = match error.raw_os_error() {
                Some(libc::ETIMEDOUT) => Death::Timeout,
                _ => Death::Reset,
            };
            self.end(Ending::Died(now, death));
        }
    }

    fn read(&mut self) -> io::Result<()> {
        let Some(mut connection) = self.connection.as_ref() else { return Ok(()) };
        let mut buffer = [0; 4096];
        while !self.closing {
            match connection.read(&mut buffer) {
                // A client that has closed waits for nothing more.
                Ok(0) => {
                    self.source.finish();
                    return Ok(());
                }
                Ok(len) => self.source.allow(self.requests.take(&buffer[..len])),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn write(&mut self) -> io::Result<()> {
        let Some(mut connection) = self.connection.as_ref() else { return Ok(()) };
        loop {
            let (offset, left) = self.source.next();
            if left == 0 {
                break;
            }
            let len = left.min(CHUNK as u64) as u32;
            let chunk = Payload::Synthetic { stream: self.stream, offset, len };
            match connection.write(&chunk.to_bytes()) {
                Ok(written) => self.source.on_written(written as u64),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        if self.source.is_done() && !std::mem::replace(&mut self.closing, true) {
            connection.shutdown(std::net::Shutdown::Write)?;
        }
        Ok(())
    }

    fn end(&mut self, ending: Ending) {
        self.sent.ending = Some(ending);
    }
}

impl Sender for DialogueServer {
    fn deadline(&self) -> Instant {
        Instant::MAX
    }

    fn watch(&self) -> Option<Watch<'_>> {
        match &self.connection {
            None => Some(Watch::new(self.listener.as_fd(), true, false)),
            Some(_) if self.sent.ending.is_some() => None,
            Some(connection) if self.closing => Some(Watch::error(connection.as_fd())),
            Some(connection) => Some(Watch::new(connection.as_fd(), true, self.source.next().1 > 0)),
        }
    }

    fn on_time(&mut self, _now: Instant, _board: &Board) {}

    fn on_ready(&mut self, now: Instant, _board: &Board) {
        if self.connection.is_none() {
            return self.accept(now);
        }
        self.exchange(now);
    }

    fn is_closing(&self) -> bool {
        self.closing && self.sent.ending.is_none()
    }

    fn look(&mut self, now: Instant, board: &Board, keep: bool) {
        let Some(info) = self.open().and_then(|connection| TcpInfo::of(connection).ok()) else { return };
        self.sent.totals = Some(Totals::from(&info));
        if self.closing && info.is_finished() {
            return self.end(Ending::Done(now));
        }
        let cwnd = u64::from(info.cwnd);
        self.window.get_or_insert_with(|| WindowMeter::new(now, cwnd)).set(now, cwnd);
        if keep {
            self.sent.samples.push((now, sample(&info, board.delivered(self.flow)), true));
        }
    }

    fn finish(mut self: Box<Self>, end: Instant) -> (StreamId, Sent) {
        let info = self.open().and_then(|connection| TcpInfo::of(connection).ok());
        self.sent.totals = info.as_ref().map(Totals::from).or(self.sent.totals);
        let over = self.sent.ending.map_or(end, Ending::at);
        self.sent.cwnd_mean = self.window.and_then(|window| window.mean(over));
        self.sent.cwnd_min = self.window.map(|window| window.min() as f64);
        self.sent.wrong_at = self.requests.wrong_at();
        (self.stream, self.sent)
    }
}
