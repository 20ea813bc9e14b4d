//! SDTP in a scenario.

use handfast_core::{Bytes, Duration};
use handfast_document::{Checked, Located, Probability, Problem, Size, TimeSpan, integer, positive, table};
use handfast_wire::sdtp::Carriage;
use schemars::JsonSchema;
use serde::Deserialize;

use super::line::Line;
use super::placement::{self, DelayModel, Functions};
use super::{Config, Congestion, Inform, Level};
use crate::Agent;
use crate::spec::{Place, Seat, Site, Spec};

/// One way between the controller and a switch: half of the shortest control delay of `[sdtp]` Figure 6.
const CONTROL_DELAY: Duration = Duration::from_millis(5);

/// `[sdtp]` Figure 1 has a retransmission node in the middle of the path and one at its end.
const SEGMENTS: u32 = 2;

/// What SDTP packets travel in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CarriageWord {
    /// Figure 3's header instead of an IP header, as the paper counts it; in the simulator only
    Native,
    /// IP, protocol 253
    Ip,
    /// UDP
    #[default]
    Udp,
}

/// What edges protect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProtectWord {
    /// TCP connections whose handshake the edges have seen
    #[default]
    Tcp,
    /// and every other IP packet between their hosts, whole
    All,
}

/// Which switches cache, and which ask for retransmissions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PlacementWord {
    /// caches before links that lose packets; retransmission nodes so that segments lose about the same
    #[default]
    EqualisedLoss,
    /// what makes the mean delay shortest
    MinimumDelay,
    /// every switch caches; retransmission nodes as with "equalised-loss"
    EverySwitch,
    /// the roles that `caching` and `retransmission` name
    Given,
    /// none: edges convert headers, and nothing is repaired
    Nowhere,
}

impl PlacementWord {
    /// The functions of the nodes of a line by this policy. `interval`: between packets. With [`Self::Given`] there are none:
    /// whoever gives them knows them.
    pub fn functions(self, line: &Line, segments: usize, interval: Duration) -> Vec<Functions> {
        let placement = match self {
            Self::Nowhere | Self::Given => return Vec::new(),
            Self::EverySwitch => placement::every_switch(line, segments),
            Self::MinimumDelay => {
                let budget = placement::equalised_loss(line, segments, 0.0).functions();
                placement::minimum_delay(line, budget, DelayModel { interval })
            }
            Self::EqualisedLoss => placement::equalised_loss(line, segments, 0.0),
        };
        placement.nodes().to_vec()
    }
}

/// At which level a retransmission node decides that late packets are lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LevelWord {
    /// by packet: nodes upstream tell which will come late
    #[default]
    Packet,
    /// by segment: the node measures how late packets come
    Segment,
}

/// After which requests the retransmission nodes downstream are told what comes late.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InformationWord {
    /// none
    Off,
    /// those that the count of later packets has caused, as the paper's text says
    #[default]
    Count,
    /// those that the time since the last packet has caused as well
    CountAndTime,
}

/// What becomes of packets that a caching node's own queue has dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CongestionWord {
    /// the sender learns of them: by CE if it can, otherwise they are not repaired
    #[default]
    Signal,
    /// they are repaired like others, as in the paper
    Mask,
    /// they wait for room, and the sender gets a smaller window: not in the paper
    Cache,
}

integer! {
    /// A number of parts of a path.
    Segments: u32 = 1..=64
}

integer! {
    /// Bytes of a packet.
    Mtu: u16 = 576..=65_535
}

