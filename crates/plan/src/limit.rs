//! The capacity limit: what senders that knew everything could deliver.
//!
//! Definition. At every moment the flows that are active share the links on their forward paths max-min fairly: no flow
//! can get more without taking from one that has no more than it; several connections of a flow count as so many flows. A link
//! carries its rate at that moment, nothing
//! while it is down; one that follows a trace the mean of each tenth of a second; a flow of a station that roams goes by its new access point from the moment of re-association on; one whose transport
//! has several paths goes by the first that is up; where the old link drains, what its queue
//! holds at most arrives as well. Of a flow's share the part counts that is payload in a full segment of its scheme, IP and TCP
//! headers taken off. Stations on the air share their access point's airtime: a second of it carries so many full segments as the
//! rate of each
//! at that moment says, with nobody else to wait for. A cellular radio carries what its rate leaves in the mean for blocks that
//! are not repeated. Integrated over the flow's active time this gives the bytes it could have
//! had; divided by the
//! time from the first to the last of them, as goodput is, outages between these included, the limit. Active is a flow from its
//! start to its stop or the end of the run, a
//! transfer to the moment its last byte would be through. Losses, propagation delay and the acknowledgements of
//! flows the other way are left out, and so are flows of which one end asks and the other answers: they have no limit, what they take
//! is not taken off that of others, and where there is one all flows together have none.

use handfast_core::{BitRate, Duration, Instant};
use handfast_scenario::{App, Direction, QueueLimit, Scenario, Scheme};

use crate::Paths;
use crate::airtime::Airtime;
use crate::change::Change;
use crate::radios::Radios;
use crate::timeline::Timeline;
use crate::topology::{ChannelId, channel};
use crate::traces;

/// Headers of a data segment without options: IPv4 and TCP.
const HEADERS: u64 = 20 + 20;
/// The timestamps option with its padding (RFC 7323 appendix A).
const TIMESTAMPS: u64 = 12;
/// Where there are more flows than this, starts, stops and completions are rounded to [`SLOTS`] moments.
const MANY_FLOWS: usize = 1000;
const SLOTS: u64 = 256;

/// Payload bytes of a full segment, and the IP bytes it takes.
pub fn segment_size(scheme: &Scheme) -> (u64, u64) {
    let options = if scheme.sender.timestamps && scheme.receiver.timestamps { TIMESTAMPS } else { 0 };
    let mss = u64::from(scheme.sender.mss.min(scheme.receiver.mss));
    // RFC 6691: options shrink the payload, the packet stays as large.
    (mss.saturating_sub(options).max(1), mss.max(options + 1) + HEADERS)
}

/// What senders that knew everything could deliver, payload bits per second.
pub struct Limits {
    /// Each flow; [`None`]: nothing of it could arrive.
    pub flows: Vec<Option<f64>>,
    /// All flows, from the first byte of any to the last.
    pub together: Option<f64>,
}

/// One flow as a fluid.
struct Fluid {
    /// The channels of its forward path.
    path: Vec<u32>,
    /// All of them, where its transport has several and goes by one at a time.
    several: Vec<Vec<u32>>,
    /// How many shares it has of each link: one for each of its connections.
    shares: f64,
    /// Payload bytes per second it asks for at most, for each share.
    demand: f64,
    /// Payload bytes left.
    left: f64,
    done: f64,
    active: bool,
    stops: Option<Instant>,
    /// When bytes have arrived first and last.
    flowed: Option<(Instant, Instant)>,
    rate: f64,
}

impl Fluid {
    /// So much has arrived from `since` to `now`; whether that was the last of it.
    fn take(&mut self, since: Instant, now: Instant, amount: f64) -> bool {
        let amount = amount.min(self.left);
        if amount > 0.0 {
            self.flowed = Some((self.flowed.map_or(since, |(first, _)| first), now));
        }
        self.done += amount;
        self.left -= amount;
        // Less than a byte left is rounding.
        let through = self.left < 1.0;
        self.active &= !through;
        through
    }
}

/// Payload bytes that an application asks for in all. How many a person asks for depends on how fast they come.
fn asked_for(app: App) -> f64 {
    match app.dialogue() {
        Some(_) => 0.0,
        None => app.total().map_or(f64::INFINITY, |size| size.get() as f64),
    }
}

