//! What switches send here: segments, datagrams, and what opens and ends connections.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use handfast_core::Instant;
use handfast_wire::openflow::{EthAddr, PacketIn, PortNo};
use handfast_wire::tcp::{Flags, Segment};

use super::Controller;
use crate::sdn::classify::{Class, Seen, look};
use crate::sdn::frame::{Frame, Origin};
use crate::sdn::rules::Kind;
use crate::sdn::shared::Shared;
use crate::sdn::station::{Station, stray};
use crate::sdn::station_id::{ends, tag};
use crate::sdn::tracking::Tracking;
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
        self.shared.sender_ports.learn(source, frame.origin);
        let seen = look(&frame);
        let may_hold_more = kind != Kind::Watch && matches!(seen, Seen::Tcp(..));
        self.make_room_for(kind, &seen, address, &frame);
        // The station is looked up once: what follows works on its entry.
        let Self { stations, shared, agenda, tracking, .. } = self;
        let Some((id, station)) = station_of(stations, address, &frame) else {
            return stray(&frame, shared, out);
        };
        agenda.follow(id, station, shared, |station, shared| {
            station.heard_from(source, shared, out);
            let entry = Entry { id, station, shared, tracking };
            match (kind, seen) {
                // A copy: the packet itself is on its way.
                (Kind::Watch, Seen::Tcp(key, segment)) => entry.watch(key, &segment, out),
                (Kind::Watch, Seen::Datagram(..) | Seen::Other(_)) => {}
                (_, Seen::Tcp(key, segment)) => entry.on_segment(now, key, &segment, &frame, out),
                (_, Seen::Datagram(class, to)) => station.on_datagram(now, (class, to), &frame, shared, out),
                (_, Seen::Other(class)) => station.on_other(now, class, &frame, shared, out),
            }
        });
        if may_hold_more {
            self.keep_within_total(id, out);
        }
    }

    /// A sender behind a port without an access point is no station, unless it is known as one.
    fn learn(&mut self, now: Instant, source: EthAddr, from: Origin) {
        let fabric = &self.shared.config.fabric;
        let wired = self.shared.config.steering == Steering::Overlay
            && fabric.at_port(from.datapath_id, from.in_port).is_none();
        if wired && self.sharing_address(source) == 0 {
            self.infrastructure.learn(now, source);
        }
    }

    /// A station that was reported gone has sent something: the frame goes on, and the station is where it came in.
    fn on_presence(&mut self, now: Instant, source: EthAddr, frame: &Frame, out: &mut Outbox) {
        self.shared.hand_back(frame, out);
        let fabric = &self.shared.config.fabric;
        let at = fabric.at_port(frame.origin.datapath_id, frame.origin.in_port);
        let id = at.and_then(|ap| fabric.access_point(ap));
        let id = id.map(|at| StationId { address: source, vlan: at.vlan });
        let Self { stations, shared, agenda, .. } = self;
        let found = match id {
            Some(id) => stations.get_mut(&id).map(|station| (id, station)),
            None => station_of(stations, source, frame),
        };
        if let Some((id, station)) = found {
            agenda.follow(id, station, shared, |station, shared| {
                station.is_heard(now, frame.origin, shared, out);
            });
        }
    }

    /// Makes room for one more queue where there is none and the packet may need one. Nearly always there is, and the station is
    /// not looked up for this.
    fn make_room_for(&mut self, kind: Kind, seen: &Seen, address: EthAddr, frame: &Frame) {
        let most = self.shared.config.limits.connections;
        if self.tracking.has_room(most) {
            return;
        }
        let Seen::Tcp(key, segment) = seen else { return };
        let opens = kind != Kind::Watch || segment.flags.contains(Flags::SYN);
        let found = station_of(&mut self.stations, address, frame);
        if opens && found.is_some_and(|(_, station)| !station.hold().knows(key)) {
            self.make_room(most);
        }
    }

    /// The oldest queues that are empty go, until one more fits.
    fn make_room(&mut self, most: usize) {
        let Self { tracking, stations, .. } = self;
        if tracking.is_stale(most) {
            tracking.retain(|id, key| stations.get_mut(id).is_some_and(|station| station.hold().knows(key)));
        }
        for _ in 0..tracking.len() {
            if tracking.connections() < most {
                return;
            }
            let Some((id, key)) = tracking.oldest() else { break };
            let Some(station) = stations.get_mut(&id) else { continue };
            if station.forget(&key) {
                tracking.closed(1);
                self.shared.counters.forgotten += 1;
            } else if station.hold().knows(&key) {
                tracking.keep(id, key);
            }
        }
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
            let Some((_, address)) = self.agenda.holding().max_by_key(weight) else { return };
            self.with(address, |station, shared| {
                let segments = station.drop_hold(shared);
                shared.counters.evicted += segments;
                out.record(Record::Evicted { station: address, segments });
            });
        }
    }
}

/// The station that a frame is for, or that it comes from; [`None`]: none that is known, or it may be several.
fn station_of<'s>(
    stations: &'s mut BTreeMap<StationId, Station>,
    address: EthAddr,
    frame: &Frame,
) -> Option<(StationId, &'s mut Station)> {
    let mut all = stations.range_mut(StationId::with_address(address)).map(|(&id, station)| (id, station));
    match tag(frame) {
        None => all.next().filter(|_| all.next().is_none()),
        // Where the VLAN of an access point is not known, its stations may have any.
        vlan => all.find(|(id, _)| id.vlan.is_none() || id.vlan == vlan),
    }
}

/// A station that a packet has come for, and what its connections need.
struct Entry<'a> {
    id: StationId,
    station: &'a mut Station,
    shared: &'a mut Shared,
    tracking: &'a mut Tracking,
}

impl Entry<'_> {
    /// A connection opens or ends (`[sdn]` §3.4: its queue is made at its handshake).
    fn watch(self, key: ConnectionKey, segment: &Segment, out: &mut Outbox) {
        let Self { id, station, shared, tracking } = self;
        if segment.flags.contains(Flags::SYN) {
            if open(id, station, key, shared, tracking) {
                shared.counters.handshakes += 1;
                station.open_account(key, segment, shared, out);
            }
        } else if station.forget(&key) {
            // After a FIN a few more segments may follow; if one is to be held, it makes a queue of its own.
            tracking.closed(1);
            station.close_account(&key, shared, out);
        }
    }

    fn on_segment(
        self,
        now: Instant,
        key: ConnectionKey,
        segment: &Segment,
        frame: &Frame,
        out: &mut Outbox,
    ) {
        let Self { id, station, shared, tracking } = self;
        if open(id, station, key, shared, tracking) {
            // A SYN that is held is a handshake that was seen.
            let seen = segment.flags.contains(Flags::SYN);
            shared.counters.handshakes += u64::from(seen);
            shared.counters.mid_connection += u64::from(!seen);
            if seen {
                station.open_account(key, segment, shared, out);
            }
        }
        station.on_segment(now, key, segment, frame, shared, out);
    }
}

/// Makes a connection's queue, if there is none and there is room; whether it did.
fn open(
    id: StationId,
    station: &mut Station,
    key: ConnectionKey,
    shared: &Shared,
    tracking: &mut Tracking,
) -> bool {
    let fits = tracking.connections() < shared.config.limits.connections;
    if !fits || station.hold().knows(&key) {
        return false;
    }
    station.hold().open(key);
    tracking.opened(id, key);
    true
}
