//! A validated scenario: names resolved to indices, units to types, generators expanded, defaults filled in.
//!
//! Both backends start from these values; neither sees TOML.

use std::sync::Arc;

use handfast_core::{BitRate, Bytes, Duration, Instant};
pub use handfast_net::{Direction, DownMode, Loss, QueueLimit};
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

/// What an application does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum App {
    /// Always has data.
    Bulk,
    /// Sends so many bytes, then closes.
    Transfer(Bytes),
    /// Writes `size` bytes every `interval`.
    Paced {
        /// Bytes a write.
        size: Bytes,
        /// Between writes.
        interval: Duration,
    },
}

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
}

/// Something that happens to the network.
#[derive(Clone, Debug)]
pub struct Event {
    /// When, before `phase`.
    pub at: Instant,
    /// A further delay drawn uniformly from `0..phase` by the run's seed.
    pub phase: Duration,
    /// What.
    pub action: Action,
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
}

/// An agent of a scheme, attached by role. No kind is built in yet: the systems bring theirs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agent {
    /// Its kind.
    pub kind: String,
    /// The nodes that play the role it is attached to.
    pub at: Vec<NodeId>,
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
