//! What the network does for stations that notify senders of their access links: it tells them of links and flows, sends their
//! notifications as packets, and hands these to the senders. `agents/notify.rs` holds the stations.

use std::collections::BTreeMap;

use handfast_assist::vho::{Correspondent, Told};
use handfast_core::Instant;
use handfast_plan::change::Outage;
use handfast_scenario::{LinkId, NodeId, Scenario};
use handfast_wire::notification::{AccessLink, Kind, PROTOCOL};
use handfast_wire::tcp::Flags;
use handfast_wire::{Body, Notification, Packet};

use crate::agents::notify::{Downlink, Station};
use crate::engine::ids::ConnectionId;
use crate::engine::ids::Handle;
use crate::run::network::{Network, assert_later};

impl Network {
    /// A link is back, or a station has come to another one.
    #[cold]
    pub(crate) fn tell_of_link(&mut self, now: Instant, scenario: &Scenario, outage: &Outage) {
        let Some((station, _)) = scenario.radio(outage.new_link) else { return };
        let kind = match (outage.station, outage.drain) {
            (None, _) => Kind::Resumed,
            (Some(_), false) => Kind::BreakBeforeMake,
            (Some(_), true) => Kind::MakeBeforeBreak,
        };
        let old = outage.station.map(|_| outage.old_link);
        self.tell(now, station, kind, Some(outage.new_link), old);
    }

    /// Somebody opens a connection to a station ([vho] §4: the notification is "set at the beginning of a connection"). It goes
    /// before the SYN-ACK, so that the sender has it when it may send.
    pub(crate) fn tell_of_start(&mut self, now: Instant, station: NodeId, handle: Handle) {
        let Some(Packet { body: Body::Tcp(segment), .. }) = self.packets.whole(handle) else { return };
        if segment.flags.contains(Flags::SYN) && !segment.flags.contains(Flags::ACK) {
            self.tell(now, station, Kind::Start, None, None);
        }
    }

    /// `comes`: the link that it is on from now on; [`None`]: it stays where it is.
    fn tell(
        &mut self,
        now: Instant,
        station: NodeId,
        kind: Kind,
        comes: Option<LinkId>,
        old: Option<LinkId>,
    ) {
        let Some(mut all) = self.notifiers.take() else { return };
        if let Some(Station { notifier, on, links }) = all.of.get_mut(&station) {
            *on = comes.unwrap_or(*on);
            let access = |link: LinkId| links.get(&link).map(|&down| self.access(down));
            if let Some(new) = access(*on) {
                let told = Told { kind, new, old: old.and_then(access) };
                notifier.tell(now, &told, self.correspondents(station));
            }
        }
        self.notifiers = Some(all);
        self.send_notifications(now);
    }

    fn access(&self, down: Downlink) -> AccessLink {
        let link = &self.links[down.channel].link;
        AccessLink { rate: down.air.unwrap_or(link.mean_rate()), delay: link.delay() }
    }

    /// Who has begun to send to a station and not ended: what the station's applications have asked for.
    fn correspondents(&self, station: NodeId) -> Vec<Correspondent> {
        let mut flows = BTreeMap::<u32, u16>::new();
        let connections = &self.hosts.connections;
        let senders = self.hosts.at(station).map(|id| connections.peer(id));
        for sender in senders.filter(|&id| connections.sends(id)).map(|id| &connections[id]) {
            if sender.endpoint().is_some()
                && sender.sending().is_some_and(|sending| sending.ending().is_none())
            {
                let count = flows.entry(sender.local.node).or_default();
                *count = count.saturating_add(1);
            }
        }
        let of = |(node, flows)| Correspondent { address: self.addresses.ip_of(node as usize), flows };
        flows.into_iter().map(of).collect()
    }

    /// Sends what is due.
    fn send_notifications(&mut self, now: Instant) {
        while let Some((node, packet)) = self.notifiers.as_mut().and_then(|all| all.due(now, &self.addresses))
        {
            let passing = self.admit(packet);
            self.pass(now, node, passing);
        }
        let Some(all) = &mut self.notifiers else { return };
        let deadline = all.deadline();
        self.queue.arm(&mut all.timer, deadline);
    }

    /// A message's time has come.
    #[cold]
    pub(crate) fn wake_notifiers(&mut self, now: Instant) {
        self.send_notifications(now);
        let Some(all) = &mut self.notifiers else { return };
        let deadline = all.deadline();
        assert_later(now, deadline.unwrap_or(Instant::MAX), "a notifier");
        self.queue.settle(&mut all.timer, deadline);
    }

    /// A notification has come to a host: the senders of flows to whom it is from hear of it.
    #[cold]
    pub(crate) fn notified(&mut self, now: Instant, node: NodeId, handle: Handle) {
        let told = self.packets.whole(handle).and_then(|packet| match &packet.body {
            Body::Other { protocol: PROTOCOL, payload } => {
                Some((self.addresses.node_of(packet.src)?, Notification::parse(&payload.to_bytes())?))
            }
            _ => None,
        });
        let Some((from, told)) = told else { return self.lose(handle) };
        self.packets.free(handle);
        let connections = &self.hosts.connections;
        let concerns = |&id: &ConnectionId| connections.sends(id) && connections[id].remote.goal.node == from;
        let concerned: Vec<_> = self.hosts.at(node).filter(concerns).collect();
        for id in concerned {
            self.hosts.connections[id].on_notification(now, &told);
            self.answer(now, id);
        }
    }
}
