//! The senders of all flows: one thread.

use std::io::{self, Write};
use std::os::fd::AsFd;

use handfast_core::{Duration, Instant};
use handfast_measure::meter::WindowMeter;
use handfast_measure::sampler::FlowSample;
use handfast_scenario::{Flow, FlowId};
use handfast_wire::Payload;
use nix::poll::PollFlags;
use socket2::Socket;

use super::source::Source;
use super::{Board, CHUNK, Goal, wait};
use crate::sys::tcp_info::TcpInfo;
use crate::{Clock, Netns};

/// How often the kernel is asked about open connections.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// How often about those that have sent their last byte.
const LOOK_FOR_END_EVERY: Duration = Duration::from_millis(1);
/// Unsent bytes in a socket above which it is not written to: as in the simulator, a flow that is stopped is soon over.
const LOW_WATER: u32 = 1 << 16;

/// A flow to be sent.
pub(crate) struct Job<'a> {
    pub(crate) flow: &'a Flow,
    pub(crate) from: &'a Netns,
    pub(crate) start: Instant,
    pub(crate) goal: Goal,
}

/// What became of a flow, as its sender saw it.
#[derive(Debug)]
pub(crate) struct Sent {
    pub(crate) opened: bool,
    pub(crate) ended: Option<(Instant, End)>,
    /// The window in segments.
    pub(crate) window: Option<WindowMeter>,
    /// The kernel's last word.
    pub(crate) info: Option<TcpInfo>,
    /// What the kernel said every [`LOOK_EVERY`], if that was asked for.
    pub(crate) samples: Vec<(Instant, FlowSample)>,
}

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// All that was written is acknowledged.
    Done,
    Died(Cause),
}

/// Why a connection died.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    Reset,
    HandshakeTimeout,
    Timeout,
    Aborted,
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

struct Sender<'a> {
    id: FlowId,
    job: Job<'a>,
    source: Source,
    socket: Socket,
    stage: Stage,
    sent: Sent,
}

/// Sends all flows until `end` or a stop.
///
/// # Errors
/// Where a socket cannot be made or set up.
pub(crate) fn run(
    jobs: Vec<Job<'_>>,
    clock: Clock,
    end: Instant,
    board: &Board,
    keep_samples: bool,
) -> io::Result<Vec<Sent>> {
    let senders = jobs.into_iter().enumerate().map(|(id, job)| Sender::new(id, job));
    let mut senders = senders.collect::<io::Result<Vec<_>>>()?;
    let mut next_look = Instant::ZERO;
    while clock.now() < end && !board.is_stopped() {
        let now = clock.now();
        let all = now >= next_look;
        for sender in &mut senders {
            sender.on_time(now, board);
            if all || sender.stage == Stage::Closing {
                sender.look(now, board, all && keep_samples);
            }
        }
        if all {
            next_look = next_look.max(now - LOOK_EVERY) + LOOK_EVERY;
        }
        sleep(&mut senders, clock, next_look.min(end), board);
    }
    Ok(senders.into_iter().map(|sender| sender.finish(end)).collect())
}