/// What happens to fluids and links.
enum Step {
    Start(usize),
    Stop(usize),
    Network(usize),
    /// The trace of a channel.
    Rate(ChannelId, BitRate),
}

/// The limits of a run, payload bits per second.
pub fn limits(
    scenario: &Scenario,
    scheme: &Scheme,
    timeline: &Timeline,
    starts: &[Instant],
    paths: &Paths,
    seed: u64,
) -> Limits {
    let end = Instant::ZERO + scenario.duration;
    let slot = if scenario.flows.len() > MANY_FLOWS { scenario.duration / SLOTS } else { Duration::ZERO };
    let mut tank = Tank::new(scenario, segment_size(scheme), paths);
    let mut now = Instant::ZERO;
    for (at, step) in steps(scenario, timeline, starts, slot, seed) {
        tank.run(now, at.min(end), slot);
        now = at.min(end);
        if at >= end {
            break;
        }
        tank.apply(at, &step, timeline, paths);
    }
    tank.run(now, end, slot);
    let mut limits = Limits::of(&tank.fluids);
    // What all could have is not known where it is not of one.
    if scenario.flows.iter().any(|flow| flow.app.dialogue().is_some()) {
        limits.together = None;
    }
    limits
}

/// All steps in order of time.
fn steps(
    scenario: &Scenario,
    timeline: &Timeline,
    starts: &[Instant],
    slot: Duration,
    seed: u64,
) -> Vec<(Instant, Step)> {
    let mut steps: Vec<_> =
        timeline.changes().enumerate().map(|(i, (at, _))| (at, Step::Network(i))).collect();
    for (id, flow) in scenario.flows.iter().enumerate() {
        steps.push((round(starts[id], slot), Step::Start(id)));
        steps.extend(flow.stop.map(|stop| (round(stop, slot), Step::Stop(id))));
    }
    let traced = traces::rates(scenario, seed);
    steps.extend(traced.into_iter().map(|(at, id, rate)| (at, Step::Rate(id, rate))));
    steps.sort_by_key(|&(at, _)| at);
    steps
}

fn round(at: Instant, slot: Duration) -> Instant {
    let nanos = at.as_nanos();
    Instant::from_nanos(nanos - nanos.checked_rem(slot.as_nanos()).unwrap_or(0))
}

impl Limits {
    fn of(fluids: &[Fluid]) -> Self {
        let flowed = || fluids.iter().filter_map(|fluid| fluid.flowed);
        let first = flowed().map(|(first, _)| first).min();
        let last = flowed().map(|(_, last)| last).max();
        Self {
            flows: fluids.iter().map(|fluid| rate(fluid.done, fluid.flowed)).collect(),
            together: rate(fluids.iter().map(|fluid| fluid.done).sum(), first.zip(last)),
        }
    }
}

fn rate(bytes: f64, span: Option<(Instant, Instant)>) -> Option<f64> {
    let time = span.map(|(first, last)| last.since(first)).filter(|&time| time > Duration::ZERO)?;
    Some(bytes * 8.0 / time.as_secs_f64())
}

/// Payload bytes per second.
fn payload_rate(rate: BitRate, share: f64) -> f64 {
    rate.as_bps() as f64 / 8.0 * share
}

/// Links and flows as pipes and fluids.
struct Tank {
    fluids: Vec<Fluid>,
    /// For each channel its rate in payload bytes per second of full segments, and the outages that last.
    pipes: Vec<(f64, u32)>,
    airtime: Airtime,
    /// For each channel the part of its rate that is payload of full segments.
    payload_shares: Vec<f64>,
    /// For each channel what policers let through.
    policed: Vec<BitRate>,
    /// For each channel, payload bytes of full segments that its queue holds.
    queues: Vec<f64>,
    /// Whether rates must be shared out again.
    stale: bool,
}

