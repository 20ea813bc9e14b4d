//! What is settled before a run begins: whether it can be run, the machines of its links, which way
//! flows go, when they start.

use handfast_core::{BitRate, Duration, Instant, Stream};
use handfast_net::queue::Handle;
use handfast_net::{Direction, DownMode, Link, Queue};
use handfast_radio::airtime::{Lane, Medium, Rate};
use handfast_scenario::{App, Flow, FlowId, NodeId, Scenario};

use crate::address::MAX_NODES;
use crate::association::Radios;
use crate::timeline::{Change, Timeline};
use crate::topology::{ChannelId, Topology, channel};

/// Which way flows go, as channels.
pub struct Paths {
    /// For each flow the way from its sender to its receiver at the start.
    pub forward: Vec<Vec<u32>>,
    /// And back.
    pub backward: Vec<Vec<u32>>,
    /// For each outage of the timeline, the ways that are others once it has ended: those of a station that has roamed.
    pub reroutes: Vec<Vec<Reroute>>,
}

/// A flow's way from some moment on; empty where there is none.
pub struct Reroute {
    /// Which flow.
    pub flow: FlowId,
    /// From its sender to its receiver.
    pub forward: Vec<u32>,
    /// And back.
    pub backward: Vec<u32>,
}

/// Refuses what neither backend can run.
///
/// # Errors
/// One sentence that says what.
pub fn check(scenario: &Scenario) -> Result<(), String> {
    if scenario.nodes.len() > MAX_NODES {
        return Err(format!("{} nodes: there are addresses for {MAX_NODES}", scenario.nodes.len()));
    }
    if scenario.sample_interval == Duration::ZERO {
        return Err("the sample interval is zero".to_owned());
    }
    for flow in &scenario.flows {
        if flow.from == flow.to {
            return Err(format!("flow `{}` goes from a node to itself", flow.name));
        }
        if matches!(flow.app, App::Paced { interval: Duration::ZERO, .. }) {
            return Err(format!("flow `{}` writes without pause: its interval is zero", flow.name));
        }
        if matches!(flow.app, App::Paced { size, .. } if size.get() > u64::from(u32::MAX)) {
            return Err(format!("flow `{}` writes more than {} bytes at once", flow.name, u32::MAX));
        }
    }
    Ok(())
}

/// Finds each flow's way, there and back; `topology` is as at the start.
///
/// # Errors
/// One sentence that names the flow that has none.
pub fn paths(scenario: &Scenario, topology: &Topology, timeline: &Timeline) -> Result<Paths, String> {
    let name = |node: NodeId| &scenario.nodes[node].name;
    let way = |flow: &Flow, from, to| {
        topology
            .path(from, to)
            .ok_or_else(|| format!("flow `{}`: no way from `{}` to `{}`", flow.name, name(from), name(to)))
    };
    let forward = scenario.flows.iter().map(|f| way(f, f.from, f.to)).collect::<Result<_, _>>()?;
    let backward = scenario.flows.iter().map(|f| way(f, f.to, f.from)).collect::<Result<_, _>>()?;
    Ok(Paths { forward, backward, reroutes: reroutes(scenario, topology, timeline) })
}

/// The ways after each handover.
fn reroutes(scenario: &Scenario, topology: &Topology, timeline: &Timeline) -> Vec<Vec<Reroute>> {
    let mut reroutes: Vec<Vec<Reroute>> = timeline.outages.iter().map(|_| Vec::new()).collect();
    if timeline.outages.iter().all(|outage| outage.station.is_none()) {
        return reroutes;
    }
    let mut topology = topology.clone();
    for (_, change) in timeline.changes() {
        let Change::Up(id) = change else { continue };
        let Some(station) = timeline.outages[id].station else { continue };
        topology.roam(station, timeline.outages[id].goes, timeline.outages[id].comes);
        let flows = scenario.flows.iter().enumerate();
        let way = |from, to| topology.path(from, to).unwrap_or_default();
        let moved = flows.filter(|(_, flow)| flow.from == station || flow.to == station);
        let reroute = |(id, flow): (FlowId, &Flow)| Reroute {
            flow: id,
            forward: way(flow.from, flow.to),
            backward: way(flow.to, flow.from),
        };
        reroutes[id] = moved.map(reroute).collect();
    }
    reroutes
}

/// Of a link on the air what comes after its medium: that serialises, and holds what waits.
const AT_ONCE: BitRate = BitRate::from_bps(1_000_000_000_000_000);

/// The machine of every channel, each with its random numbers: the same seed makes the same decisions in both backends.
/// Radio links on which no station is are down. A link on the air takes what its [`media`] has delivered.
pub fn links<H: Handle>(scenario: &Scenario, seed: u64) -> Vec<Link<H>> {
    let ways = scenario.links.iter().flat_map(|link| [(link, 0, &link.forward), (link, 1, &link.backward)]);
    let machine = |(id, (link, end, direction)): (usize, (&handfast_scenario::Link, _, &Direction))| {
        let stream = Stream::new(seed, &format!("link {} {end}", link.name));
        if scenario.on_air.contains_key(&(id / 2)) {
            return Link::new(
                &Direction { rate: AT_ONCE, queue: Queue::UNLIMITED, ..direction.clone() },
                stream,
            );
        }
        Link::new(direction, stream)
    };
    let mut links: Vec<_> = ways.enumerate().map(machine).collect();
    for idle in Radios::new(scenario).idle() {
        for end in [0, 1] {
            links[channel(idle, end)].down(Instant::ZERO, DownMode::Drop);
        }
    }
    links
}

/// The medium of an access point.
pub struct Shared<H> {
    /// The access point.
    pub ap: NodeId,
    /// Its medium.
    pub medium: Medium<H>,
    /// For each of its lanes the channel that goes on where it ends.
    pub channels: Vec<ChannelId>,
}

/// The media of a scenario: one for each access point with links on the air, with a lane for each of their directions.
pub fn media<H: Handle>(scenario: &Scenario, seed: u64) -> Vec<Shared<H>> {
    let mut media: Vec<Shared<H>> = Vec::new();
    for (&id, air) in &scenario.on_air {
        let (link, Some((_, ap))) = (&scenario.links[id], scenario.radio(id)) else { continue };
        let found = media.iter().position(|shared| shared.ap == ap).unwrap_or_else(|| {
            let stream = Stream::new(seed, &format!("air {}", scenario.nodes[ap].name));
            media.push(Shared {
                ap,
                medium: Medium::new(air.physical, air.retries, stream),
                channels: Vec::new(),
            });
            media.len() - 1
        });
        for (end, way) in [&link.forward, &link.backward].into_iter().enumerate() {
            let rate = Rate::of_bit_rate(way.rate).unwrap_or(Rate::Dsss1);
            let lane = Lane { downlink: link.between[end] == ap, rate, attempt: air.attempt(rate, None) };
            let random = Stream::new(seed, &format!("queue {} {end}", link.name));
            media[found].medium.add(lane, way.queue.build(random));
            media[found].channels.push(channel(id, end));
        }
    }
    media
}

/// When each flow opens its connection, jitter drawn.
pub fn starts(scenario: &Scenario, seed: u64) -> Vec<Instant> {
    let start = |flow: &Flow| {
        let jitter =
            Stream::new(seed, &format!("flow {} start", flow.name)).below(flow.start_jitter.as_nanos());
        flow.start + Duration::from_nanos(jitter)
    };
    scenario.flows.iter().map(start).collect()
}
