//! The controller: what comes in, and to whom it goes.

mod agenda;
mod notices;
mod packets;
mod reports;

use std::collections::{BTreeMap, BTreeSet};

use handfast_core::Instant;
use handfast_wire::openflow::{
    Body, EthAddr, FlowRemoved, FlowRemovedReason, FlowStats, Message, MultipartReply,
};

use agenda::Agenda;

use super::departed::Departed;
use super::infrastructure::Learnt;
use super::report::Sessions;
use super::rules::{Kind, forget_all};
use super::sender_ports::SenderPorts;
use super::session::{Heard, Switches};
use super::shared::Shared;
use super::station::{Fate, Station};
use super::tracking::Tracking;
use super::{ApId, Config, ConnId, Counters, Outbox, Policy, Record, StationId, TableUse, Unhelped};

/// An `OpenFlow` controller that helps TCP over roams. Its driver's part is told in [the module](super).
pub struct Controller {
    pub(super) shared: Shared,
    pub(super) stations: BTreeMap<StationId, Station>,
    agenda: Agenda,
    departed: Departed,
    tracking: Tracking,
    /// Addresses from which packets for stations came in at ports where no access point is: gateways, servers.
    infrastructure: Learnt,
    pub(super) sessions: Sessions,
}

impl Controller {
    /// A controller that knows no station and no switch yet.
    pub fn new(config: Config) -> Self {
        let switches = Switches::new(&config);
        Self {
            shared: Shared {
                config,
                switches,
                counters: Counters::default(),
                held: 0,
                datagrams: 0,
                full: false,
                alone: true,
                sender_ports: SenderPorts::default(),
            },
            stations: BTreeMap::new(),
            agenda: Agenda::default(),
            departed: Departed::default(),
            tracking: Tracking::default(),
            infrastructure: Learnt::default(),
            sessions: Sessions::default(),
        }
    }

    /// It begins, at this time of a clock that all controllers of ours share: of two that claim a switch the later one commands.
    pub fn began(&mut self, at: u64) {
        self.shared.switches.began(at);
        self.sessions.began(at);
    }

    /// What is known of a station is wrong: what is held for it goes on, and the next event of it is the first. Whether it was
    /// known.
    pub fn forget_station(&mut self, address: EthAddr, out: &mut Outbox) -> bool {
        self.infrastructure.forget(address);
        let vlans = self.shared.config.fabric.access_points.iter().map(|at| at.vlan);
        let mut known = false;
        for id in vlans.map(|vlan| StationId { address, vlan }).collect::<BTreeSet<_>>() {
            self.with(id, |station, shared| station.let_go(shared, out));
            known |= self.stations.contains_key(&id);
            // The time only says for how long its last association is remembered.
            self.forget(Instant::ZERO, id, out);
            self.departed.forget(id);
        }
        known
    }

    /// Whether a connection is that of a switch that takes orders.
    pub fn is_ready(&self, conn: ConnId) -> bool {
        self.shared.switches.is_ready_at(conn)
    }

    /// What it has counted.
    pub fn counters(&self) -> &Counters {
        &self.shared.counters
    }

    /// What it holds of TCP: frames' bytes and what it takes to keep them.
    pub fn held(&self) -> handfast_core::Bytes {
        handfast_core::Bytes(self.shared.held)
    }

    /// What it holds of datagrams.
    pub fn held_datagrams(&self) -> handfast_core::Bytes {
        handfast_core::Bytes(self.shared.datagrams)
    }

    /// Connections that have a queue.
    pub fn connections(&self) -> usize {
        self.tracking.connections()
    }

    /// Switches that take orders, by datapath id.
    pub fn switches(&self) -> Vec<u64> {
        self.shared.switches.ready()
    }

    /// How full the table of a switch is.
    pub fn table_use(&self, datapath_id: u64) -> TableUse {
        self.shared.switches.table_use(datapath_id)
    }

    /// A switch has connected.
    pub fn connected(&mut self, now: Instant, conn: ConnId, out: &mut Outbox) {
        self.shared.switches.connected(now, conn, out);
    }

    /// A switch's connection is gone. Its rules stay until their timeouts; what is held stays as well.
    pub fn disconnected(&mut self, conn: ConnId, out: &mut Outbox) {
        self.shared.switches.disconnected(conn, "its connection was closed", out);
    }

