//! One run: the packet loop, the senders and the receivers, from the scenario's start to its end.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ScopedJoinHandle};

use handfast_core::{Duration, Instant};
use handfast_host::dialogue::Asker;
use handfast_host::meter::FlowSample;
use handfast_host::probe::Probe;
use handfast_plan::address::Addresses;
use handfast_plan::limit::segment_size;
use handfast_plan::timeline::Timeline;
use handfast_plan::topology::channel;
use handfast_plan::{StreamId, Streams};
use handfast_results::Control;
use handfast_results::outages::Outages;
use handfast_results::report::{Inputs, report};
use handfast_results::result::RunResult;
use handfast_results::sampler::Sampler;
use handfast_results::series::SeriesSink;
use handfast_scenario::{Flow, FlowId, NodeId, NodeKind, Scenario, Scheme};

use crate::announcer::{Announced, Announcer};
use crate::capture::Captures;
use crate::controlled;
use crate::error::Tried;
use crate::facts::{self, Moved, Outcome};
use crate::kernel::{self, Ends, Settings};
use crate::names::{interface_of, loop_interface_of, port_of};
use crate::plan::Layout;
use crate::roaming::{self, Roaming};
use crate::traffic::counters::{self, Counters};
use crate::traffic::datagrams::{DatagramReceiver, DatagramSender};
use crate::traffic::dialogue_client::DialogueClient;
use crate::traffic::dialogue_server::DialogueServer;
use crate::traffic::receiver::{self, Receiver};
use crate::traffic::sender::{self, Sender};
use crate::traffic::tcp_receiver::TcpReceiver;
use crate::traffic::tcp_sender::{Job, TcpSender};
use crate::traffic::wire_sender::{self, Host, WireJob};
use crate::traffic::{Board, Goal};
use crate::{Clock, Identity, LabError, LoopOptions, Netns, PacketLoop, offloads_off, real_time};

/// From when the threads are started to the scenario's start: time for all of them to be ready.
const LEAD: Duration = Duration::from_millis(100);
/// How often whoever waits looks whether the run was cancelled.
const LOOK_EVERY: std::time::Duration = std::time::Duration::from_millis(50);

/// Where a run finds what was made for it after its [`crate::Plan`].
#[derive(Clone, Debug)]
pub struct Spaces {
    /// The packet loop's namespace.
    pub hub: String,
    /// Each node's, in the scenario's order.
    pub nodes: Vec<String>,
    /// Where the controller hears of stations, if the scheme has one.
    pub association_socket: Option<PathBuf>,
}

/// What a run does besides running.
#[derive(Clone, Debug, Default)]
pub struct LabOptions {
    /// Seeds what is random: phases, jitter, losses.
    pub seed: u64,
    /// Whether time series are handed to the sink.
    pub series: bool,
    /// Where captures go, a file a node of the scenario's `captures`; [`None`]: nothing is captured. The directory must
    /// exist.
    pub capture_dir: Option<PathBuf>,
}

/// Runs a scenario under a scheme in real time. `sink` receives the time series if [`LabOptions::series`] asks for them.
///
/// # Errors
/// See [`LabError`].
pub fn run(
    scenario: &Scenario,
    scheme: &Scheme,
    spaces: &Spaces,
    options: &LabOptions,
    control: &Control,
    sink: &mut dyn SeriesSink,
) -> Result<RunResult, LabError> {
    let layout = Layout::new(scenario, options.seed).map_err(LabError::Scenario)?;
    let lab = Lab::open(scenario, scheme, &layout, spaces)?;
    let before = lab.counters()?;
    let moved = lab.go(&layout, options, control)?;
    let outcome = Outcome { counters: lab.counters_since(&before)?, moved, probes: lab.probes };
    if let Some((flow, position)) = outcome.moved.received.wrong.or_else(|| wrong_request(&layout, &outcome))
    {
        return Err(LabError::WrongByte { flow: scenario.flows[flow].name.clone(), position });
    }
    if options.series {
        write_series(scenario, scheme, &outcome, sink).map_err(LabError::Series)?;
    }
    let (starts, timeline, paths) = (&layout.starts[..], &layout.timeline, &layout.paths);
    let inputs = Inputs { scenario, scheme, seed: options.seed, starts, timeline, paths };
    let flows = facts::flows(&inputs, &outcome);
    Ok(report(&inputs, facts::run(&inputs, &outcome), flows, &outcome.moved.received.trackers))
}

