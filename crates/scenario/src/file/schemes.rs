//! `[schemes]` and `[tcp]`.

use std::borrow::Cow;
use std::fmt;

use handfast_assist::profile::ProfileName;
use handfast_core::{Bytes, Duration};
use handfast_tcp::{
    Acks, Config, CongestionControl, EcnOption, Estimation, Frto, InitialWindow, Nagle, QuickStartRequest,
    Recovery, RttEstimation, Undo, VhoRule, VhoRules,
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};

use super::Located;
use super::agents::AgentTable;
use super::integer::{Permille, Segments};
use super::quantity::{AskedRate, Packets, SegmentSize, Size, Span};
use super::sctp::SctpTable;
use super::tables::tables_with_shared_keys;
use super::words::Word;

/// All that a run uses besides the network: profiles and agents.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SchemeTable {
    /// The data senders' TCP: a profile's name, or a table with a profile and what is different.
    pub(crate) sender: Located<End>,
    /// The data receivers' TCP. Default: "linux", as on the lab's hosts.
    pub(crate) receiver: Option<Located<End>>,
    /// The parameters of flows whose `transport` is "sctp". Default: those of RFC 9260 §16.
    pub(crate) sctp: Option<SctpTable>,
    /// Help in the path.
    #[serde(default)]
    pub(crate) agents: Vec<AgentTable>,
}

/// One end's TCP.
pub(crate) enum End {
    /// A profile as it is.
    Profile(String),
    /// A profile with changes.
    Changed(Box<ProfileTable>),
}

impl<'de> Deserialize<'de> for End {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(EndVisitor)
    }
}

struct EndVisitor;

impl<'de> Visitor<'de> for EndVisitor {
    type Value = End;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a profile's name, or a table such as {profile = \"sack\", mss = \"1024B\"}")
    }
    fn visit_str<E: Error>(self, name: &str) -> Result<End, E> {
        Ok(End::Profile(name.to_owned()))
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<End, A::Error> {
        ProfileTable::deserialize(MapAccessDeserializer::new(map)).map(|table| End::Changed(Box::new(table)))
    }
}

impl JsonSchema for End {
    fn schema_name() -> Cow<'static, str> {
        "End".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let profiles = ProfileName::json_schema(generator);
        let changed = generator.subschema_for::<ProfileTable>();
        json_schema!({"anyOf": [profiles, changed]})
    }
}

/// What a value of the file becomes in [`Config`].
trait Setting {
    type Value;
    fn value(&self) -> Self::Value;
}

macro_rules! setting {
    ($($from:ty => $to:ty),* $(,)?) => {
        $(impl Setting for $from {
            type Value = $to;
            fn value(&self) -> $to {
                self.0
            }
        })*
    };
}

setting!(SegmentSize => u16, AskedRate => QuickStartRequest, Span => Duration, Size => Bytes, Packets => u32, Permille => u16, Segments => u8);

impl<T: Copy> Setting for Word<T> {
    type Value = T;
    fn value(&self) -> T {
        self.0
    }
}

impl Setting for Vec<Word<VhoRule>> {
    type Value = VhoRules;
    fn value(&self) -> VhoRules {
        self.iter().map(|rule| rule.0).collect()
    }
}

impl Setting for bool {
    type Value = Self;
    fn value(&self) -> Self {
        *self
    }
}

impl Setting for u8 {
    type Value = Self;
    fn value(&self) -> Self {
        *self
    }
}

