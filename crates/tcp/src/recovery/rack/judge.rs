//! Reductions that were not needed, as Linux finds and undoes them: `tcp_fastretrans_alert` and `tcp_process_loss` of
//! `net/ipv4/tcp_input.c`.

use handfast_core::Instant;

use super::{Prr, Rack};
use crate::cc::{Request, Timeout};
use crate::phase::Phase;
use crate::recovery::{AckFacts, Algorithm, Context};
use crate::send::sender::Sender;
use crate::{Config, Detector, Event, Frto, Undo};

impl Rack {
    /// What an acknowledgement means for the phase; false where nothing may be found lost by it.
    pub(super) fn judge_phase(&mut self, c: &mut Context<'_>, facts: &AckFacts) -> bool {
        let undoes = c.config.undo == Undo::Linux;
        let delayed = undoes && c.config.eifel && self.undo.is_delayed(facts.ecr);
        let duplicates = undoes && self.undo.all_duplicates();
        end_reduction(c.tx);
        match c.tx.progress.phase {
            Phase::Cwr => {
                self.undo.forget_stamp();
                true
            }
            Phase::Open => {
                // The duplicates may come after the recovery.
                if duplicates {
                    self.undo_by_dsack(c);
                }
                self.undo.forget_stamp();
                true
            }
            Phase::Recovery => self.judge_recovery(c, facts, delayed, duplicates),
            Phase::Loss => {
                self.judge_loss(c, facts, delayed, duplicates);
                true
            }
        }
    }

    fn judge_recovery(
        &mut self,
        c: &mut Context<'_>,
        facts: &AckFacts,
        delayed: bool,
        duplicates: bool,
    ) -> bool {
        if c.tx.una >= c.tx.progress.recover {
            self.end_recovery(c, delayed, duplicates);
        } else if facts.octets > 0 && delayed {
            // `tcp_try_undo_partial`: the original filled the hole, so the path reorders (`tcp_check_sack_reordering`, counted as
            // TCPTSReorder). While a retransmission is under way nothing more is found lost; when none is, the recovery was a
            // mistake.
            self.original_came(c.tx.una - facts.octets);
            if self.log.is_repairing() {
                return false;
            }
            self.undo_reduction(c.tx, true);
            leave_recovery(c);
            self.undo.forget_stamp();
            self.counters.partial_undos += 1;
            c.emit(Event::SpuriousRecovery(Detector::Eifel));
        } else if duplicates {
            self.undo_by_dsack(c);
            leave_recovery(c);
        }
        true
    }

    /// Everything outstanding at the beginning is acknowledged: `tcp_try_undo_recovery`.
    fn end_recovery(&mut self, c: &mut Context<'_>, delayed: bool, duplicates: bool) {
        self.on_new_ack(c.tx, 0);
        if delayed || duplicates {
            self.undo_reduction(c.tx, false);
            self.counters.full_undos += 1;
            let detector = if delayed { Detector::Eifel } else { Detector::Dsack };
            c.emit(Event::SpuriousRecovery(detector));
        } else {
            self.window.recovered();
        }
        c.emit(Event::RecoveryLeft);
    }

    /// `tcp_try_undo_dsack`.
    fn undo_by_dsack(&mut self, c: &mut Context<'_>) {
        self.undo_reduction(c.tx, false);
        self.window.undone();
        self.counters.dsack_undos += 1;
        c.emit(Event::SpuriousRecovery(Detector::Dsack));
    }

    /// `tcp_process_loss`.
    fn judge_loss(&mut self, c: &mut Context<'_>, facts: &AckFacts, delayed: bool, duplicates: bool) {
        self.undo.new_first = false;
        if facts.octets > 0 && (delayed || duplicates) {
            self.undo_timeout(c, if delayed { Detector::Eifel } else { Detector::Dsack });
        } else if c.config.undo == Undo::Linux && self.judge_by_frto(c.tx, facts) {
            self.counters.spurious_rtos += 1;
            self.undo_timeout(c, Detector::Frto);
        } else if c.tx.una >= c.tx.progress.recover {
            self.window.recovered();
            leave_recovery(c);
        }
    }

    fn undo_timeout(&mut self, c: &mut Context<'_>, detector: Detector) {
        self.undo_reduction(c.tx, true);
        c.tx.retries = 0;
        c.tx.progress.head_due = false;
        c.tx.progress.leave();
        self.counters.loss_undos += 1;
        c.counters.spurious_timeouts += 1;
        c.emit(Event::SpuriousTimeout(detector));
    }

    /// RFC 5682 §3.1 as the kernel has it: at once by what was sent once, and after repeated timeouts too (§3.2). True where the
    /// timeout was spurious.
    fn judge_by_frto(&mut self, tx: &Sender, facts: &AckFacts) -> bool {
        if !self.undo.frto {
            return false;
        }
        if self.arrivals.originals {
            return true;
        }
        let recover = tx.progress.recover;
        if tx.max > recover {
            // Step 3a: the new data shows that what was sent before it is lost.
            self.undo.frto = facts.sacks.fresh == 0 && !facts.bare;
        } else if facts.octets > 0 && tx.una < recover {
            // Step 2b.
            let room = tx.data_end() > tx.max && tx.right_edge() > tx.max;
            self.undo.frto = room;
            self.undo.new_first = room;
        }
        false
    }