/// The first flow whose server got what is no request, and where.
fn wrong_request(layout: &Layout, outcome: &Outcome) -> Option<(FlowId, u64)> {
    let mut sent = (0..).zip(&outcome.moved.sent);
    sent.find_map(|(stream, sent)| Some((layout.streams.flow(stream), sent.wrong_at?)))
}

/// A probe for each stream that is measured, if both its ends are kernels.
fn probes(scenario: &Scenario, layout: &Layout, ends: &Ends) -> BTreeMap<StreamId, Probe> {
    let mut probes = BTreeMap::new();
    for (id, flow) in scenario.flows.iter().enumerate().filter(|_| ends.sender.is_some()) {
        for (stream, app) in layout.streams.shares(scenario, id) {
            let probe = Probe::new(flow.measure, app.writes(), layout.starts[id], flow.connections);
            probes.extend(probe.map(|probe| (stream, probe)));
        }
    }
    probes
}

/// The namespaces of a run, entered by name once.
struct Lab<'a> {
    scenario: &'a Scenario,
    scheme: &'a Scheme,
    addresses: Addresses,
    ends: Ends,
    hub: Netns,
    nodes: Vec<Netns>,
    association_socket: Option<PathBuf>,
    /// Of the streams between kernels that are measured.
    probes: BTreeMap<StreamId, Probe>,
}

impl<'a> Lab<'a> {
    fn open(
        scenario: &'a Scenario,
        scheme: &'a Scheme,
        layout: &Layout,
        spaces: &Spaces,
    ) -> Result<Self, LabError> {
        if spaces.nodes.len() != scenario.nodes.len() {
            let (found, wanted) = (spaces.nodes.len(), scenario.nodes.len());
            return Err(LabError::Scenario(format!("{found} namespaces for {wanted} nodes")));
        }
        let ends = kernel::ends(scheme).map_err(LabError::Scenario)?;
        let open = |name: &String| Netns::open(name).tried(|| format!("namespace {name}"));
        let nodes = spaces.nodes.iter().map(open).collect::<Result<_, _>>()?;
        let association_socket = spaces.association_socket.clone();
        let (addresses, hub) = (Addresses::of(scenario), open(&spaces.hub)?);
        let probes = probes(scenario, layout, &ends);
        let lab = Self { scenario, scheme, addresses, ends, hub, nodes, association_socket, probes };
        lab.turn_offloads_off()?;
        Ok(lab)
    }

    /// At every interface, so that what crosses a link is what would cross a wire.
    fn turn_offloads_off(&self) -> Result<(), LabError> {
        for (link, of) in self.scenario.links.iter().enumerate() {
            for (end, &node) in of.between.iter().enumerate() {
                let out = channel(link, end);
                let interfaces = [
                    (&self.nodes[node], interface_of(self.scenario, out)),
                    (&self.hub, loop_interface_of(self.scenario, out)),
                ];
                for (space, interface) in interfaces {
                    let done = space.enter().and_then(|_there| offloads_off(&interface));
                    done.tried(|| "turning offloads off".to_owned())?;
                }
            }
        }
        Ok(())
    }

    /// Each node's counters.
    fn counters(&self) -> Result<Vec<Counters>, LabError> {
        let read = |space: &Netns| space.enter().and_then(|_there| counters::read());
        self.nodes.iter().map(read).collect::<Result<_, _>>().tried(|| "the kernel's counters".to_owned())
    }

    fn counters_since(&self, before: &[Counters]) -> Result<Vec<Counters>, LabError> {
        let after = self.counters()?;
        Ok(before.iter().zip(&after).map(|(before, after)| counters::difference(before, after)).collect())
    }