/// Until something can be written or is due.
fn sleep(senders: &mut [Sender<'_>], clock: Clock, until: Instant, board: &Board) {
    let closing = senders.iter().any(|sender| sender.stage == Stage::Closing);
    let until = if closing { until.min(clock.now() + LOOK_FOR_END_EVERY) } else { until };
    let until = senders.iter().map(Sender::deadline).fold(until, Instant::min);
    let (waiting, sockets): (Vec<_>, Vec<_>) = senders
        .iter()
        .filter_map(|sender| Some((sender.id, (sender.socket.as_fd(), sender.interest()?))))
        .unzip();
    let ready = wait(clock, until, &sockets);
    for (id, _) in waiting.into_iter().zip(ready).filter(|&(_, ready)| ready) {
        senders[id].on_ready(clock.now(), board);
    }
}

impl<'a> Sender<'a> {
    fn new(id: FlowId, job: Job<'a>) -> io::Result<Self> {
        let socket = job.goal.socket(job.from)?;
        socket.set_tcp_notsent_lowat(LOW_WATER)?;
        // As the simulator's application: what is written is to be sent.
        socket.set_tcp_nodelay(true)?;
        let source = Source::new(job.flow, job.start);
        let sent = Sent { opened: false, ended: None, window: None, info: None, samples: Vec::new() };
        Ok(Self { id, job, source, socket, stage: Stage::Waiting, sent })
    }

    fn deadline(&self) -> Instant {
        match self.stage {
            Stage::Waiting => self.job.start,
            Stage::Open => self.source.deadline(),
            Stage::Connecting | Stage::Closing | Stage::Over => Instant::MAX,
        }
    }

    fn interest(&self) -> Option<PollFlags> {
        match self.stage {
            Stage::Waiting | Stage::Over => None,
            Stage::Connecting => Some(PollFlags::POLLOUT),
            Stage::Open if self.source.next().1 > 0 => Some(PollFlags::POLLOUT),
            // Errors are reported without being asked for.
            Stage::Open | Stage::Closing => Some(PollFlags::empty()),
        }
    }

    fn on_time(&mut self, now: Instant, board: &Board) {
        if self.stage == Stage::Waiting && self.job.start <= now {
            self.sent.opened = true;
            self.stage = Stage::Connecting;
            board.set_active(self.id, true);
            match self.socket.connect(&self.job.goal.address.into()) {
                Ok(()) => self.stage = Stage::Open,
                Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => {}
                Err(error) => self.die(now, &error, board),
            }
        }
        if self.stage == Stage::Open && self.source.deadline() <= now {
            self.source.on_time(now);
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
            self.stage = Stage::Open;
            self.source.on_time(now);
        }
        if self.stage == Stage::Open {
            self.write(now, board);
        }
    }

    fn write(&mut self, now: Instant, board: &Board) {
        loop {
            let (offset, left) = self.source.next();
            if left == 0 {
                break;
            }
            let chunk =
                Payload::Synthetic { stream: self.id as u32, offset, len: left.min(CHUNK as u64) as u32 };
            match (&self.socket).write(&chunk.to_bytes()) {
                Ok(written) => self.source.on_written(written as u64),
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
        let cause = match error.raw_os_error() {
            Some(libc::ETIMEDOUT) if self.stage == Stage::Connecting => Cause::HandshakeTimeout,
            Some(libc::ETIMEDOUT) => Cause::Timeout,
            Some(libc::ECONNRESET | libc::EPIPE | libc::ECONNREFUSED) => Cause::Reset,
            _ => Cause::Aborted,
        };
        self.end(now, End::Died(cause), board);
    }

    fn end(&mut self, now: Instant, end: End, board: &Board) {
        self.stage = Stage::Over;
        self.sent.ended = Some((now, end));
        board.set_active(self.id, false);
    }

    /// Asks the kernel.
    fn look(&mut self, now: Instant, board: &Board, keep: bool) {
        if matches!(self.stage, Stage::Waiting | Stage::Over) {
            return;
        }
        let Ok(info) = TcpInfo::of(&self.socket) else { return };
        self.sent.info = Some(info);
        if self.stage == Stage::Closing && info.is_finished() {
            return self.end(now, End::Done, board);
        }
        if self.stage != Stage::Connecting {
            self.note(now, &info, board.delivered(self.id), keep);
        }
    }

    fn note(&mut self, now: Instant, info: &TcpInfo, delivered: u64, keep: bool) {
        let cwnd = u64::from(info.cwnd);
        self.sent.window.get_or_insert_with(|| WindowMeter::new(now, cwnd)).set(now, cwnd);
        if keep {
            let bytes = |segments: u32| u64::from(segments) * u64::from(info.mss);
            let sample = FlowSample {
                cwnd: bytes(info.cwnd),
                ssthresh: info.ssthresh.map(bytes),
                srtt: info.srtt,
                rto: info.rto,
                delivered,
            };
            self.sent.samples.push((now, sample));
        }
    }

    fn finish(mut self, end: Instant) -> Sent {
        // A connection that is closed is not asked again: its last word was taken when it ended.
        if !matches!(self.stage, Stage::Waiting | Stage::Over) {
            self.sent.info = TcpInfo::of(&self.socket).ok().or(self.sent.info);
        }
        self.sent.ended = self.sent.ended.filter(|&(at, _)| at <= end);
        self.sent
    }
}
