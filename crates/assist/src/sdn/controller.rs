//! The controller: what comes in, and to whom it goes.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use handfast_core::Instant;
use handfast_wire::openflow::{
    Body, EthAddr, FlowRemoved, FlowRemovedReason, FlowStats, Message, MultipartReply, PacketIn, PortNo,
};
use handfast_wire::tcp::{Flags, Segment};

use super::classify::{Class, Seen, look};
use super::departed::Departed;
use super::frame::{Frame, Origin};
use super::infrastructure::Learnt;
use super::rules::{Kind, forget_all};
use super::session::{Heard, Switches};
use super::station::{Fate, Shared, Station, stray};
use super::tracking::Tracking;
use super::{
    ApId, Config, ConnId, ConnectionKey, Counters, Ignored, Notice, Outbox, Policy, Record, Steering,
    Unhelped, What,
};

/// An `OpenFlow` controller that helps TCP over roams. Its driver's part is told in [the module](super).
pub struct Controller {
    pub(super) shared: Shared,
    pub(super) stations: BTreeMap<EthAddr, Station>,
    /// When each station has something to see to.
    due: BTreeSet<(Instant, EthAddr)>,
    /// Which station waits for which barrier: thousands may come back at once.
    waiting: BTreeMap<u32, EthAddr>,
    /// Since when stations are away of which something is held: under pressure every segment asks who gives way.
    holding: BTreeSet<(Instant, EthAddr)>,
    departed: Departed,
    tracking: Tracking,
    /// Stations for which something diverts, or may.
    away: usize,
    /// Addresses from which packets for stations came in at ports where no access point is: gateways, servers.
    infrastructure: Learnt,
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
            },
            stations: BTreeMap::new(),
            due: BTreeSet::new(),
            waiting: BTreeMap::new(),
            holding: BTreeSet::new(),
            departed: Departed::default(),
            tracking: Tracking::default(),
            away: 0,
            infrastructure: Learnt::default(),
        }
    }

    /// It begins, at this time of a clock that all controllers of ours share: of two that claim a switch the later one commands.
    pub fn began(&mut self, at: u64) {
        self.shared.switches.began(at);
    }

    /// What is known of a station is wrong: what is held for it goes on, and the next event of it is the first. Whether it was
    /// known.
    pub fn forget_station(&mut self, address: EthAddr, out: &mut Outbox) -> bool {
        self.with(address, |station, shared| station.let_go(shared, out));
        let known = self.stations.contains_key(&address);
        // The time only says for how long its last association is remembered.
        self.forget(Instant::ZERO, address);
        self.departed.forget(address);
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
        let addresses: Vec<EthAddr> = self.stations.keys().copied().collect();
        for address in addresses {
            self.with(address, |station, shared| station.resume(now, shared, out));
        }
    }

    /// Does something to a station, and enters when it is due next, what it waits for, and whether something is held.
    pub(super) fn with(&mut self, address: EthAddr, act: impl FnOnce(&mut Station, &mut Shared)) {
        let age = self.shared.config.datagrams.age;
        let Some(station) = self.stations.get_mut(&address) else { return };
        let before = (station.deadline(age), station.barrier(), station.away_since());
        let was_away = station.diverts();
        act(station, &mut self.shared);
        let after = (station.deadline(age), station.barrier(), station.away_since());
        self.away = self.away + usize::from(station.diverts()) - usize::from(was_away);
        if before.0 != after.0 {
            self.due.remove(&(before.0, address));
            self.due.insert((after.0, address));
        }
        if before.1 != after.1 {
            before.1.map(|barrier| self.waiting.remove(&barrier));
            self.waiting.extend(after.1.map(|barrier| (barrier, address)));
        }
        if before.2 != after.2 {
            before.2.map(|since| self.holding.remove(&(since, address)));
            self.holding.extend(after.2.map(|since| (since, address)));
        }
    }

    fn on_barrier(&mut self, now: Instant, xid: u32, out: &mut Outbox) {
        let Some(&address) = self.waiting.get(&xid) else { return };
        self.with(address, |station, shared| station.on_barrier(now, shared, out));
    }

    /// What entries on the way to a station have counted.
    fn on_counters(&mut self, flows: &[FlowStats]) {
        for stats in flows.iter().filter(|stats| Kind::of(stats.cookie).is_some()) {
            let address = stats.matches.eth_dst.map(|address| address.value);
            if let Some(station) = address.and_then(|address| self.stations.get_mut(&address)) {
                station.count(stats);
            }
        }
    }

    fn on_packet_in(&mut self, now: Instant, datapath_id: u64, packet: PacketIn, out: &mut Outbox) {
        let Some(kind) = Kind::of(packet.cookie) else {
            self.shared.counters.foreign += 1;
            return;
        };
        self.shared.counters.packet_ins += 1;
        let whole = packet.data.len() >= usize::from(packet.total_len);
        let address = packet.data.first_chunk::<6>().copied().filter(|_| whole);
        let Some(address) = address else {
            self.shared.counters.dropped_other[Class::Unreadable as usize] += 1;
            return;
        };
        if let Some(&source) = packet.data[6..].first_chunk::<6>() {
            self.with(address, |station, shared| station.heard_from(source, shared, out));
        }
        let in_port = packet.matches.in_port.unwrap_or(PortNo::CONTROLLER);
        let frame = Frame { bytes: packet.data, origin: Origin { datapath_id, in_port } };
        if kind == Kind::Presence {
            return self.on_presence(now, &frame, out);
        }
        self.learn(&frame);
        let seen = look(&frame);
        match (kind, seen) {
            // A copy: the packet itself is on its way.
            (Kind::Watch, Seen::Tcp(key, segment)) => self.watch(address, key, &segment, out),
            (Kind::Watch, Seen::Datagram(..) | Seen::Other(_)) => {}
            _ if !self.stations.contains_key(&address) => {
                stray(&frame, &mut self.shared, out);
            }
            (_, Seen::Tcp(key, segment)) => self.on_segment(now, address, key, &segment, &frame, out),
            (_, Seen::Datagram(class, to)) => self.with(address, |station, shared| {
                station.on_datagram(now, (class, to), &frame, shared, out);
            }),
            (_, Seen::Other(class)) => {
                self.with(address, |station, shared| station.on_other(class, &frame, shared, out));
            }
        }
    }

    /// Who sends to a station from a port where no access point is, is none itself, unless it was known as one before.
    fn learn(&mut self, frame: &Frame) {
        let fabric = &self.shared.config.fabric;
        let Origin { datapath_id, in_port } = frame.origin;
        let wired = self.shared.config.steering == Steering::Overlay
            && fabric.at_port(datapath_id, in_port).is_none();
        if let Some(&source) = frame.get(6..).and_then(<[u8]>::first_chunk::<6>)
            && wired
            && !self.stations.contains_key(&source)
        {
            self.infrastructure.learn(source);
        }
    }

    /// A station that was believed to be away has said something: that goes on, and it is where it came in.
    fn on_presence(&mut self, now: Instant, frame: &Frame, out: &mut Outbox) {
        self.shared.hand_back(frame, out);
        let Some(&source) = frame.get(6..).and_then(<[u8]>::first_chunk::<6>) else { return };
        self.with(source, |station, shared| station.is_heard(now, frame.origin, shared, out));
    }

    /// A connection opens or ends (`[sdn]` §3.4: its queue is made at its handshake).
    fn watch(&mut self, address: EthAddr, key: ConnectionKey, segment: &Segment, out: &mut Outbox) {
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
    fn open(&mut self, address: EthAddr, key: ConnectionKey) -> bool {
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
        address: EthAddr,
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
    fn keep_within_total(&mut self, newest: EthAddr, out: &mut Outbox) {
        while self.shared.held > self.shared.config.limits.total.0 {
            let cost = |address: EthAddr| self.stations.get(&address).map_or(0, Station::held);
            let weight = |&(since, address): &(Instant, EthAddr)| {
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

    /// A rule that diverts has reached its hard timeout: if it is still needed, it is made again.
    fn on_flow_removed(&mut self, datapath_id: u64, removed: &FlowRemoved, out: &mut Outbox) {
        let diverted = Kind::of(removed.cookie) == Some(Kind::Divert);
        let address = removed.matches.eth_dst.map(|address| address.value);
        if let Some(address) =
            address.filter(|_| diverted && removed.reason == FlowRemovedReason::HardTimeout)
            && let Some(station) = self.stations.get(&address)
        {
            station.install(datapath_id, &mut self.shared, out);
        }
    }

    /// An access point has news of a station.
    pub fn on_notice(&mut self, now: Instant, notice: Notice, out: &mut Outbox) {
        if let Err(why) = self.take(now, notice, out) {
            self.shared.counters.ignored_notices += 1;
            out.record(Record::Ignored { station: notice.station, why });
        }
    }

    fn take(&mut self, now: Instant, notice: Notice, out: &mut Outbox) -> Result<(), Ignored> {
        let Notice { station: address, ap, epoch, what } = notice;
        if self.shared.config.fabric.access_point(ap).is_none() {
            return Err(Ignored::UnknownAccessPoint);
        }
        if self.shared.config.never_hold.contains(&address) || self.infrastructure.contains(address) {
            return Err(Ignored::Protected);
        }
        let Some(station) = self.stations.get(&address) else { return self.meet(now, notice, out) };
        judge(&notice, station.epoch(), station.is_at(ap), station.is_away())?;
        self.shared.full = self.away - usize::from(station.diverts()) >= self.shared.config.limits.away;
        self.with(address, |station, shared| match what {
            What::Associated => station.arrive(now, ap, epoch, shared, out),
            What::Disassociated => station.leave(now, epoch, shared, out),
            What::Delivered(packets) => station.delivered(packets),
        });
        Ok(())
    }

    /// Nothing is kept at switches for a station that is present: it can be forgotten. The one of which nothing was heard for the
    /// longest goes; whether there was one.
    fn forget_one_that_is_present(&mut self, now: Instant) -> bool {
        if self.shared.config.steering != Steering::Overlay {
            return false;
        }
        let present = |address: &EthAddr| self.stations.get(address).is_some_and(Station::is_present);
        let oldest = self.due.iter().map(|&(_, address)| address).find(present);
        if let Some(address) = oldest {
            self.forget(now, address);
        }
        oldest.is_some()
    }

    /// The number of an association whose access point numbers none: it follows from what was heard last. That of an end that
    /// another access point tells of is an older one.
    pub fn implied_epoch(&self, now: Instant, address: EthAddr, ap: ApId, what: What) -> u64 {
        let station = self.stations.get(&address);
        let departed = || self.departed.last(now, address, self.shared.config.remember);
        let Some(last) = station.map(Station::epoch).or_else(departed) else { return 1 };
        let there = station.is_some_and(|station| station.is_at(ap));
        match what {
            What::Associated if !there => last.saturating_add(1),
            What::Disassociated if !there => last.saturating_sub(1),
            _ => last,
        }
    }

    /// The first news of a station, or the first since it was forgotten.
    fn meet(&mut self, now: Instant, notice: Notice, out: &mut Outbox) -> Result<(), Ignored> {
        let Notice { station: address, ap, epoch, what } = notice;
        match self.departed.last(now, address, self.shared.config.remember) {
            Some(last) => judge(&notice, last, false, true)?,
            None if epoch > HIGHEST_FIRST => return Err(Ignored::TooFar),
            None => {}
        }
        if self.stations.len() >= self.shared.config.limits.stations && !self.forget_one_that_is_present(now)
        {
            return Err(Ignored::TooManyStations);
        }
        self.shared.full = self.away >= self.shared.config.limits.away;
        let station = match what {
            What::Associated => Station::associated(now, address, ap, epoch, &mut self.shared, out),
            What::Disassociated => Station::away(now, address, ap, epoch, &mut self.shared, out),
            // Of a station that is not known it says nothing.
            What::Delivered(_) => return Ok(()),
        };
        self.departed.forget(address);
        self.due.insert((station.deadline(self.shared.config.datagrams.age), address));
        self.away += usize::from(station.diverts());
        self.stations.insert(address, station);
        Ok(())
    }

    /// When [`Controller::on_timer`] is due; [`None`]: not before something comes in.
    pub fn deadline(&self) -> Option<Instant> {
        let station = self.due.first().map(|&(due, _)| due);
        let switch = self.shared.switches.deadline();
        station.into_iter().chain(switch).min()
    }

    /// The deadline has come; afterwards it is in the future.
    pub fn on_timer(&mut self, now: Instant, out: &mut Outbox) {
        self.shared.switches.on_timer(now, out);
        while let Some((_, address)) = self.due.first().copied().filter(|&(due, _)| due <= now) {
            let mut fate = Fate::Stays;
            self.with(address, |station, shared| fate = station.on_timer(now, shared, out));
            if fate == Fate::Gone {
                self.forget(now, address);
            }
        }
    }

    pub(super) fn forget(&mut self, now: Instant, address: EthAddr) {
        let Some(mut station) = self.stations.remove(&address) else { return };
        self.away -= usize::from(station.diverts());
        self.departed.remember(now, address, station.epoch(), self.shared.config.limits.stations);
        self.due.remove(&(station.deadline(self.shared.config.datagrams.age), address));
        station.barrier().map(|barrier| self.waiting.remove(&barrier));
        self.tracking.closed(station.hold().connections());
    }

    /// The controller ends: what can be delivered is sent at once, and its rules go, so that switches do as they did without it.
    pub fn shut_down(&mut self, out: &mut Outbox) {
        for station in self.stations.values_mut() {
            station.flush(&mut self.shared, out);
        }
        self.remove_entries(out);
        self.stations.clear();
        self.away = 0;
        self.due.clear();
        self.waiting.clear();
        self.holding.clear();
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

/// How far an association's number may lie beyond that of the one before. Numbers may be times: as nanoseconds, this is three
/// days.
const FURTHEST: u64 = 1 << 48;
/// The highest number of the first association that is heard of. As nanoseconds, this is the year 2116: whatever comes
/// first, there is room for more.
const HIGHEST_FIRST: u64 = 1 << 62;

/// Whether news say something new of a station whose last known association is `last`. `there`: it is where they come from;
/// `away`: that association has ended.
fn judge(notice: &Notice, last: u64, there: bool, away: bool) -> Result<(), Ignored> {
    let Notice { epoch, what, .. } = *notice;
    match what {
        _ if epoch > last.saturating_add(FURTHEST) => Err(Ignored::TooFar),
        What::Associated if epoch == last && there => Err(Ignored::Duplicate),
        // Its end was heard of: this is the late news of its begin.
        What::Associated if epoch <= last => Err(Ignored::Stale),
        What::Disassociated if epoch < last => Err(Ignored::Stale),
        What::Disassociated if epoch == last && away => Err(Ignored::Duplicate),
        What::Delivered(_) if epoch != last => Err(Ignored::Stale),
        _ => Ok(()),
    }
}
