//! The timer and what leaves when (RFC 8985 §6.2 step 5, §7 and §8).

use handfast_core::{Duration, Instant};

use super::{Losses, Pending, Rack, deadline, pto};
use crate::event::Event;
use crate::phase::Phase;
use crate::recovery::{Context, Expired, Found, TimerChange, Timing};
use crate::send::piece::{Piece, Why};
use crate::send::scoreboard::Range;
use crate::send::sender::Sender;

impl Rack {
    /// The timer has expired.
    pub(crate) fn on_timer(&mut self, c: &Context<'_>) -> Expired {
        match std::mem::take(&mut self.pending) {
            Pending::Rto => Expired::Timeout,
            Pending::Reordering if c.tx.una == c.tx.max => Expired::Reordering(None),
            Pending::Reordering => Expired::Reordering(Some(self.find_overdue(c))),
            Pending::Probe => {
                self.probe.due = c.tx.una < c.tx.max;
                Expired::Probe
            }
        }
    }

    /// RFC 8985 §6.2 step 5: the reordering window has passed. As in Linux (`tcp_rack_reo_timeout`), recovery begins after a timeout
    /// too, and a segment more may leave.
    fn find_overdue(&mut self, c: &Context<'_>) -> Found {
        let Losses { octets, .. } = self.detect_losses(c.now, c.tx);
        let begins = octets > 0 && c.tx.progress.phase != Phase::Recovery;
        let delivered = if begins { c.tx.window.smss } else { 0 };
        Found { begins, lost: octets, delivered, recheck: None }
    }

    /// After it: the retransmission timeout runs.
    pub(crate) fn time_expiry(&mut self, c: &Context<'_>, expired: &Expired) -> TimerChange {
        match expired {
            Expired::Timeout | Expired::Reordering(None) => TimerChange::Stays,
            // All that waited was due: the timer stands at the last of it.
            Expired::Reordering(Some(_)) => self.arm(c, Pending::Rto, self.rto_expiry(c)),
            // RFC 8985 §7.3: afterwards the RTO timer runs, whether or not a probe could be sent.
            Expired::Probe => self.arm(c, Pending::Rto, c.now + c.rto()),
        }
    }

    /// Whether the timer stands for the retransmission timeout.
    pub(crate) fn waits_for_rto(&self) -> bool {
        self.pending == Pending::Rto
    }

    /// When the RTO of the first segment passes, counted from its last transmission.
    fn rto_expiry(&self, c: &Context<'_>) -> Instant {
        self.log.last_sent(c.tx.una).unwrap_or(c.now) + c.rto()
    }

    /// One timer serves all (RFC 8985 §8). It never lies in the past.
    fn arm(&mut self, c: &Context<'_>, pending: Pending, at: Instant) -> TimerChange {
        self.pending = pending;
        let soonest = c.config.clock_granularity.max(Duration::from_nanos(1));
        TimerChange::After(if at > c.now { at.since(c.now) } else { soonest })
    }

    /// After an acknowledgement.
    pub(crate) fn time_ack(
        &mut self,
        c: &Context<'_>,
        timing: Timing,
        recheck: Option<Instant>,
    ) -> TimerChange {
        let Timing { restart, all, is_set } = timing;
        if all {
            TimerChange::Stops
        } else if !is_set {
            // The persist timer serves.
            TimerChange::Stays
        } else if let Some(at) = recheck {
            // Linux adds `TCP_TIMEOUT_MIN`, two jiffies.
            self.arm(c, Pending::Reordering, at + c.config.timer_tick * 2)
        } else if restart && c.config.loss_probes && self.may_probe(c.tx) {
            let at = deadline(c.now, Self::pto(c), c.now + c.rto());
            self.arm(c, Pending::Probe, at)
        } else if restart {
            // RFC 6298 §5.3. Where another timer stood in its place, the time since the first segment left counts (as in Linux).
            let at = if self.waits_for_rto() { c.now + c.rto() } else { self.rto_expiry(c) };
            self.arm(c, Pending::Rto, at)
        } else {
            TimerChange::Stays
        }
    }

    /// RFC 8985 §7.2: SACK, no recovery (as in Linux also within `TCP_CA_CWR`), nothing SACKed, no probe outstanding.
    fn may_probe(&self, tx: &Sender) -> bool {
        !tx.progress.phase.repairs() && tx.board.is_empty() && !self.probe.is_outstanding()
    }

    fn pto(c: &Context<'_>) -> Duration {
        let single = c.tx.segments_out() == 1;
        // Linux: its least RTO for the longest delay of an acknowledgement, and two jiffies at least (`TCP_TIMEOUT_MIN`).
        let allowance = if single { c.config.rto_min } else { c.config.timer_tick * 2 };
        pto(c.tx.rtt.srtt(), allowance)
    }

    /// A segment leaves; SND.MAX is still what it was.
    pub(crate) fn on_sent(&mut self, c: &mut Context<'_>, piece: Piece, end: u64) {
        let max = c.tx.max;
        let again = Range { start: piece.start, end: end.min(max) };
        if again.start < again.end {
            self.log.resent(again, c.now);
            // A probe is no retransmission that an undo could miss: its duplicate says that nothing was lost.
            if matches!(piece.why, Why::Head | Why::Hole) {
                let tsval = c.timestamps.then(|| c.tsval(c.now));
                self.undo.resent(again.end - again.start, tsval);
            }
        }
        if end > max {
            self.log.sent(end, c.now);
        }
        if c.tx.progress.phase.reduces() {
            self.prr.sent(end - piece.start);
        }
        if piece.why == Why::LossProbe {
            self.probe.sent(max.max(end), end <= max);
            self.counters.loss_probes += 1;
            c.emit(Event::LossProbe);
        }
    }

    /// RFC 6298 §5.1 and RFC 8985 §7.2: a segment has left.
    pub(crate) fn time_sending(
        &mut self,
        c: &Context<'_>,
        is_set: bool,
        piece: Piece,
        fresh: bool,
    ) -> TimerChange {
        // Linux counts the RTO from the first segment's last transmission.
        let head = !fresh && piece.start == c.tx.una && self.pending != Pending::Reordering;
        if fresh && c.config.loss_probes && self.may_probe(c.tx) {
            let at = deadline(c.now, Self::pto(c), self.rto_expiry(c));
            self.arm(c, Pending::Probe, at)
        } else if !is_set || head {
            self.arm(c, Pending::Rto, c.now + c.rto())
        } else {
            TimerChange::Stays
        }
    }

    /// RFC 8985 §7.3: a segment of new data, though cwnd has no room for it, or the last one again.
    pub(crate) fn loss_probe(&mut self, tx: &Sender, room: u64) -> Option<Piece> {
        if !std::mem::take(&mut self.probe.due) || tx.progress.phase.repairs() {
            return None;
        }
        let data_end = tx.data_end();
        let len = data_end.saturating_sub(tx.max).min(room);
        if len > 0 && tx.max + len <= tx.right_edge() {
            let end = tx.max + len;
            let fin = tx.closing && end == data_end;
            return Some(Piece { start: tx.max, end: end + u64::from(fin), why: Why::LossProbe });
        }
        let last = tx.board.last_unsacked(tx.una, tx.max)?;
        let start = last.end.min(data_end).saturating_sub(room).max(last.start);
        // RFC 8985 §7.3: the segment as it left, where that is known.
        let start = start.max(tx.last_cut_before(last.end).unwrap_or(start));
        Some(Piece { start, end: last.end, why: Why::LossProbe })
    }
}
