//! What switches send here: segments, datagrams, and what opens and ends connections.

use std::cmp::Reverse;

use handfast_core::Instant;
use handfast_wire::openflow::{EthAddr, PacketIn, PortNo};
use handfast_wire::tcp::{Flags, Segment};

use super::Controller;
use crate::sdn::classify::{Class, Seen, look};
use crate::sdn::frame::{Frame, Origin};
use crate::sdn::rules::Kind;
use crate::sdn::station::{Station, stray};
use crate::sdn::station_id::{ends, tag};
use crate::sdn::{ConnectionKey, Outbox, Record, StationId, Steering};

impl Controller {
    pub(super) fn on_packet_in(
        &mut self,
        now: Instant,
        datapath_id: u64,
        packet: PacketIn,
        out: &mut Outbox,
    ) {
        let Some(kind) = Kind::of(packet.cookie) else {
            self.shared.counters.foreign += 1;
            return;
        };
        self.shared.counters.packet_ins += 1;
        let whole = packet.data.len() >= usize::from(packet.total_len);
        let Some((source, address)) = ends(&packet.data).filter(|_| whole) else {
            self.shared.counters.dropped_other[Class::Unreadable as usize] += 1;
            return;
        };
        let in_port = packet.matches.in_port.unwrap_or(PortNo::CONTROLLER);
        let frame = Frame { bytes: packet.data, origin: Origin { datapath_id, in_port } };
        if kind == Kind::Presence {
            return self.on_presence(now, source, &frame, out);
        }
        self.learn(now, source, frame.origin);
        self.shared.doors.learn(source, frame.origin);
        let Some(id) = self.whose(address, &frame) else {
            return stray(&frame, &mut self.shared, out);
        };
        self.with(id, |station, shared| station.heard_from(source, shared, out));
        let seen = look(&frame);
        match (kind, seen) {
            // A copy: the packet itself is on its way.
            (Kind::Watch, Seen::Tcp(key, segment)) => self.watch(id, key, &segment, out),
            (Kind::Watch, Seen::Datagram(..) | Seen::Other(_)) => {}
            (_, Seen::Tcp(key, segment)) => self.on_segment(now, id, key, &segment, &frame, out),
            (_, Seen::Datagram(class, to)) => self.with(id, |station, shared| {
                station.on_datagram(now, (class, to), &frame, shared, out);
            }),
            (_, Seen::Other(class)) => {
                self.with(id, |station, shared| station.on_other(now, class, &frame, shared, out));
            }
        }
    }

    /// Whose a frame is that is for an address or comes from it; [`None`]: nobody's who is known, or it may be several stations'.
    fn whose(&self, address: EthAddr, frame: &Frame) -> Option<StationId> {
        let mut all = self.stations.range(StationId::with_address(address)).map(|(&id, _)| id);
        match tag(frame) {
            None => all.next().filter(|_| all.next().is_none()),
            // Where the VLAN of an access point is not known, its stations may have any.
            vlan => all.find(|id| id.vlan.is_none() || id.vlan == vlan),
        }
    }

    /// Who sends to a station from a port where no access point is, is none itself, unless it was known as one before.
    fn learn(&mut self, now: Instant, source: EthAddr, from: Origin) {
        let fabric = &self.shared.config.fabric;
        let wired = self.shared.config.steering == Steering::Overlay
            && fabric.at_port(from.datapath_id, from.in_port).is_none();
        if wired && self.namesakes(source) == 0 {
            self.infrastructure.learn(now, source);
        }
    }

    /// A station that was believed to be away has said something: that goes on, and it is where it came in.
    fn on_presence(&mut self, now: Instant, source: EthAddr, frame: &Frame, out: &mut Outbox) {
        self.shared.hand_back(frame, out);
        let fabric = &self.shared.config.fabric;
        let at = fabric.at_port(frame.origin.datapath_id, frame.origin.in_port);
        let id = match at.and_then(|ap| fabric.access_point(ap)) {
            Some(at) => Some(StationId { address: source, vlan: at.vlan }),
            None => self.whose(source, frame),
        };
        if let Some(id) = id {
            self.with(id, |station, shared| station.is_heard(now, frame.origin, shared, out));
        }
    }