    /// `tcp_undo_cwnd_reduction`. `unmark`: nothing is lost after all.
    fn undo_reduction(&mut self, tx: &mut Sender, unmark: bool) {
        if self.undo.restore(&mut tx.cc, &mut tx.window) {
            tx.answers.on_undo();
        }
        if unmark {
            self.log.unmark(tx.una);
        }
    }

    /// A mark tells of congestion: cwnd falls to ssthresh over the next round trip (RFC 6937, `tcp_enter_cwr`).
    pub(crate) fn reduce_for_mark(&mut self, tx: &mut Sender) {
        if tx.progress.phase == Phase::Cwr {
            leave_reduction(tx);
        }
        let cwnd = tx.window.cwnd();
        self.prr = Prr::begin(cwnd);
        self.probe.forget();
        // `undo_marker = 0`
        self.undo.forget_episode();
        tx.reduce_for_mark(cwnd);
        tx.progress.begin(Phase::Cwr, tx.una, tx.max);
    }

    /// RFC 8985 §6.3 and Linux's `tcp_enter_loss`. `first`: no timeout in a row.
    pub(crate) fn on_timeout(&mut self, now: Instant, tx: &mut Sender, config: &Config, first: bool) {
        let phase = tx.progress.phase;
        let head = (tx.una + tx.window.smss).min(tx.max);
        let head = tx.board.next_start(tx.una).map_or(head, |sacked| sacked.min(head));
        // Within a reduction the congestion has been answered once, and what an undo would restore stands: until all that was outstanding
        // then is acknowledged.
        let anew = first && !(phase.reduces() && tx.una < tx.progress.recover);
        if anew {
            self.undo.begin(tx.una, tx.cc.save(&tx.window), 0);
        }
        // RFC 5682 §3.1 step 1, and §3.2: not within another recovery, but after a timeout again.
        self.undo.frto =
            config.undo == Undo::Linux && config.frto != Frto::Off && (!phase.repairs() || !first);
        let waiting = self.log.waiting(tx.una, &tx.board);
        self.lose_on_timeout(now, tx.una, head, &tx.board);
        tx.cc.on_overdue(self.log.waiting(tx.una, &tx.board).saturating_sub(waiting));
        let timeout = Timeout {
            is_new: anew,
            // As in Linux, of cwnd, and what is still on its way counts beside LW.
            flight: tx.window.cwnd(),
            in_recovery: false,
            in_flight: self.in_flight(tx),
        };
        tx.cc.on_timeout(&mut tx.window, &timeout);
        tx.rtt.back_off();
        tx.retries = tx.retries.saturating_add(1);
        tx.progress.after_timeout(tx.max);
        tx.nxt = tx.max;
        tx.retransmit_head();
    }
}

/// "CWR is to be held something *above* `high_seq` is `ACKed` for CWR bit to reach receiver."
fn end_reduction(tx: &mut Sender) {
    if tx.progress.phase == Phase::Cwr && tx.una > tx.progress.recover {
        leave_reduction(tx);
    }
}

/// `tcp_end_cwnd_reduction`: "Reset cwnd to ssthresh in CWR".
fn leave_reduction(tx: &mut Sender) {
    tx.request(Request::ToSsthresh);
    tx.progress.leave();
}

fn leave_recovery(c: &mut Context<'_>) {
    c.tx.progress.leave();
    c.emit(Event::RecoveryLeft);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::Control;
    use crate::{CongestionControl, Recovery};
    use handfast_core::SeqNum;

    /// A sender whose only loss was answered, and which is still in `phase`; ten segments are in flight.
    fn sender(config: &Config, phase: Phase) -> (Sender, Rack) {
        let mut s = Sender::new(config, SeqNum(0));
        s.established(config, 1000);
        (s.una, s.nxt, s.max) = (1, 10_001, 10_001);
        let mut rack = Rack::new(1);
        rack.log.sent(10_001, Instant::ZERO);
        let cwnd = s.window.cwnd();
        s.cc.on_loss(&mut s.window, cwnd);
        s.progress.begin(phase, 1, 10_001);
        (s, rack)
    }

    fn timed_out(congestion_control: CongestionControl, phase: Phase) -> (String, String) {
        let (recovery, undo) = (Recovery::Rack, Undo::Linux);
        let config = Config { recovery, congestion_control, undo, ..Config::default() };
        let (mut s, mut rack) = sender(&config, phase);
        let before = format!("{:?}", s.cc);
        rack.on_timeout(Instant::from_millis(1000), &mut s, &config, true);
        (before, format!("{:?}", s.cc))
    }

    #[test]
    fn a_timeout_makes_cubic_forget_where_it_is_new_and_the_kernel_s_each_time() {
        // RFC 9438 §4.8 at the first; `tcp_set_ca_state (TCP_CA_Loss)` at all of them.
        assert!(timed_out(CongestionControl::Cubic, Phase::Open).1.contains("after_timeout: true"));
        let (before, after) = timed_out(CongestionControl::Cubic, Phase::Recovery);
        assert_eq!(before, after);
        let kernels = Config { congestion_control: CongestionControl::LinuxCubic, ..Config::default() };
        let fresh = format!("{:?}", Control::new(&kernels));
        for phase in [Phase::Open, Phase::Recovery] {
            let (before, after) = timed_out(CongestionControl::LinuxCubic, phase);
            assert_ne!(before, fresh);
            assert_eq!(after, fresh, "{phase:?}");
        }
    }
}
