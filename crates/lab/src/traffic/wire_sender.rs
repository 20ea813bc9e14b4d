//! Our own endpoint as the sender of a host's flows: one thread a host, on a packet socket instead of the kernel's TCP.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use handfast_core::Instant;
use handfast_host::app::Source;
use handfast_host::meter::{FlowSample, srtt};
use handfast_host::session::{Ending, Sending};
use handfast_scenario::{Flow, FlowId};
use handfast_tcp::{Config, Death, Endpoint};

use super::sender::{LOOK_EVERY, Sent, Totals};
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
    pub(crate) jobs: Vec<WireJob<'a>>,
}

/// A flow that it sends.
pub(crate) struct WireJob<'a> {
    pub(crate) id: FlowId,
    pub(crate) flow: &'a Flow,
    pub(crate) start: Instant,
    pub(crate) goal: SocketAddr,
}

/// One of its flows.
struct WireFlow<'a> {
    job: WireJob<'a>,
    sending: Sending,
    connection: Option<ConnectionId>,
    sent: Sent,
}

/// Sends all flows of a host until `end` or a stop; what became of each.
///
/// # Errors
/// Where the packet socket cannot be opened, or fails.
pub(crate) fn run(
    host: Host<'_>,
    clock: Clock,
    end: Instant,
    board: &Board,
    keep_samples: bool,
) -> io::Result<Vec<(FlowId, Sent)>> {
    let stack = Stack::new(host.identity, host.neighbours);
    let mut wire = {
        let _there = host.space.enter()?;
        WireHost::new(&host.interface, stack, clock)?
    };
    let mut flows: Vec<_> = host.jobs.into_iter().map(WireFlow::new).collect();
    let mut next_look = Instant::ZERO;
    while clock.now() < end && !board.is_stopped() {
        let now = clock.now();
        for flow in &mut flows {
            flow.on_time(now, wire.stack(), host.config, board);
        }
        if now >= next_look {
            flows.iter_mut().filter(|_| keep_samples).for_each(|flow| flow.sample(now, wire.stack(), board));
            next_look = next_look.max(now - LOOK_EVERY) + LOOK_EVERY;
        }
        let until = flows.iter().map(WireFlow::deadline).fold(next_look.min(end), Instant::min);
        wire.turn(&mut [], until.since(clock.now()).min(NAP))?;
        let now = clock.now();
        for flow in &mut flows {
            flow.take_stock(now, wire.stack(), board);
        }
    }
    let finish = |flow: WireFlow<'_>| (flow.job.id, flow.finish(wire.stack(), end, host.segment));
    Ok(flows.into_iter().map(finish).collect())
}

impl<'a> WireFlow<'a> {
    fn new(job: WireJob<'a>) -> Self {
        let source = Source::new(job.flow.app, job.start, job.flow.stop);
        let sending = Sending::new(job.id as u32, source);
        Self { job, sending, connection: None, sent: Sent::default() }
    }

    fn deadline(&self) -> Instant {
        match (self.connection, self.sent.ended) {
            (_, Some(_)) => Instant::MAX,
            (None, _) => self.job.start,
            (Some(_), _) => self.sending.deadline().unwrap_or(Instant::MAX),
        }
    }

    /// Opens the connection when it is time, and writes what may be written.
    fn on_time(&mut self, now: Instant, stack: &mut Stack, config: &Arc<Config>, board: &Board) {
        if self.connection.is_none() && self.job.start <= now && self.sent.ended.is_none() {
            self.sent.opened = true;
            board.set_active(self.job.id, true);
            self.connection = stack.connect(now, config, self.job.goal);
            if self.connection.is_none() {
                self.end(Ending::Died(now, Death::Aborted), board);
            }
        }
        let connection = self.connection.filter(|_| self.sent.ended.is_none());
        if let Some(endpoint) = connection.and_then(|id| stack.endpoint_mut(id)) {
            self.sending.on_timer(now);
            self.sending.fill(now, endpoint);
        }
    }

    /// Takes note of what has changed.
    fn take_stock(&mut self, now: Instant, stack: &mut Stack, board: &Board) {
        let Some(endpoint) = self.connection.and_then(|id| stack.endpoint_mut(id)) else { return };
        self.sending.take_stock(now, endpoint);
        if let Some(ending) = self.sending.ending() {
            self.end(ending, board);
        }
    }

    fn end(&mut self, ending: Ending, board: &Board) {
        self.sent.ended.get_or_insert((ending.at(), ending.into()));
        board.set_active(self.job.id, false);
    }

    fn sample(&mut self, now: Instant, stack: &mut Stack, board: &Board) {
        let endpoint = self.connection.and_then(|id| stack.endpoint(id));
        if let Some(endpoint) = endpoint.filter(|_| self.sent.ended.is_none()) {
            let sample = FlowSample::of(endpoint, now, board.delivered(self.job.id));
            self.sent.samples.push((now, sample));
        }
    }

    fn finish(mut self, stack: &mut Stack, end: Instant, segment: f64) -> Sent {
        let over = self.sent.ended.map_or(end, |(at, _)| at);
        let window = self.sending.window();
        self.sent.cwnd_mean = window.and_then(|window| window.mean(over)).map(|bytes| bytes / segment);
        self.sent.cwnd_min = window.map(|window| window.min() as f64 / segment);
        let endpoint = self.connection.and_then(|id| stack.endpoint(id));
        self.sent.totals = endpoint.map(|endpoint| totals(endpoint, end));
        self.sent
    }
}

/// What our own endpoint has counted.
fn totals(endpoint: &Endpoint, end: Instant) -> Totals {
    let counters = endpoint.counters();
    Totals {
        retransmitted: counters.retransmitted_segments,
        data_segments: counters.data_segments_sent,
        timeouts: Some(counters.timeouts),
        spurious_timeouts: Some(counters.spurious_timeouts),
        fast_retransmits: Some(counters.fast_retransmits),
        srtt: srtt(endpoint, end),
    }
}