    /// A switch has said something.
    pub fn on_message(&mut self, now: Instant, conn: ConnId, message: Message, out: &mut Outbox) {
        let fabric = &self.shared.config.fabric;
        let known = |datapath_id| fabric.switches().contains(&datapath_id);
        match self.shared.switches.on_message(now, conn, message, known, out) {
            Heard::Ready(datapath_id) => self.install(now, datapath_id, out),
            Heard::NoHandshakes(datapath_id) => {
                for station in self.stations.values() {
                    station.install(datapath_id, &mut self.shared, out);
                }
            }
            Heard::Refused(station, kind, code) => self.with(station, |station, shared| {
                station.give_up(Unhelped::Refused(kind, code), shared, out);
            }),
            Heard::Barrier(xid) => self.on_barrier(now, xid, out),
            Heard::Message(datapath_id, Body::PacketIn(packet)) => {
                self.on_packet_in(now, datapath_id, packet, out);
            }
            Heard::Message(_, Body::MultipartReply(MultipartReply::Flow { flows, .. })) => {
                self.on_counters(&flows);
            }
            Heard::Message(datapath_id, Body::FlowRemoved(removed)) => {
                self.on_flow_removed(datapath_id, &removed, out);
            }
            Heard::Nothing | Heard::Message(..) => {}
        }
    }

    /// A switch has none of our rules: it is new, or was away.
    fn install(&mut self, now: Instant, datapath_id: u64, out: &mut Outbox) {
        let fabric = &self.shared.config.fabric;
        for (index, at) in fabric.access_points.iter().enumerate() {
            if at.datapath_id == datapath_id && !self.shared.switches.has_port(datapath_id, at.port) {
                out.record(Record::NoPort { ap: ApId(index as u32) });
            }
        }
        for station in self.stations.values() {
            station.install(datapath_id, &mut self.shared, out);
        }
        let ids: Vec<StationId> = self.stations.keys().copied().collect();
        for id in ids {
            self.with(id, |station, shared| station.resume(now, shared, out));
        }
    }

    /// Looks a station up, does something to it, and enters what follows from that.
    pub(super) fn with(&mut self, id: StationId, act: impl FnOnce(&mut Station, &mut Shared)) {
        let Some(station) = self.stations.get_mut(&id) else { return };
        self.agenda.follow(id, station, &mut self.shared, act);
    }

    fn on_barrier(&mut self, now: Instant, xid: u32, out: &mut Outbox) {
        let Some(id) = self.agenda.of_barrier(xid) else { return };
        self.with(id, |station, shared| station.on_barrier(now, shared, out));
    }

    /// What entries on the path to a station have counted.
    fn on_counters(&mut self, flows: &[FlowStats]) {
        for stats in flows.iter().filter(|stats| Kind::of(stats.cookie).is_some()) {
            let Some(address) = stats.matches.eth_dst else { continue };
            for (_, station) in self.stations.range_mut(StationId::with_address(address.value)) {
                station.count(stats);
            }
        }
    }

    /// A rule that diverts has reached its hard timeout: if it is still needed, it is made again.
    fn on_flow_removed(&mut self, datapath_id: u64, removed: &FlowRemoved, out: &mut Outbox) {
        let diverted = matches!(Kind::of(removed.cookie), Some(Kind::Divert | Kind::DivertRest));
        let Some(address) = removed.matches.eth_dst else { return };
        if diverted && removed.reason == FlowRemovedReason::HardTimeout {
            for (_, station) in self.stations.range(StationId::with_address(address.value)) {
                station.install(datapath_id, &mut self.shared, out);
            }
        }
    }

    /// When [`Controller::on_timer`] is due; [`None`]: not before something comes in.
    pub fn deadline(&self) -> Option<Instant> {
        let station = self.agenda.by_deadline().next().map(|(due, _)| due);
        let switch = self.shared.switches.deadline();
        station.into_iter().chain(switch).min()
    }

    /// The deadline has come; afterwards it is in the future.
    pub fn on_timer(&mut self, now: Instant, out: &mut Outbox) {
        self.shared.switches.on_timer(now, out);
        while let Some(id) = self.agenda.due(now) {
            let mut fate = Fate::Stays;
            self.with(id, |station, shared| fate = station.on_timer(now, shared, out));
            if fate == Fate::Gone {
                self.forget(now, id, out);
            }
        }
    }

    pub(super) fn forget(&mut self, now: Instant, id: StationId, out: &mut Outbox) {
        let Some(mut station) = self.stations.remove(&id) else { return };
        self.departed.remember(now, id, station.epoch(), self.shared.config.limits.stations);
        self.agenda.remove(id, &station, self.shared.config.datagrams.age);
        self.tracking.closed(station.hold().connections());
        self.update_sharing(id.address, out);
    }

    /// The controller ends: what can be delivered is sent at once, and its rules go, so that switches do as they did without it.
    pub fn shut_down(&mut self, out: &mut Outbox) {
        for station in self.stations.values_mut() {
            station.flush(&mut self.shared, out);
        }
        self.remove_entries(out);
        self.stations.clear();
        self.agenda = Agenda::default();
        self.departed.clear();
        self.tracking = Tracking::default();
    }

    /// All entries of this controller go, at every switch.
    pub(super) fn remove_entries(&mut self, out: &mut Outbox) {
        for datapath_id in self.shared.switches.ready() {
            let ours = forget_all(self.shared.switches.instance());
            self.shared.switches.order(datapath_id, ours, out);
        }
    }

    /// How stations are helped.
    pub fn policy(&self) -> Policy {
        self.shared.config.policy
    }
}
