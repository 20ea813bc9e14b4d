//! What a controller is told.

use std::collections::BTreeSet;

use handfast_core::{BitRate, Bytes, Duration};
use handfast_wire::openflow::EthAddr;

use super::{Claim, Class, Fabric};

/// How stations are helped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// The path follows the station; what comes while it is away is dropped. `[sdn]` calls it bare TCP.
    Bare,
    /// What comes while it is away is held (`[sdn]` §3.3, Algorithm 1).
    Spurious,
    /// What comes while it is away is held and acknowledged in its place, with a window of zero (`[sdn]` §3.1).
    ZeroWindow,
}

impl Policy {
    /// Whether what comes for a station that is away goes to the controller.
    pub fn holds(self) -> bool {
        self != Self::Bare
    }
}

/// Whether the controller acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// It says what it would do ([`super::Record::Would`]) and touches nothing.
    Observe,
    /// It does it.
    Act,
}

/// How packets find a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steering {
    /// The controller's entries lead to where it is, at every switch on its paths (`[sdn]` §3.4).
    Entries,
    /// The switches' own rules lead, whoever made them. Entries divert only while a station is away or its release runs; what
    /// they have diverted is handed back to the switch as if it came in then, so that whatever holds for it (VLANs, access
    /// lists, the pipeline of another controller) still does. Switches learn by an announcement where a station has come to.
    Overlay,
}

/// What becomes of packets for a station that is away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Treatment {
    /// They go on, as without the controller: to whoever is there, or nowhere.
    Pass,
    /// They wait in the controller, within [`DatagramLimits`].
    Hold,
    /// They are dropped.
    Drop,
}

/// What becomes of what is not TCP, for a station that is away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotTcp {
    /// UDP that is not QUIC by its port.
    pub udp: Treatment,
    /// UDP from or to port 443.
    pub quic: Treatment,
    /// ICMP and `ICMPv6`. A neighbour that asks for the station is answered in its place all the same.
    pub icmp: Treatment,
    /// Other protocols over IP, and fragments.
    pub other: Treatment,
}

impl NotTcp {
    /// All of it passes.
    pub const PASS: Self =
        Self { udp: Treatment::Pass, quic: Treatment::Pass, icmp: Treatment::Pass, other: Treatment::Pass };
    /// What the paper's controller could do, whose entries lead nowhere meanwhile: datagrams are held, and nothing else is.
    pub const DATAGRAMS: Self =
        Self { udp: Treatment::Hold, quic: Treatment::Hold, icmp: Treatment::Drop, other: Treatment::Drop };

    /// What becomes of packets of a class. What no entry can name passes.
    pub(crate) fn of(self, class: Class) -> Treatment {
        match class {
            Class::Udp => self.udp,
            Class::Quic => self.quic,
            Class::Icmp => self.icmp,
            Class::OtherIp | Class::Fragment => self.other,
            Class::Tcp => Treatment::Hold,
            Class::Arp | Class::Unreadable => Treatment::Pass,
        }
    }

    /// Whether switches need not divert what is treated so.
    pub(crate) fn lets_pass<const N: usize>(treatments: [Treatment; N]) -> bool {
        treatments == [Treatment::Pass; N]
    }
}

/// How held segments leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// A token bucket for each station.
    Paced {
        /// What the new radio carries, where its access point does not say ([`super::AccessPoint::rate`]).
        rate: BitRate,
        /// How much may leave at once besides the segment whose turn it is.
        burst: Bytes,
    },
    /// All at once, as in `[sdn]`.
    Unpaced,
}

impl Release {
    /// The burst of a paced release where nobody says another: two full-sized packets, so that the next waits at the radio while
    /// one is sent.
    pub const BURST: Bytes = Bytes(3_000);
}

/// Bounds of what is kept. A segment that would exceed the first two is not held: the tail is dropped, as a queue would.
/// For one that would exceed the third, the station of which the most is held loses that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Held for a connection.
    pub per_connection: Bytes,
    /// Held for a station.
    pub per_station: Bytes,
    /// Held in all.
    pub total: Bytes,
    /// Connections that are tracked: beyond them the one whose handshake is the oldest is forgotten.
    pub connections: usize,
    /// Stations: events of further ones are ignored, or under [`Steering::Overlay`] the one that is present the longest is
    /// forgotten.
    pub stations: usize,
    /// Under [`Steering::Overlay`]: stations that are away or whose release runs. Further ones are not helped.
    pub away: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            per_connection: Bytes(4_000_000),
            per_station: Bytes(16_000_000),
            total: Bytes(256_000_000),
            connections: 100_000,
            stations: 10_000,
            away: 1_000,
        }
    }
}

