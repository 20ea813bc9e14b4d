//! One switch's connection, from greeting to farewell.

mod claim;
mod examine;
mod room;

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use handfast_core::{Duration, Instant};
use handfast_wire::openflow::{Body, Error, Hello, Message, PortNo, VERSION};

use room::Room;
pub use room::TableUse;

use super::{Config, ConnId, Mode, Outbox, Record, StationId, Steering};

/// How far a connection has come (§6.3 of the `OpenFlow` specification, connection setup).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Our greeting is sent; theirs has not come.
    Greeting,
    /// It was asked what it is.
    Asked,
    /// Another connection says that it is this switch's: that one was asked then whether it is there.
    Rival(Instant),
    /// It was asked who commands it.
    Claiming,
    /// It was told that we do.
    Claimed,
    /// It says what it has and deletes what an earlier controller of ours left; the barrier after that has this transaction.
    Cleaning(u32),
    /// It takes orders.
    Ready,
    /// No access point is reached by it, or somebody else commands it: it is kept, and left alone.
    Idle,
}

#[derive(Debug)]
struct Session {
    phase: Phase,
    datapath_id: Option<u64>,
    /// Whether it takes matches on TCP flags, as far as is known.
    watches: bool,
    /// When it connected.
    since: Instant,
    heard: Instant,
    /// Whether it was asked if it is there since.
    asked: bool,
    /// The ports that it has.
    ports: BTreeSet<PortNo>,
    /// Whether it takes back what it has diverted, as far as is known.
    hands_back: bool,
    /// The packet-out that tries that.
    trial: Option<u32>,
    /// How full its table is.
    room: Room,
    /// Orders for stations of which a refusal is to be told.
    orders: BTreeMap<u32, StationId>,
}

/// What a message means for whoever is above.
#[expect(clippy::large_enum_variant, reason = "nearly all are messages, and none is kept")]
pub(crate) enum Heard {
    /// Nothing, or it was seen to here.
    Nothing,
    /// A switch is ready for its rules.
    Ready(u64),
    /// A switch refused to watch handshakes: its rules want renewing without that.
    NoHandshakes(u64),
    /// A switch refused an entry for a station: type and code of its error.
    Refused(StationId, u16, u16),
    /// A barrier is passed.
    Barrier(u32),
    /// It is for the rules' owner.
    Message(u64, Body),
}

/// All connections.
#[derive(Debug)]
pub(crate) struct Switches {
    sessions: BTreeMap<ConnId, Session>,
    ready: BTreeMap<u64, ConnId>,
    mode: Mode,
    steering: Steering,
    echo_interval: Duration,
    claim: Option<Claim>,
    xid: u32,
}

/// How switches are claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// When this controller began, by any clock that all controllers of ours share: of two the later one commands. 48 bits count.
    pub began: u64,
    /// Whether it goes on beside a master that is none of ours.
    pub shares: bool,
}

/// How long a connection may take until the switch behind it is known and ready.
const READY_WITHIN: Duration = Duration::from_secs(5);
/// How long the connection that a switch has may take to show that it lives, when another one claims the same switch.
const RIVAL_PATIENCE: Duration = Duration::from_secs(1);
/// Orders of a connection of which a refusal is told; of more, the oldest is not.
const MOST_ORDERS: usize = 4096;

/// `OFPET_HELLO_FAILED`, `OFPHFC_INCOMPATIBLE` (§7.4.4).
const HELLO_FAILED: (u16, u16) = (0, 0);
/// `OFPET_BAD_MATCH` (§7.4.4).
const BAD_MATCH: u16 = 4;

/// The highest version of a greeting. A bitmap has a bit for each.
fn highest(hello: &Hello) -> u8 {
    let of_bitmap = hello.bitmaps.first().and_then(|versions| versions.checked_ilog2());
    of_bitmap.and_then(|bit| u8::try_from(bit).ok()).unwrap_or(hello.version)
}

impl Switches {
    pub(crate) fn new(config: &Config) -> Self {
        let Config { mode, steering, echo_interval, claim, .. } = *config;
        Self {
            sessions: BTreeMap::new(),
            ready: BTreeMap::new(),
            mode,
            steering,
            echo_interval,
            claim,
            xid: 0,
        }
    }

    /// The number in the cookies of our entries.
    pub(crate) fn instance(&self) -> u32 {
        self.claim.map_or(0, |claim| claim.began as u32)
    }

    fn next_xid(&mut self) -> u32 {
        self.xid = self.xid.wrapping_add(1);
        self.xid
    }

