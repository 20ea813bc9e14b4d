//! The run: virtual time from 0 to the scenario's end.

use handfast_assist::LinkEvent;
use handfast_core::{Duration, Instant};
use handfast_host::meter::{DeliveryMeter, FlowSample};
use handfast_net::Link;
use handfast_plan::Streams;
use handfast_plan::change::Change;
use handfast_plan::limit::segment_size;
use handfast_plan::timeline::Timeline;
use handfast_plan::topology::{ChannelId, Topology, channel};
use handfast_results::Control;
use handfast_results::handover::Tracker;
use handfast_results::outages::{Flows, Outages};
use handfast_results::report::Inputs;
use handfast_results::result::RunResult;
use handfast_results::sampler::Sampler;
use handfast_results::series::SeriesSink;
use handfast_scenario::{FlowId, LinkId, Scenario, Scheme};

use crate::agents::plugin::Plugins;
use crate::error::RunError;
use crate::net::packets::Passing;
use crate::run::build;
use crate::run::layout::Layout;
use crate::run::network::Network;
use crate::run::options::Options;
use crate::run::{refused, report};

/// Events between two looks at [`Control`].
const EVENTS_A_LOOK: u32 = 4096;

/// Simulates a scenario under a scheme. `sink` receives the time series if [`Options::series`] asks for them.
///
/// # Errors
/// See [`RunError`]; there is then no result, and captures and time series are incomplete.
pub fn run(
    scenario: &Scenario,
    scheme: &Scheme,
    options: &Options,
    control: &Control,
    sink: &mut dyn SeriesSink,
) -> Result<RunResult, RunError> {
    run_with(&Plugins::new(), scenario, scheme, options, control, sink)
}

/// As [`run`], with agents of more kinds.
///
/// # Errors
/// As [`run`].
pub fn run_with(
    plugins: &Plugins,
    scenario: &Scenario,
    scheme: &Scheme,
    options: &Options,
    control: &Control,
    sink: &mut dyn SeriesSink,
) -> Result<RunResult, RunError> {
    handfast_plan::check(scenario).map_err(RunError::Scenario)?;
    refused::check(scenario, scheme)?;
    let topology = Topology::new(scenario);
    let timeline = Timeline::new(scenario, options.seed);
    refused::check_roams(scenario, &timeline)?;
    let paths = handfast_plan::paths(scenario, &topology, &timeline).map_err(RunError::Scenario)?;
    let starts = handfast_plan::starts(scenario, options.seed);
    let streams = Streams::of(scenario);
    let layout = Layout { paths: &paths, timeline: &timeline, starts: &starts, streams: &streams };
    let mut network = build::network(scenario, scheme, topology, &layout, options, plugins)?;
    if !options.series {
        network.find_transits(&paths, &timeline, Instant::ZERO + scenario.duration);
    }
    let sampler = options.series.then(|| Sampler::new(segment_size(scheme).0, network.links.len(), sink));
    let outages = Outages::new(&timeline, &paths);
    let mut simulation = Simulation::new(scenario, &timeline, outages, network, sampler);
    simulation.go(control)?;
    let (network, trackers) = simulation.finish(control)?;
    let (starts, timeline, paths) = (&starts[..], &timeline, &paths);
    let inputs = Inputs { scenario, scheme, seed: options.seed, starts, timeline, paths };
    Ok(report::report(&inputs, &network, &trackers))
}

/// Everything that moves while time does.
struct Simulation<'a> {
    end: Instant,
    duration: Duration,
    timeline: &'a Timeline,
    scenario: &'a Scenario,
    network: Network,
    sampler: Option<Sampler<'a>>,
    outages: Outages,
    next_change: usize,
    next_sample: Instant,
}

