//! A validated scenario: names resolved to indices, units to types, generators expanded, defaults filled in.
//!
//! Both backends start from these values; neither sees TOML.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

pub use handfast_assist::AgentKind;
pub use handfast_assist::eln::spec::Eln;
pub use handfast_assist::iosl::spec::Iosl;
pub use handfast_assist::quick_start::QuickStartRouters;
pub use handfast_assist::sdn::Policy as SdnPolicy;
pub use handfast_assist::sdn::spec::{EndNotice, LowAck, Release, Sdn};
pub use handfast_assist::snoop::spec::Snoop;
pub use handfast_assist::vho::spec::Vho;
use handfast_core::{BitRate, Bytes, Db, Dbm, Duration, Instant};
use handfast_net::trace::{Generator, Trace, Way};
pub use handfast_net::{Direction, DownMode, Loss, Queue, QueueLimit};
use handfast_radio::aggregation::{AggregateExchange, Aggregation};
use handfast_radio::airtime::{Exchange, Physical, TxRate, TxRates};
use handfast_radio::mobility::Mobility;
use handfast_radio::retries::{Attempt, BitErrors, NOISE_FLOOR, Retries};
use handfast_radio::signal::Propagation;
use handfast_radio::{Place, association};
use handfast_tcp::Config;

/// Index into [`Scenario::nodes`].
pub type NodeId = usize;
/// Index into [`Scenario::links`].
pub type LinkId = usize;
/// Index into [`Scenario::flows`].
pub type FlowId = usize;

/// One scenario file, resolved.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The file's stem, or the `name` key.
    pub name: String,
    /// One line for `handfast list`.
    pub description: String,
    /// Hash of the resolved content (not of comments or layout), hexadecimal.
    pub hash: String,
    /// How long the run lasts.
    pub duration: Duration,
    /// Hosts, stations, access points, switches.
    pub nodes: Vec<Node>,
    /// Bidirectional links.
    pub links: Vec<Link>,
    /// Transfers.
    pub flows: Vec<Flow>,
    /// What happens when; sorted by time, file order where equal.
    pub events: Vec<Event>,
    /// The variants to compare, in file order.
    pub schemes: Vec<Scheme>,
    /// The schemes that need no table: each profile as sender, against receivers `linux`.
    pub profiles: Vec<Scheme>,
    /// Where packets are captured when traces are asked for: the nodes of `capture`.
    pub captures: Vec<NodeId>,
    /// Spacing of time series samples.
    pub sample_interval: Duration,
    /// The air, where stations move in it.
    pub radio: Option<Radio>,
    /// Whether only rules of a controller follow a station that roams: each access point is a subnet of its own.
    pub subnets: bool,
    /// The IP networks of the access points that name one.
    pub networks: BTreeMap<NodeId, String>,
    /// The radio links whose packets share the airtime of their access point.
    pub on_air: BTreeMap<LinkId, Air>,
    /// What directions of links follow over time: by link, and the end at which they begin.
    pub traces: BTreeMap<(LinkId, usize), LinkTrace>,
    /// The files among them, as the scenario names them.
    pub trace_files: BTreeSet<String>,
}

/// What a direction of a link follows over time. Its [`Direction`] then holds usual values of the rate, the delay or the losses.
#[derive(Clone, Debug, PartialEq)]
pub enum LinkTrace {
    /// The same in each run.
    Recorded(Arc<Trace>),
    /// Each run its own.
    Drawn {
        /// What draws it.
        generator: Generator,
        /// In which direction packets go.
        way: Way,
    },
}

/// A radio link on the air. Its [`Direction::rate`]s are those of 802.11.
#[derive(Clone, Copy, PartialEq)]
pub struct Air {
    /// How long the waits of 802.11 b and g are.
    pub physical: Physical,
    /// From which rates the signal chooses.
    pub rates: TxRates,
    /// In which directions it does.
    pub follows: [bool; 2],
    /// The probability that a bit arrives wrong; [`None`]: what the signal makes it, if one is known.
    pub bit_errors: Option<f64>,
    /// How often a frame is sent.
    pub retries: Retries,
    /// How frames are aggregated.
    pub aggregation: Aggregation,
    /// Whether Minstrel chooses the rate.
    pub minstrel: bool,
}

impl fmt::Debug for Air {
    /// The hash of a scenario is made of this: one with 802.11 b or g has the hash that it had before aggregation was known.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { physical, rates, follows, bit_errors, retries, aggregation, minstrel } = self;
        let mut form = f.debug_struct("Air");
        form.field("physical", physical);
        match rates {
            TxRates::Legacy(rates) => form.field("rates", rates),
            TxRates::Mcs(set) => {
                form.field("rates", set).field("aggregation", aggregation).field("minstrel", minstrel)
            }
        };
        form.field("follows", follows).field("bit_errors", bit_errors).field("retries", retries).finish()
    }
}