impl Tank {
    fn new(scenario: &Scenario, (payload, packet): (u64, u64), paths: &Paths) -> Self {
        let payload_share = payload as f64 / packet as f64;
        let airtime = Airtime::new(scenario, (payload, packet));
        let directions = scenario.links.iter().flat_map(|link| [&link.forward, &link.backward]);
        let held = |limit: QueueLimit| match limit {
            QueueLimit::Packets(most) => f64::from(most) * payload as f64,
            QueueLimit::Bytes(most) => most.get() as f64 * payload_share,
        };
        let queues = directions.clone().map(|d| d.queue.limit().map_or(0.0, held)).collect();
        let efficiency = |d: &Direction| d.access.as_ref().map_or(1.0, |access| access.efficiency());
        let payload_shares: Vec<_> = directions.clone().map(|d| payload_share * efficiency(d)).collect();
        let policed: Vec<_> = directions.clone().map(|d| d.policed(BitRate::from_bps(u64::MAX))).collect();
        let rates = directions.zip(&payload_shares).map(|(d, &share)| payload_rate(d.policed(d.rate), share));
        let mut pipes: Vec<_> = rates.map(|rate| (rate, 0)).collect();
        for &id in airtime.shares.keys() {
            let bound = policed[id];
            let is_policed = bound < BitRate::from_bps(u64::MAX);
            pipes[id].0 = if is_policed { payload_rate(bound, payload_shares[id]) } else { f64::INFINITY };
        }
        // Each medium carries a second of frames in a second.
        pipes.extend((0..airtime.media).map(|_| (1.0, 0)));
        for idle in Radios::new(scenario).idle() {
            for end in [0, 1] {
                pipes[channel(idle, end)].1 = 1;
            }
        }
        let flows = scenario.flows.iter().zip(&paths.forward).zip(&paths.several);
        let fluids = flows.map(|((flow, path), several)| Fluid {
            path: path.clone(),
            several: several.iter().map(|[there, _]| there.clone()).collect(),
            shares: f64::from(flow.connections),
            demand: flow
                .app
                .writes()
                .map_or(f64::INFINITY, |(size, interval)| size.get() as f64 / interval.as_secs_f64()),
            left: asked_for(flow.app),
            done: 0.0,
            active: false,
            stops: flow.stop,
            flowed: None,
            rate: 0.0,
        });
        Self { fluids: fluids.collect(), pipes, airtime, payload_shares, policed, queues, stale: true }
    }

    fn apply(&mut self, at: Instant, step: &Step, timeline: &Timeline, paths: &Paths) {
        self.stale = true;
        match *step {
            Step::Start(id) => {
                let fluid = &mut self.fluids[id];
                fluid.active = fluid.stops.is_none_or(|stops| at < stops);
            }
            Step::Stop(id) => self.fluids[id].active = false,
            Step::Rate(id, rate) => self.pipes[id].0 = self.payload_rate(id, rate),
            Step::Network(index) => match timeline.change(index) {
                Change::Rate(id, rate) => self.pipes[id].0 = self.payload_rate(id, rate),
                Change::LinkDown(link, _) => self.shut(link, |depth| depth + 1),
                Change::LinkDrains(link) => {
                    self.drain(at, link);
                    self.shut(link, |depth| depth + 1);
                }
                Change::LinkUp(link, _) => self.shut(link, |depth| depth.saturating_sub(1)),
                Change::AssociationBegins { handover, .. } => {
                    for reroute in &paths.reroutes[handover] {
                        self.fluids[reroute.flow].path.clone_from(&reroute.forward);
                    }
                }
                Change::Signal(link, level) => self.airtime.adapt(link, level),
                Change::Delay(..)
                | Change::RateWindowBegins(_)
                | Change::OutageBegins(_)
                | Change::OutageEnds(_)
                | Change::AssociationEnds { .. }
                | Change::AddressEnds(_)
                | Change::AddressBegins(_)
                | Change::Restart(_) => {}
            },
        }
    }

    /// Payload bytes per second.
    fn payload_rate(&self, id: ChannelId, rate: BitRate) -> f64 {
        payload_rate(rate.min(self.policed[id]), self.payload_shares[id])
    }