    /// From the start to the end.
    fn go(&self, layout: &Layout, options: &LabOptions, control: &Control) -> Result<Moved, LabError> {
        let timeline = &layout.timeline;
        let packet_loop = self.packet_loop(timeline, options)?;
        let roaming = self.roaming(layout)?;
        let announcer = self.announcer(timeline)?;
        let captures = Captures::open(self.scenario, &self.hub, &self.nodes, options.capture_dir.as_deref())?;
        let epoch = Clock::SYSTEM.now() + LEAD;
        let clock = Clock::from_monotonic(epoch.as_nanos());
        let end = Instant::ZERO + self.scenario.duration;
        let board = Board::new(self.scenario.flows.len(), layout.streams.clone());
        let loop_stop = AtomicBool::new(false);
        let outages = Outages::new(timeline, &layout.paths);
        let receivers = self.receivers(layout)?;
        let hosts = self.hosts(layout);
        thread::scope(|scope| {
            let (board, loop_stop) = (&board, &loop_stop);
            let looping = scope.spawn(move || packet_loop.run(clock, loop_stop));
            let roaming = scope.spawn(move || {
                be_punctual(clock);
                roaming.run(clock, end, board)
            });
            let announcing = announcer.map(|announcer| {
                scope.spawn(move || {
                    be_punctual(clock);
                    announcer.run(clock, end, board)
                })
            });
            let capturing = scope.spawn(move || captures.run(clock, end, board));
            let receiving = scope.spawn(move || {
                be_punctual(clock);
                receiver::run(receivers, timeline, outages, clock, end, board)
            });
            let kernels = scope.spawn(move || {
                let senders = self.senders(layout, clock)?;
                be_punctual(clock);
                Ok(sender::run(senders, clock, end, board, options.series))
            });
            let ours = hosts.into_iter().map(|host| {
                scope.spawn(move || {
                    be_punctual(clock);
                    wire_sender::run(host, clock, end, board, options.series)
                })
            });
            let sending: Vec<_> = std::iter::once(kernels).chain(ours).collect();
            let cancelled = watch(control, clock, self.scenario.duration, || {
                looping.is_finished() || sending.iter().any(ScopedJoinHandle::is_finished)
            });
            if cancelled || clock.now() < end {
                board.stop();
            }
            let sent: io::Result<Vec<_>> = sending.into_iter().map(joined).collect();
            let received = joined(receiving);
            loop_stop.store(true, Ordering::Relaxed);
            let looped = joined(looping).tried(|| "the packet loop".to_owned());
            let (captured, roamed) = (joined(capturing), joined(roaming));
            let announced = announcing.map_or(Ok(Announced::default()), joined);
            if cancelled {
                return Err(LabError::Cancelled);
            }
            captured?;
            let (bridges_late, announced) = (roamed?, announced?);
            let mut sent = sent.tried(|| "the senders".to_owned())?.into_iter().flatten().collect::<Vec<_>>();
            sent.sort_by_key(|&(id, _)| id);
            let sent = sent.into_iter().map(|(_, sent)| sent).collect();
            Ok(Moved { sent, received, looped: looped?, bridges_late, announced })
        })
    }

    fn packet_loop(&self, timeline: &Timeline, options: &LabOptions) -> Result<PacketLoop, LabError> {
        let links = 0..self.scenario.links.len();
        let name = |link, end| loop_interface_of(self.scenario, channel(link, end));
        let ends: Vec<_> = links.map(|link| [0, 1].map(|end| name(link, end))).collect();
        let sample_every = options.series.then_some(self.scenario.sample_interval);
        let loop_options = LoopOptions { seed: options.seed, sample_every };
        let made = self
            .hub
            .enter()
            .and_then(|_there| PacketLoop::new(self.scenario, timeline.clone(), &ends, &loop_options));
        made.tried(|| "the packet loop".to_owned())
    }

    fn roaming(&self, layout: &Layout) -> Result<Roaming, LabError> {
        let mut turns = roaming::turns(self.scenario, &layout.topology, &layout.timeline);
        if controlled::sdn_of(self.scheme).is_some() {
            // Its switches are no bridges: their controller tells them.
            for turn in &mut turns {
                turn.outs.retain(|&(node, _)| self.scenario.nodes[node].kind != NodeKind::Switch);
            }
        }
        Roaming::open(self.scenario, &self.nodes, &turns)
    }

    /// Who speaks for the access points, if a controller listens.
    fn announcer(&self, timeline: &Timeline) -> Result<Option<Announcer>, LabError> {
        let Some(sdn) = controlled::sdn_of(self.scheme) else { return Ok(None) };
        let Some(socket) = &self.association_socket else {
            return Err(LabError::Scenario(format!(
                "scheme `{}` needs a controller's socket",
                self.scheme.name
            )));
        };
        Announcer::open(self.scenario, sdn, timeline, socket).map(Some)
    }