impl Air {
    /// What an attempt at a frame comes to at this rate, with this signal if one is known.
    pub fn attempt(&self, rate: TxRate, level: Option<Dbm>) -> Attempt {
        let ratio = level.map(|level| level - (NOISE_FLOOR + self.rates.noise()));
        match (self.bit_errors, ratio) {
            (Some(probability), _) => Attempt::Bits(BitErrors { probability }),
            (None, None) => Attempt::Clean,
            // The rate is not known before it is chosen.
            (None, Some(ratio)) if self.minstrel => Attempt::Signal(ratio),
            (None, Some(ratio)) => Attempt::Signal(ratio).at(rate),
        }
    }

    /// The rate of so many bits per second; the slowest where there is none.
    pub fn rate(&self, rate: BitRate) -> TxRate {
        self.rates.of_bit_rate(rate).unwrap_or(self.rates.slowest())
    }

    /// What one of many IP packets of this size takes of the medium with nobody else there: its frame, or its part of a full
    /// A-MPDU.
    pub fn airtime(&self, rate: TxRate, packet: Bytes) -> Duration {
        match rate {
            TxRate::Legacy(rate) => Exchange::new(self.physical, rate, packet).attempt(0, true),
            TxRate::Mcs(mcs) => {
                let (took, packets) = self.aggregation.saturated(mcs, packet);
                Duration::from_nanos(took.as_nanos() / packets.max(1))
            }
        }
    }

    /// How long a packet of this size is sent in vain until it is given up.
    pub fn failure(&self, rate: TxRate, packet: Bytes) -> Duration {
        let attempts = self.retries.limit;
        match rate {
            TxRate::Legacy(rate) => Exchange::new(self.physical, rate, packet).attempts(attempts, false),
            TxRate::Mcs(mcs) => {
                let mut psdu = self.aggregation.psdu(mcs);
                psdu.push(packet);
                AggregateExchange::new(self.aggregation, mcs, &psdu).in_vain(attempts)
            }
        }
    }
}

/// The air between access points and stations that move. Their handovers follow from it: they depend on the seed, and on nothing
/// that flows.
#[derive(Clone, Debug)]
pub struct Radio {
    /// What becomes of signals.
    pub propagation: Propagation,
    /// What stations do about them.
    pub association: association::Config,
    /// The access points that have a place, in file order.
    pub access_points: Vec<(NodeId, association::AccessPoint)>,
    /// The stations that move. Each has a link to every one of the access points.
    pub stations: Vec<Mobile>,
}

/// A station that moves.
#[derive(Clone, Debug)]
pub struct Mobile {
    /// Which.
    pub node: NodeId,
    /// Where it is at the start.
    pub at: Place,
    /// How it moves.
    pub mobility: Mobility,
}

/// An IP packet as most are.
const FULL_PACKET: Bytes = Bytes(1500);

impl Scenario {
    /// What the direction of a link that begins at its end `end` carries of full-sized IP packets: its rate, of a cellular radio
    /// without what that repeats, or on the air what is left of that with nobody else there.
    pub fn carries(&self, link: LinkId, end: usize) -> BitRate {
        let at = &self.links[link];
        let direction = if end == 0 { &at.forward } else { &at.backward };
        let Some(air) = self.on_air.get(&link) else { return direction.mean_rate() };
        let took = air.airtime(air.rate(direction.rate), FULL_PACKET);
        BitRate::from_bps(FULL_PACKET.get() * 8 * 1_000_000_000 / took.as_nanos().max(1))
    }

    /// Whether a station that goes from one of its radio links to another gets another address: their access points are of
    /// different IP networks.
    pub fn is_vertical(&self, old_link: LinkId, new_link: LinkId) -> bool {
        let network = |link| self.radio(link).map(|(_, ap)| self.networks.get(&ap));
        network(old_link) != network(new_link)
    }

    /// The station and the access point of a radio link: one that joins a node of either kind.
    pub fn radio(&self, link: LinkId) -> Option<(NodeId, NodeId)> {
        radio(&self.nodes, self.links[link].between)
    }
}