    fn shut(&mut self, link: usize, depth: impl Fn(u32) -> u32) {
        for end in [0, 1] {
            let pipe = &mut self.pipes[channel(link, end)];
            pipe.1 = depth(pipe.1);
        }
        let is_up = |path: &&Vec<u32>| path.iter().all(|&id| self.pipes[id as usize].1 == 0);
        for fluid in &mut self.fluids {
            if let Some(path) = fluid.several.iter().find(is_up) {
                fluid.path.clone_from(path);
            }
        }
    }

    /// The flows over a link share what waits in front of it: they have sent it, and it arrives.
    fn drain(&mut self, now: Instant, link: usize) {
        for id in [0, 1].map(|end| channel(link, end)) {
            // Who asks for less than the link carries has nothing in its queue.
            let waits = |f: &Fluid| f.active && f.demand == f64::INFINITY && f.path.contains(&(id as u32));
            let shares = self.fluids.iter().filter(|f| waits(f)).map(|fluid| fluid.shares).sum::<f64>();
            let share = self.queues[id] / shares;
            for fluid in self.fluids.iter_mut().filter(|f| waits(f)) {
                fluid.take(now, now, share * fluid.shares);
            }
        }
    }

    /// Lets everything flow from `now` to `until`, stopping whenever a transfer is through.
    fn run(&mut self, mut now: Instant, until: Instant, slot: Duration) {
        while now < until {
            if self.stale {
                self.share_out();
            }
            let left = until.since(now);
            let span = self.first_completion().map_or(left, |first| first.max(slot).min(left));
            self.flow(now, span);
            now += span;
        }
    }

    /// When the next transfer is through at the present rates: at least a nanosecond from now.
    fn first_completion(&self) -> Option<Duration> {
        let flowing = self.fluids.iter().filter(|f| f.active && f.rate > 0.0);
        let soonest = flowing.map(|f| f.left / f.rate).fold(f64::INFINITY, f64::min);
        let nanos = (soonest * 1e9).ceil();
        (nanos < u64::MAX as f64).then(|| Duration::from_nanos((nanos as u64).max(1)))
    }

    fn flow(&mut self, now: Instant, span: Duration) {
        for fluid in self.fluids.iter_mut().filter(|f| f.active) {
            self.stale |= fluid.take(now, now + span, fluid.rate * span.as_secs_f64());
        }
    }

    /// Max-min fair rates by filling: the flows of the tightest link, or those that ask for least, get their share
    /// first; what they leave is shared among the others.
    fn share_out(&mut self) {
        self.stale = false;
        let mut room: Vec<f64> =
            self.pipes.iter().map(|&(rate, down)| if down > 0 { 0.0 } else { rate }).collect();
        let mut users = vec![Users::default(); room.len()];
        let mut open: Vec<usize> = (0..self.fluids.len()).filter(|&i| self.fluids[i].active).collect();
        for &id in &open {
            let Fluid { path, shares, .. } = &self.fluids[id];
            self.airtime.uses(path).for_each(|(c, cost)| users[c].join(cost * shares));
        }
        while !open.is_empty() {
            let used = |c: usize| room[c] / users[c].cost;
            let is_used = |c: &usize| users[*c].number > 0;
            let tightest = (0..room.len()).filter(is_used).map(used).fold(f64::INFINITY, f64::min);
            let least = open.iter().map(|&id| self.fluids[id].demand).fold(f64::INFINITY, f64::min);
            let share = tightest.min(least);
            let full: Vec<bool> = (0..room.len()).map(|c| is_used(&c) && used(c) <= share).collect();
            let (settled, rest): (Vec<usize>, Vec<usize>) = open.into_iter().partition(|&id| {
                let fluid = &self.fluids[id];
                fluid.demand <= share || self.airtime.uses(&fluid.path).any(|(c, _)| full[c])
            });
            for id in settled {
                let fluid = &mut self.fluids[id];
                fluid.rate = share.min(fluid.demand) * fluid.shares;
                for (c, cost) in self.airtime.uses(&fluid.path) {
                    room[c] = (room[c] - fluid.rate * cost).max(0.0);
                    users[c].leave(cost * fluid.shares);
                }
            }
            open = rest;
        }
    }
}

/// Who shares a pipe, and what one unit of rate for each of them takes of it.
#[derive(Clone, Copy, Default)]
struct Users {
    number: u32,
    cost: f64,
}