    fn receivers(&self, layout: &Layout) -> Result<Vec<Box<dyn Receiver>>, LabError> {
        let flows = || self.scenario.flows.iter().enumerate();
        let talking = flows().filter_map(|(id, flow)| {
            let client = self.client(layout, (id, flow))?;
            Some(client.tried(|| format!("the client of flow `{}`", flow.name)))
        });
        let one_way = flows().filter(|(_, flow)| flow.app.dialogue().is_none());
        let streams =
            one_way.flat_map(|(id, flow)| layout.streams.of_flow(id).map(move |stream| (id, flow, stream)));
        let receiver = |(id, flow, stream)| {
            self.receiver(layout, (id, flow), stream)
                .tried(|| format!("the receiver of flow `{}`", flow.name))
        };
        streams.map(receiver).chain(talking).collect()
    }

    /// The client of a flow of which one end asks and the other answers; [`None`]: it is none.
    fn client(&self, layout: &Layout, (id, flow): (FlowId, &Flow)) -> Option<io::Result<Box<dyn Receiver>>> {
        let kind = flow.app.dialogue()?;
        let client = kind.client(layout.seed, &flow.name);
        let asker = Asker::new(client, flow.connections as usize, layout.starts[id], flow.stop);
        let goals = layout.streams.of_flow(id).map(|stream| {
            let goal = self.goal(flow, stream, self.scheme.receiver.mss, &self.ends.receiver);
            let server = (self.addresses.ip_of(flow.from), port_of(stream)).into();
            (stream, Goal { nodelay: true, ..goal }, server)
        });
        let client = DialogueClient::new(id, asker, &self.nodes[flow.to], goals);
        Some(client.map(|client| Box::new(client) as Box<dyn Receiver>))
    }

    fn receiver(
        &self,
        layout: &Layout,
        (id, flow): (FlowId, &Flow),
        stream: StreamId,
    ) -> io::Result<Box<dyn Receiver>> {
        let host = &self.nodes[flow.to];
        let goal = self.goal(flow, stream, self.scheme.receiver.mss, &self.ends.receiver);
        if let Some([_, machine]) = flow.app.transport(layout.starts[id], flow.stop) {
            return Ok(Box::new(DatagramReceiver::bind(id, machine, host, &goal)?));
        }
        let probe = self.probes.get(&stream).cloned();
        Ok(Box::new(TcpReceiver::listen((id, flow), (stream, probe), host, &goal)?))
    }

