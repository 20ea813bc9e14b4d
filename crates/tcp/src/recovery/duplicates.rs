//! What the recoveries that count duplicate acknowledgements have in common: RFC 5681 §3.2 and what follows from it.

use super::{Algorithm, LossRecovery};
use crate::cc::Timeout;
use crate::phase::Phase;
use crate::send::sender::Sender;

/// `octets` are newly acknowledged: recovery goes on, or ends. Whether it ends.
#[inline]
pub(super) fn go_on(recovery: &LossRecovery, tx: &mut Sender, octets: u64) -> bool {
    if tx.progress.phase == Phase::Open {
        tx.progress.dup_acks = 0;
        tx.progress.limited = 0;
        return false;
    }
    repair_on(recovery, tx, octets)
}

#[inline(never)]
fn repair_on(recovery: &LossRecovery, tx: &mut Sender, octets: u64) -> bool {
    if tx.progress.phase == Phase::Recovery {
        ask!(recovery, algorithm => algorithm.on_new_ack(tx, octets));
        tx.progress.partial_seen = true;
    } else if tx.una >= tx.progress.recover {
        tx.progress.leave();
    }
    tx.progress.phase == Phase::Open
}

/// A duplicate; whether it begins fast retransmit.
pub(super) fn count(recovery: &LossRecovery, tx: &mut Sender) -> bool {
    match tx.progress.phase {
        Phase::Open | Phase::Cwr => {
            tx.progress.dup_acks += 1;
            ask!(recovery, algorithm => algorithm.is_loss(tx))
        }
        Phase::Recovery => {
            ask!(recovery, algorithm => algorithm.on_duplicate(tx));
            false
        }
        // RFC 5681 §4.3: after a timeout duplicates may be those of our own repetitions.
        Phase::Loss => false,
    }
}

/// RFC 5681 §3.1: everything from SND.UNA on goes again.
pub(super) fn on_timeout(tx: &mut Sender, first: bool) {
    let timeout = Timeout {
        // RFC 5681 §3.1: ssthresh falls at the first expiry for a segment, not at its repetitions.
        is_new: first,
        flight: tx.flight_for_reduction(),
        in_recovery: tx.progress.phase == Phase::Recovery,
        in_flight: 0,
    };
    tx.cc.on_timeout(&mut tx.window, &timeout);
    tx.rtt.back_off();
    tx.retries = tx.retries.saturating_add(1);
    // RFC 6675 §5.1: what is SACKed stays on the scoreboard. A receiver that has dropped it gives itself away when the
    // cumulative acknowledgement stops there (RFC 2018 §8).
    tx.progress.after_timeout(tx.max);
    tx.nxt = tx.una;
    tx.retransmit_head();
}