impl Users {
    fn join(&mut self, cost: f64) {
        self.number += 1;
        self.cost += cost;
    }

    fn leave(&mut self, cost: f64) {
        self.number -= 1;
        self.cost -= cost;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, Net};
    use crate::topology::Topology;
    use handfast_core::Bytes;
    use handfast_host::app::dialogues::Kind as Dialogue;
    use handfast_host::app::terminal::Terminal;
    use handfast_net::Loss;
    use handfast_net::cell::Profile;
    use handfast_scenario::{Action, Directions, DownMode, Event, Flow, Protocol};

    /// Limits in units of payload kbit/s, rounded.
    fn kbits(scenario: &Scenario) -> Vec<Option<u64>> {
        limits_of(scenario).flows.into_iter().map(|l| l.map(|l| (l / 1000.0).round() as u64)).collect()
    }

    fn limits_of(scenario: &Scenario) -> Limits {
        let topology = Topology::new(scenario);
        let starts: Vec<_> = scenario.flows.iter().map(|f| f.start).collect();
        let timeline = Timeline::new(scenario, 1);
        let paths = crate::paths(scenario, &topology, &timeline).unwrap();
        limits(scenario, &scenario.schemes[0], &timeline, &starts, &paths, 1)
    }

    fn traced(text: &str) -> Scenario {
        let mut scenario = Net::new("hh").rate(0, 1, 1_000_000).bulk(0, 1).build();
        let trace = handfast_net::trace::Trace::parse(text, handfast_net::trace::AtEnd::Repeat).unwrap();
        let trace = handfast_scenario::LinkTrace::Recorded(std::sync::Arc::new(trace));
        scenario.traces.insert((0, 0), trace);
        scenario
    }

    #[test]
    fn a_trace_says_what_a_link_carries() {
        // For 10 s: 2, then 8 Mbit/s.
        let steps = traced("time_s,rate_mbps\n0,2\n1,8\n2,0\n");
        assert_eq!(kbits(&steps), [Some(net_of(5_000.0))]);
        // Ten packets of 1,500 bytes in each 100 ms.
        let opportunities = traced(&(1..=10).map(|k| (k * 10).to_string()).collect::<Vec<_>>().join("\n"));
        assert_eq!(kbits(&opportunities), [Some(net_of(1_200.0))]);
        let delay = traced("time_s,delay_ms\n0,2\n1,8\n");
        assert_eq!(kbits(&delay), [Some(net_of(1_000.0))], "the link's own");
    }

    /// What 1000 kbit/s come to without the headers of profile `sack`.
    fn net_of(kbit: f64) -> u64 {
        (kbit * 1448.0 / 1500.0).round() as u64
    }

    /// How much a person asks for depends on how fast it comes: it has no limit, nor have all flows together.
    #[test]
    fn what_a_person_asks_for_has_no_limit() {
        let net = Net::new("hsh").rate(0, 1, 90_000_000).rate(1, 2, 8_000_000);
        let mut scenario = net.bulk(0, 2).bulk(0, 2).build();
        assert!(limits_of(&scenario).together.is_some());
        scenario.flows[0].app = App::Dialogue(Dialogue::Terminal(Terminal::default()));
        assert_eq!(
            (kbits(&scenario), limits_of(&scenario).together),
            (vec![None, Some(net_of(8000.0))], None)
        );
    }

    #[test]
    fn a_flow_that_shares_nothing_gets_the_smallest_rate_less_headers() {
        let net = Net::new("hssh").rate(0, 1, 10_000_000).rate(1, 2, 1_000_000).rate(2, 3, 10_000_000);
        assert_eq!(kbits(&net.bulk(0, 3).build()), [Some(net_of(1000.0))]);
    }

    #[test]
    fn a_cellular_radio_carries_what_it_need_not_repeat() {
        let mut scenario = Net::new("hsh").rate(0, 1, 9_000_000).rate(1, 2, 1_111_000).bulk(0, 2).build();
        let mut lte = Profile::lte();
        lte.harq.nack_to_ack = 0.0;
        scenario.links[1].forward.access = Some(Box::new(lte));
        assert_eq!(kbits(&scenario), [Some(net_of(999.9))]);
        let rate = BitRate::from_bps(2_222_000);
        let faster = Action::SetRate { link: 1, directions: Directions::Forward, rate };
        scenario.events = vec![Event::new(Instant::ZERO, faster)];
        assert_eq!(kbits(&scenario), [Some(net_of(1999.8))]);
    }

