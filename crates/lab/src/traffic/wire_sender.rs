//! Our own endpoint as the sender of a host's flows: one thread a host, on a packet socket instead of the kernel's TCP and UDP.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use handfast_core::Instant;
use handfast_host::app::{App, Source};
use handfast_host::meter::FlowSample;
use handfast_host::session::{Ending, Next, Sending};
use handfast_plan::StreamId;
use handfast_scenario::FlowId;
use handfast_tcp::{Config, Death, Endpoint};

use super::sender::{LOOK_EVERY, Sent, Totals};
use super::wire_datagrams::WireDatagrams;
use super::{Board, NAP};
use crate::{Clock, ConnectionId, Identity, Netns, Stack, WireHost};

/// A host whose TCP is ours.
pub(crate) struct Host<'a> {
    pub(crate) space: &'a Netns,
    pub(crate) interface: String,
    pub(crate) identity: Identity,
    /// Whom it sends to, and the Ethernet addresses.
    pub(crate) neighbours: Vec<(IpAddr, [u8; 6])>,
    pub(crate) config: &'a Arc<Config>,
    /// Payload bytes of a full segment.
    pub(crate) segment: f64,
    pub(crate) jobs: Vec<WireJob>,
}

/// A stream that it sends.
pub(crate) struct WireJob {
    pub(crate) flow: FlowId,
    pub(crate) stream: StreamId,
    /// What of the flow's data it carries.
    pub(crate) app: App,
    pub(crate) start: Instant,
    pub(crate) stop: Option<Instant>,
    pub(crate) goal: SocketAddr,
}

/// One of its streams.
struct WireStream {
    job: WireJob,
    sending: Sending,
    /// When the next connection is opened.
    opens: Instant,
    /// The position of its first byte in what the application sends; [`None`]: it is the first connection.
    begins: Option<u64>,
    connection: Option<ConnectionId>,
    /// What earlier connections have counted.
    before: Option<Totals>,
    sent: Sent,
}

/// Sends all streams of a host until `end` or a stop; what became of each.
///
/// # Errors
/// Where the packet socket cannot be opened, or fails.
pub(crate) fn run(
    host: Host<'_>,
    clock: Clock,
    end: Instant,
    board: &Board,
    keep_samples: bool,
) -> io::Result<Vec<(StreamId, Sent)>> {
    let address = host.identity.addresses.first().copied();
    let stack = Stack::new(host.identity, host.neighbours);
    let mut wire = {
        let _there = host.space.enter()?;
        WireHost::new(&host.interface, stack, clock)?
    };
    let (jobs, others): (Vec<_>, Vec<_>) = host.jobs.into_iter().partition(|job| job.app.uses_tcp());
    let mut streams: Vec<_> = jobs.into_iter().map(WireStream::new).collect();
    let mut others: Vec<_> = others.iter().filter_map(|job| datagrams(job, address?)).collect();
    let mut next_look = Instant::ZERO;
    while clock.now() < end && !board.is_stopped() {
        let now = clock.now();
        for stream in &mut streams {
            stream.on_time(now, wire.stack(), host.config, board);
        }
        for other in &mut others {
            other.on_time(now, wire.stack(), board);
        }
        if now >= next_look {
            streams.iter_mut().filter(|_| keep_samples).for_each(|s| s.sample(now, wire.stack(), board));
            next_look = next_look.max(now - LOOK_EVERY) + LOOK_EVERY;
        }
        let deadlines =
            streams.iter().map(WireStream::deadline).chain(others.iter().map(WireDatagrams::deadline));
        let until = deadlines.fold(next_look.min(end), Instant::min);
        wire.turn(&mut [], until.since(clock.now()).min(NAP))?;
        let now = clock.now();
        for stream in &mut streams {
            stream.take_stock(now, wire.stack(), board);
        }
        while let Some((pair, data)) = wire.stack().poll_datagram() {
            others.iter_mut().any(|other| other.on_datagram(now, pair, &data));
        }
    }
    let finish = |stream: WireStream| (stream.job.stream, stream.finish(wire.stack(), end, host.segment));
    let sent = streams.into_iter().map(finish);
    Ok(sent.chain(others.into_iter().map(WireDatagrams::finish)).collect())
}

