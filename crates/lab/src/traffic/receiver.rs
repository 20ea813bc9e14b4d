//! The receivers of all flows, and what is measured of them: one thread.

use std::collections::BTreeMap;

use handfast_core::Instant;
use handfast_host::meter::DeliveryMeter;
use handfast_host::transport::{Figures, Transport};
use handfast_io::Watch;
use handfast_plan::timeline::Timeline;
use handfast_results::handover::Tracker;
use handfast_results::outages::{Flows, Outages};
use handfast_scenario::FlowId;

use super::{Board, CHUNK, wait};
use crate::Clock;

/// What was received.
pub(crate) struct Received {
    /// For each flow its meter.
    pub(crate) meters: Vec<DeliveryMeter>,
    /// For each outage its trackers.
    pub(crate) trackers: Vec<Vec<Tracker>>,
    /// The receiving ends of flows that do not use TCP.
    pub(crate) transports: BTreeMap<FlowId, Box<dyn Transport>>,
    /// What persons felt.
    pub(crate) figures: BTreeMap<FlowId, Figures>,
    /// The first flow that got a wrong byte, and where.
    pub(crate) wrong: Option<(FlowId, u64)>,
}

/// What receives one of a flow's streams.
pub(crate) trait Receiver: Send {
    /// Whose.
    fn flow(&self) -> FlowId;

    /// What it waits for.
    fn watches(&self, now: Instant) -> Vec<Watch<'_>>;

    /// When it wants to be asked again what it waits for; [`Instant::MAX`]: after it was ready.
    fn deadline(&self, now: Instant) -> Instant;

    /// Time has come so far, for one that has something to do at its deadline.
    fn on_time(&mut self, _now: Instant, _board: &Board) {}

    /// One of its sockets is ready. What comes after `end` is no part of what is measured.
    fn on_ready(&mut self, clock: Clock, end: Instant, buffer: &mut [u8], board: &Board);

    /// New bytes so far.
    fn delivered(&self) -> u64;

    /// Where the first wrong byte was, if there was one.
    fn wrong_at(&self) -> Option<u64>;

    /// What a person felt up to `end`, of one that asks and is answered.
    fn figures(&self, _end: Instant) -> Figures {
        Figures::new()
    }

    /// Its machine, if it does not use TCP.
    fn into_transport(self: Box<Self>) -> Option<Box<dyn Transport>>;
}

/// What flows are measured by, in order of time.
struct Measures<'a> {
    receivers: Vec<Box<dyn Receiver>>,
    /// For each flow.
    meters: Vec<DeliveryMeter>,
    board: &'a Board,
}

impl Measures<'_> {
    /// A receiver takes what has come, and the meter of its flow counts it.
    fn on_ready(&mut self, index: usize, clock: Clock, end: Instant, buffer: &mut [u8]) {
        let receiver = &mut self.receivers[index];
        let (flow, before) = (receiver.flow(), receiver.delivered());
        receiver.on_ready(clock, end, buffer, self.board);
        let new = receiver.delivered() - before;
        if new > 0 {
            let meter = &mut self.meters[flow];
            meter.add(clock.now().min(end), new);
            self.board.set_delivered(flow, meter.bytes);
        }
    }
}

impl Flows for Measures<'_> {
    fn meter(&self, flow: FlowId) -> DeliveryMeter {
        self.meters[flow]
    }

    fn watch(&mut self, flow: FlowId) {
        self.meters[flow].watch();
    }

    fn is_active(&self, flow: FlowId) -> bool {
        self.board.is_active(flow)
    }
}

/// What happens to the network, told to the trackers at its time.
struct Trackers<'a> {
    timeline: &'a Timeline,
    next_change: usize,
    outages: Outages,
}

impl Trackers<'_> {
    fn deadline(&self) -> Instant {
        let change = self.timeline.due(self.next_change).unwrap_or(Instant::MAX);
        self.outages.next_look().unwrap_or(Instant::MAX).min(change)
    }

    /// Goes through all that is due by `now`: changes first where times are equal, as in the simulator.
    fn advance(&mut self, now: Instant, flows: &mut Measures<'_>) {
        while self.deadline() <= now {
            let at = self.deadline();
            while self.timeline.due(self.next_change) == Some(at) {
                self.outages.on_change(at, self.timeline.change(self.next_change), flows);
                self.next_change += 1;
            }
            self.outages.look(at, flows);
        }
    }
}

/// Receives all flows until `end` or a stop.
pub(crate) fn run(
    receivers: Vec<Box<dyn Receiver>>,
    timeline: &Timeline,
    outages: Outages,
    clock: Clock,
    end: Instant,
    board: &Board,
) -> Received {
    let count = receivers.iter().map(|receiver| receiver.flow() + 1).max().unwrap_or(0);
    let mut flows = Measures { receivers, meters: vec![DeliveryMeter::default(); count], board };
    let mut trackers = Trackers { timeline, next_change: 0, outages };
    let mut buffer = vec![0; CHUNK];
    while clock.now() < end && !board.is_stopped() {
        let now = clock.now();
        trackers.advance(now, &mut flows);
        flows.receivers.iter_mut().for_each(|receiver| receiver.on_time(now, board));
        let deadlines = flows.receivers.iter().map(|receiver| receiver.deadline(now));
        let until = deadlines.fold(trackers.deadline().min(end), Instant::min);
        let (waiting, mut sockets) = watches(&flows.receivers, now);
        let ready = wait(clock, until, &mut sockets);
        // What has happened by now came before what is read now.
        trackers.advance(clock.now().min(end), &mut flows);
        for (index, _) in waiting.into_iter().zip(ready).filter(|&(_, ready)| ready) {
            flows.on_ready(index, clock, end, &mut buffer);
        }
    }
    trackers.advance(end, &mut flows);
    let trackers = trackers.outages.finish(&mut flows);
    let Measures { receivers, meters, .. } = flows;
    let wrong = receivers.iter().find_map(|receiver| Some((receiver.flow(), receiver.wrong_at()?)));
    let figures = receivers.iter().map(|receiver| (receiver.flow(), receiver.figures(end))).collect();
    let transports = receivers.into_iter().map(|receiver| (receiver.flow(), receiver.into_transport()));
    let transports = transports.filter_map(|(flow, machine)| Some((flow, machine?))).collect();
    Received { meters, trackers, transports, figures, wrong }
}

/// What the receivers wait for, each by its index.
fn watches(receivers: &[Box<dyn Receiver>], now: Instant) -> (Vec<usize>, Vec<Watch<'_>>) {
    let mut all = (Vec::new(), Vec::new());
    for (index, receiver) in receivers.iter().enumerate() {
        let watches = receiver.watches(now);
        all.0.extend(watches.iter().map(|_| index));
        all.1.extend(watches);
    }
    all
}
