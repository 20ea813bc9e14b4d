//! The parts of `struct bbr` that one file each changes.

use handfast_core::Instant;

/// `enum bbr_mode`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Mode {
    /// "ramp up sending rate rapidly to fill pipe"
    #[default]
    Startup,
    /// "drain any queue created during startup"
    Drain,
    /// "discover, share bw: pace around estimated bw"
    ProbeBw,
    /// "cut inflight to min to probe `min_rtt`"
    ProbeRtt,
}

/// `probe_rtt_done_stamp` and `probe_rtt_round_done`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ProbeRtt {
    pub(super) until: Option<Instant>,
    pub(super) round_done: bool,
}

/// The `lt_` of `struct bbr`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LongTerm {
    /// `lt_is_sampling`, `lt_use_bw`, `lt_bw` and `lt_rtt_cnt`.
    pub(super) sampling: bool,
    pub(super) in_use: bool,
    pub(super) bw: u64,
    pub(super) rounds: u32,
    /// `tp->lost`, octets.
    pub(super) lost: u64,
    /// `lt_last_stamp`, `lt_last_delivered` and `lt_last_lost`.
    pub(super) began: Instant,
    pub(super) delivered_before: u64,
    pub(super) lost_before: u64,
}

/// `extra_acked` (segments) and what it is found by.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Aggregation {
    /// The most of this window of rounds and of the one before.
    pub(super) extra: [u64; 2],
    pub(super) at: usize,
    pub(super) rounds: u32,
    /// `ack_epoch_mstamp` and `ack_epoch_acked`, octets.
    pub(super) began: Instant,
    pub(super) acked: u64,
}

impl Aggregation {
    /// An epoch begins.
    pub(super) fn begin(&mut self, now: Instant) {
        self.began = now;
        self.acked = 0;
    }
}