    /// A connection opens or ends (`[sdn]` §3.4: its queue is made at its handshake).
    fn watch(&mut self, address: StationId, key: ConnectionKey, segment: &Segment, out: &mut Outbox) {
        if segment.flags.contains(Flags::SYN) {
            if self.open(address, key) {
                self.shared.counters.handshakes += 1;
                self.with(address, |station, shared| station.open_account(key, segment, shared, out));
            }
            return;
        }
        // After a FIN a few more segments may follow; if one is to be held, it makes a queue of its own.
        let Some(station) = self.stations.get_mut(&address) else { return };
        if station.forget(&key) {
            self.tracking.closed(1);
            station.close_account(&key, &mut self.shared, out);
        }
    }

    /// Makes a connection's queue; whether it is new.
    fn open(&mut self, address: StationId, key: ConnectionKey) -> bool {
        let knows = |station: &mut Station| station.hold().knows(&key);
        if self.stations.get_mut(&address).is_none_or(knows) || !self.make_room() {
            return false;
        }
        let Some(station) = self.stations.get_mut(&address) else { return false };
        station.hold().open(key);
        self.tracking.opened(address, key);
        true
    }

    /// Room for one more queue: the oldest that are empty go. Whether there is.
    fn make_room(&mut self) -> bool {
        let most = self.shared.config.limits.connections;
        let Self { tracking, stations, .. } = self;
        if tracking.is_stale(most) {
            tracking.retain(|address, key| {
                stations.get_mut(address).is_some_and(|station| station.hold().knows(key))
            });
        }
        for _ in 0..tracking.len() {
            if tracking.connections() < most {
                return true;
            }
            let Some((address, key)) = tracking.oldest() else { break };
            let Some(station) = stations.get_mut(&address) else { continue };
            if station.forget(&key) {
                tracking.closed(1);
                self.shared.counters.forgotten += 1;
            } else if station.hold().knows(&key) {
                tracking.keep(address, key);
            }
        }
        tracking.connections() < most
    }

    fn on_segment(
        &mut self,
        now: Instant,
        address: StationId,
        key: ConnectionKey,
        segment: &Segment,
        frame: &Frame,
        out: &mut Outbox,
    ) {
        if self.open(address, key) {
            // A SYN that is held is a handshake that was seen.
            let seen = segment.flags.contains(Flags::SYN);
            self.shared.counters.handshakes += u64::from(seen);
            self.shared.counters.mid_connection += u64::from(!seen);
            if seen {
                self.with(address, |station, shared| station.open_account(key, segment, shared, out));
            }
        }
        self.with(address, |station, shared| station.on_segment(now, key, segment, frame, shared, out));
        self.keep_within_total(address, out);
    }

    /// The station of which the most is held loses that, until the rest fits: nobody can drive out what is held for others. Of
    /// several it is the one that has been away the longest, and of those that left together not the one whose segment has just
    /// come.
    fn keep_within_total(&mut self, newest: StationId, out: &mut Outbox) {
        while self.shared.held > self.shared.config.limits.total.0 {
            let cost = |address: StationId| self.stations.get(&address).map_or(0, Station::held);
            let weight = |&(since, address): &(Instant, StationId)| {
                (cost(address), Reverse(since), address != newest, Reverse(address))
            };
            let Some((_, address)) = self.holding.iter().copied().max_by_key(weight) else { return };
            self.with(address, |station, shared| {
                let segments = station.drop_hold(shared);
                shared.counters.evicted += segments;
                out.record(Record::Evicted { station: address, segments });
            });
        }
    }
}
