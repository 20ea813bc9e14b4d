//! The run: virtual time from 0 to the scenario's end.

use handfast_core::{Duration, Instant};
use handfast_scenario::{Scenario, Scheme};
use handfast_tcp::State;

use crate::build::{self, Paths};
use crate::control::{Control, Options, RunError};
use crate::handover::{LOOK_EVERY, Tracker};
use crate::limit::segment_size;
use crate::meter::DeliveryMeter;
use crate::network::Network;
use crate::plugin::Plugins;
use crate::report;
use crate::result::RunResult;
use crate::sampler::Sampler;
use crate::series::SeriesSink;
use crate::side::Role;
use crate::timeline::{Change, Timeline};
use crate::topology::{Topology, channel};

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
    build::check(scenario)?;
    let topology = Topology::new(scenario);
    let paths = build::paths(scenario, &topology)?;
    let starts = build::starts(scenario, options.seed);
    let timeline = Timeline::new(scenario, options.seed);
    let network = build::network(scenario, scheme, topology, &paths, &starts, options, plugins)?;
    let sampler = options.series.then(|| {
        Sampler::new(scenario.sample_interval, segment_size(scheme).0, network.channels.len(), sink)
    });
    let mut simulation = Simulation::new(scenario, &timeline, &paths, network, sampler);
    simulation.go(control)?;
    let (network, trackers) = simulation.finish(control)?;
    let inputs =
        report::Inputs { scenario, scheme, seed: options.seed, starts: &starts, timeline: &timeline };
    Ok(report::report(&inputs, &paths, &network, &trackers))
}

/// Everything that moves while time does.
struct Simulation<'a> {
    end: Instant,
    duration: Duration,
    timeline: &'a Timeline,
    scenario: &'a Scenario,
    network: Network,
    sampler: Option<Sampler<'a>>,
    /// For each outage, the flows whose path crosses its link.
    trackers: Vec<Vec<Tracker>>,
    next_change: usize,
    next_sample: Instant,
    /// Outages with trackers that want looks, and when the next look is due.
    looks: Vec<(Instant, usize)>,
}

