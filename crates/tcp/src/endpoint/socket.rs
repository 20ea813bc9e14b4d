//! What a socket asks of a connection besides reading and writing: options that change it on the way, and how it stands, for
//! `TCP_INFO`. Names in brackets are Linux's.

use std::sync::Arc;

use handfast_core::{Duration, Instant, SeqNum};

use super::Endpoint;
use super::alive::Alive;
use crate::phase::Phase;
use crate::receive::memory::{Memory, MemoryReport, ReceiveMemory};
use crate::send::scoreboard::DUP_THRESH;
use crate::{Death, Event, Nagle, RttEstimation};

/// How a connection stands, in segments where the name says nothing else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Fast recovery (`TCP_CA_Recovery`).
    pub recovering: bool,
    /// After a timeout (`TCP_CA_Loss`).
    pub timed_out: bool,
    /// A mark reduces the window (`TCP_CA_CWR`).
    pub reducing: bool,
    /// Duplicates or SACKs have come, and no loss is known (`TCP_CA_Disorder`).
    pub disordered: bool,
    /// Timeouts in a row (`icsk_retransmits`).
    pub retransmits: u8,
    /// How often the retransmission timeout has doubled, or the time between two probes of a closed window (`icsk_backoff`).
    pub backoff: u8,
    /// Probes of a closed window in a row, or of a driver that refuses.
    pub probes: u8,
    /// Both sides use timestamps.
    pub timestamps: bool,
    /// Both sides use SACK.
    pub sack: bool,
    /// Both sides scale windows: the peer's shift and ours.
    pub shifts: Option<(u8, u8)>,
    /// Congestion window.
    pub cwnd: u64,
    /// Slow-start threshold; [`None`]: as high as can be.
    pub ssthresh: Option<u64>,
    /// Sent and not acknowledged (`packets_out`).
    pub unacked: u64,
    /// Acknowledged, the SYN aside.
    pub acknowledged: u64,
    /// Of those outstanding, SACKed (`sacked_out`); without SACK the duplicate acknowledgements.
    pub sacked: u64,
    /// Of those, lost (`lost_out`).
    pub lost: u64,
    /// Of those, under way again (`retrans_out`).
    pub retrans: u64,
    /// By how many segments one may be overtaken (`reordering`).
    pub reordering: u64,
    /// How often a segment was overtaken.
    pub reorderings: u32,
    /// Reports of our retransmissions as duplicates.
    pub dsacks: u64,
    /// Octets written and not sent.
    pub unsent_octets: u64,
    /// The peer's window, octets.
    pub send_window: u64,
    /// The largest that it has offered, octets.
    pub largest_send_window: u64,
    /// Ours, octets.
    pub receive_window: u64,
    /// Smoothed round-trip time.
    pub srtt: Duration,
    /// Its mean deviation.
    pub rttvar: Duration,
    /// The smallest of late; zero where nobody measures it.
    pub min_rtt: Duration,
    /// Retransmission timeout.
    pub rto: Duration,
}

impl Endpoint {
    /// How it stands.
    pub fn report(&self) -> Report {
        let (tx, smss) = (&self.tx, self.tx.window.smss);
        let segments = |octets: u64| octets.div_ceil(smss);
        let (lost, retrans) = self.recovery.losses(tx);
        let path = self.recovery.path_facts();
        let sacked = if self.sack { tx.board.segments(smss) } else { u64::from(tx.progress.dup_acks) };
        // Linux's variance is four mean deviations.
        let deviations = if self.config.rtt_estimation == RttEstimation::Linux { 4 } else { 1 };
        Report {
            recovering: tx.progress.phase == Phase::Recovery,
            timed_out: tx.progress.phase == Phase::Loss,
            reducing: tx.progress.phase == Phase::Cwr,
            disordered: tx.progress.phase == Phase::Open && sacked > 0,
            retransmits: tx.retries,
            backoff: if self.waits_for_driver() { 0 } else { tx.rtt.backoff().max(tx.probes) },
            probes: tx.probes,
            timestamps: self.timestamps,
            sack: self.sack,
            shifts: self.scaling.then_some((self.send_shift, self.rx.shift)),
            cwnd: tx.window.cwnd() / smss,
            ssthresh: (tx.window.ssthresh() < u64::from(u32::MAX)).then(|| tx.window.ssthresh() / smss),
            unacked: tx.segments_out(),
            acknowledged: tx.segments_acknowledged().unwrap_or_else(|| segments(tx.una.saturating_sub(1))),
            sacked,
            lost: segments(lost),
            retrans: segments(retrans),
            reordering: segments(path.extent).max(u64::from(DUP_THRESH)),
            unsent_octets: self.unsent(),
            send_window: tx.wnd,
            largest_send_window: tx.max_wnd,
            receive_window: self.rx.window(),
            srtt: tx.rtt.srtt(),
            rttvar: tx.rtt.rttvar() / deviations,
            min_rtt: path.min_rtt,
            reorderings: path.reorderings,
            dsacks: path.dsacks,
            rto: self.rto(),
        }
    }

