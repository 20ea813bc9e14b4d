//! What sends a stream by the kernel's TCP.

use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::AsFd;

use handfast_core::Instant;
use handfast_host::app::{App, Source};
use handfast_host::meter::WindowMeter;
use handfast_host::probe::{End, Probe};
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

/// A stream to be sent.
pub(crate) struct Job<'a> {
    pub(crate) flow: FlowId,
    pub(crate) stream: StreamId,
    /// What of the flow's data it carries.
    pub(crate) app: App,
    pub(crate) from: &'a Netns,
    pub(crate) start: Instant,
    pub(crate) stop: Option<Instant>,
    pub(crate) goal: Goal,
    pub(crate) probe: Option<Probe>,
}

impl Job<'_> {
    fn socket(&self) -> io::Result<Socket> {
        let socket = self.goal.socket(self.from)?;
        socket.set_tcp_notsent_lowat(LOW_WATER as u32)?;
        Ok(socket)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Waiting,
    Connecting,
    Open,
    /// The last byte and the FIN are in the socket.
    Closing,
    Over,
}

/// The sender of one of a flow's streams.
pub(crate) struct TcpSender<'a> {
    job: Job<'a>,
    source: Source,
    socket: Socket,
    stage: Stage,
    /// When the next connection is opened.
    opens: Instant,
    /// The position of the first byte of the connection in what the application sends.
    begins: u64,
    /// What earlier connections have counted.
    before: Option<Totals>,
    /// The window in segments.
    window: Option<WindowMeter>,
    sent: Sent,
}

impl<'a> TcpSender<'a> {
    /// # Errors
    /// Where a socket cannot be made or set up.
    pub(crate) fn new(job: Job<'a>) -> io::Result<Self> {
        let (socket, source) = (job.socket()?, Source::new(job.app, job.start, job.stop));
        Ok(Self {
            opens: job.start,
            job,
            source,
            socket,
            stage: Stage::Waiting,
            begins: 0,
            before: None,
            window: None,
            sent: Sent::default(),
        })
    }

    fn connect(&mut self, now: Instant, board: &Board) {
        self.sent.opened += 1;
        self.job.probe.iter().for_each(|probe| probe.on_connect(now));
        self.stage = Stage::Connecting;
        board.set_active(self.job.stream, true);
        match self.socket.connect(&self.job.goal.address.into()) {
            Ok(()) => self.is_open(now),
            Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => {}
            Err(error) => self.die(now, &error, board),
        }
    }

    fn is_open(&mut self, now: Instant) {
        self.stage = Stage::Open;
        self.job.probe.iter().for_each(|probe| probe.on_open(now, End::Client));
    }

    fn write(&mut self, now: Instant, board: &Board) {
        loop {
            let (offset, left) = self.source.next();
            if left == 0 {
                break;
            }
            let len = left.min(CHUNK as u64) as u32;
            let chunk = Payload::Synthetic { stream: self.job.stream, offset, len };
            match (&self.socket).write(&chunk.to_bytes()) {
                Ok(written) => {
                    self.job.probe.iter().for_each(|probe| probe.on_written(offset, written as u64));
                    self.source.on_written(written as u64);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return self.die(now, &error, board),
            }
        }
        if self.source.is_done() {
            self.stage = Stage::Closing;
            if let Err(error) = self.socket.shutdown(std::net::Shutdown::Write) {
                self.die(now, &error, board);
            }
        }
    }

    fn die(&mut self, now: Instant, error: &io::Error, board: &Board) {
        let death = match error.raw_os_error() {
            // With both limits it is the shorter one, as a rule.
            Some(libc::ETIMEDOUT) if self.job.goal.user_timeout.is_some() => Death::UserTimeout,
            Some(libc::ETIMEDOUT) if self.stage == Stage::Connecting => Death::HandshakeTimeout,
            Some(libc::ETIMEDOUT) => Death::Timeout,
            Some(libc::ECONNRESET | libc::EPIPE | libc::ECONNREFUSED) => Death::Reset,
            _ => Death::Aborted,
        };
        let after = self.job.app.reconnects().filter(|_| self.source.reconnects(death));
        match after.map(|how| self.reconnect(now + how.after, board)) {
            Some(Ok(())) => {}
            None | Some(Err(_)) => self.end(Ending::Died(now, death), board),
        }
    }

    /// The application opens a new connection at `opens`, and goes on with what was not acknowledged.
    fn reconnect(&mut self, opens: Instant, board: &Board) -> io::Result<()> {
        let info = TcpInfo::of(&self.socket)?;
        let (written, _) = self.source.next();
        self.begins += info.acknowledged.min(written - self.begins);
        self.source.go_back_to(self.begins);
        self.before = Some(self.totals(&info));
        self.socket = self.job.socket()?;
        // The receiver knows the connection by its port, so that is chosen now.
        self.socket.bind(&SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)).into())?;
        let port = self.socket.local_addr()?.as_socket().map_or(0, |local| local.port());
        board.set_begin(self.job.stream, port, self.begins);
        (self.stage, self.opens) = (Stage::Waiting, opens);
        Ok(())
    }

    fn end(&mut self, ending: Ending, board: &Board) {
        self.stage = Stage::Over;
        self.sent.ending = Some(ending);
        board.set_active(self.job.stream, false);
    }

    /// What all connections have counted, with this one.
    fn totals(&self, info: &TcpInfo) -> Totals {
        let now = Totals::from(info);
        self.before.map_or(now, |before| before.and(now))
    }

    fn note(&mut self, now: Instant, info: &TcpInfo, delivered: u64, keep: bool) {
        let cwnd = u64::from(info.cwnd);
        self.window.get_or_insert_with(|| WindowMeter::new(now, cwnd)).set(now, cwnd);
        if keep {
            self.sent.samples.push((now, sample(info, delivered), true));
        }
    }
}