    #[test]
    fn the_parking_lot_is_shared_max_min() {
        // A long flow over both links and a short one on each: the tighter link decides the long flow's share.
        let net = Net::new("hsshhh").rate(0, 1, 90_000_000).rate(1, 2, 4_000_000).rate(2, 3, 10_000_000);
        let net = net.rate(1, 4, 90_000_000).rate(2, 5, 90_000_000);
        let scenario = net.bulk(0, 3).bulk(4, 5).bulk(5, 3).build();
        assert_eq!(kbits(&scenario), [Some(net_of(2000.0)), Some(net_of(2000.0)), Some(net_of(8000.0))]);
    }

    #[test]
    fn outages_and_rate_changes_count() {
        let mut scenario = Net::new("hsh").rate(0, 1, 9_000_000).rate(1, 2, 2_000_000).bulk(0, 2).build();
        scenario.duration = Duration::from_secs(10);
        let gap = Duration::from_secs(1);
        let outage = Action::Outage { link: 1, gap, mode: DownMode::Drop };
        let slower =
            Action::SetRate { link: 1, directions: Directions::Forward, rate: BitRate::from_bps(1_000_000) };
        let event = |ms, action| Event::new(Instant::from_millis(ms), action);
        scenario.events = vec![event(1000, outage), event(5000, slower)];
        assert_eq!(kbits(&scenario), [Some(net_of((2000.0 * 4.0 + 1000.0 * 5.0) / 10.0))]);
    }

    #[test]
    fn a_policer_is_a_bound_whatever_the_line_carries() {
        let mut scenario = Net::new("hsh").rate(0, 1, 9_000_000).rate(1, 2, 4_000_000).bulk(0, 2).build();
        scenario.duration = Duration::from_secs(10);
        let rate = BitRate::from_bps(2_000_000);
        scenario.links[1].forward.losses = vec![Loss::Police { rate, burst: Bytes(64_000) }];
        assert_eq!(kbits(&scenario), [Some(net_of(2000.0))]);
        let slower = |rate| Action::SetRate {
            link: 1,
            directions: Directions::Forward,
            rate: BitRate::from_bps(rate),
        };
        scenario.events = vec![Event::new(Instant::from_millis(5000), slower(1_000_000))];
        assert_eq!(kbits(&scenario), [Some(net_of(1500.0))]);
    }

    /// Goodput counts from the first delivery to the last: nothing may be above the limit because a run ends while the link is gone.
    #[test]
    fn outages_before_the_first_byte_and_after_the_last_do_not_count() {
        let mut scenario = Net::new("hsh").rate(0, 1, 9_000_000).rate(1, 2, 2_000_000).bulk(0, 2).build();
        scenario.duration = Duration::from_secs(10);
        let outage = |ms, gap_s| {
            let gap = Duration::from_secs(gap_s);
            Event::new(Instant::from_millis(ms), Action::Outage { link: 1, gap, mode: DownMode::Drop })
        };
        scenario.events = vec![outage(0, 1), outage(3000, 2), outage(8000, 20)];
        assert_eq!(kbits(&scenario), [Some(net_of(2000.0 * 5.0 / 7.0))]);
        scenario.events = vec![outage(0, 20)];
        assert_eq!(kbits(&scenario), [None]);
    }

    #[test]
    fn a_transport_with_two_paths_goes_by_the_first_that_is_up() {
        let mut scenario = testing::roam(&[]);
        let gap = Duration::from_secs(2);
        let outage = Action::Outage { link: 3, gap, mode: DownMode::Drop };
        scenario.events = vec![Event::new(Instant::from_millis(5000), outage)];
        let first = scenario.links[3].forward.rate.as_bps() as f64 / 1000.0;
        scenario.links[4].forward.rate = BitRate::from_bps(1_000_000);
        scenario.links[4].backward.rate = BitRate::from_bps(1_000_000);
        scenario.links[0].forward.rate = BitRate::from_bps(1_000_000_000);
        let alone = kbits(&scenario);
        scenario.nodes[4].more_aps = vec![3];
        assert_eq!(kbits(&scenario), alone, "TCP knows one path");
        scenario.flows[0].transport = Protocol::Sctp;
        assert_eq!(
            [alone, kbits(&scenario)].map(|all| all[0]),
            [Some(net_of(first * 0.8)), Some(net_of(first * 0.8 + 1000.0 * 0.2))]
        );
    }

