//! A validated scenario: names resolved to indices, units to types, generators expanded, defaults filled in.
//!
//! Both backends start from these values; neither sees TOML.

use std::collections::BTreeMap;
use std::sync::Arc;

use handfast_core::{BitRate, Bytes, Dbm, Duration, Instant};
pub use handfast_net::{Direction, DownMode, Loss, Queue, QueueLimit};
use handfast_radio::airtime::{Exchange, Physical, Rates};
use handfast_radio::mobility::Mobility;
use handfast_radio::retries::{Attempt, BitErrors, NOISE_FLOOR, Retries};
use handfast_radio::signal::Propagation;
use handfast_radio::{Place, airtime, association};
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
    /// The radio links whose packets share the airtime of their access point.
    pub on_air: BTreeMap<LinkId, Air>,
}

/// A radio link on the air. Its [`Direction::rate`]s are those of 802.11.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Air {
    /// How long the waits are.
    pub physical: Physical,
    /// From which rates the signal chooses.
    pub rates: Rates,
    /// In which directions it does.
    pub follows: [bool; 2],
    /// The probability that a bit arrives wrong; [`None`]: what the signal makes it, if one is known.
    pub bit_errors: Option<f64>,
    /// How often a frame is sent.
    pub retries: Retries,
}

impl Air {
    /// What an attempt at a frame comes to at this rate, with this signal if one is known.
    pub fn attempt(&self, rate: airtime::Rate, level: Option<Dbm>) -> Attempt {
        let by_signal = || BitErrors::at(rate, level? - NOISE_FLOOR);
        let errors = self.bit_errors.map(|probability| BitErrors { probability }).or_else(by_signal);
        errors.map_or(Attempt::Clean, Attempt::Bits)
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
    /// What the direction of a link that begins at its end `end` carries of full-sized IP packets: its rate, or on the air what
    /// is left of that with nobody else there.
    pub fn carries(&self, link: LinkId, end: usize) -> BitRate {
        let at = &self.links[link];
        let rate = if end == 0 { at.forward.rate } else { at.backward.rate };
        let (Some(air), Some(phy)) = (self.on_air.get(&link), airtime::Rate::of_bit_rate(rate)) else {
            return rate;
        };
        let took = Exchange::new(air.physical, phy, FULL_PACKET).attempt(0, true);
        BitRate::from_bps(FULL_PACKET.get() * 8 * 1_000_000_000 / took.as_nanos().max(1))
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
#[derive(Clone, Debug)]
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

pub use handfast_host::App;

/// A transfer from one node to another.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Its `name` key, or "from-to", numbered where that is not unique.
    pub name: String,
    /// The sender's node.
    pub from: NodeId,
    /// The receiver's node.
    pub to: NodeId,
    /// What is sent.
    pub app: App,
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
}

/// Something that happens to the network.
#[derive(Clone, Debug)]
pub struct Event {
    /// When, before `phase`.
    pub at: Instant,
    /// A further delay drawn uniformly from `0..phase` by the run's seed.
    pub phase: Duration,
    /// What is added to the gap of the action, drawn uniformly from `0..longer` by the run's seed.
    pub longer: Duration,
    /// What.
    pub action: Action,
}

impl Event {
    /// An action of which nothing is drawn.
    pub fn new(at: Instant, action: Action) -> Self {
        Self { at, phase: Duration::ZERO, longer: Duration::ZERO, action }
    }
}

/// Which directions of a link an event concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Both.
    Both,
    /// From `between[0]` to `between[1]`.
    Forward,
    /// From `between[1]` to `between[0]`.
    Backward,
}

/// An event's action.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
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
        way: Way,
        /// The new rate.
        rate: BitRate,
    },
    /// The link's propagation delay changes; packets already in the air keep theirs.
    SetDelay {
        /// Which link.
        link: LinkId,
        /// Which directions.
        way: Way,
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

/// An agent of a scheme, attached by role.
#[derive(Clone, Debug, PartialEq)]
pub struct Agent {
    /// What it is.
    pub kind: AgentKind,
    /// The nodes that play the role it is attached to.
    pub at: Vec<NodeId>,
}

/// The kinds of agents, with their parameters.
#[derive(Clone, Debug, PartialEq)]
pub enum AgentKind {
    /// The controller of the switches and access points; sits in one node of kind [`NodeKind::Controller`].
    Sdn(Sdn),
    /// Base stations that keep segments and send them again; in access points.
    Snoop(Snoop),
    /// Stations that tell senders of their access links; in stations.
    Vho(Vho),
    /// Base stations that tell losses of the radio from their own, and advertise themselves; in access points.
    Eln(Eln),
    /// Nodes that take part in Quick-Start (RFC 4782 §3.3), each for its output links.
    QuickStart(QuickStartRouters),
    /// One that a backend was given from outside, by this name. No scenario file names one.
    Plugin(String),
}

impl AgentKind {
    /// What the file, or whoever brought it, calls it.
    pub fn name(&self) -> &str {
        match self {
            Self::Sdn(_) => "sdn",
            Self::Snoop(_) => "snoop",
            Self::Vho(_) => "vho",
            Self::Eln(_) => "eln",
            Self::QuickStart(_) => "quick-start",
            Self::Plugin(name) => name,
        }
    }
}

/// What Snoop is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Snoop {
    /// IP bytes kept for one connection at most.
    pub cache: Bytes,
    /// The local timer is never shorter.
    pub local_timer: Duration,
}