impl<'a> Simulation<'a> {
    fn new(
        scenario: &'a Scenario,
        timeline: &'a Timeline,
        paths: &Paths,
        network: Network,
        sampler: Option<Sampler<'a>>,
    ) -> Self {
        let links = timeline.outages.iter().map(|outage| outage.link);
        let next_sample = if sampler.is_some() { Instant::ZERO } else { Instant::MAX };
        Self {
            end: Instant::ZERO + scenario.duration,
            duration: scenario.duration,
            timeline,
            scenario,
            network,
            sampler,
            trackers: links.map(|link| trackers_of(link, paths)).collect(),
            next_change: 0,
            next_sample,
            looks: Vec::new(),
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
        let look = self.looks.iter().map(|&(at, _)| at).min().unwrap_or(Instant::MAX);
        change.min(look).min(self.next_sample).min(self.end)
    }

    /// Wakes machines in order, up to but not at `border`.
    fn run_until(&mut self, border: Instant, control: &Control) -> Result<(), RunError> {
        loop {
            for _ in 0..EVENTS_A_LOOK {
                match self.network.queue.peek() {
                    Some((at, machine)) if at < border => self.network.wake(at, machine),
                    _ => return self.look_up(border, control),
                }
            }
            let now = self.network.queue.peek().map_or(border, |(at, _)| at);
            self.look_up(now, control)?;
        }
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
        while let Some(index) = self.looks.iter().position(|&(at, _)| at == now) {
            let (_, outage) = self.looks.swap_remove(index);
            self.look_at(now, outage);
        }
        self.sample(now)
    }

    fn sample(&mut self, now: Instant) -> Result<(), RunError> {
        if let Some(sampler) = self.sampler.as_mut().filter(|_| self.next_sample == now) {
            self.next_sample = sampler.sample(now, &mut self.network)?;
        }
        Ok(())
    }

    fn apply(&mut self, now: Instant, change: Change) {
        match change {
            Change::Rate(id, rate) => {
                self.network.channels[id].link.set_rate(now, rate);
                self.network.wake_channel(now, id);
            }
            Change::Delay(id, delay) => {
                self.network.channels[id].link.set_delay(now, delay);
                self.network.wake_channel(now, id);
            }
            Change::Probe(outage) => {
                for tracker in &mut self.trackers[outage] {
                    tracker.on_probe(now, meter(&self.network, tracker.flow));
                }
            }
            Change::Down(outage) => self.down(now, outage),
            Change::Up(outage) => self.up(now, outage),
        }
    }

    fn down(&mut self, now: Instant, outage: usize) {
        self.supersede(outage);
        for tracker in &mut self.trackers[outage] {
            tracker.on_down(now, meter(&self.network, tracker.flow));
        }
        let mode = self.timeline.outages[outage].mode;
        for end in [0, 1] {
            let id = channel(self.timeline.outages[outage].link, end);
            self.network.channels[id].link.down(now, mode);
            self.network.wake_channel(now, id);
        }
    }

    /// What a flow makes of an earlier outage is no longer to be seen when the next one hits it.
    fn supersede(&mut self, outage: usize) {
        let hit: Vec<_> = self.trackers[outage].iter().map(|tracker| tracker.flow).collect();
        for &(_, earlier) in &self.looks {
            for tracker in self.trackers[earlier].iter_mut().filter(|t| hit.binary_search(&t.flow).is_ok()) {
                tracker.close(meter(&self.network, tracker.flow));
            }
        }
    }

    fn up(&mut self, now: Instant, outage: usize) {
        let mode = self.timeline.outages[outage].mode;
        for end in [0, 1] {
            let id = channel(self.timeline.outages[outage].link, end);
            self.network.channels[id].link.up(now, mode);
            self.network.wake_channel(now, id);
        }
        for tracker in &mut self.trackers[outage] {
            let active = is_active(&self.network, tracker.flow);
            if let Role::Receiver(sink) = &mut self.network.sides[2 * tracker.flow + 1].role {
                tracker.on_up(now, &mut sink.meter, active);
            }
        }
        self.looks.push((now + LOOK_EVERY, outage));
    }

    fn look_at(&mut self, now: Instant, outage: usize) {
        let mut wanted = false;
        for tracker in self.trackers[outage].iter_mut().filter(|t| t.is_watching()) {
            tracker.on_look(now, meter(&self.network, tracker.flow));
            if !is_active(&self.network, tracker.flow) {
                tracker.close(meter(&self.network, tracker.flow));
            }
            wanted |= tracker.is_watching();
        }
        if wanted {
            self.looks.push((now + LOOK_EVERY, outage));
        }
    }

    /// Closes the books.
    fn finish(mut self, control: &Control) -> Result<(Network, Vec<Vec<Tracker>>), RunError> {
        self.sample(self.end)?;
        for tracker in self.trackers.iter_mut().flatten() {
            tracker.close(meter(&self.network, tracker.flow));
        }
        if let Some(sampler) = self.sampler {
            sampler.finish()?;
        }
        std::mem::take(&mut self.network.taps).finish()?;
        control.report(self.duration, self.duration);
        for (flow, pair) in self.scenario.flows.iter().zip(self.network.sides.chunks_exact(2)) {
            if let Role::Receiver(crate::app::Sink { wrong_at: Some(position), .. }) = pair[1].role {
                return Err(RunError::WrongByte { flow: flow.name.clone(), position });
            }
        }
        Ok((self.network, self.trackers))
    }
}

/// A tracker for each flow whose path crosses `link`, in either direction; in order of flow.
fn trackers_of(link: usize, paths: &Paths) -> Vec<Tracker> {
    let crosses = |path: &[u32]| path.iter().any(|&id| id as usize / 2 == link);
    let both = paths.forward.iter().zip(&paths.backward).enumerate();
    both.filter(|(_, (there, back))| crosses(there) || crosses(back))
        .map(|(flow, _)| Tracker::new(flow))
        .collect()
}

fn meter(network: &Network, flow: usize) -> &DeliveryMeter {
    match &network.sides[2 * flow + 1].role {
        Role::Receiver(sink) => &sink.meter,
        Role::Sender { .. } => unreachable!("odd sides receive"),
    }
}

/// Whether the sender has opened the connection and still has something to get across.
fn is_active(network: &Network, flow: usize) -> bool {
    let sender = &network.sides[2 * flow];
    let over = |state| matches!(state, State::FinWait2 | State::TimeWait | State::Closed);
    sender.endpoint().is_some_and(|endpoint| !over(endpoint.state()))
}
