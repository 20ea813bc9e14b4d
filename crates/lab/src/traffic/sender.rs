//! The senders of all flows: one thread.

use std::io::{self, Write};
use std::os::fd::AsFd;

use handfast_core::{Duration, Instant};
use handfast_host::app::Source;
use handfast_host::meter::{FlowSample, WindowMeter};
use handfast_host::session::{Ending, LOW_WATER};
use handfast_io::{TcpInfo, Watch};
use handfast_scenario::{Flow, FlowId};
use handfast_wire::Payload;
use socket2::Socket;

use super::{Board, CHUNK, Goal, wait};
use crate::{Clock, Netns};

/// How often the kernel is asked about open connections.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(5);
/// How often about those that have sent their last byte.
const LOOK_FOR_END_EVERY: Duration = Duration::from_millis(1);

/// A flow to be sent.
pub(crate) struct Job<'a> {
    pub(crate) id: FlowId,
    pub(crate) flow: &'a Flow,
    pub(crate) from: &'a Netns,
    pub(crate) start: Instant,
    pub(crate) goal: Goal,
}

/// What became of a flow, as its sender saw it.
#[derive(Debug, Default)]
pub(crate) struct Sent {
    pub(crate) opened: bool,
    pub(crate) ended: Option<(Instant, End)>,
    /// The congestion window in full segments, weighted by time.
    pub(crate) cwnd_mean: Option<f64>,
    /// Its smallest value.
    pub(crate) cwnd_min: Option<f64>,
    pub(crate) totals: Option<Totals>,
    /// What was seen every [`LOOK_EVERY`], if that was asked for.
    pub(crate) samples: Vec<(Instant, FlowSample)>,
}

/// What a connection has counted. [`None`]: it does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) retransmitted: u64,
    pub(crate) data_segments: u64,
    pub(crate) timeouts: Option<u64>,
    pub(crate) spurious_timeouts: Option<u64>,
    pub(crate) fast_retransmits: Option<u64>,
    pub(crate) srtt: Option<Duration>,
}

impl From<&TcpInfo> for Totals {
    fn from(info: &TcpInfo) -> Self {
        Self {
            retransmitted: u64::from(info.retransmitted),
            data_segments: u64::from(info.data_segments),
            timeouts: info.timeouts.map(u64::from),
            // The kernel counts these for all connections of a namespace together.
            spurious_timeouts: None,
            fast_retransmits: None,
            srtt: info.srtt,
        }
    }
}

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// All that was written is acknowledged.
    Done,
    /// Why, as in a result's `outcome`.
    Died(&'static str),
}

impl From<Ending> for End {
    fn from(ending: Ending) -> Self {
        match ending {
            Ending::Done(_) => Self::Done,
            Ending::Died(..) => Self::Died(ending.name()),
        }
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

struct Sender<'a> {
    id: FlowId,
    job: Job<'a>,
    source: Source,
    socket: Socket,
    stage: Stage,
    /// The window in segments.
    window: Option<WindowMeter>,
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
) -> io::Result<Vec<(FlowId, Sent)>> {
    let senders = jobs.into_iter().map(Sender::new);
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
    Ok(senders.into_iter().map(|sender| (sender.id, sender.finish(end))).collect())
}

/// Until something can be written or is due.
fn sleep(senders: &mut [Sender<'_>], clock: Clock, until: Instant, board: &Board) {
    let closing = senders.iter().any(|sender| sender.stage == Stage::Closing);
    let until = if closing { until.min(clock.now() + LOOK_FOR_END_EVERY) } else { until };
    let until = senders.iter().map(Sender::deadline).fold(until, Instant::min);
    let (waiting, mut sockets): (Vec<_>, Vec<_>) =
        senders.iter().enumerate().filter_map(|(index, sender)| Some((index, sender.watch()?))).unzip();
    let ready = wait(clock, until, &mut sockets);
    for (index, _) in waiting.into_iter().zip(ready).filter(|&(_, ready)| ready) {
        senders[index].on_ready(clock.now(), board);
    }
}

impl<'a> Sender<'a> {
    fn new(job: Job<'a>) -> io::Result<Self> {
        let socket = job.goal.socket(job.from)?;
        socket.set_tcp_notsent_lowat(LOW_WATER as u32)?;
        let source = Source::new(job.flow.app, job.start, job.flow.stop);
        Ok(Self {
            id: job.id,
            job,
            source,
            socket,
            stage: Stage::Waiting,
            window: None,
            sent: Sent::default(),
        })
    }

    fn deadline(&self) -> Instant {
        match self.stage {
            Stage::Waiting => self.job.start,
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
            self.stage = Stage::Open;
            self.source.on_timer(now);
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
            Some(libc::ETIMEDOUT) if self.stage == Stage::Connecting => "handshake-timeout",
            Some(libc::ETIMEDOUT) => "timeout",
            Some(libc::ECONNRESET | libc::EPIPE | libc::ECONNREFUSED) => "reset",
            _ => "aborted",
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
        self.sent.totals = Some((&info).into());
        if self.stage == Stage::Closing && info.is_finished() {
            return self.end(now, End::Done, board);
        }
        if self.stage != Stage::Connecting {
            self.note(now, &info, board.delivered(self.id), keep);
        }
    }

    fn note(&mut self, now: Instant, info: &TcpInfo, delivered: u64, keep: bool) {
        let cwnd = u64::from(info.cwnd);
        self.window.get_or_insert_with(|| WindowMeter::new(now, cwnd)).set(now, cwnd);
        if keep {
            let bytes = |segments: u32| u64::from(segments) * u64::from(info.mss);
            let sample = FlowSample {
                cwnd: bytes(info.cwnd),
                ssthresh: info.ssthresh.map(bytes),
                srtt: info.srtt,
                rto: info.rto,
                delivered,
                sent: None,
                acknowledged: None,
            };
            self.sent.samples.push((now, sample));
        }
    }

    fn finish(mut self, end: Instant) -> Sent {
        // A connection that is closed is not asked again: its last word was taken when it ended.
        if !matches!(self.stage, Stage::Waiting | Stage::Over) {
            let info = TcpInfo::of(&self.socket).ok();
            self.sent.totals = info.as_ref().map(Totals::from).or(self.sent.totals);
        }
        let over = self.sent.ended.map_or(end, |(at, _)| at);
        self.sent.cwnd_mean = self.window.and_then(|window| window.mean(over));
        self.sent.cwnd_min = self.window.map(|window| window.min() as f64);
        self.sent
    }
}