    /// RCV.NXT.
    pub fn rcv_nxt(&self) -> SeqNum {
        self.rx.rcv_nxt()
    }

    /// The position of one of the peer's acknowledgements as an octet of the send stream, the SYN being octet 0.
    pub fn send_position(&self, seq: SeqNum) -> Option<u64> {
        self.tx.position(seq)
    }

    /// When small segments wait from now on (`TCP_NODELAY`).
    pub fn set_nagle(&mut self, nagle: Nagle) {
        if self.config.nagle != nagle {
            Arc::make_mut(&mut self.config).nagle = nagle;
        }
    }

    /// Offers a window scale of `shift` at least (RFC 7323 §2.3 wants one that the buffer needs): kernels go by what a buffer may become
    /// (`tcp_select_initial_window`). Before the handshake.
    pub fn set_window_shift(&mut self, shift: u8) {
        if self.tx.max == 0 && self.config.window_scaling {
            self.rx.shift = self.rx.shift.max(shift.min(crate::MAX_SHIFT));
        }
    }

    /// The receive buffer is memory, of which segments take more than they carry, as in Linux. Before the handshake.
    pub fn set_receive_memory(&mut self, how: ReceiveMemory) {
        if self.tx.max == 0 {
            self.rx.memory = Some(Box::new(Memory::new(how)));
        }
    }

    /// The application sets the size of that memory, octets (`SO_RCVBUF`).
    pub fn set_receive_memory_size(&mut self, octets: u64) {
        if let Some(memory) = &mut self.rx.memory {
            memory.set_buffer(octets);
        }
    }

    /// The application has accepted the connection: that memory may grow for what lies beyond a hole.
    pub fn set_accepted(&mut self) {
        if let Some(memory) = &mut self.rx.memory {
            memory.set_accepted();
        }
    }

    /// How that memory stands; zeros where there is none.
    pub fn receive_memory(&self) -> MemoryReport {
        self.rx.memory.as_ref().map_or_else(MemoryReport::default, |memory| memory.report())
    }

    /// While corked, what does not fill a segment waits (`TCP_CORK`, `MSG_MORE`); where nothing is in flight, until the persist timer
    /// expires.
    pub fn set_corked(&mut self, corked: bool) {
        self.tx.corked = corked;
    }

    /// Whether it is, still.
    pub fn is_corked(&self) -> bool {
        self.tx.corked
    }

    /// From now on the connection is given up once something was unacknowledged for so long (RFC 9293 §3.9.1, `TCP_USER_TIMEOUT`).
    pub fn set_user_timeout(&mut self, limit: Option<Duration>) {
        Arc::make_mut(&mut self.config).user_timeout = limit;
        if self.alive.is_none() {
            self.alive = Alive::new(&self.config);
        }
    }

    /// The retransmission timeout, backoff included, is no longer than that from now on (`TCP_RTO_MAX_MS`).
    pub fn set_rto_max(&mut self, most: Duration) {
        if self.config.rto_max != most {
            Arc::make_mut(&mut self.config).rto_max = most;
        }
    }

    /// From now on silence is probed after `idle`, every `interval`, so often (`SO_KEEPALIVE`); [`None`]: it is not.
    pub fn set_keepalive(&mut self, now: Instant, idle: Option<Duration>, interval: Duration, probes: u8) {
        let config = Arc::make_mut(&mut self.config);
        (config.keepalive_idle, config.keepalive_interval) = (idle, interval);
        config.keepalive_probes = probes;
        if self.alive.is_none() {
            self.alive = Alive::new(&self.config);
        }
        if idle.is_some() && self.is_synchronised() {
            self.heard(now);
            self.arm_alive(now);
        }
    }

    /// What is written next shares no segment with what was written before (`MSG_EOR`).
    pub fn end_record(&mut self) {
        self.tx.buffer.end_record();
    }

    /// As [`Endpoint::abort`], with a reset that acknowledges what has come, as kernels send it (`tcp_send_active_reset`): peers that
    /// drop segments without ACK take it too.
    pub fn reset(&mut self) {
        let (seq, ack) = (self.tx.seq(self.tx.max), self.rx.rcv_nxt());
        let sends = self.is_synchronised() || self.state == crate::State::SynReceived;
        if self.state != crate::State::Closed {
            self.end(Event::Died(Death::Aborted));
        }
        if sends {
            self.reset_due = Some((seq, Some(ack)));
        }
    }
}