/// Bounds of the datagrams that are held, beside those of TCP: neither takes room from the other. A datagram that would
/// exceed one takes the place of the oldest of the same station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatagramLimits {
    /// How old a datagram may get in a hold. Zero: datagrams are dropped, as other packets are.
    pub age: Duration,
    /// How many for a station.
    pub count: usize,
    /// Held for a station.
    pub per_station: Bytes,
    /// Held in all.
    pub total: Bytes,
}

impl Default for DatagramLimits {
    fn default() -> Self {
        Self {
            // After a second QUIC has sent most of it again, and a call has filled the gap.
            age: Duration::from_secs(1),
            count: 1000,
            per_station: Bytes(1_048_576),
            total: Bytes(67_108_864),
        }
    }
}

/// What a controller is told.
#[derive(Clone, Debug)]
pub struct Config {
    /// How stations are helped.
    pub policy: Policy,
    /// Whether it acts.
    pub mode: Mode,
    /// How packets find a station.
    pub steering: Steering,
    /// Under [`Steering::Overlay`]: what becomes of what is not TCP. Otherwise it is [`NotTcp::DATAGRAMS`].
    pub not_tcp: NotTcp,
    /// How switches are claimed before their first entry; [`None`]: they are not.
    pub claim: Option<Claim>,
    /// Events of these are refused: gateways and servers, whom nobody is to cut off by saying that they have left.
    pub never_hold: BTreeSet<EthAddr>,
    /// How held segments leave.
    pub release: Release,
    /// Bounds of segments.
    pub limits: Limits,
    /// Bounds of datagrams.
    pub datagrams: DatagramLimits,
    /// How long a station may be away before what is held for it is dropped and its rules go. The divert rule's own hard
    /// timeout lies just beyond it, so that switches do the same when the controller is dead.
    pub hold_expiry: Duration,
    /// How long the last association of a station that was forgotten is remembered, so that late events of it change nothing.
    /// As many are as there may be stations; of more, the one that was forgotten first is not.
    pub remember: Duration,
    /// The lowest priority of its rules; they take this one and the next two.
    pub priority: u16,
    /// Rules that name a path have this hard timeout and are renewed at half of it.
    pub path_timeout: Duration,
    /// How long the last step of a release may wait for a moment without a packet on its way through the controller.
    pub settle: Duration,
    /// Under [`Steering::Overlay`]: hard timeout of what diverts, which is renewed at half of it. Whole seconds.
    pub divert_timeout: Duration,
    /// Under [`Steering::Overlay`]: how long the last events of a station that is present are remembered.
    pub idle: Duration,
    /// Silence of a switch after which it is asked whether it is there; it has as long to answer.
    pub echo_interval: Duration,
    /// Switches and access points.
    pub fabric: Fabric,
}

impl Config {
    /// How long a station may be away where nobody says another time. The longest disconnection of `[sdn]` §4 is 7 s.
    pub const HOLD_EXPIRY: Duration = Duration::from_secs(10);
    /// The longest time that a key may give. Flow entries count their timeouts in seconds, in 16 bits (OpenFlow 1.3.5 §7.3.4.1),
    /// and those that divert live a little longer than what is held.
    pub const LONGEST_TIMEOUT: Duration = Duration::from_secs(65_000);

    /// Defaults for a network.
    pub fn new(policy: Policy, release: Release, fabric: Fabric) -> Self {
        Self {
            policy,
            mode: Mode::Act,
            steering: Steering::Entries,
            not_tcp: NotTcp::PASS,
            claim: None,
            never_hold: BTreeSet::new(),
            release,
            limits: Limits::default(),
            datagrams: DatagramLimits::default(),
            hold_expiry: Self::HOLD_EXPIRY,
            // hostapd notices after 300 s that a silent station is gone (`ap_max_inactivity`).
            remember: Duration::from_secs(600),
            priority: 40_000,
            path_timeout: Duration::from_secs(60),
            settle: Duration::from_millis(200),
            divert_timeout: Duration::from_secs(2),
            idle: Duration::from_secs(3600),
            echo_interval: Duration::from_secs(5),
            fabric,
        }
    }
}