    /// Sends what changes nothing at the switch.
    fn tell(&mut self, conn: ConnId, body: Body, out: &mut Outbox) -> u32 {
        let xid = self.next_xid();
        out.send(conn, Message { xid, body });
        xid
    }

    /// Sends an order to a switch; whether it could.
    pub(crate) fn order(&mut self, datapath_id: u64, body: Body, out: &mut Outbox) -> bool {
        let Some(&conn) = self.ready.get(&datapath_id) else { return false };
        match self.mode {
            Mode::Act => {
                self.use_changes(conn, &body);
                self.tell(conn, body, out);
            }
            Mode::Observe => {
                let message = Message { xid: self.next_xid(), body };
                out.record(Record::Would { datapath_id, message });
            }
        }
        true
    }

    /// As [`Switches::order`], for a station that is told if the switch refuses.
    pub(crate) fn order_for(
        &mut self,
        station: StationId,
        datapath_id: u64,
        body: Body,
        out: &mut Outbox,
    ) -> bool {
        let sent = self.order(datapath_id, body, out);
        let conn = self.ready.get(&datapath_id).filter(|_| sent && self.mode == Mode::Act);
        if let Some(session) = conn.and_then(|conn| self.sessions.get_mut(conn)) {
            session.orders.insert(self.xid, station);
            if session.orders.len() > MOST_ORDERS {
                session.orders.pop_first();
            }
        }
        sent
    }

    /// Asks a switch to finish what it was told; the transaction of its answer.
    pub(crate) fn barrier(&mut self, datapath_id: u64, out: &mut Outbox) -> Option<u32> {
        let conn = *self.ready.get(&datapath_id)?;
        Some(self.tell(conn, Body::BarrierRequest, out))
    }

    /// Whether a switch takes matches on TCP flags.
    pub(crate) fn watches(&self, datapath_id: u64) -> bool {
        self.of(datapath_id).is_some_and(|session| session.watches)
    }

    /// The connection of a switch that takes orders.
    fn of(&self, datapath_id: u64) -> Option<&Session> {
        self.ready.get(&datapath_id).and_then(|conn| self.sessions.get(conn))
    }

    /// Whether a connection is that of a switch that takes orders.
    pub(crate) fn is_ready_at(&self, conn: ConnId) -> bool {
        self.phase(conn) == Some(Phase::Ready)
    }

    /// Every switch that takes orders.
    pub(crate) fn ready(&self) -> Vec<u64> {
        self.ready.keys().copied().collect()
    }

    /// Whether a switch takes orders.
    pub(crate) fn is_ready(&self, datapath_id: u64) -> bool {
        self.ready.contains_key(&datapath_id)
    }

    /// A switch has connected.
    pub(crate) fn connected(&mut self, now: Instant, conn: ConnId, out: &mut Outbox) {
        let session = Session {
            phase: Phase::Greeting,
            datapath_id: None,
            watches: true,
            since: now,
            heard: now,
            asked: false,
            ports: BTreeSet::new(),
            hands_back: true,
            trial: None,
            room: Room::default(),
            orders: BTreeMap::new(),
        };
        self.sessions.insert(conn, session);
        // §6.3, connection setup: both sides say hello at once; the bitmap says that 1.3 is all that is spoken here.
        let hello = Hello { version: VERSION, bitmaps: vec![1 << VERSION] };
        self.tell(conn, Body::Hello(hello), out);
    }

    /// A connection is gone.
    pub(crate) fn disconnected(&mut self, conn: ConnId, why: &'static str, out: &mut Outbox) {
        let Some(session) = self.sessions.remove(&conn) else { return };
        if let Some(datapath_id) = session.datapath_id.filter(|id| self.ready.get(id) == Some(&conn)) {
            self.ready.remove(&datapath_id);
        }
        out.record(Record::SwitchGone { datapath_id: session.datapath_id, why });
    }

    fn close(&mut self, conn: ConnId, why: &'static str, out: &mut Outbox) {
        self.disconnected(conn, why, out);
        out.close(conn);
    }