/// Declares the settings once: the tables, and how they are applied.
macro_rules! tcp_settings {
    ($($(#[$doc:meta])* $key:ident: $type:ty,)*) => {
        tables_with_shared_keys! {
            shared { $($(#[$doc])* $key: $type,)* }

            /// TCP settings; what is absent stays as the profile has it.
            TcpTable;

            /// A profile and what is different from it.
            ProfileTable {
                /// The profile's name.
                profile: Located<String>,
            }
        }

        impl TcpTable {
            /// Changes `config` where the table says so.
            pub(crate) fn apply(&self, config: &mut Config) {
                $(if let Some(setting) = &self.$key {
                    // `into` also makes a `Some` of it where the profile may have none.
                    config.$key = setting.value().into();
                })*
            }
        }

        /// The names of the settings.
        #[cfg(test)]
        pub(crate) const TCP_SETTINGS: &[&str] = &[$(stringify!($key)),*];
    };
}

tcp_settings! {
    /// Largest payload of a segment without options.
    mss: SegmentSize,
    /// How losses are repaired.
    recovery: Word<Recovery>,
    /// How the congestion window grows and falls.
    #[serde(alias = "growth")]
    congestion_control: Word<CongestionControl>,
    /// Detect spurious timeouts by timestamps (RFC 3522).
    eifel: bool,
    /// Detect spurious timeouts by the order of acknowledgements (RFC 5682).
    frto: Word<Frto>,
    /// How a reduction of the window that was not needed is taken back.
    undo: Word<Undo>,
    /// The congestion window at the start.
    initial_window: Word<InitialWindow>,
    /// The slow-start threshold at the start. Default: as high as can be.
    initial_ssthresh: Size,
    /// A bound on the congestion window besides the peer's window. Default: none.
    cwnd_clamp: Packets,
    /// What CUBIC keeps of the window at a congestion event, in thousandths (RFC 9438 §4.6: 700).
    cubic_beta_permille: Permille,
    /// Whether CUBIC grows at least as fast as Reno would (RFC 9438 §4.3).
    cubic_reno_friendly: bool,
    /// TCP Prague falls back where the queue seems to mark as RFC 3168 says (RFC 9331 §4.3): it then reduces nearly as CUBIC does.
    prague_fallback: bool,
    /// Leave slow start before the queue overflows, by ACK trains and by delay, as Linux's CUBIC does.
    hystart: bool,
    /// Segments that one ACK may add to cwnd in slow start: L of RFC 3465 §2.2.
    slow_start_segments: Segments,
    /// Offer timestamps (RFC 7323).
    timestamps: bool,
    /// Offer SACK (RFC 2018).
    sack: bool,
    /// Offer window scaling (RFC 7323 §2).
    window_scaling: bool,
    /// Send new data on the first two duplicate ACKs (RFC 3042).
    limited_transmit: bool,
    /// Let cwnd decay after idle times (RFC 2861 §3).
    cwnd_validation: bool,
    /// When small segments wait (RFC 9293 §3.7.4); "off" is `TCP_NODELAY`.
    nagle: Word<Nagle>,
    /// Which segments are acknowledged at once.
    acks: Word<Acks>,
    /// The longest an ACK is delayed; "0s": every segment is acknowledged at once.
    delayed_ack: Span,
    /// How round-trip samples become the retransmission timeout.
    rtt_estimation: Word<RttEstimation>,
    /// Retransmission timeout before the first round-trip sample (RFC 6298 §2.1).
    rto_initial: Span,
    /// Lower bound of the retransmission timeout.
    rto_min: Span,
    /// Lower bound of the timeout's variance term, as in Linux: the timeout stays that far above SRTT. "0s": RFC 6298.
    rto_variance_min: Span,
    /// Upper bound of the retransmission timeout, backoff included.
    rto_max: Span,
    /// Clock granularity G of RFC 6298, and the tick of the timestamp clock.
    clock_granularity: Span,
    /// Tick of the kernel's timer wheel, to which the expiries of timers are rounded up; "0s": exact.
    timer_tick: Span,
    /// Timeouts of a SYN before its timeout begins to double, as in Linux.
    syn_linear_timeouts: u8,
    /// Retransmissions of a SYN before the connection is given up.
    syn_retries: u8,
    /// Timeouts in a row before the connection is given up.
    data_retries: u8,
    /// How long data may stay unacknowledged before the connection is given up. Default: the retries alone decide.
    user_timeout: Span,
    /// Silence after which an idle connection is probed (RFC 9293 §3.8.4). Default: never.
    keepalive_idle: Span,
    /// Time between two such probes.
    keepalive_interval: Span,
    /// Probes without an answer before the connection is given up.
    keepalive_probes: u8,
    /// How long a closed connection lingers: 2 MSL.
    time_wait: Span,
    /// Real bytes the send buffer holds.
    send_buffer: Size,
    /// Let the send buffer grow with the window and count memory, as Linux does, for applications that always have more.
    send_autotuning: bool,
    /// What the receive window offers at most.
    receive_buffer: Size,
    /// Begin with a window of 64 KiB and open it as data arrives, as Linux does.
    receive_autotuning: bool,
    /// What the sender does about notifications of the receiver's access link ([vho] §3.1). Default: nothing.
    vho: Vec<Word<VhoRule>>,
    /// Explicit loss and handoff notification: a receiver marks acknowledgements, a sender with `recovery = "sack"` heeds marks.
    eln: bool,
    /// Explicit congestion notification (RFC 3168): asked for, and granted where the peer asks. Queues that know it mark packets instead
    /// of dropping them.
    ecn: bool,
    /// With `ecn`: asked for with accurate feedback (RFC 9768), which counts marked packets; TCP Prague needs it.
    accurate_ecn: bool,
    /// When the option of accurate feedback is sent, which tells of octets too (RFC 9768 §3.2.3).
    accurate_ecn_option: Word<EcnOption>,
    /// Ask the routers on the way for a rate (RFC 4782), at the start and after a handoff. "access": for that of the peer's access
    /// link, divided by the flows that share it, once it is told.
    quick_start: AskedRate,
    /// Measure the path's capacity once the peer's access link is told ([vho] §3).
    estimate: Word<Estimation>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_of_the_configuration_can_be_set() {
        let printed = format!("{:#?}", Config::default());
        // Fields stand four spaces in; what is within them stands further in.
        let fields = printed.lines().filter_map(|line| line.strip_prefix("    ")?.split_once(": "));
        let fields: Vec<&str> = fields.map(|(name, _)| name).filter(|name| !name.starts_with(' ')).collect();
        // What the owner of a connection asks for is not the scenario's to set, nor what packetdrill's scripts ask for, nor what a
        // profile of Linux stands for as a whole.
        let of_others = [
            "reserved",
            "keeps_writes",
            "loss_probes",
            "idle_restart",
            "linux_details",
            "ecn_fallback",
            "accurate_ecn_beacon",
        ];
        let fields: Vec<&str> = fields.into_iter().filter(|name| !of_others.contains(name)).collect();
        assert_eq!(fields, TCP_SETTINGS);
    }
}
