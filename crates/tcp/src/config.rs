//! What a connection is made of: one value a profile, shared by all connections that use it.

use handfast_core::{BitRate, Bytes, Duration};

use crate::CongestionControl;

/// How losses are repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// Fast retransmit, then slow start: 4.3BSD-Tahoe.
    Tahoe,
    /// Fast retransmit and fast recovery, left on the first ACK of new data (RFC 5681 §3.2, without RFC 6582).
    Reno,
    /// Fast recovery that lasts until all data outstanding at its start is acknowledged (RFC 6582).
    NewReno,
    /// Selective acknowledgements (RFC 6675).
    Sack,
    /// Transmission times and tail loss probes (RFC 8985), with proportional rate reduction (RFC 6937).
    Rack,
}

/// When small segments wait (RFC 9293 §3.7.4). [`Nagle::Off`] is `TCP_NODELAY`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nagle {
    /// Never.
    Off,
    /// While anything is unacknowledged (RFC 896).
    Rfc896,
    /// While an earlier small segment is unacknowledged (Minshall's variant; Linux's `tcp_nagle_check`).
    Minshall,
}

/// When received segments are acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acks {
    /// Every second segment, or after `delayed_ack` (RFC 5681 §4.2).
    Rfc5681,
    /// Quick ACKs first, then every two full-sized segments or an adaptive delay of at least `delayed_ack`, as Linux.
    Linux,
}

/// When the option of accurate ECN is sent (RFC 9768 §3.2.3; Linux's `tcp_ecn_option`): but for the first SYN-ACK
/// never before the peer has sent one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EcnOption {
    /// Never; the peer's is read.
    Unsent,
    /// When counters change, and a few times a round trip (§3.2.3.3).
    Minimum,
    /// Wherever it fits, until it seems to be dropped on the way.
    Full,
    /// Wherever it fits.
    Persistent,
}

impl EcnOption {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Unsent, Self::Minimum, Self::Full, Self::Persistent];

    /// Whether it is sent at all.
    pub(crate) fn is_sent(self) -> bool {
        self >= Self::Minimum
    }
}

/// How the retransmission timeout follows from round-trip samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RttEstimation {
    /// RFC 6298 §2, with the gains of RFC 7323 appendix G.
    Rfc6298,
    /// The kernel's `tcp_rtt_estimator`: the variance is the largest of a round trip, and decays once a round trip. Segments that are
    /// SACKed are timed as well (`sack_rtt_us` of `tcp_ack_update_rtt`).
    Linux,
}

/// How F-RTO decides that a timeout was spurious (RFC 5682).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frto {
    /// Not at all.
    Off,
    /// §2.1: cumulative acknowledgements only.
    Basic,
    /// §3.1: with SACK.
    Sack,
}

/// How a reduction of the window that was not needed is taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undo {
    /// After a spurious timeout only, found by `eifel` and `frto`: the response of RFC 4015.
    Rfc4015,
    /// As the kernel does, with [`Recovery::Rack`] only: after fast recoveries too, found by DSACK (RFC 3708), by timestamps if
    /// `eifel` is on, after timeouts by the kernel's F-RTO if `frto` is on; cwnd and ssthresh become what they were.
    Linux,
}

/// The initial window (IW).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InitialWindow {
    /// One segment (RFC 2001).
    One,
    /// Two to four segments (RFC 3390).
    Rfc3390,
    /// Ten segments (RFC 6928).
    Ten,
    /// So many: what a route says of the way (Linux's `initcwnd`).
    Segments(u32),
}

/// What a sender does when it is told of an access link ([vho] §3.1), each under its own condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VhoRule {
    /// After a handoff to a slower answer than the RTO waits for, the RTO gets a lower bound.
    MinRto,
    /// After a handoff to a link that cannot hold what is in flight, cwnd and ssthresh become its bandwidth-delay product.
    BdpWindow,
    /// After a handoff to a link on which segments overtake those on the old one, fast retransmit waits for more duplicates, and
    /// is taken back where DSACKs show that it was not needed.
    Reordering,
    /// Connected again, a sender that is in RTO recovery sends the first unacknowledged segment at once, and ssthresh becomes the
    /// link's bandwidth-delay product.
    Retransmit,
    /// At the beginning of a connection ssthresh is the link's bandwidth-delay product.
    InitialSsthresh,
    /// After a handoff ssthresh is the new link's bandwidth-delay product ([vho] §4.2).
    HandoffSsthresh,
}

impl VhoRule {
    /// Every rule.
    pub const ALL: [Self; 6] = [
        Self::MinRto,
        Self::BdpWindow,
        Self::Reordering,
        Self::Retransmit,
        Self::InitialSsthresh,
        Self::HandoffSsthresh,
    ];
}