/// What a base station of [eln] is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Eln {
    /// Between two of its advertisements; zero: it sends none.
    pub advertisement: Duration,
}

/// How a station's notifications of [vho] travel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Vho {
    /// The probability that a message is lost, besides what the links lose.
    pub loss: f64,
    /// From the event until a message leaves.
    pub delay: Duration,
    /// How often each is sent again.
    pub repeat: u32,
    /// How long after the one before.
    pub repeat_after: Duration,
}

/// What routers with Quick-Start are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuickStartRouters {
    /// Up to how many thousandths of a link's rate they approve (`qs_thresh` of RFC 4782 appendix D).
    pub threshold_permille: u16,
}

/// What an SDN controller is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sdn {
    /// What it does about stations that roam.
    pub policy: SdnPolicy,
    /// From an association's end or beginning until the controller knows of it: T0-T1 and T2-T3 of the paper.
    pub notification: Duration,
    /// What it hears of the end of an association.
    pub news: News,
    /// When an access point gives up a station that does not acknowledge; [`None`]: never, or nobody hears of it.
    pub low_ack: Option<LowAck>,
    /// One way between the controller and a switch or access point.
    pub control_delay: Duration,
    /// How fast messages between them go, each way: a channel's rate, and what both ends need for a message.
    pub control_rate: BitRate,
    /// How held segments are released.
    pub release: Release,
    /// IP bytes held for one connection at most.
    pub hold_per_connection: Bytes,
    /// IP bytes held for one station at most.
    pub hold_per_station: Bytes,
    /// IP bytes held in all at most.
    pub hold_total: Bytes,
    /// How long a segment is held at most.
    pub hold_expiry: Duration,
}

/// What a controller hears of the end of an association. It hears of its beginning in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// The end itself: the station says that it leaves.
    Announced,
    /// The end, so much later.
    Late(Duration),
    /// The end, so long after it has heard of the next beginning.
    AfterArrival(Duration),
    /// Nothing.
    Never,
}

/// When an access point gives up a station that does not acknowledge its frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LowAck {
    /// After so many frames in a row.
    pub frames: u32,
    /// And so long after the last acknowledgment.
    pub silence: Duration,
}

/// What the controller does about stations that roam.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SdnPolicy {
    /// Paths follow stations; nothing is held.
    Bare,
    /// Segments of absent stations are held, each once, and released in order.
    Spurious,
    /// They are held and acknowledged in the station's place with a window of zero. In the simulator only.
    ZeroWindow,
}

/// How held segments are released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// At a rate.
    Paced {
        /// Of IP packets; [`None`]: that of the radio link to the station at the moment of release.
        rate: Option<BitRate>,
        /// IP bytes that may leave at once: a full packet or more.
        burst: Bytes,
    },
    /// At once.
    Unpaced,
}

/// All that a run uses besides the network: profiles and agents.
#[derive(Clone, Debug)]
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
    /// Help in the path.
    pub agents: Vec<Agent>,
}
