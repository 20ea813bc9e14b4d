//! What an endpoint tells its driver, and what it counts.

use handfast_core::Duration;

/// Connection states (RFC 9293 §3.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are RFC 9293's")]
pub enum State {
    // First, so that whether a state carries data is one comparison.
    Closed,
    Listen,
    SynSent,
    SynReceived,
    Established,
    FinWait1,
    FinWait2,
    CloseWait,
    Closing,
    LastAck,
    TimeWait,
}

/// Why a connection ended other than by both sides closing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Death {
    /// The peer sent RST.
    Reset,
    /// No answer to our SYN or SYN-ACK within the configured retries.
    HandshakeTimeout,
    /// No acknowledgement within the configured retries.
    Timeout,
    /// Data or a SYN stayed unacknowledged for longer than the user timeout (RFC 9293 §3.9.1).
    UserTimeout,
    /// No answer to keep-alive probes (RFC 9293 §3.8.4).
    KeepAlive,
    /// We aborted it.
    Aborted,
}

impl Death {
    /// Its name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reset => "reset",
            Self::HandshakeTimeout => "handshake-timeout",
            Self::Timeout => "timeout",
            Self::UserTimeout => "user-timeout",
            Self::KeepAlive => "keep-alive",
            Self::Aborted => "aborted",
        }
    }
}

/// Which rule found a timeout or a fast recovery spurious.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detector {
    /// RFC 3522.
    Eifel,
    /// RFC 5682.
    Frto,
    /// RFC 3708: every retransmission was reported a duplicate.
    Dsack,
}

/// Something an endpoint reports; rare ones only, never one a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The handshake is done.
    Connected,
    /// The peer has sent FIN and everything before it has arrived.
    PeerClosed,
    /// Both sides have closed; TIME-WAIT, if any, has passed.
    Closed,
    /// The connection is dead.
    Died(Death),
    /// The retransmission timer expired.
    Timeout {
        /// The RTO that expired.
        rto: Duration,
        /// Expiries in a row, this one included.
        in_a_row: u8,
    },
    /// Fast retransmit: loss recovery begins.
    RecoveryEntered,
    /// Everything outstanding when recovery began is acknowledged.
    RecoveryLeft,
    /// A timeout was spurious; the window is restored, by the response of RFC 4015 or the kernel's.
    SpuriousTimeout(Detector),
    /// A fast recovery was spurious; the window is restored.
    SpuriousRecovery(Detector),
    /// Nothing came back for two round trips: a tail loss probe leaves (RFC 8985 §7.3).
    LossProbe,
    /// The peer dropped data that it had selectively acknowledged.
    Reneged,
    /// The path is back, and all that was outstanding goes again with the window from before.
    Resumed,
}

/// Events kept for a driver that does not ask for them; beyond it the oldest is dropped.
pub(crate) const MAX_EVENTS: usize = 64;

/// What an endpoint counts, from its birth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Segments sent, of any kind.
    pub segments_sent: u64,
    /// Segments sent that carry payload, retransmissions included.
    pub data_segments_sent: u64,
    /// Of those, the ones that repeat payload.
    pub retransmitted_segments: u64,
    /// Segments received, of any kind.
    pub segments_received: u64,
    /// Segments received that carry payload.
    pub data_segments_received: u64,
    /// Payload bytes repeated.
    pub retransmitted_bytes: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Entries into fast retransmit.
    pub fast_retransmits: u64,
    /// Timeouts found spurious.
    pub spurious_timeouts: u64,
    /// Segments received that held nothing new.
    pub duplicate_segments_received: u64,
}

/// What a sender with RACK-TLP counts, under the kernel's names (`TcpExt` in `nstat`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LossCounters {
    /// Tail loss probes sent (`TCPLossProbes`).
    pub loss_probes: u64,
    /// Probes that repaired a loss nobody had noticed (`TCPLossProbeRecovery`).
    pub loss_probe_recoveries: u64,
    /// Fast recoveries undone at their end (`TCPFullUndo`).
    pub full_undos: u64,
    /// Fast recoveries undone in their middle (`TCPPartialUndo`).
    pub partial_undos: u64,
    /// Reductions undone because every retransmission was a duplicate (`TCPDSACKUndo`).
    pub dsack_undos: u64,
    /// Timeouts undone (`TCPLossUndo`).
    pub loss_undos: u64,
    /// Of those, the ones that F-RTO found (`TCPSpuriousRTOs`).
    pub spurious_rtos: u64,
}

/// The sender's variables at one moment, for time series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Congestion window, bytes.
    pub cwnd: u64,
    /// Slow-start threshold, bytes; [`u64::MAX`] before the first reduction.
    pub ssthresh: u64,
    /// Data sent and not yet cumulatively acknowledged, bytes (RFC 5681 `FlightSize`).
    pub flight_size: u64,
    /// Smoothed round-trip time; zero before the first sample.
    pub srtt: Duration,
    /// Retransmission timeout in force, backoff included.
    pub rto: Duration,
    /// Payload sent at least once, bytes.
    pub sent: u64,
    /// Payload cumulatively acknowledged, bytes.
    pub acknowledged: u64,
}

/// How many things a peer has made an endpoint remember; each takes a few dozen octets beside its payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Footprint {
    /// Ranges of our octets that it has selectively acknowledged.
    pub sacked_ranges: usize,
    /// Runs of its octets beyond a hole.
    pub runs: usize,
    /// Pieces of payload that the receiver holds: in order, and in the reassembly queue.
    pub reassembly: usize,
    /// Runs of our octets whose transmission time is kept (RFC 8985).
    pub sent_runs: usize,
}

/// How two ends tell each other of marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcnMode {
    /// Not at all.
    Disabled,
    /// By the flags of RFC 3168.
    Classic,
    /// By counters (RFC 9768).
    Accurate,
    /// The SYN has asked for counters, and has no answer yet.
    Pending,
}

/// What has come of the peer's option of accurate ECN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum OptionSeen {
    /// Nothing.
    #[default]
    None,
    /// One without a counter.
    Empty,
    /// Counters.
    Counters,
    /// Counters that something on the way has cleared.
    Cleared,
}

/// What does not come through of accurate ECN (RFC 9768 §3.1.5, §3.2.3.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EcnFailures {
    /// A SYN-ACK had to leave without the flags.
    pub ace_sent: bool,
    /// What came of the field ACE was cleared or changed.
    pub ace_received: bool,
    /// Acknowledgements with the option are lost.
    pub option_sent: bool,
    /// The peer's option is cleared, or came too late.
    pub option_received: bool,
}

/// What an end has counted of marks (RFC 9768 §3.2.1), without what the counters begin with. Octets are those of ECT(1), ECT(0), CE.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EcnReport {
    /// Packets that came marked.
    pub received_packets: u64,
    /// Octets that came.
    pub received_octets: [u64; 3],
    /// Packets of which the peer says that they were marked.
    pub delivered_packets: u64,
    /// Octets that the peer has counted.
    pub delivered_octets: [u32; 3],
    /// Something that was capable has come.
    pub saw_capable: bool,
    /// What its option is like.
    pub option_seen: OptionSeen,
    /// What does not come through.
    pub failures: EcnFailures,
}