/// Some of the rules of [vho].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VhoRules(u8);

impl VhoRules {
    /// None: notifications mean nothing.
    pub const NONE: Self = Self(0);

    /// Whether a rule is among them.
    pub const fn has(self, rule: VhoRule) -> bool {
        self.0 & 1 << rule as u8 != 0
    }
}

impl FromIterator<VhoRule> for VhoRules {
    fn from_iter<I: IntoIterator<Item = VhoRule>>(rules: I) -> Self {
        Self(rules.into_iter().fold(0, |all, rule| all | 1 << rule as u8))
    }
}

/// What a sender asks the routers on its way for (RFC 4782), at the start and after a handoff.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuickStartRequest {
    /// Nothing.
    Off,
    /// A rate, headers included.
    Rate(BitRate),
    /// The rate of the peer's access link, divided by the flows that share it, once it is told.
    Access,
}

/// Capacity estimation after [vho] §3, once the sender is told of the peer's access link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Estimation {
    /// None.
    Off,
    /// Packet pairs, then chirps, as figure 1 has it: the second chirp rises to twice the first estimate.
    PairChirp,
    /// The same as the text has it: the second chirp rises to the first estimate.
    PairChirpText,
    /// As [`PairChirp`](Self::PairChirp), but after a handoff no chirp is longer than a connection's first, whatever cwnd is.
    PairChirpShort,
}

/// What the ID-oriented socket layer may do to a connection ([iosl] Algorithm 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IoslRules {
    /// `α`: how much of the bandwidth-delay product cwnd is while the radio is weak, in thousandths.
    pub alpha_permille: u16,
    /// `μ`: by how much cwnd may exceed the bandwidth-delay product, in thousandths of it.
    pub mu_permille: u16,
}

impl Default for IoslRules {
    /// The paper has no values: docs/explanation/deviations.md.
    fn default() -> Self {
        Self { alpha_permille: 900, mu_permille: 100 }
    }
}

/// What the layer knows of the radio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Radio {
    /// `bw_est`: what the link carries now, headers included.
    pub rate: BitRate,
    /// `σ < κ`: the signal fluctuates.
    pub is_weak: bool,
}

/// Why a connection goes on ([`crate::Endpoint::resume`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resumption {
    /// The path had not failed: what is in flight arrives.
    FalseAlarm,
    /// The path is back: what was in flight is lost.
    Back,
}

/// What one connection hands on to another, in octets of payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredPath {
    /// Its congestion window.
    pub cwnd: u64,
    /// Its slow-start threshold.
    pub ssthresh: u64,
}

