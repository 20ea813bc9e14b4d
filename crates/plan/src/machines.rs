//! The machines of a scenario's links and media.

use std::collections::BTreeSet;

use handfast_core::{BitRate, Instant, Stream};
use handfast_net::queue::Handle;
use handfast_net::{Direction, DownMode, Link, Queue};
use handfast_radio::airtime::TxRates;
use handfast_radio::medium::{Medium, TxQueueConfig};
use handfast_radio::rate_control::Minstrel;
use handfast_scenario::{LinkId, NodeId, Scenario};

use crate::radios::Radios;
use crate::topology::{ChannelId, channel};
use crate::traces;

/// Of a link on the air what comes after its medium: that serialises, and holds what waits.
const AT_ONCE: BitRate = BitRate::from_bps(1_000_000_000_000_000);

/// The machine of every channel, each with its random numbers: the same seed makes the same decisions in both backends.
/// Radio links on which no station is are down. A link on the air takes what its [`media`] has delivered.
pub fn links<H: Handle>(scenario: &Scenario, seed: u64) -> impl Iterator<Item = Link<H>> {
    let idle: BTreeSet<LinkId> = Radios::new(scenario).idle().collect();
    let directions = scenario
        .links
        .iter()
        .enumerate()
        .flat_map(|(id, link)| [(id, 0, &link.forward), (id, 1, &link.backward)]);
    directions.map(move |(id, end, direction)| {
        let stream = Stream::new(seed, &format!("link {} {end}", scenario.links[id].name));
        let mut machine = if scenario.on_air.contains_key(&id) {
            Link::new(&Direction { rate: AT_ONCE, queue: Queue::UNLIMITED, ..direction.clone() }, stream)
        } else if let Some(trace) = scenario.traces.get(&(id, end)) {
            Link::following(direction, traces::of_run(scenario, id, trace, seed), stream)
        } else {
            Link::new(direction, stream)
        };
        if idle.contains(&id) {
            machine.down(Instant::ZERO, DownMode::Drop);
        }
        machine
    })
}

/// The medium of an access point.
pub struct Shared<H> {
    /// The access point.
    pub ap: NodeId,
    /// Its medium.
    pub medium: Medium<H>,
    /// For each of its transmit queues the channel that takes its packets on.
    pub channels: Vec<ChannelId>,
}

/// The media of a scenario: one for each access point with links on the air, with a transmit queue for each of their directions.
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
        for (end, direction) in [&link.forward, &link.backward].into_iter().enumerate() {
            let (rate, aggregation) = (air.rate(direction.rate), air.aggregation);
            let (downlink, attempt) = (link.between[end] == ap, air.attempt(rate, None));
            let config = TxQueueConfig { downlink, rate, attempt, aggregation };
            let random = Stream::new(seed, &format!("queue {} {end}", link.name));
            let medium = &mut media[found].medium;
            let tx_queue = medium.add(config, direction.queue.build(random));
            if let (TxRates::Mcs(set), true) = (air.rates, air.minstrel) {
                let random = Stream::new(seed, &format!("minstrel {} {end}", link.name));
                medium.control(tx_queue, Minstrel::new(set, aggregation, random));
            }
            media[found].channels.push(channel(id, end));
        }
    }
    media
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Net;
    use handfast_core::Bytes;
    use handfast_net::trace::{Generator, Way};
    use handfast_scenario::LinkTrace;

    #[test]
    fn both_directions_of_a_link_have_the_course_of_a_run() {
        let mut scenario = Net::new("hh").link(0, 1).build();
        for (end, way) in [(0, Way::Down), (1, Way::Up)] {
            scenario.traces.insert((0, end), LinkTrace::Drawn { generator: Generator::Starlink, way });
        }
        let delays = |seed| -> Vec<_> {
            let arrives = |mut link: Link<u32>| {
                link.enqueue(Instant::ZERO, 0, Bytes(0), true).unwrap();
                link.deadline()
            };
            links(&scenario, seed).map(arrives).collect()
        };
        let (one, other) = (delays(1), delays(2));
        assert!(one[0] == one[1] && one != other, "{one:?} {other:?}");
        assert_eq!(one, delays(1));
    }
}