    #[test]
    fn a_roam_is_time_without_a_link_and_then_another_path() {
        let mut scenario = testing::roam(&[(2000, 3, 1000)]);
        // Wide open but for the second access point.
        scenario.links[0].forward.rate = BitRate::from_bps(90_000_000);
        scenario.links[2].forward.rate = BitRate::from_bps(4_000_000);
        scenario.duration = Duration::from_secs(10);
        assert_eq!(kbits(&scenario), [Some(net_of((54_000.0 * 2.0 + 4000.0 * 7.0) / 10.0))]);
    }

    #[test]
    fn what_drains_arrives_as_well() {
        let mut scenario = testing::roam(&[(2000, 3, 0)]);
        let Action::Handover { drain, .. } = &mut scenario.events[0].action else { panic!() };
        *drain = true;
        scenario.links[0].forward.rate = BitRate::from_bps(90_000_000);
        scenario.links[2].forward.rate = BitRate::from_bps(4_000_000);
        // Of the link to the first access point a hundred packets of 1500 bytes, 1.2 Mbit.
        scenario.links[3].forward.queue = handfast_scenario::Queue::packets(100);
        scenario.duration = Duration::from_secs(10);
        assert_eq!(kbits(&scenario), [Some(net_of((54_000.0 * 2.0 + 1200.0 + 4000.0 * 8.0) / 10.0))]);
    }

    #[test]
    fn a_transfer_leaves_its_share_when_it_is_through() {
        let net = Net::new("hsh").rate(0, 1, 90_000_000).rate(1, 2, 8_000_000);
        let mut scenario = net.bulk(0, 2).bulk(0, 2).build();
        scenario.duration = Duration::from_secs(10);
        // Half of 8 Mbit/s for two seconds.
        let bytes = 1_000_000 * 1448 / 1500;
        scenario.flows[0].app = App::Transfer(Bytes(bytes));
        assert_eq!(
            kbits(&scenario),
            [Some(net_of(4000.0)), Some(net_of((4000.0 * 2.0 + 8000.0 * 8.0) / 10.0))]
        );
    }

    #[test]
    fn each_connection_of_a_flow_has_a_share() {
        let net = Net::new("hsh").rate(0, 1, 90_000_000).rate(1, 2, 8_000_000);
        let mut scenario = net.bulk(0, 2).bulk(0, 2).build();
        scenario.flows[0].connections = 3;
        assert_eq!(kbits(&scenario), [Some(net_of(6000.0)), Some(net_of(2000.0))]);
    }

    #[test]
    fn who_asks_for_less_leaves_the_rest() {
        let net = Net::new("hsh").rate(0, 1, 90_000_000).rate(1, 2, 8_000_000);
        let mut scenario = net.bulk(0, 2).bulk(0, 2).build();
        scenario.flows[1].app = App::Paced { size: Bytes(1000), interval: Duration::from_millis(8) };
        assert_eq!(kbits(&scenario), [Some(net_of(8000.0) - 1000), Some(1000)]);
    }

    #[test]
    fn many_flows_with_their_own_starts_are_shared_in_slots() {
        let mut scenario = testing::dumbbell(2000);
        for (i, flow) in scenario.flows.iter_mut().enumerate() {
            *flow = Flow { start: Instant::from_nanos(1_000_003 * i as u64), ..flow.clone() };
        }
        let total: u64 = kbits(&scenario).into_iter().flatten().sum();
        let capacity = net_of(scenario.links[0].forward.rate.as_bps() as f64 / 1000.0);
        assert!(total > capacity * 9 / 10, "{total} of {capacity}");
    }
}