/// The station and the access point among the ends of a link, if it joins a node of either kind.
pub(crate) fn radio(nodes: &[Node], [a, b]: [NodeId; 2]) -> Option<(NodeId, NodeId)> {
    match (nodes[a].kind, nodes[b].kind) {
        (NodeKind::Station, NodeKind::AccessPoint) => Some((a, b)),
        (NodeKind::AccessPoint, NodeKind::Station) => Some((b, a)),
        _ => None,
    }
}

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// Has endpoints; forwards nothing.
    Host,
    /// A host that may move between access points.
    Station,
    /// Forwards.
    Switch,
    /// Forwards; stations associate with it.
    AccessPoint,
    /// Controls switches and access points; agents sit in it. No links, no endpoints.
    Controller,
}

impl NodeKind {
    /// Whether packets for others pass through it.
    pub const fn forwards(self) -> bool {
        matches!(self, Self::Switch | Self::AccessPoint)
    }
}

/// A node.
#[derive(Clone)]
pub struct Node {
    /// Its key in `[nodes]`.
    pub name: String,
    /// What it is.
    pub kind: NodeKind,
    /// The role agents attach to, if it plays one.
    pub role: Option<String>,
    /// Of a station with links to access points: the one it is associated with at the start. These links are one radio:
    /// all but the one to the access point with which the station is associated are down.
    pub ap: Option<NodeId>,
    /// Of a station with a radio for each of several access points: those besides `ap`, with which it is associated at the same time.
    /// It has an address by each of them, that by `ap` first.
    pub more_aps: Vec<NodeId>,
}

impl fmt::Debug for Node {
    /// As it would be derived, without further access points where there are none: a scenario's hash is taken from it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, kind, role, ap, more_aps } = self;
        let mut fields = f.debug_struct("Node");
        fields.field("name", name).field("kind", kind).field("role", role).field("ap", ap);
        if !more_aps.is_empty() {
            fields.field("more_aps", more_aps);
        }
        fields.finish()
    }
}

/// A bidirectional link.
#[derive(Clone, Debug)]
pub struct Link {
    /// Its `name` key, or "a-b".
    pub name: String,
    /// The two ends.
    pub between: [NodeId; 2],
    /// From `between[0]` to `between[1]`.
    pub forward: Direction,
    /// From `between[1]` to `between[0]`.
    pub backward: Direction,
}

pub use handfast_host::{
    App, probe::Measures, sctp::Settings as SctpSettings, transport::Kind as TransportKind,
};

/// What carries what an application sends. (An application that has no stream brings its own: [`App::Over`].)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// TCP.
    Tcp,
    /// SCTP (RFC 9260), over UDP (RFC 6951).
    Sctp,
    /// Multipath TCP (RFC 8684).
    Mptcp,
}

/// A transfer from one node to another.
#[derive(Clone)]
pub struct Flow {
    /// Its `name` key, or "from-to", numbered where that is not unique.
    pub name: String,
    /// The sender's node.
    pub from: NodeId,
    /// The receiver's node.
    pub to: NodeId,
    /// What is sent.
    pub app: App,
    /// What carries it.
    pub transport: Protocol,
    /// When the sender opens the connection.
    pub start: Instant,
    /// A further delay drawn uniformly from `0..jitter` by the run's seed.
    pub start_jitter: Duration,
    /// When the sender closes it; the run's end where absent.
    pub stop: Option<Instant>,
    /// How fast the receiving application reads; [`None`]: at once.
    pub read_rate: Option<BitRate>,
    /// The scheme or profile whose TCP both ends have; [`None`]: that of the scheme that runs.
    pub tcp: Option<String>,
    /// How many connections at once carry its data.
    pub connections: u32,
    /// What is measured of it besides what each flow has.
    pub measure: Measures,
}

impl Flow {
    /// Whether TCP carries it.
    pub fn uses_tcp(&self) -> bool {
        self.transport == Protocol::Tcp && self.app.uses_tcp()
    }
}

impl fmt::Debug for Flow {
    /// As it would be derived, without the transport where that is TCP, the number of connections where that is 1, and what is
    /// measured where nothing is: a scenario's hash is taken from it, and scenarios that do not name these keys keep theirs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, from, to, app, start, start_jitter, stop, read_rate, tcp, .. } = self;
        let Self { transport, connections, measure, .. } = self;
        let mut fields = f.debug_struct("Flow");
        fields.field("name", name).field("from", from).field("to", to).field("app", app);
        fields.field("start", start).field("start_jitter", start_jitter).field("stop", stop);
        fields.field("read_rate", read_rate).field("tcp", tcp);
        if *connections > 1 {
            fields.field("connections", connections);
        }
        if measure.any() {
            fields.field("measure", measure);
        }
        if *transport != Protocol::Tcp {
            fields.field("transport", transport);
        }
        fields.finish()
    }
}

