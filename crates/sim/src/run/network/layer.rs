//! What the network does for stations with a socket layer: it wakes their monitors, tells them of their links, and has connections do
//! what they say. `agents/layer.rs` holds the layers.

use handfast_assist::iosl::network::Notice;
use handfast_core::{BitRate, Duration, Instant};
use handfast_plan::topology::channel;
use handfast_scenario::{DownMode, LinkId, NodeId};
use handfast_tcp::IoslRules;

use crate::engine::ids::ConnectionId;
use crate::hosts::connection::Connection;
use crate::run::network::{Network, assert_later};

impl Network {
    /// A link that some station is on has gone.
    #[cold]
    pub(crate) fn tell_layers_gone(&mut self, now: Instant, link: LinkId) {
        self.tell_transports(now, link, false);
        let Some(all) = &mut self.layers else { return };
        let Some(node) = all.station_on(link) else { return };
        let mut notices = Vec::new();
        if let Some(layer) = all.by_station.get_mut(&node) {
            layer.monitor.on_gone(now, &mut notices);
        }
        self.control(now, node, link, &notices);
        self.arm_layers();
    }

    /// It has come back, or another one in its place.
    #[cold]
    pub(crate) fn tell_layers_back(&mut self, now: Instant, link: LinkId, mode: DownMode) {
        self.tell_transports(now, link, true);
        let Some(node) = self.layers.as_ref().and_then(|all| all.station_on(link)) else { return };
        let Some(mut all) = self.layers.take() else { return };
        let mut notices = Vec::new();
        if let Some((monitor, measured)) = all.look(now, node, |link, end| self.share_of(node, link, end)) {
            monitor.on_back(now, &measured, mode == DownMode::Hold, &mut notices);
        }
        self.layers = Some(all);
        self.control(now, node, link, &notices);
        self.arm_layers();
    }

    /// A station is on another link from now on: what was measured of the old one says nothing of it.
    #[cold]
    pub(crate) fn move_layer(&mut self, station: NodeId, comes: LinkId) {
        let end = usize::from(self.topology.departure(channel(comes, 0)).0 != station);
        let Some(layer) = self.layers.as_mut().and_then(|all| all.by_station.get_mut(&station)) else {
            return;
        };
        layer.move_to(comes, end);
        for id in self.controlled(station, comes) {
            self.hosts.connections[id].on_moved();
        }
    }

    /// The layer of a host controls its connections from now on.
    pub(crate) fn attach_layer(&mut self, node: NodeId, rules: IoslRules) {
        let concerned: Vec<_> = self.hosts.at(node).collect();
        for id in concerned {
            self.hosts.connections[id].attach_layer(rules);
        }
    }

    /// A connection that is opened later is controlled as well.
    pub(crate) fn attach_layer_if_any(&self, now: Instant, connection: &mut Connection) {
        let node = connection.local.node as NodeId;
        let Some(layer) = self.layers.as_ref().and_then(|all| all.by_station.get(&node)) else { return };
        connection.attach_layer(layer.spec.rules);
        let notices: Vec<_> = layer.monitor.now().collect();
        connection.on_notices(now, &notices);
    }

    /// A monitor's time has come.
    #[cold]
    pub(crate) fn wake_layers(&mut self, now: Instant) {
        let Some(mut all) = self.layers.take() else { return };
        let mut ordered = Vec::new();
        let mut reporting = Vec::new();
        for (&node, layer) in &mut all.by_station {
            let mut notices = Vec::new();
            layer.monitor.on_timer(now, &mut notices);
            ordered.push((node, layer.link, notices));
            if layer.reports(now) {
                reporting.push((node, layer.link));
            }
        }
        for (node, link) in reporting {
            let srtt = self.longest_srtt(now, node, link);
            let mut notices = Vec::new();
            if let Some((monitor, measured)) = all.look(now, node, |link, end| self.share_of(node, link, end))
            {
                if let Some(srtt) = srtt {
                    monitor.on_rtt(srtt);
                }
                monitor.on_measured(now, &measured, &mut notices);
            }
            ordered.push((node, link, notices));
        }
        self.layers = Some(all);
        for (node, link, notices) in ordered {
            self.control(now, node, link, &notices);
        }
        let Some(all) = &mut self.layers else { return };
        let deadline = all.deadline();
        assert_later(now, deadline.unwrap_or(Instant::MAX), "a socket layer");
        self.queue.settle(&mut all.timer, deadline);
    }

    /// What each of a host's connections that send has of a link's rate.
    fn share_of(&self, node: NodeId, link: LinkId, end: usize) -> BitRate {
        let sends = |&id: &ConnectionId| {
            let connection = &self.hosts.connections[id];
            connection.is_open() && connection.sending().is_some_and(|sending| sending.ending().is_none())
        };
        let senders = self.controlled(node, link).into_iter().filter(sends).count() as u64;
        BitRate::from_bps(self.links[channel(link, end)].link.mean_rate().as_bps() / senders.max(1))
    }

    /// What the radio of a host reports of a channel's rate.
    pub(crate) fn reported_rate(&self, node: NodeId, channel: usize) -> BitRate {
        let rate = self.links[channel].link.mean_rate();
        let layer = self.layers.as_ref().and_then(|all| all.by_station.get(&node));
        layer.map_or(rate, |layer| layer.reported(rate))
    }

    /// The connections of a host that leave by a link.
    fn controlled(&self, node: NodeId, link: LinkId) -> Vec<ConnectionId> {
        let leaves = |&id: &ConnectionId| {
            let connection = &self.hosts.connections[id];
            connection.local.out as usize / 2 == link && !connection.is_stranded()
        };
        self.hosts.at(node).filter(leaves).collect()
    }

    /// The longest smoothed round-trip time of a host's connections over a link.
    fn longest_srtt(&self, now: Instant, node: NodeId, link: LinkId) -> Option<Duration> {
        let all = self.controlled(node, link).into_iter();
        let open = all.filter_map(|id| self.hosts.connections[id].endpoint());
        open.map(|endpoint| endpoint.snapshot(now).srtt).max().filter(|&srtt| srtt > Duration::ZERO)
    }

    /// Every connection of a host over a link does what the host's layer says.
    fn control(&mut self, now: Instant, node: NodeId, link: LinkId, notices: &[Notice]) {
        if notices.is_empty() {
            return;
        }
        for id in self.controlled(node, link) {
            self.hosts.connections[id].on_notices(now, notices);
            self.answer(now, id);
        }
    }

    /// Looks again when something is due.
    pub(crate) fn arm_layers(&mut self) {
        let Some(all) = &mut self.layers else { return };
        let deadline = all.deadline();
        self.queue.arm(&mut all.timer, deadline);
    }
}