impl Sender for TcpSender<'_> {
    fn deadline(&self) -> Instant {
        match self.stage {
            Stage::Waiting => self.opens,
            Stage::Open => self.source.deadline(),
            Stage::Connecting | Stage::Closing | Stage::Over => Instant::MAX,
        }
    }

    fn watch(&self) -> Option<Watch<'_>> {
        let socket = self.socket.as_fd();
        match self.stage {
            Stage::Waiting | Stage::Over => None,
            Stage::Connecting => Some(Watch::new(socket, false, true)),
            Stage::Open if self.source.next().1 > 0 => Some(Watch::new(socket, false, true)),
            Stage::Open | Stage::Closing => Some(Watch::error(socket)),
        }
    }

    fn on_time(&mut self, now: Instant, board: &Board) {
        if self.stage == Stage::Waiting && self.opens <= now {
            self.connect(now, board);
        }
        if self.stage == Stage::Open && self.source.deadline() <= now {
            self.source.on_timer(now);
            self.write(now, board);
        }
    }

    /// The socket can be written to, or something is wrong with it.
    fn on_ready(&mut self, now: Instant, board: &Board) {
        match self.socket.take_error() {
            Ok(None) => {}
            Ok(Some(error)) | Err(error) => return self.die(now, &error, board),
        }
        if self.stage == Stage::Connecting && self.socket.peer_addr().is_ok() {
            self.is_open(now);
            self.source.on_timer(now);
        }
        if self.stage == Stage::Open {
            self.write(now, board);
        }
    }

    fn is_closing(&self) -> bool {
        self.stage == Stage::Closing
    }

    fn look(&mut self, now: Instant, board: &Board, keep: bool) {
        if matches!(self.stage, Stage::Waiting | Stage::Over) {
            return;
        }
        let Ok(info) = TcpInfo::of(&self.socket) else { return };
        self.sent.totals = Some(self.totals(&info));
        if self.stage == Stage::Closing && info.is_finished() {
            return self.end(Ending::Done(now), board);
        }
        if self.stage != Stage::Connecting {
            self.note(now, &info, board.delivered(self.job.flow), keep);
        }
    }

    fn finish(mut self: Box<Self>, end: Instant) -> (StreamId, Sent) {
        // A connection that is closed is not asked again: its last word was taken when it ended.
        if !matches!(self.stage, Stage::Waiting | Stage::Over) {
            let info = TcpInfo::of(&self.socket).ok();
            self.sent.totals = info.map(|info| self.totals(&info)).or(self.sent.totals);
        }
        let over = self.sent.ending.map_or(end, Ending::at);
        self.sent.cwnd_mean = self.window.and_then(|window| window.mean(over));
        self.sent.cwnd_min = self.window.map(|window| window.min() as f64);
        (self.job.stream, self.sent)
    }
}