table! {
    /// What SDTP is told.
    SdtpTable {
        /// What is protected. Default: "tcp".
        protect: ProtectWord,
        /// The role of hosts whose packets are protected. Default: all hosts.
        protected: String,
        /// What its packets travel in. Default: "udp".
        carriage: CarriageWord,
        /// Bytes of the largest packet that the core carries. Default: 1500.
        mtu: Mtu,
        /// One way between the controller and a switch. Default: "5ms".
        control_delay: TimeSpan,
        /// How likely the loss of a packet-in or packet-out is. Default: 0.
        control_loss: Probability,
        /// Which switches cache, and which ask for retransmissions. Default: "equalised-loss".
        placement: PlacementWord,
        /// Retransmission nodes of a path, as far as it has switches for them; the receiving edge is one. With "minimum-delay"
        /// as many functions are placed as "equalised-loss" would place. Default: 2.
        segments: Segments,
        /// `given`: the role of switches that cache. Edges do in any case.
        caching: String,
        /// `given`: the role of switches that ask for retransmissions, and cache. Receiving edges do in any case.
        retransmission: String,
        /// At which level a retransmission node decides that late packets are lost. Default: "packet".
        level: LevelWord,
        /// With "packet": after which requests the retransmission nodes downstream are told. Default: "count".
        information: InformationWord,
        /// The time between packets as the sender sends them, where it is known. Default: nodes measure it.
        sending_interval: TimeSpan,
        /// How often a caching node tells the one before it what has arrived. Default: "50ms".
        notification_interval: TimeSpan,
        /// Bytes that a node caches of one connection at most. Default: "4MB".
        cache: Size,
        /// Bytes that a node caches in all at most. Default: "256MB".
        cache_total: Size,
        /// How long a loss is repaired. Default: "200ms".
        persistence: TimeSpan,
        /// How long a receiving edge holds a packet for its place. Default: as `persistence`.
        resequencing: TimeSpan,
        /// What becomes of packets that a caching node's own queue has dropped. Default: "signal".
        congestion: CongestionWord,
        /// Whether what is sent again goes with parity over it and what came after it: not in the paper. Default: false.
        parity: bool,
        /// Whether nodes seal what they tell each other, and verify it. Default: true.
        seal: bool,
    }
}

/// What SDTP is told.
#[derive(Clone, Debug, PartialEq)]
pub struct Sdtp {
    /// One way between the controller and a switch.
    pub control_delay: Duration,
    /// How likely the loss of a packet-in or packet-out is.
    pub control_loss: f64,
    /// The role of hosts whose packets are protected; [`None`]: all.
    pub hosts: Option<String>,
    /// Which switches have which functions.
    pub placement: Placement,
    /// Whether the nodes seal: the driver has the key.
    pub seal: bool,
    /// What the nodes are told.
    pub config: Box<Config>,
}

/// Which switches have which functions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Chosen by a policy, for paths of so many segments.
    By(PlacementWord, usize),
    /// Those that play these roles.
    Given {
        /// Of switches that cache.
        caching: Option<String>,
        /// Of switches that ask for retransmissions, and cache.
        retransmission: Option<String>,
    },
}

impl Sdtp {
    /// Keys that describe a simulated network, and mean nothing to a real node.
    pub const NETWORK_KEYS: [&str; 3] = ["control_delay", "control_loss", "protected"];
    /// Keys of the controller.
    pub const CONTROLLER_KEYS: [&str; 4] = ["placement", "segments", "caching", "retransmission"];
}

impl Spec for Sdtp {
    type Table = SdtpTable;
    const SEAT: Seat = Seat::Controller;
    const RUNS_IN: &'static [Place] = &[Place::Simulator, Place::Lab];