impl<'a> Simulation<'a> {
    fn new(
        scenario: &'a Scenario,
        timeline: &'a Timeline,
        outages: Outages,
        network: Network,
        sampler: Option<Sampler<'a>>,
    ) -> Self {
        let next_sample = if sampler.is_some() { Instant::ZERO } else { Instant::MAX };
        Self {
            end: Instant::ZERO + scenario.duration,
            duration: scenario.duration,
            timeline,
            scenario,
            network,
            sampler,
            outages,
            next_change: 0,
            next_sample,
        }
    }

    /// Runs to the end.
    fn go(&mut self, control: &Control) -> Result<(), RunError> {
        loop {
            let border = self.border();
            self.run_until(border, control)?;
            if border == self.end {
                return Ok(());
            }
            self.cross(border)?;
        }
    }

    /// When something happens that is not a machine's doing.
    fn border(&self) -> Instant {
        let change = self.timeline.due(self.next_change).unwrap_or(Instant::MAX);
        let look = self.outages.next_look().unwrap_or(Instant::MAX);
        change.min(look).min(self.next_sample).min(self.end)
    }

    /// Wakes machines in order, up to but not at `border`.
    fn run_until(&mut self, border: Instant, control: &Control) -> Result<(), RunError> {
        while self.network.wake_some(EVENTS_A_LOOK, border) {
            let now = self.network.queue.first().at().min(border);
            self.look_up(now, control)?;
        }
        self.look_up(border, control)
    }

    fn look_up(&mut self, now: Instant, control: &Control) -> Result<(), RunError> {
        control.report(now.min(self.end).since(Instant::ZERO), self.duration);
        if control.is_cancelled() {
            return Err(RunError::Cancelled);
        }
        self.network.failed.take().map_or(Ok(()), Err)
    }

    /// Does what is due at `now`: changes first, so that looks and samples see them.
    fn cross(&mut self, now: Instant) -> Result<(), RunError> {
        while self.timeline.due(self.next_change) == Some(now) {
            self.apply(now, self.timeline.change(self.next_change));
            self.next_change += 1;
        }
        self.outages.look(now, &mut self.network);
        self.sample(now)
    }

    fn sample(&mut self, now: Instant) -> Result<(), RunError> {
        let Some(sampler) = self.sampler.as_mut().filter(|_| self.next_sample == now) else { return Ok(()) };
        for id in 0..self.scenario.flows.len() {
            if let Some(sample) = sample_of(&self.network, now, id) {
                sampler.flow(now, id as u32, &sample);
            }
        }
        for id in 0..self.network.links.len() {
            sampler.queue(now, id, self.network.occupancy(now, id));
        }
        self.next_sample = now + self.scenario.sample_interval;
        sampler.hand_out(false).map_err(RunError::Series)
    }

    fn apply(&mut self, now: Instant, change: Change) {
        match change {
            Change::Rate(id, rate) => self.on_link(now, id, |link| link.set_rate(now, rate)),
            Change::Delay(id, delay) => self.on_link(now, id, |link| link.set_delay(now, delay)),
            Change::Signal(link, level) => self.network.adapt_air(self.scenario, link, level),
            Change::RateWindowBegins(_) | Change::OutageBegins(_) => {
                self.outages.on_change(now, change, &mut self.network);
            }
            Change::AssociationEnds { link, .. } => {
                self.network.count_air(now, self.scenario, link, false);
                self.network.left(now, self.scenario, link);
            }
            Change::LinkDown(link, mode) => {
                self.both_directions(now, link, |link| link.down(now, mode));
                self.network.clear_air(now, link);
                self.network.tell_agents(now, link, LinkEvent::Down);
                self.network.tell_layers_gone(now, link);
            }
            // Nothing is done to it: packets leave by the new link once that is there.
            Change::LinkDrains(_) => {}
            Change::AssociationBegins { station, old_link, new_link, .. } => {
                self.network.found(old_link);
                self.network.roam(station, old_link, new_link);
                self.network.move_layer(station, new_link);
                self.network.tell_sessions_moved(now, station);
                self.network.count_air(now, self.scenario, new_link, true);
            }
            Change::LinkUp(link, mode) => {
                self.both_directions(now, link, |link| link.up(now, mode));
                self.network.tell_agents(now, link, LinkEvent::Up);
                self.network.tell_layers_back(now, link, mode);
            }
            Change::AddressEnds(station) => self.network.address_ends(now, station),
            Change::AddressBegins(station) => self.network.address_begins(now, station),
            Change::Restart(node) => self.network.restart_agents(now, node),
            Change::OutageEnds(id) => {
                self.network.tell_of_link(now, self.scenario, &self.timeline.outages[id]);
                self.outages.on_change(now, change, &mut self.network);
            }
        }
    }