/// How a connection behaves: a resolved profile. Defaults are those of profile `sack`.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Largest payload of a segment without options, in bytes: our MSS option, and the bound on what we send
    /// (RFC 6691: data segments shrink by the options they carry).
    pub mss: u16,
    /// Octets of each segment that the connection's owner keeps for options of its own.
    pub reserved: u8,
    /// What is written at once does not share a segment with what was written before: the owner's options tell of it alone.
    pub keeps_writes: bool,
    /// Loss recovery.
    pub recovery: Recovery,
    /// With [`Recovery::Rack`]: tail loss probes (RFC 8985 §7; Linux's `tcp_early_retrans`).
    pub loss_probes: bool,
    /// Congestion control.
    pub congestion_control: CongestionControl,
    /// Spurious timeouts by timestamps (RFC 3522).
    pub eifel: bool,
    /// Spurious timeouts by the order of acknowledgements (RFC 5682).
    pub frto: Frto,
    /// What follows from it.
    pub undo: Undo,
    /// The window at the start.
    pub initial_window: InitialWindow,
    /// ssthresh at the start, in bytes; [`None`]: as high as can be (RFC 5681 §3.1).
    pub initial_ssthresh: Option<Bytes>,
    /// A bound on cwnd, in segments, besides the peer's window.
    pub cwnd_clamp: Option<u32>,
    /// What CUBIC keeps of the window at a congestion event, in thousandths (RFC 9438 §4.6: 700).
    pub cubic_beta_permille: u16,
    /// Whether CUBIC grows at least as fast as Reno would (RFC 9438 §4.3).
    pub cubic_reno_friendly: bool,
    /// TCP Prague reduces nearly as CUBIC does where the queue seems to mark as RFC 3168 says (RFC 9331 §4.3;
    /// `prague_ecn_fallback` 1). It monitors for that either way.
    pub prague_fallback: bool,
    /// Leave slow start before the queue overflows: `HyStart`, by ACK trains and by delay (Ha and Rhee 2011; Linux's
    /// `hystart_update`).
    pub hystart: bool,
    /// Segments that one ACK may add to cwnd in slow start: L of RFC 3465 §2.2. RFC 5681 allows 1.
    pub slow_start_segments: u8,
    /// Offer timestamps (RFC 7323).
    pub timestamps: bool,
    /// Offer SACK (RFC 2018); a receiver that offers it also reports duplicates (RFC 2883).
    pub sack: bool,
    /// Offer window scaling (RFC 7323 §2).
    pub window_scaling: bool,
    /// Send new data on the first two duplicate ACKs (RFC 3042).
    pub limited_transmit: bool,
    /// Let cwnd decay after idle times and while the application limits the flow (RFC 2861 §3).
    pub cwnd_validation: bool,
    /// With `cwnd_validation`: cwnd decays where it is not used; else only its growth stops (Linux's
    /// `tcp_slow_start_after_idle`).
    pub idle_restart: bool,
    /// Small rules of Linux that packetdrill's scripts showed, for the profiles of Linux. In slow start cwnd grows as long as
    /// it is less than twice what was in flight (`tcp_is_cwnd_limited`); without SACK duplicates count as arrivals
    /// (`tcp_remove_reno_sacks`); segments without timestamps are taken (`tcp_validate_incoming`); what acknowledges the unsent is
    /// dropped without a word (`tcp_ack`); challenge ACKs are 500 ms apart (`tcp_oow_rate_limited`); closed windows are probed without
    /// data (`tcp_xmit_probe_skb`); keep-alive ends with a reset (`tcp_keepalive_timer`); the acknowledgement of a first FIN is delayed
    /// (`tcp_fin`); a SACK block counts whole segments only (`tcp_match_skb_to_sack`); a user timeout counts from the first repetition (`retransmits_timed_out`), or the first probe of a closed window (`tcp_probe_timer`); what goes
    /// again is no small segment for Nagle's algorithm (`tcp_minshall_update`); a smaller path MTU makes only longer segments go again
    /// (`tcp_simple_retransmit`); SACK blocks of an acknowledgement that others have overtaken count (`tcp_ack`, `old_ack`); cwnd does not
    /// restart after idle times while the peer's window is closed (`tcp_slow_start_after_idle_check`); a FIN takes the place of a DSACK
    /// that is due (`tcp_fin`), and beyond a hole is SACKed (`tcp_data_queue_ofo`); cwnd counts small segments as segments
    /// (`tcp_packets_in_flight`); a tail loss probe is the last segment as it left (`tcp_send_loss_probe`); what goes again is not
    /// joined with the segment that left last (`tcp_can_collapse`); a segment that ends where the last acknowledgement pointed, or
    /// later, is acceptable (`tcp_sequence`).
    pub linux_details: bool,
    /// Small segments.
    pub nagle: Nagle,
    /// Which segments are acknowledged at once.
    pub acks: Acks,
    /// The longest an ACK is delayed; zero: every segment is acknowledged at once (RFC 5681 §4.2).
    pub delayed_ack: Duration,
    /// How round-trip samples become the RTO.
    pub rtt_estimation: RttEstimation,
    /// RTO before the first sample (RFC 6298 §2.1).
    pub rto_initial: Duration,
    /// Lower bound of the RTO (RFC 6298 §2.4 says 1 s; kernels use 200 ms).
    pub rto_min: Duration,
    /// Lower bound of the variance term of the RTO (Linux: its 200 ms bound 4*RTTVAR, so the RTO stays that far above
    /// SRTT); zero is RFC 6298 as written.
    pub rto_variance_min: Duration,
    /// Upper bound of the RTO, backoff included (RFC 6298 §2.5).
    pub rto_max: Duration,
    /// Clock granularity G of RFC 6298, and the tick of the timestamp clock.
    pub clock_granularity: Duration,
    /// The tick of the timers that retransmit and probe, and with [`Acks::Linux`] of those that delay ACKs: expiries are
    /// rounded up to the granularity of the kernel's timer wheel (`calc_index`), coarser the farther they are. Zero: exact.
    pub timer_tick: Duration,
    /// Timeouts of a SYN before its RTO begins to double (Linux's `tcp_syn_linear_timeouts`).
    pub syn_linear_timeouts: u8,
    /// Retransmissions of a SYN or SYN-ACK before the connection is given up.
    pub syn_retries: u8,
    /// Timeouts in a row without an acknowledgement before the connection is given up (R2 of RFC 9293 §3.8.3).
    pub data_retries: u8,
    /// How long data, or a SYN, may stay unacknowledged before the connection is given up (RFC 9293 §3.9.1 `OPEN`, RFC 5482
    /// §3.1: the local limit). [`None`]: the retries alone decide.
    pub user_timeout: Option<Duration>,
    /// Silence after which an idle connection is probed (RFC 9293 §3.8.4); [`None`]: never, the default there.
    pub keepalive_idle: Option<Duration>,
    /// Time between two such probes.
    pub keepalive_interval: Duration,
    /// Probes without an answer before the connection is given up.
    pub keepalive_probes: u8,
    /// How long a closed connection lingers: 2 MSL.
    pub time_wait: Duration,
    /// Real bytes the send buffer holds; synthetic payload takes no memory and is not bounded by it.
    pub send_buffer: Bytes,
    /// Let the send buffer grow with the window, count memory, and wake the writer once a third of it is free, as Linux does
    /// (`tcp_sndbuf_expand`): for applications that always have more ([`crate::Endpoint::is_writable`]), synthetic payload too.
    pub send_autotuning: bool,
    /// What the receive window offers at most.
    pub receive_buffer: Bytes,
    /// Begin with a window of 64 KiB and open it as data arrives, as Linux does (`tcp_grow_window`, `tcp_rcv_space_adjust`).
    pub receive_autotuning: bool,
    /// What a sender does about notifications of access links ([`crate::Endpoint::on_notification`]).
    pub vho: VhoRules,
    /// Explicit loss and handoff notification ([eln]): the receiver marks acknowledgements, the sender heeds marks. It needs
    /// [`Recovery::Sack`] at the sender.
    pub eln: bool,
    /// Explicit congestion notification (RFC 3168): asked for, and granted where the peer asks.
    pub ecn: bool,
    /// A SYN that goes again does without ECN in the end (RFC 3168 §6.1.1.1, RFC 9768 §3.1.4.1), and a path that changes marks gets
    /// nothing that is capable (RFC 9768 §3.2.2.3): `tcp_ecn_fallback`.
    pub ecn_fallback: bool,
    /// With `ecn`: asked for with accurate feedback (RFC 9768), and with that of RFC 3168 where the peer knows no other.
    pub accurate_ecn: bool,
    /// With `accurate_ecn`: when the option with counters of octets is sent (`tcp_ecn_option`).
    pub accurate_ecn_option: EcnOption,
    /// Options a round trip at least, where they are sent as seldom as is allowed (`tcp_ecn_option_beacon`); zero: none.
    pub accurate_ecn_beacon: u8,
    /// Ask the routers on the way for a rate.
    pub quick_start: QuickStartRequest,
    /// Measure the path.
    pub estimate: Estimation,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            mss: 1460,
            reserved: 0,
            keeps_writes: false,
            recovery: Recovery::Sack,
            loss_probes: true,
            congestion_control: CongestionControl::Reno,
            eifel: false,
            frto: Frto::Off,
            undo: Undo::Rfc4015,
            initial_window: InitialWindow::Rfc3390,
            initial_ssthresh: None,
            cwnd_clamp: None,
            cubic_beta_permille: 700,
            cubic_reno_friendly: true,
            prague_fallback: false,
            hystart: false,
            slow_start_segments: 1,
            timestamps: true,
            sack: true,
            window_scaling: true,
            limited_transmit: true,
            cwnd_validation: true,
            idle_restart: true,
            linux_details: false,
            nagle: Nagle::Off,
            acks: Acks::Rfc5681,
            delayed_ack: Duration::from_millis(40),
            rtt_estimation: RttEstimation::Rfc6298,
            rto_initial: Duration::from_secs(1),
            rto_min: Duration::from_millis(200),
            rto_variance_min: Duration::from_millis(200),
            rto_max: Duration::from_secs(120),
            clock_granularity: Duration::from_millis(1),
            timer_tick: Duration::ZERO,
            syn_linear_timeouts: 0,
            syn_retries: 6,
            data_retries: 15,
            user_timeout: None,
            keepalive_idle: None,
            keepalive_interval: Duration::from_secs(75),
            keepalive_probes: 9,
            time_wait: Duration::from_secs(60),
            send_buffer: Bytes(4_000_000),
            send_autotuning: false,
            receive_buffer: Bytes(6_000_000),
            receive_autotuning: false,
            vho: VhoRules::NONE,
            eln: false,
            ecn: false,
            ecn_fallback: true,
            accurate_ecn: false,
            accurate_ecn_option: EcnOption::Full,
            accurate_ecn_beacon: 3,
            quick_start: QuickStartRequest::Off,
            estimate: Estimation::Off,
        }
    }
}
