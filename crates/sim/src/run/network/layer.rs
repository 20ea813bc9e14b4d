//! What the network does for stations with a socket layer: it wakes their monitors, tells them of their links, and has connections do
//! what they say. `agents/layer.rs` holds the layers.

use handfast_assist::iosl::network::Notice;
use handfast_core::{Duration, Instant};
use handfast_plan::topology::channel;
use handfast_scenario::{LinkId, NodeId};
use handfast_tcp::IoslRules;

use crate::agents::layer::Layers;
use crate::hosts::connection::Connection;
use crate::run::network::{Network, assert_later};

impl Network {
    /// A link that some station is on has gone, or has come back.
    #[cold]
    pub(crate) fn tell_layers(&mut self, now: Instant, link: LinkId, is_up: bool) {
        let Some((node, layer)) = self.layers.as_mut().and_then(|all| all.on(link)) else { return };
        let mut notices = Vec::new();
        if is_up {
            layer.monitor.on_back(&mut notices);
        } else {
            layer.monitor.on_gone(now, &mut notices);
        }
        self.control(now, node, &notices);
        self.arm_layers();
    }

    /// A station is on another link from now on.
    #[cold]
    pub(crate) fn move_layer(&mut self, station: NodeId, comes: LinkId) {
        let end = usize::from(self.topology.departure(channel(comes, 0)).0 != station);
        if let Some(layer) = self.layers.as_mut().and_then(|all| all.of.get_mut(&station)) {
            layer.moves(comes, end);
        }
    }

    /// The layer of a host controls its connections from now on.
    pub(crate) fn attach_layer(&mut self, node: NodeId, rules: IoslRules) {
        let concerned: Vec<_> = self.hosts.at(node).collect();
        for id in concerned {
            self.hosts.connections[id].attach_layer(rules);
        }
    }

    /// A monitor's time has come.
    #[cold]
    pub(crate) fn wake_layers(&mut self, now: Instant) {
        let Some(mut all) = self.layers.take() else { return };
        let nodes: Vec<NodeId> = all.of.keys().copied().collect();
        let mut ordered = Vec::new();
        for node in nodes {
            let srtt = self.srtt_at(now, node);
            let rate = |link, end| self.links[channel(link, end)].link.rate();
            let mut notices = Vec::new();
            all.report(now, node, rate, srtt, &mut notices);
            ordered.push((node, notices));
        }
        self.layers = Some(all);
        for (node, notices) in ordered {
            self.control(now, node, &notices);
        }
        let Some(all) = &mut self.layers else { return };
        let deadline = all.deadline();
        assert_later(now, deadline.unwrap_or(Instant::MAX), "a socket layer");
        self.queue.settle(&mut all.timer, deadline);
    }

    /// The smoothed round-trip time of the first connection of a host that has measured one.
    fn srtt_at(&self, now: Instant, node: NodeId) -> Option<Duration> {
        let open = self.hosts.at(node).filter_map(|id| self.hosts.connections[id].endpoint());
        let mut measured = open.map(|endpoint| endpoint.snapshot(now).srtt);
        measured.find(|&srtt| srtt > Duration::ZERO)
    }

    /// Every connection of a host does what its layer says.
    fn control(&mut self, now: Instant, node: NodeId, notices: &[Notice]) {
        if notices.is_empty() {
            return;
        }
        let concerned: Vec<_> = self.hosts.at(node).collect();
        for id in concerned {
            self.hosts.connections[id].on_notices(now, notices);
            self.answer(now, id);
        }
    }

    /// A connection that is opened later is controlled as well.
    pub(crate) fn take_in(&self, connection: &mut Connection) {
        let layer = self.layers.as_ref().and_then(|all| all.of.get(&(connection.local.node as NodeId)));
        if let Some(layer) = layer {
            connection.attach_layer(layer.spec.rules);
        }
    }

    /// Looks again when something is due.
    pub(crate) fn arm_layers(&mut self) {
        let deadline = self.layers.as_ref().and_then(|all: &Box<Layers>| all.deadline());
        if let Some(all) = &mut self.layers {
            self.queue.arm(&mut all.timer, deadline);
        }
    }
}
