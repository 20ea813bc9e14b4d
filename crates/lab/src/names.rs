//! What interfaces, ports and addresses are called in the namespaces of a run.

use handfast_plan::StreamId;
use handfast_plan::topology::{self, ChannelId};
use handfast_scenario::Scenario;

/// The first port that the streams of flows get at their receivers, one each; as in the simulator.
pub(crate) const FIRST_PORT: u16 = 5001;

/// The port at which a stream's receiver listens.
pub(crate) fn port_of(stream: StreamId) -> u16 {
    FIRST_PORT + stream as u16
}

/// The channel whose wire the one of `channel` is, at the near end: its own, or for one of a station's radio links that of
/// the first of them. A station has one radio, and so one interface.
pub(crate) fn wire_of(scenario: &Scenario, channel: ChannelId) -> ChannelId {
    let node = topology::origin(scenario, channel);
    let is_radio = |link: usize| scenario.radio(link).is_some_and(|(station, _)| station == node);
    if !is_radio(channel / 2) {
        return channel;
    }
    let first = (0..scenario.links.len()).find(|&link| is_radio(link)).unwrap_or(channel / 2);
    topology::channel(first, usize::from(scenario.links[first].between[1] == node))
}

/// The interface by which a channel leaves its node, in the node's namespace.
pub(crate) fn interface_of(scenario: &Scenario, channel: ChannelId) -> String {
    format!("link{}", wire_of(scenario, channel) / 2)
}

/// The other end of that interface, in the loop's namespace.
pub(crate) fn loop_interface_of(scenario: &Scenario, channel: ChannelId) -> String {
    let wire = wire_of(scenario, channel);
    format!("link{}.{}", wire / 2, wire % 2)
}

/// A hardware address as text.
pub(crate) fn mac_text(mac: [u8; 6]) -> String {
    mac.map(|byte| format!("{byte:02x}")).join(":")
}