    /// A message has come. `known`: whether a switch of this datapath id has any part in the network.
    pub(crate) fn on_message(
        &mut self,
        now: Instant,
        conn: ConnId,
        message: Message,
        known: impl Fn(u64) -> bool,
        out: &mut Outbox,
    ) -> Heard {
        let Some(session) = self.sessions.get_mut(&conn) else { return Heard::Nothing };
        (session.heard, session.asked) = (now, false);
        let (phase, datapath_id) = (session.phase, session.datapath_id);
        if phase == Phase::Ready
            && let Some(datapath_id) = datapath_id
        {
            self.refuse_rivals(datapath_id, out);
        }
        let Message { xid, body } = message;
        if self.on_ports(conn, &body) || self.on_room(conn, &body) {
            return Heard::Nothing;
        }
        match (phase, body) {
            (_, Body::EchoRequest(data)) => {
                // §7.5.3: the answer has the question's transaction and bytes.
                out.send(conn, Message { xid, body: Body::EchoReply(data) });
                Heard::Nothing
            }
            (_, Body::Error(error)) => self.refused(now, conn, xid, &error, out),
            (Phase::Greeting, Body::Hello(hello)) => {
                self.greeted(conn, xid, &hello, out);
                Heard::Nothing
            }
            (Phase::Greeting, _) => {
                self.close(conn, "its first message was no hello", out);
                Heard::Nothing
            }
            (Phase::Asked, Body::FeaturesReply(features)) => {
                self.identified(now, conn, features.datapath_id, known(features.datapath_id), out);
                Heard::Nothing
            }
            (Phase::Claiming | Phase::Claimed, Body::RoleReply(reply)) => {
                self.on_role(now, conn, reply, out);
                Heard::Nothing
            }
            (Phase::Cleaning(barrier), Body::BarrierReply) if barrier == xid => self.cleaned(conn, out),
            (Phase::Ready, Body::BarrierReply) => Heard::Barrier(xid),
            (Phase::Ready, body) => {
                datapath_id.map_or(Heard::Nothing, |datapath_id| Heard::Message(datapath_id, body))
            }
            _ => Heard::Nothing,
        }
    }

    fn greeted(&mut self, conn: ConnId, xid: u32, hello: &Hello, out: &mut Outbox) {
        // §6.3, connection setup: the bitmaps decide where both sides sent them, the lower version otherwise.
        let speaks = match hello.bitmaps.first() {
            Some(versions) => versions & 1 << VERSION != 0,
            None => hello.version >= VERSION,
        };
        if !speaks {
            let (kind, code) = HELLO_FAILED;
            let data = Bytes::from_static(b"OpenFlow 1.3 (version 4) is spoken here");
            out.send(conn, Message { xid, body: Body::Error(Error { kind, code, data }) });
            self.sessions.remove(&conn);
            out.record(Record::WrongVersion { conn, version: highest(hello) });
            return out.close(conn);
        }
        self.set_phase(conn, Phase::Asked);
        self.tell(conn, Body::FeaturesRequest, out);
    }

    fn set_phase(&mut self, conn: ConnId, phase: Phase) {
        if let Some(session) = self.sessions.get_mut(&conn) {
            session.phase = phase;
        }
    }

    fn phase(&self, conn: ConnId) -> Option<Phase> {
        self.sessions.get(&conn).map(|session| session.phase)
    }

    fn identified(&mut self, now: Instant, conn: ConnId, datapath_id: u64, known: bool, out: &mut Outbox) {
        if let Some(session) = self.sessions.get_mut(&conn) {
            session.datapath_id = Some(datapath_id);
        }
        if !known {
            out.record(Record::SwitchUnknown { datapath_id });
            return self.set_phase(conn, Phase::Idle);
        }
        // A switch that comes back on a new connection may have lost the old one without our hearing of it. Or somebody else
        // says that he is this switch.
        if let Some(&old) = self.ready.get(&datapath_id) {
            self.tell(old, Body::EchoRequest(Bytes::new()), out);
            return self.set_phase(conn, Phase::Rival(now));
        }
        self.claim(now, conn, out);
    }

    /// The connection of a switch lives: others that claim to be this switch are none.
    fn refuse_rivals(&mut self, datapath_id: u64, out: &mut Outbox) {
        let rival = |(&conn, session): (&ConnId, &Session)| {
            let claims = session.datapath_id == Some(datapath_id) && matches!(session.phase, Phase::Rival(_));
            claims.then_some(conn)
        };
        for conn in self.sessions.iter().filter_map(rival).collect::<Vec<_>>() {
            out.record(Record::SwitchClaimed { conn, datapath_id });
            self.close(conn, "its datapath is connected already", out);
        }
    }

    /// A switch's old connection has not answered: this one takes its place.
    fn succeed(&mut self, now: Instant, conn: ConnId, out: &mut Outbox) {
        let datapath_id = self.sessions.get(&conn).and_then(|session| session.datapath_id);
        if let Some(old) = datapath_id.and_then(|datapath_id| self.ready.remove(&datapath_id)) {
            self.close(old, "it has connected again", out);
        }
        self.claim(now, conn, out);
    }