    /// What sends the flows whose senders are kernels.
    fn senders(&self, layout: &Layout, clock: Clock) -> io::Result<Vec<Box<dyn Sender + '_>>> {
        let Some(settings) = &self.ends.sender else { return Ok(Vec::new()) };
        let end = Instant::ZERO + self.scenario.duration;
        let mut senders: Vec<Box<dyn Sender + '_>> = Vec::new();
        for (id, flow) in self.scenario.flows.iter().enumerate() {
            let (from, start, stop) = (&self.nodes[flow.from], layout.starts[id], flow.stop);
            for (stream, app) in layout.streams.shares(self.scenario, id) {
                let goal = self.goal(flow, stream, self.scheme.sender.mss, settings);
                if app.dialogue().is_some() {
                    let address = (self.addresses.ip_of(flow.from), port_of(stream)).into();
                    let goal = Goal { address, nodelay: true, ..goal };
                    senders.push(Box::new(DialogueServer::listen((id, stream), from, &goal)?));
                    continue;
                }
                if let Some([machine, _]) = app.transport(start, stop) {
                    let sender = DatagramSender::new(stream, machine, from, &goal, (clock, end))?;
                    senders.push(Box::new(sender));
                    continue;
                }
                let probe = self.probes.get(&stream).cloned();
                let job = Job { flow: id, stream, app, from, start, stop, goal, probe };
                senders.push(Box::new(TcpSender::new(job)?));
            }
        }
        Ok(senders)
    }

    /// The hosts whose TCP is ours.
    fn hosts(&self, layout: &Layout) -> Vec<Host<'_>> {
        let senders: BTreeSet<NodeId> = self.scenario.flows.iter().map(|flow| flow.from).collect();
        let ours = senders.into_iter().filter(|_| self.ends.sender.is_none());
        ours.filter_map(|node| self.host(layout, node)).collect()
    }

    fn host(&self, layout: &Layout, node: NodeId) -> Option<Host<'_>> {
        let flows = self.scenario.flows.iter().enumerate().filter(|(_, flow)| flow.from == node);
        let out = layout.paths.forward[flows.clone().next()?.0].first()?;
        let peers: BTreeSet<NodeId> = flows.clone().map(|(_, flow)| flow.to).collect();
        let jobs = flows.flat_map(|(id, flow)| {
            layout.streams.shares(self.scenario, id).map(move |(stream, app)| WireJob {
                flow: id,
                stream,
                app,
                start: layout.starts[id],
                stop: flow.stop,
                goal: self.address(flow, stream),
            })
        });
        let addresses = &self.addresses;
        Some(Host {
            space: &self.nodes[node],
            interface: interface_of(self.scenario, *out as usize),
            identity: Identity { mac: addresses.mac_of(node), addresses: vec![addresses.ip_of(node)] },
            neighbours: peers
                .into_iter()
                .map(|peer| (addresses.ip_of(peer), addresses.mac_of(peer)))
                .collect(),
            config: &self.scheme.sender,
            segment: segment_size(self.scheme).0 as f64,
            jobs: jobs.collect(),
        })
    }

    fn address(&self, flow: &Flow, stream: StreamId) -> SocketAddr {
        (self.addresses.ip_of(flow.to), port_of(stream)).into()
    }

    fn goal(&self, flow: &Flow, stream: StreamId, mss: u16, settings: &Settings) -> Goal {
        let mss = (mss != kernel::USUAL_MSS).then_some(mss);
        let Settings { congestion_control, nodelay, user_timeout, .. } = *settings;
        Goal { address: self.address(flow, stream), mss, congestion_control, nodelay, user_timeout }
    }
}

/// A thread that measures has the loop's priority, if that is allowed, and begins at the scenario's start.
fn be_punctual(clock: Clock) {
    // Without the priority the lateness that is measured says so.
    let _ = real_time();
    let start = Instant::from_nanos(clock.to_monotonic(Instant::ZERO));
    let left = start.since(Clock::SYSTEM.now());
    thread::sleep(std::time::Duration::from_nanos(left.as_nanos()));
}

/// Until the run is over, cancelled, or a thread has ended early; whether it was cancelled.
fn watch(control: &Control, clock: Clock, duration: Duration, ended: impl Fn() -> bool) -> bool {
    loop {
        let done = clock.now().since(Instant::ZERO).min(duration);
        control.report(done, duration);
        if control.is_cancelled() {
            return true;
        }
        if done == duration || ended() {
            return false;
        }
        let left = std::time::Duration::from_nanos((duration.saturating_sub(done)).as_nanos());
        thread::sleep(LOOK_EVERY.min(left));
    }
}

/// What a thread brought back; its panic is ours.
fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn write_series(
    scenario: &Scenario,
    scheme: &Scheme,
    outcome: &Outcome,
    sink: &mut dyn SeriesSink,
) -> io::Result<()> {
    let mut sampler = Sampler::new(segment_size(scheme).0, 2 * scenario.links.len(), sink);
    let mut samples: BTreeMap<(Instant, u32), Vec<_>> = BTreeMap::new();
    let streams = Streams::of(scenario);
    for (stream, sent) in (0..).zip(&outcome.moved.sent) {
        let flow = streams.flow(stream) as u32;
        for &(at, sample, open) in &sent.samples {
            samples.entry((at, flow)).or_default().push((sample, open));
        }
    }
    for ((at, flow), seen) in samples {
        let delivered = seen.iter().map(|(sample, _)| sample.delivered).max().unwrap_or(0);
        if let Some(sample) = FlowSample::together(&seen, delivered) {
            sampler.flow(at, flow, &sample);
            sampler.hand_out(false)?;
        }
    }
    for seen in &outcome.moved.looped.queues {
        sampler.queue(seen.at, seen.channel, seen.occupancy);
        sampler.hand_out(false)?;
    }
    for (&stream, probe) in &outcome.probes {
        let flow = streams.flow(stream);
        let connection = stream - streams.of_flow(flow).start;
        sampler.packets(flow as u32, connection, probe)?;
    }
    sampler.finish()
}
