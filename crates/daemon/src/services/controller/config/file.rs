//! The tables of the file as they are written: keys and types, no meaning yet.

use handfast_document::{Located, Named, Rate, Size, TimeSpan, integer, table};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::services::tls::TlsTable;
use crate::services::words::{DatapathId, LogWord, ModeWord};

table! {
    /// What `handfastd controller` has of its own. What a scenario tells its controller too is in the controller's own table
    /// ([`super::shared`]).
    File {
        /// Where switches connect. Default: "127.0.0.1:6653".
        listen: String,
        /// Says that the operator knows that the channel is neither authenticated nor encrypted.
        insecure_listen: bool,
        /// With what switches and the controller prove to each other who they are. Default: TCP alone.
        tls: TlsTable,
        /// The Unix socket at which access points report stations. Required.
        association_socket: String,
        /// "observe" (default): log what would be done, touch nothing. "act": do it.
        mode: ModeWord,
        /// Bounds of what is kept.
        limits: LimitsTable,
        /// What becomes of what is not TCP, for a station that is away. Default: it passes.
        not_tcp: NotTcpTable,
        /// Stations that are never held for: gateways, servers.
        never_hold: Vec<Located<String>>,
        /// Goes on beside a controller that has made itself the master of a switch. Default: false.
        beside_master: bool,
        /// How long a datagram may be held; "0s": none is. Default: "1s".
        datagram_age: TimeSpan,
        /// The lowest priority of its rules; they take this one and the next two. Default: 40000.
        priority: Priority,
        /// How long the last step of a release may wait for a quiet moment. Default: "200ms".
        settle: TimeSpan,
        /// Silence of a switch after which it is asked whether it is there. Default: "5s".
        echo_interval: TimeSpan,
        /// Least important messages that are logged. Default: "info".
        log: LogWord,
        /// How often counters are logged. Default: "60s".
        summary_interval: TimeSpan,
        /// Where access points hang, by name.
        access_points: Named<AccessPointTable>,
    }
}

/// Where an access point hangs.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AccessPointTable {
    /// The switch, by its datapath id: 16 hexadecimal digits.
    pub(super) datapath_id: DatapathId,
    /// Its port.
    pub(super) port: Port,
    /// What its radio carries to a station. Default: `release_rate`.
    pub(super) rate: Option<Rate>,
    /// The VLAN tag that frames of its stations have at this port. Default: none.
    pub(super) vlan: Option<VlanId>,
    /// The switch's port to the rest of the network. Default: the only one without an access point, or what is heard.
    pub(super) uplink: Option<Port>,
}

/// What becomes of what is not TCP, for a station that is away.
#[derive(Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NotTcpTable {
    /// UDP: "pass" (default), "hold" or "drop".
    #[serde(default)]
    pub(super) udp: TreatmentWord,
    /// UDP from or to port 443. Default: what `udp` says.
    pub(super) quic: Option<TreatmentWord>,
    /// ICMP and `ICMPv6`: "pass" (default), "hold" or "drop".
    #[serde(default)]
    pub(super) icmp: TreatmentWord,
    /// Other protocols over IP, and fragments: "pass" (default), "hold" or "drop".
    #[serde(default)]
    pub(super) other: TreatmentWord,
}

/// Bounds of what is kept.
#[derive(Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct LimitsTable {
    /// Datagrams held for a station. Default: 1000.
    pub(super) datagrams: Option<Count>,
    /// Held for a station in datagrams. Default: "1.048576MB".
    pub(super) datagram_bytes: Option<Size>,
    /// Held in all in datagrams. Default: "67.108864MB".
    pub(super) datagram_total: Option<Size>,
    /// Connections that are tracked. Default: 100000.
    pub(super) connections: Option<Count>,
    /// Stations. Default: 10000.
    pub(super) stations: Option<Count>,
    /// Stations that are helped at once. Default: 1000.
    pub(super) away: Option<Count>,
    /// Switches that may be connected at once. Default: 64.
    pub(super) switches: Option<Count>,
    /// What may wait to be sent to a switch that does not read. Default: "32MB".
    pub(super) write_buffer: Option<Located<Size>>,
}

integer! {
    /// A priority that leaves room for two more.
    Priority: u16 = 1..=65_533
}

integer! {
    /// A port of a switch: the highest is `OFPP_MAX`.
    Port: u32 = 1..=0xffff_ff00_i64
}

integer! {
    /// A VLAN (IEEE 802.1Q §9.6: 0 and 4095 are none).
    VlanId: u16 = 1..=4094
}

integer! {
    /// How many there may be.
    Count: usize = 1..=10_000_000
}

/// What becomes of packets for a station that is away.
#[derive(Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum TreatmentWord {
    /// They go on, as without the daemon.
    #[default]
    Pass,
    /// They are held for a short while.
    Hold,
    /// They are dropped.
    Drop,
}
