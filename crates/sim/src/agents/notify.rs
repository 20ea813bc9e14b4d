//! The state of stations that notify the senders of their flows of their access links, after [vho].
//!
//! They are no members of chains: they tell what the host knows (who sends to it, over which access link), not what passes by
//! (`crates/assist/src/vho/spec.rs`). `run/network/notify.rs` sends the notifications and receives them.

use std::collections::BTreeMap;

use handfast_assist::vho::Notifier;
use handfast_core::{BitRate, Instant, Stream};
use handfast_plan::address::Addresses;
use handfast_plan::radios::Radios;
use handfast_plan::topology::{ChannelId, channel};
use handfast_scenario::{LinkId, NodeId, Scenario, Vho};
use handfast_wire::notification::PROTOCOL;
use handfast_wire::tcp::Segment;
use handfast_wire::{Body, Packet, Payload};

use crate::engine::queue::Timer;

/// All of them.
pub(crate) struct Notifiers {
    pub(crate) of: BTreeMap<NodeId, Station>,
    pub(crate) timer: Timer,
}

pub(crate) struct Station {
    pub(crate) notifier: Notifier,
    /// The radio link that it is on.
    pub(crate) on: LinkId,
    pub(crate) links: BTreeMap<LinkId, Downlink>,
}

/// The direction towards a station of its radio link.
#[derive(Clone, Copy)]
pub(crate) struct Downlink {
    pub(crate) channel: ChannelId,
    /// On the air: what it carries of full-sized packets.
    pub(crate) air: Option<BitRate>,
}

impl Notifiers {
    /// None yet.
    pub(crate) fn new(timer: Timer) -> Self {
        Self { of: BTreeMap::new(), timer }
    }

    /// One more.
    ///
    /// # Errors
    /// One sentence that says why the station cannot have one.
    pub(crate) fn add(
        &mut self,
        scenario: &Scenario,
        node: NodeId,
        agent: &Vho,
        stream: Stream,
    ) -> Result<(), String> {
        let name = &scenario.nodes[node].name;
        let on = scenario.nodes[node].ap.and_then(|ap| Radios::new(scenario).link(node, ap));
        let on = on.ok_or_else(|| format!("station `{name}` has no link to an access point"))?;
        let notifier = Notifier::new(agent.config(), stream);
        let all = (0..scenario.links.len()).filter_map(|link| Some((link, scenario.radio(link)?)));
        let its = all.filter(|&(_, (station, _))| station == node);
        let links = its.map(|(link, (_, ap))| {
            let end = usize::from(scenario.links[link].between[1] == ap);
            let air = scenario.on_air.contains_key(&link).then(|| scenario.carries(link, end));
            (link, Downlink { channel: channel(link, end), air })
        });
        let station = Station { notifier, on, links: links.collect() };
        match self.of.insert(node, station) {
            Some(_) => Err(format!("two agents tell of the access links of station `{name}`")),
            None => Ok(()),
        }
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.of.values().filter_map(|station| station.notifier.deadline()).min()
    }

    /// The next message that leaves by `now`, and where.
    pub(crate) fn due(&mut self, now: Instant, addresses: &Addresses) -> Option<(NodeId, Packet)> {
        self.of.iter_mut().find_map(|(&node, station)| {
            let (to, told) = station.notifier.due(now)?;
            let body = Body::Other { protocol: PROTOCOL, payload: Payload::Bytes(told.emit()) };
            Some((node, Packet { body, ..Packet::tcp(addresses.ip_of(node), to, Segment::EMPTY) }))
        })
    }
}
