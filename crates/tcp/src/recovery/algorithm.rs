//! The interface of a loss-recovery algorithm.

use crate::send::scoreboard::{DUP_THRESH, Range};
use crate::send::sender::Sender;

/// A loss-recovery algorithm. What the algorithms share is in [`crate::send::progress`] and on the scoreboard.
pub(crate) trait Algorithm {
    /// Whether the duplicate acknowledgement just counted begins fast retransmit. RFC 5681 §3.2: the third does, unless a
    /// timeout's own retransmissions may have caused it (RFC 6582 §3.2 step 2).
    fn is_loss(&self, s: &Sender) -> bool {
        s.progress.dup_acks == DUP_THRESH && s.una > s.progress.recover
    }

    /// Fast retransmit: reduces the window and makes the first segment due.
    fn enter(&mut self, s: &mut Sender);

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

    /// What to retransmit: see [`super::LossRecovery::retransmission`].
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
