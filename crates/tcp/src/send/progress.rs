//! How far loss recovery has come: the variables that its algorithms share.

use crate::phase::Phase;

/// Progress of loss recovery, shared by the algorithms.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Progress {
    pub(crate) phase: Phase,
    /// Duplicate acknowledgements in a row.
    pub(crate) dup_acks: u32,
    /// `recover` (RFC 6582) and `RecoveryPoint` (RFC 6675): SND.MAX when recovery began; one past the octet they name.
    pub(crate) recover: u64,
    /// `HighRxt` (RFC 6675): one past the highest octet retransmitted in this recovery.
    pub(crate) high_rxt: u64,
    /// `RescueRxt` (RFC 6675).
    pub(crate) rescue_rxt: Option<u64>,
    /// A partial acknowledgement has come in this recovery (RFC 6582 §3.2 step 3 resets the timer for the first only).
    pub(crate) partial_seen: bool,
    /// The segment at SND.UNA goes out next, whatever cwnd says.
    pub(crate) head_due: bool,
    /// Octets that limited transmit has sent beyond cwnd (RFC 3042).
    pub(crate) limited: u64,
    /// `recover` was set by a timeout.
    timed_out: bool,
}

impl Progress {
    pub(crate) fn begin(&mut self, phase: Phase, una: u64, max: u64) {
        self.phase = phase;
        self.recover = max;
        self.high_rxt = una;
        self.rescue_rxt = None;
        self.partial_seen = false;
        self.limited = 0;
        self.timed_out = phase == Phase::Loss;
    }

    /// Whether `recover` was set by a timeout, not by fast retransmit.
    pub(crate) fn after_loss(&self) -> bool {
        self.timed_out
    }

    pub(crate) fn after_timeout(&mut self, max: u64) {
        self.begin(Phase::Loss, 0, max);
        self.dup_acks = 0;
    }

    /// The timeout was spurious: nothing guards against duplicates of our own retransmissions.
    pub(crate) fn forget_timeout(&mut self, una: u64) {
        self.recover = una - 1;
        self.timed_out = false;
    }

    pub(crate) fn leave(&mut self) {
        self.phase = Phase::Open;
        self.dup_acks = 0;
        self.limited = 0;
    }
}