    fn cleaned(&mut self, conn: ConnId, out: &mut Outbox) -> Heard {
        self.set_phase(conn, Phase::Ready);
        let Some(datapath_id) = self.sessions.get(&conn).and_then(|session| session.datapath_id) else {
            return Heard::Nothing;
        };
        if self.ready.contains_key(&datapath_id) {
            self.close(conn, "its datapath is connected already", out);
            return Heard::Nothing;
        }
        self.ready.insert(datapath_id, conn);
        out.record(Record::SwitchReady { conn, datapath_id });
        Heard::Ready(datapath_id)
    }

    fn refused(&mut self, now: Instant, conn: ConnId, xid: u32, error: &Error, out: &mut Outbox) -> Heard {
        if let Some(heard) = self.refused_role(now, conn, error, out) {
            return heard;
        }
        if self.refused_trial(conn, xid, error) {
            return Heard::Nothing;
        }
        let Some(session) = self.sessions.get_mut(&conn) else { return Heard::Nothing };
        let datapath_id = session.datapath_id;
        if let Some(datapath_id) = datapath_id
            && error.kind == BAD_MATCH
            && session.watches
        {
            // Of all our matches only the flags of TCP are an extension.
            session.watches = false;
            out.record(Record::NoHandshakes { datapath_id });
            return Heard::NoHandshakes(datapath_id);
        }
        let station = session.orders.remove(&xid);
        out.record(Record::SwitchError { datapath_id, kind: error.kind, code: error.code });
        station.map_or(Heard::Nothing, |station| Heard::Refused(station, error.kind, error.code))
    }

    /// When the next silence is too long.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let silent = self.sessions.values().map(|session| session.heard + self.patience(session));
        let late = self.sessions.values().filter_map(|session| match session.phase {
            Phase::Ready | Phase::Idle => None,
            Phase::Rival(asked) => Some(asked + RIVAL_PATIENCE),
            _ => Some(session.since + READY_WITHIN),
        });
        silent.chain(late).chain(self.next_room()).min()
    }

    /// Goes on with another configuration. Connections of switches that `known` has a part for now, or had none, begin anew: all
    /// of them if `anew`.
    pub(crate) fn reconfigure(
        &mut self,
        config: &Config,
        known: impl Fn(u64) -> bool,
        anew: bool,
        out: &mut Outbox,
    ) {
        let Config { mode, steering, echo_interval, claim, .. } = *config;
        let began = self.claim.map_or(0, |claim| claim.began);
        (self.mode, self.steering, self.echo_interval) = (mode, steering, echo_interval);
        self.claim = claim.map(|claim| Claim { began, ..claim });
        let changed = |(&conn, session): (&ConnId, &Session)| {
            let idle = session.phase == Phase::Idle;
            let known = session.datapath_id.is_some_and(&known);
            (anew || idle == known).then_some(conn)
        };
        for conn in self.sessions.iter().filter_map(changed).collect::<Vec<_>>() {
            self.close(conn, "its part in the configuration has changed", out);
        }
    }

    /// A rival has waited for us, not we for it.
    fn restart_clock(&mut self, now: Instant, conn: ConnId) {
        if let Some(session) = self.sessions.get_mut(&conn) {
            session.since = now;
        }
    }

    fn patience(&self, session: &Session) -> Duration {
        self.echo_interval * if session.asked { 2 } else { 1 }
    }

    /// Asks silent switches whether they are there, and gives up those that do not answer.
    pub(crate) fn on_timer(&mut self, now: Instant, out: &mut Outbox) {
        let slow = |(&conn, session): (&ConnId, &Session)| match session.phase {
            Phase::Ready | Phase::Idle => None,
            Phase::Rival(asked) => (asked + RIVAL_PATIENCE <= now).then_some((conn, true)),
            _ => (session.since + READY_WITHIN <= now).then_some((conn, false)),
        };
        for (conn, rival) in self.sessions.iter().filter_map(slow).collect::<Vec<_>>() {
            if rival {
                self.restart_clock(now, conn);
                self.succeed(now, conn, out);
            } else {
                self.close(conn, "it was not ready in time", out);
            }
        }
        self.ask_due(now, out);
        let silent = |(&conn, session): (&ConnId, &Session)| {
            (session.heard + self.patience(session) <= now)
                .then_some((conn, session.asked || session.phase == Phase::Greeting))
        };
        let silent: Vec<(ConnId, bool)> = self.sessions.iter().filter_map(silent).collect();
        for (conn, gone) in silent {
            if gone {
                self.close(conn, "it does not answer", out);
            } else {
                if let Some(session) = self.sessions.get_mut(&conn) {
                    session.asked = true;
                }
                self.tell(conn, Body::EchoRequest(Bytes::new()), out);
            }
        }
    }
}