    fn both_directions(&mut self, now: Instant, link: LinkId, act: impl Fn(&mut Link<Passing>)) {
        for end in [0, 1] {
            self.on_link(now, channel(link, end), &act);
        }
    }

    fn on_link(&mut self, now: Instant, id: ChannelId, act: impl FnOnce(&mut Link<Passing>)) {
        act(&mut self.network.links[id].link);
        self.network.wake_channel(now, id);
    }

    /// Hands out what was measured of single packets.
    fn hand_out_packets(&mut self) -> Result<(), RunError> {
        let (hosts, Some(sampler)) = (&self.network.hosts, &mut self.sampler) else { return Ok(()) };
        for (&stream, probe) in &hosts.probes {
            let flow = hosts.connections.flow(stream);
            let connection = stream - hosts.connections.streams(flow).start;
            sampler.packets(flow as u32, connection, probe).map_err(RunError::Series)?;
        }
        Ok(())
    }

    /// Closes the books.
    fn finish(mut self, control: &Control) -> Result<(Network, Vec<Vec<Tracker>>), RunError> {
        self.sample(self.end)?;
        self.hand_out_packets()?;
        let trackers = self.outages.finish(&mut self.network);
        if let Some(sampler) = self.sampler {
            sampler.finish().map_err(RunError::Series)?;
        }
        self.network.inspection.finish()?;
        control.report(self.duration, self.duration);
        for (id, flow) in self.scenario.flows.iter().enumerate() {
            let ends = self.network.hosts.connections.of_flow(id);
            let mut wrongs = ends.filter_map(|(sender, receiver)| receiver.wrong_at().or(sender.wrong_at()));
            let transport = self.network.hosts.transports.of_flow(id);
            let wrong = transport.and_then(|[_, receiver]| receiver.wrong_at());
            if let Some(position) = wrongs.next().or(wrong) {
                return Err(RunError::WrongByte { flow: flow.name.clone(), position });
            }
        }
        Ok((self.network, trackers))
    }
}

impl Flows for Network {
    fn meter(&self, flow: FlowId) -> DeliveryMeter {
        self.hosts.meter(flow)
    }

    fn watch(&mut self, flow: FlowId) {
        self.hosts.watch(flow);
    }

    fn is_active(&self, flow: FlowId) -> bool {
        if let Some([sender, _]) = self.hosts.transports.of_flow(flow) {
            return sender.has_begun() && sender.ending().is_none();
        }
        if let Some(asker) = self.hosts.askers.get(&flow) {
            return asker.lock().is_waiting();
        }
        let connections = &self.hosts.connections;
        let tries = |stream| self.moving.as_ref().is_some_and(|moving| moving.tries(stream));
        connections.streams(flow).any(|stream| connections.is_active(stream) || tries(stream))
    }
}

/// What is seen of a flow that has begun and not ended.
fn sample_of(network: &Network, now: Instant, flow: FlowId) -> Option<FlowSample> {
    if let Some([sender, _]) = network.hosts.transports.of_flow(flow) {
        let seen = sender.sample(now).filter(|_| sender.ending().is_none());
        return seen.map(|seen| FlowSample { delivered: network.hosts.meter(flow).bytes, ..seen });
    }
    let streams = network.hosts.connections.of_flow(flow);
    let seen: Vec<_> = streams.filter_map(|(sender, _)| sender.sample(now)).collect();
    FlowSample::together(&seen, network.hosts.meter(flow).bytes)
}
