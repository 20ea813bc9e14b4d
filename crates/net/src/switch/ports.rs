//! The switch's ports.

use std::collections::BTreeMap;

use handfast_wire::openflow::{Port, PortNo};

/// `OFPPC_*` and `OFPPS_*` bits (§7.2.1).
const NO_RECV: u32 = 1 << 2;
const NO_FWD: u32 = 1 << 5;
const NO_PACKET_IN: u32 = 1 << 6;
const BLOCKED: u32 = 1 << 1;

/// The ports in the order of their numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Ports(BTreeMap<PortNo, Port>);

impl Ports {
    pub(super) fn new(ports: Vec<Port>) -> Self {
        Self(ports.into_iter().map(|port| (port.port_no, port)).collect())
    }

    /// Puts a port in the place of the one with its number, if there is one.
    pub(super) fn set(&mut self, port: Port) -> Option<Port> {
        self.0.insert(port.port_no, port)
    }

    pub(super) fn remove(&mut self, port: PortNo) -> Option<Port> {
        self.0.remove(&port)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Port> {
        self.0.values()
    }

    /// Whether packets that come in there are taken.
    pub(super) fn receives(&self, port: PortNo) -> bool {
        self.0.get(&port).is_some_and(|port| port.is_up() && port.config & NO_RECV == 0)
    }

    /// Whether packets may leave there.
    pub(super) fn forwards(&self, port: PortNo) -> bool {
        self.0.get(&port).is_some_and(forwards)
    }

    /// Whether packets that came in there may go to the controller.
    pub(super) fn tells(&self, port: PortNo) -> bool {
        self.0.get(&port).is_none_or(|port| port.config & NO_PACKET_IN == 0)
    }

    /// The ports of `ALL` (§4.5), the one of arrival not among them.
    pub(super) fn all_but(&self, in_port: PortNo) -> impl Iterator<Item = PortNo> {
        self.0.values().filter(move |port| port.port_no != in_port && forwards(port)).map(|port| port.port_no)
    }

    /// Whether flooded packets leave there.
    pub(super) fn floods(&self, port: PortNo) -> bool {
        self.0.get(&port).is_some_and(|port| port.state & BLOCKED == 0)
    }
}

const fn forwards(port: &Port) -> bool {
    port.is_up() && port.config & NO_FWD == 0
}