/// A signal that falls and rises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fade {
    /// For how long it falls, and for how long it rises.
    pub ramp: Duration,
    /// How weak it gets.
    pub sinr: Db,
}

/// Something that happens to the network.
#[derive(Clone)]
pub struct Event {
    /// When, before `phase`.
    pub at: Instant,
    /// A further delay drawn uniformly from `0..phase` by the run's seed.
    pub phase: Duration,
    /// What is added to the gap of the action, drawn uniformly from `0..longer` by the run's seed.
    pub longer: Duration,
    /// What.
    pub action: Action,
    /// What the radio's signal does about it; [`None`]: it warns of nothing.
    pub fade: Option<Fade>,
}

impl Event {
    /// An action of which nothing is drawn.
    pub fn new(at: Instant, action: Action) -> Self {
        Self { at, phase: Duration::ZERO, longer: Duration::ZERO, action, fade: None }
    }
}

impl fmt::Debug for Event {
    /// What is left out was not there before: kept runs are known by this text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, phase, longer, action, fade } = self;
        let mut fields = f.debug_struct("Event");
        fields.field("at", at).field("phase", phase).field("longer", longer).field("action", action);
        if let Some(fade) = fade {
            fields.field("fade", fade);
        }
        fields.finish()
    }
}

/// Which directions of a link an event concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Directions {
    /// Both.
    Both,
    /// From `between[0]` to `between[1]`.
    Forward,
    /// From `between[1]` to `between[0]`.
    Backward,
}

/// The SINR of a link whose signal does not fade: our choice (docs/explanation/deviations.md).
pub const FULL_SINR: Db = Db(20_000);

/// An event's action.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// The agents of a node begin anew.
    Restart {
        /// Which node.
        node: NodeId,
    },
    /// The link's signal is weak for `gap`; [`Event::fade`] says how it gets there.
    Fade {
        /// Which link.
        link: LinkId,
        /// For how long.
        gap: Duration,
    },
    /// The link is gone for `gap`, then back.
    Outage {
        /// Which link.
        link: LinkId,
        /// For how long.
        gap: Duration,
        /// What becomes of its packets.
        mode: DownMode,
    },
    /// The link's rate changes.
    SetRate {
        /// Which link.
        link: LinkId,
        /// Which directions.
        directions: Directions,
        /// The new rate.
        rate: BitRate,
    },
    /// The link's propagation delay changes; packets already in the air keep theirs.
    SetDelay {
        /// Which link.
        link: LinkId,
        /// Which directions.
        directions: Directions,
        /// The new delay.
        delay: Duration,
    },
    /// The station's association ends, and another one begins.
    Handover {
        /// Which station.
        station: NodeId,
        /// The access point that it goes to.
        to: NodeId,
        /// From the end of the old association to the beginning of the new one.
        gap: Duration,
        /// Make-before-break: there is no gap, and what is under way by the old link still arrives.
        drain: bool,
    },
}

impl Action {
    /// Whether it is a handover without a gap.
    pub fn drains(&self) -> bool {
        matches!(self, Self::Handover { drain: true, .. })
    }
}

/// An agent of a scheme, attached by role.
#[derive(Clone, Debug, PartialEq)]
pub struct Agent {
    /// What it is.
    pub kind: AgentKind,
    /// The nodes that play the role it is attached to.
    pub at: Vec<NodeId>,
}

/// All that a run uses besides the network: profiles and agents.
#[derive(Clone)]
pub struct Scheme {
    /// Its key in `[schemes]`.
    pub name: String,
    /// The data sender's TCP.
    pub sender: Arc<Config>,
    /// The profile that it is, or was changed from.
    pub sender_profile: &'static str,
    /// The data receiver's TCP.
    pub receiver: Arc<Config>,
    /// The profile that it is, or was changed from.
    pub receiver_profile: &'static str,
    /// The parameters of associations.
    pub sctp: SctpSettings,
    /// Help in the path.
    pub agents: Vec<Agent>,
}

impl fmt::Debug for Scheme {
    /// As it would be derived, without parameters of associations where there are none: a scenario's hash is taken from it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, sender, sender_profile, receiver, receiver_profile, sctp, agents } = self;
        let mut fields = f.debug_struct("Scheme");
        fields.field("name", name).field("sender", sender).field("sender_profile", sender_profile);
        fields
            .field("receiver", receiver)
            .field("receiver_profile", receiver_profile)
            .field("agents", agents);
        if *sctp != SctpSettings::default() {
            fields.field("sctp", sctp);
        }
        fields.finish()
    }
}
