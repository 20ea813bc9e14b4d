//! Our own endpoint as the sender of a host's flows: one thread a host, on a packet socket instead of the kernel's TCP.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use handfast_core::{Duration, Instant};
use handfast_results::flow_series::{self, FlowSample};
use handfast_results::meter::WindowMeter;
use handfast_scenario::{Flow, FlowId};
use handfast_tcp::{Config, Endpoint, Event, State};
use handfast_wire::Payload;

use super::sender::{End, LOOK_EVERY, Sent, Totals};
use super::source::Source;
use super::{Board, CHUNK, LOW_WATER, NAP};
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

struct Sending<'a> {
    job: WireJob<'a>,
    source: Source,
    connection: Option<ConnectionId>,
    closed: bool,
    window: Option<WindowMeter>,
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
    let mut flows: Vec<_> = host.jobs.into_iter().map(Sending::new).collect();
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
        let until = flows.iter().map(Sending::deadline).fold(next_look.min(end), Instant::min);
        wire.turn(&mut [], until.since(clock.now()).min(NAP))?;
        let now = clock.now();
        for flow in &mut flows {
            flow.take_stock(now, wire.stack(), board);
        }
    }
    let finish = |flow: Sending<'_>| (flow.job.id, flow.finish(wire.stack(), end, host.segment));
    Ok(flows.into_iter().map(finish).collect())
}

impl<'a> Sending<'a> {
    fn new(job: WireJob<'a>) -> Self {
        let source = Source::new(job.flow, job.start);
        Self { job, source, connection: None, closed: false, window: None, sent: Sent::default() }
    }

    fn deadline(&self) -> Instant {
        match (self.connection, self.sent.ended) {
            (_, Some(_)) => Instant::MAX,
            (None, _) => self.job.start,
            (Some(_), _) => self.source.deadline(),
        }
    }

    /// Opens the connection when it is time, and writes what may be written.
    fn on_time(&mut self, now: Instant, stack: &mut Stack, config: &Arc<Config>, board: &Board) {
        if self.connection.is_none() && self.job.start <= now && self.sent.ended.is_none() {
            self.sent.opened = true;
            board.set_active(self.job.id, true);
            self.connection = stack.connect(now, config, self.job.goal);
            if self.connection.is_none() {
                self.end(now, End::Died("aborted"), board);
            }
        }
        self.source.on_time(now);
        let connection = self.connection.filter(|_| !self.closed && self.sent.ended.is_none());
        if let Some(endpoint) = connection.and_then(|id| stack.endpoint_mut(id)) {
            self.fill(now, endpoint);
        }
    }

    fn fill(&mut self, now: Instant, endpoint: &mut Endpoint) {
        while endpoint.unsent() < u64::from(LOW_WATER) {
            let (offset, left) = self.source.next();
            let len = left.min(CHUNK as u64);
            if len == 0 {
                break;
            }
            // Synthetic payload is accepted whole.
            endpoint.write(Payload::Synthetic { stream: self.job.id as u32, offset, len: len as u32 });
            self.source.on_written(len);
        }
        if self.source.is_done() {
            self.closed = true;
            endpoint.close(now);
        }
    }

    /// Takes note of what has changed.
    fn take_stock(&mut self, now: Instant, stack: &mut Stack, board: &Board) {
        let Some(endpoint) = self.connection.and_then(|id| stack.endpoint_mut(id)) else { return };
        while let Some(event) = endpoint.poll_event() {
            match event {
                Event::Connected => self.window = Some(WindowMeter::new(now, endpoint.cwnd())),
                Event::Died(death) => return self.end(now, End::Died(death.name()), board),
                _ => {}
            }
        }
        if self.sent.ended.is_some() {
            return;
        }
        if let Some(window) = &mut self.window {
            window.set(now, endpoint.cwnd());
        }
        // From FIN-WAIT-1 the acknowledgement of our FIN leads to one of these (RFC 9293 §3.3.2).
        if self.closed && matches!(endpoint.state(), State::FinWait2 | State::TimeWait | State::Closed) {
            self.end(now, End::Done, board);
        }
    }

    fn end(&mut self, now: Instant, end: End, board: &Board) {
        self.sent.ended.get_or_insert((now, end));
        board.set_active(self.job.id, false);
    }

    fn sample(&mut self, now: Instant, stack: &mut Stack, board: &Board) {
        let endpoint = self.connection.and_then(|id| stack.endpoint(id));
        let Some(endpoint) = endpoint.filter(|_| self.sent.ended.is_none()) else { return };
        let seen = endpoint.snapshot(now);
        let sample = FlowSample::default()
            .with(flow_series::CWND, Some(seen.cwnd as f64))
            .with(flow_series::SSTHRESH, (seen.ssthresh < u64::MAX).then_some(seen.ssthresh as f64))
            .with(flow_series::SRTT, (seen.srtt > Duration::ZERO).then(|| seen.srtt.as_secs_f64()))
            .with(flow_series::RTO, Some(seen.rto.as_secs_f64()))
            .with(flow_series::DELIVERED, Some(board.delivered(self.job.id) as f64))
            .with(flow_series::SENT, Some(seen.sent as f64))
            .with(flow_series::ACKNOWLEDGED, Some(seen.acknowledged as f64));
        self.sent.samples.push((now, sample));
    }

    fn finish(mut self, stack: &mut Stack, end: Instant, segment: f64) -> Sent {
        let over = self.sent.ended.map_or(end, |(at, _)| at);
        self.sent.cwnd_mean = self.window.and_then(|window| window.mean(over)).map(|bytes| bytes / segment);
        self.sent.cwnd_min = self.window.map(|window| window.min() as f64 / segment);
        if let Some(endpoint) = self.connection.and_then(|id| stack.endpoint(id)) {
            let (counters, srtt) = (endpoint.counters(), endpoint.snapshot(end).srtt);
            self.sent.totals = Some(Totals {
                retransmitted: counters.retransmitted_segments,
                data_segments: counters.data_segments_sent,
                timeouts: Some(counters.timeouts),
                spurious_timeouts: Some(counters.spurious_timeouts),
                fast_retransmits: Some(counters.fast_retransmits),
                srtt: (srtt > Duration::ZERO).then_some(srtt),
            });
        }
        self.sent
    }
}