/// What sends a flow that does not use TCP.
fn datagrams(job: &WireJob, address: IpAddr) -> Option<WireDatagrams> {
    let [machine, _] = job.app.transport(job.start, job.stop)?;
    // The port of its receiver is free here.
    let local = SocketAddr::new(address, job.goal.port());
    Some(WireDatagrams::new(job.stream, machine, (local, job.goal)))
}

impl WireStream {
    fn new(job: WireJob) -> Self {
        let sending = Sending::new(job.stream, Source::new(job.app, job.start, job.stop));
        let (opens, sent) = (job.start, Sent::default());
        Self { job, sending, opens, begins: None, connection: None, before: None, sent }
    }

    fn deadline(&self) -> Instant {
        match (self.connection, self.sent.ending) {
            (_, Some(_)) => Instant::MAX,
            (None, _) => self.opens,
            (Some(_), _) => self.sending.deadline().unwrap_or(Instant::MAX),
        }
    }

    /// Opens a connection when it is time, and writes what may be written.
    fn on_time(&mut self, now: Instant, stack: &mut Stack, config: &Arc<Config>, board: &Board) {
        if self.connection.is_none() && self.opens <= now && self.sent.ending.is_none() {
            self.connect(now, stack, config, board);
        }
        let connection = self.connection.filter(|_| self.sent.ending.is_none());
        if let Some(endpoint) = connection.and_then(|id| stack.endpoint_mut(id)) {
            self.sending.on_timer(now);
            self.sending.fill(now, endpoint);
        }
    }

    fn connect(&mut self, now: Instant, stack: &mut Stack, config: &Arc<Config>, board: &Board) {
        self.sent.opened += 1;
        board.set_active(self.job.stream, true);
        self.connection = stack.connect(now, config, self.job.goal);
        let Some((local, _)) = self.connection.and_then(|id| stack.addresses(id)) else {
            return self.end(Ending::Died(now, Death::Aborted), board);
        };
        if let Some(begins) = self.begins {
            board.set_begin(self.job.stream, local.port(), begins);
        }
    }

    /// Takes note of what has changed.
    fn take_stock(&mut self, now: Instant, stack: &mut Stack, board: &Board) {
        let Some(id) = self.connection else { return };
        let Some(endpoint) = stack.endpoint_mut(id) else { return };
        let next = self.sending.take_stock(now, endpoint);
        if let (Next::Reconnect, Some(how)) = (next, self.job.app.reconnects()) {
            self.before = Some(self.totals(endpoint, now));
            self.begins = Some(self.sending.go_on(endpoint, now));
            (self.opens, self.connection) = (now + how.after, None);
            stack.release(now, id);
        } else if let Some(ending) = self.sending.ending() {
            self.end(ending, board);
        }
    }

    fn end(&mut self, ending: Ending, board: &Board) {
        self.sent.ending.get_or_insert(ending);
        board.set_active(self.job.stream, false);
    }

    fn sample(&mut self, now: Instant, stack: &mut Stack, board: &Board) {
        if let Some(endpoint) = self.connection.and_then(|id| stack.endpoint(id)) {
            let sample = self.sending.sample(endpoint, now, board.delivered(self.job.flow));
            self.sent.samples.push((now, sample, self.sent.ending.is_none()));
        }
    }

    /// What all connections have counted, with this one.
    fn totals(&self, endpoint: &Endpoint, now: Instant) -> Totals {
        let last = totals(endpoint, self.sending.sample(endpoint, now, 0));
        self.before.map_or(last, |before| before.and(last))
    }

    fn finish(mut self, stack: &mut Stack, end: Instant, segment: f64) -> Sent {
        let over = self.sent.ending.map_or(end, Ending::at);
        let window = self.sending.window();
        self.sent.cwnd_mean = window.and_then(|window| window.mean(over)).map(|bytes| bytes / segment);
        self.sent.cwnd_min = window.map(|window| window.min() as f64 / segment);
        let endpoint = self.connection.and_then(|id| stack.endpoint(id));
        self.sent.totals = endpoint.map(|endpoint| self.totals(endpoint, end)).or(self.before);
        self.sent
    }
}

/// What our own endpoint has counted.
fn totals(endpoint: &Endpoint, seen: FlowSample) -> Totals {
    let counters = endpoint.counters();
    Totals {
        retransmitted: counters.retransmitted_segments,
        data_segments: counters.data_segments_sent,
        timeouts: Some(counters.timeouts),
        spurious_timeouts: Some(counters.spurious_timeouts),
        fast_retransmits: Some(counters.fast_retransmits),
        seen,
    }
}