    fn read(given: &SdtpTable, _kind: &Located<String>) -> Checked<Self> {
        let time = |given: &Option<Located<TimeSpan>>, name: &'static str, default| {
            given.as_ref().map_or(Ok(default), |time| positive(time, name))
        };
        let control_delay = given.control_delay.as_ref().map_or(CONTROL_DELAY, |time| time.value.0);
        let control_loss = given.control_loss.as_ref().map_or(0.0, |loss| loss.value.0);
        let mut config = Config {
            carriage: carriage(given.carriage.as_ref().map(|word| word.value).unwrap_or_default()),
            ..Config::default()
        };
        config.all = given.protect.as_ref().is_some_and(|word| word.value == ProtectWord::All);
        config.mtu = given.mtu.as_ref().map_or(config.mtu, |mtu| mtu.value.0);
        let persistence = time(&given.persistence, "persistence", config.resequencing.persistence)?;
        config.resequencing.persistence = time(&given.resequencing, "resequencing", persistence)?;
        config.thresholds.persistence = persistence;
        config.thresholds.level = match given.level.as_ref().map(|word| word.value).unwrap_or_default() {
            LevelWord::Packet => Level::Packet,
            LevelWord::Segment => Level::Segment,
        };
        config.thresholds.inform = match given.information.as_ref().map(|word| word.value).unwrap_or_default()
        {
            InformationWord::Off => Inform::Never,
            InformationWord::Count => Inform::Count,
            InformationWord::CountAndTime => Inform::CountAndTime,
        };
        let interval = given.sending_interval.as_ref().map(|time| positive(time, "sending_interval"));
        config.thresholds.sending_interval = interval.transpose()?;
        caching(given, &mut config)?;
        let seal = given.seal.as_ref().is_none_or(|seal| seal.value);
        let hosts = given.protected.as_ref().map(|role| role.value.clone());
        Ok(Self {
            control_delay,
            control_loss,
            hosts,
            placement: read_placement(given)?,
            seal,
            config: Box::new(config),
        })
    }

    /// The controller commands all switches: the driver makes it and them together.
    fn machine(&self, _site: Site) -> Result<Option<Box<dyn Agent>>, String> {
        Ok(None)
    }
}

fn carriage(word: CarriageWord) -> Carriage {
    match word {
        CarriageWord::Native => Carriage::Native,
        CarriageWord::Ip => Carriage::Ip,
        CarriageWord::Udp => Carriage::Udp,
    }
}

fn caching(given: &SdtpTable, config: &mut Config) -> Checked<()> {
    let size =
        |given: &Option<Located<Size>>, default: Bytes| given.as_ref().map_or(default, |size| size.value.0);
    let caching = &mut config.caching;
    caching.quotas.per_connection = size(&given.cache, caching.quotas.per_connection);
    // A host may have one connection that is as large, and a slice one such host.
    caching.quotas.per_host = caching.quotas.per_host.max(caching.quotas.per_connection);
    caching.quotas.per_slice = caching.quotas.per_slice.max(caching.quotas.per_host);
    caching.quotas.total = size(&given.cache_total, caching.quotas.total);
    if let Some(time) = &given.notification_interval {
        caching.notify = positive(time, "notification_interval")?;
    }
    caching.parity = given.parity.as_ref().is_some_and(|parity| parity.value);
    caching.congestion = match given.congestion.as_ref().map(|word| word.value).unwrap_or_default() {
        CongestionWord::Signal => Congestion::Signal,
        CongestionWord::Mask => Congestion::Mask,
        CongestionWord::Cache => Congestion::Cache,
    };
    Ok(())
}

fn read_placement(given: &SdtpTable) -> Checked<Placement> {
    let word = given.placement.as_ref().map(|word| word.value).unwrap_or_default();
    let role = |given: &Option<Located<String>>| given.as_ref().map(|role| role.value.clone());
    if word == PlacementWord::Given {
        let (caching, retransmission) = (role(&given.caching), role(&given.retransmission));
        if let Some(segments) = &given.segments {
            let problem =
                Problem::at(segments.span.clone(), "`segments` means nothing to a placement that is given");
            return Err(problem.expected("leave it out"));
        }
        return Ok(Placement::Given { caching, retransmission });
    }
    let named = given.caching.as_ref().map(|role| (role, "caching"));
    let named = named.or(given.retransmission.as_ref().map(|role| (role, "retransmission")));
    let segments = given.segments.as_ref().map_or(SEGMENTS, |segments| segments.value.0);
    named.map_or(Ok(Placement::By(word, segments as usize)), |(role, key)| {
        let problem = Problem::at(role.span.clone(), format!("`{key}` without `placement = \"given\"`"));
        Err(problem.expected("needs `placement = \"given\"`"))
    })
}
