//! How losses are found and repaired. One algorithm a file; the registry is [`build`].

mod newreno;
pub(crate) mod rack;
mod reno;
mod sack;
mod tahoe;

use crate::config::Recovery;
use crate::send::scoreboard::{DUP_THRESH, Range};
use crate::send::sender::Sender;

/// Where a connection stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Phase {
    /// No loss known.
    #[default]
    Open,
    /// Fast recovery.
    Recovery,
    /// After a timeout (or Tahoe's fast retransmit): slow start from SND.UNA on.
    Loss,
}

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

/// A loss-recovery algorithm. It has no state of its own: that is [`Progress`] and the scoreboard.
pub(crate) trait Algorithm: Sync {
    /// Whether the duplicate acknowledgement just counted begins fast retransmit. RFC 5681 §3.2: the third does, unless a
    /// timeout's own retransmissions may have caused it (RFC 6582 §3.2 step 2).
    fn is_loss(&self, s: &Sender) -> bool {
        s.progress.dup_acks == DUP_THRESH && s.una > s.progress.recover
    }

    /// Fast retransmit: reduces the window and makes the first segment due.
    fn enter(&self, s: &mut Sender);

    /// Whether only the first partial acknowledgement of a recovery restarts the timer (RFC 6582 §3.2 step 3).
    fn is_impatient(&self) -> bool {
        false
    }

    /// A duplicate acknowledgement after the one that began recovery.
    fn on_duplicate(&self, _s: &mut Sender) {}

    /// `octets` of new data were acknowledged during recovery; SND.UNA has moved already.
    fn on_new_ack(&self, s: &mut Sender, octets: u64);

    /// Octets in flight during recovery, as far as cwnd is concerned.
    fn in_flight(&self, s: &Sender) -> u64 {
        s.flight_size()
    }

    /// What to retransmit during recovery; the caller sends the first segment of it. Called while a full segment fits into
    /// cwnd. `new_data`: there is new data and the peer's window takes it.
    fn retransmission(&self, _s: &Sender, _new_data: bool) -> Option<Retransmission> {
        None
    }
}

/// A choice of `NextSeg` (RFC 6675 §4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Retransmission {
    pub(crate) range: Range,
    /// Rule (4): it does not move `HighRxt`.
    pub(crate) rescue: bool,
}

/// The registry. SACK recovery without the peer's consent falls back to RFC 6582, as RFC 6582 §1 has it.
pub(crate) fn build(recovery: Recovery, sack: bool) -> &'static dyn Algorithm {
    match recovery {
        Recovery::Tahoe => &tahoe::Tahoe,
        Recovery::Reno => &reno::Reno,
        Recovery::Sack if sack => &sack::Sack,
        Recovery::Rack if sack => &rack::RackTlp,
        Recovery::NewReno | Recovery::Sack | Recovery::Rack => &newreno::NewReno,
    }
}
