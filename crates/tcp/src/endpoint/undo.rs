//! Reductions that were not needed, as Linux finds and undoes them: `tcp_fastretrans_alert` and `tcp_process_loss` of
//! `net/ipv4/tcp_input.c`.

use handfast_core::Instant;
use handfast_wire::tcp::Segment;

use super::Endpoint;
use super::rack::News;
use crate::cc::Timeout;
use crate::recovery::Phase;
use crate::send::sender::Sender;
use crate::{Config, Detector, Event, Frto, Undo};

impl Endpoint {
    /// What an acknowledgement means for the phase; false where nothing may be found lost by it.
    pub(super) fn judge_phase(&mut self, segment: &Segment, news: &News) -> bool {
        let ecr = segment.timestamps.filter(|_| self.timestamps).map(|ts| ts.ecr);
        let delayed = self.undoes() && self.config.eifel && self.is_delayed(ecr);
        let duplicates =
            self.undoes() && self.tx.rack.as_ref().is_some_and(|rack| rack.undo.all_duplicates());
        match self.tx.progress.phase {
            Phase::Open => {
                // The duplicates may come after the recovery.
                if duplicates {
                    self.undo_by_dsack();
                }
                self.forget_stamp();
                true
            }
            Phase::Recovery => self.judge_recovery(news, delayed, duplicates),
            Phase::Loss => {
                self.judge_loss(news, delayed, duplicates);
                true
            }
        }
    }

    fn undoes(&self) -> bool {
        self.config.undo == Undo::Linux
    }

    fn is_delayed(&self, ecr: Option<u32>) -> bool {
        self.tx.rack.as_ref().is_some_and(|rack| rack.undo.is_delayed(ecr))
    }

    fn forget_stamp(&mut self) {
        if let Some(rack) = &mut self.tx.rack {
            rack.undo.forget_stamp();
        }
    }

    fn judge_recovery(&mut self, news: &News, delayed: bool, duplicates: bool) -> bool {
        if self.tx.una >= self.tx.progress.recover {
            self.end_recovery(delayed, duplicates);
        } else if news.octets > 0 && delayed {
            // `tcp_try_undo_partial`: the original filled the hole, so the path reorders (`tcp_check_sack_reordering`, counted as
            // TCPTSReorder). While a retransmission is under way nothing more is found lost; when none is, the recovery was a
            // mistake.
            if let Some(rack) = &mut self.tx.rack {
                rack.original_came(self.tx.una - news.octets);
            }
            if self.tx.rack.as_ref().is_some_and(|rack| rack.log.is_repairing()) {
                return false;
            }
            self.undo(true);
            self.leave_recovery();
            self.forget_stamp();
            self.tally(|c| &mut c.partial_undos);
            self.emit(Event::SpuriousRecovery(Detector::Eifel));
        } else if duplicates {
            self.undo_by_dsack();
            self.leave_recovery();
        }
        true
    }

    /// Everything outstanding at the beginning is acknowledged: `tcp_try_undo_recovery`.
    fn end_recovery(&mut self, delayed: bool, duplicates: bool) {
        let algorithm = self.tx.algorithm;
        algorithm.on_new_ack(&mut self.tx, 0);
        if delayed || duplicates {
            self.undo(false);
            self.tally(|c| &mut c.full_undos);
            let detector = if delayed { Detector::Eifel } else { Detector::Dsack };
            self.emit(Event::SpuriousRecovery(detector));
        } else if let Some(rack) = &mut self.tx.rack {
            rack.window.recovered();
        }
        self.emit(Event::RecoveryLeft);
    }

    fn leave_recovery(&mut self) {
        self.tx.progress.leave();
        self.emit(Event::RecoveryLeft);
    }

    /// `tcp_try_undo_dsack`.
    fn undo_by_dsack(&mut self) {
        self.undo(false);
        if let Some(rack) = &mut self.tx.rack {
            rack.window.undone();
        }
        self.tally(|c| &mut c.dsack_undos);
        self.emit(Event::SpuriousRecovery(Detector::Dsack));
    }

    /// `tcp_process_loss`.
    fn judge_loss(&mut self, news: &News, delayed: bool, duplicates: bool) {
        let advanced = news.octets > 0;
        if let Some(rack) = &mut self.tx.rack {
            rack.undo.new_first = false;
        }
        if advanced && (delayed || duplicates) {
            self.undo_timeout(if delayed { Detector::Eifel } else { Detector::Dsack });
        } else if self.undoes() && self.judge_by_frto(news) {
            self.tally(|c| &mut c.spurious_rtos);
            self.undo_timeout(Detector::Frto);
        } else if self.tx.una >= self.tx.progress.recover {
            if let Some(rack) = &mut self.tx.rack {
                rack.window.recovered();
            }
            self.leave_recovery();
        }
    }

    fn undo_timeout(&mut self, detector: Detector) {
        self.undo(true);
        self.tx.retries = 0;
        self.tx.progress.head_due = false;
        self.tx.progress.leave();
        self.tally(|c| &mut c.loss_undos);
        self.counters.spurious_timeouts += 1;
        self.emit(Event::SpuriousTimeout(detector));
    }

    /// RFC 5682 §3.1 as the kernel has it: at once by what was sent once, and after repeated timeouts too (§3.2). True where the
    /// timeout was spurious.
    fn judge_by_frto(&mut self, news: &News) -> bool {
        let tx = &mut self.tx;
        let recover = tx.progress.recover;
        let room = tx.data_end() > tx.max && tx.right_edge() > tx.max;
        let Some(rack) = tx.rack.as_mut().filter(|rack| rack.undo.frto) else { return false };
        if news.originals {
            return true;
        }
        if tx.max > recover {
            // Step 3a: the new data shows that what was sent before it is lost.
            rack.undo.frto = news.sacks.fresh == 0 && !news.bare;
        } else if news.octets > 0 && tx.una < recover {
            // Step 2b.
            rack.undo.frto = room;
            rack.undo.new_first = room;
        }
        false
    }

    /// Step 2b found no new data to send after all.
    pub(super) fn give_up_new_first(&mut self) {
        if let Some(rack) = &mut self.tx.rack {
            rack.undo.new_first = false;
            rack.undo.frto = false;
        }
    }

    /// `tcp_undo_cwnd_reduction`. `unmark`: nothing is lost after all.
    fn undo(&mut self, unmark: bool) {
        let tx = &mut self.tx;
        let Some(rack) = &mut tx.rack else { return };
        rack.undo.restore(&mut tx.cc, &mut tx.window);
        if unmark {
            rack.log.unmark(tx.una);
        }
    }

    fn tally(&mut self, which: impl FnOnce(&mut crate::LossCounters) -> &mut u64) {
        if let Some(rack) = &mut self.tx.rack {
            *which(&mut rack.counters) += 1;
        }
    }
}

impl Sender {
    /// RFC 8985 §6.3 and Linux's `tcp_enter_loss`. `first`: no timeout in a row.
    pub(crate) fn on_rack_timeout(&mut self, now: Instant, config: &Config, first: bool) {
        let phase = self.progress.phase;
        let head = (self.una + self.window.smss).min(self.max);
        let head = self.board.next_start(self.una).map_or(head, |sacked| sacked.min(head));
        // Within a recovery the loss has been answered once, and what an undo would restore stands.
        let anew = first && phase != Phase::Recovery;
        let Some(rack) = &mut self.rack else { return };
        if anew {
            rack.undo.begin(self.una, self.cc.save(&self.window), 0);
        }
        // RFC 5682 §3.1 step 1, and §3.2: not within another recovery, but after a timeout again.
        rack.undo.frto =
            config.undo == Undo::Linux && config.frto != Frto::Off && (phase == Phase::Open || !first);
        rack.on_timeout(now, self.una, head, &self.board);
        let timeout = Timeout {
            is_new: anew,
            // As in Linux, of cwnd, and what is still on its way counts beside LW.
            flight: self.window.cwnd(),
            in_recovery: false,
            in_flight: rack.log.in_flight(self.una, self.max, &self.board),
        };
        self.cc.on_timeout(&mut self.window, &timeout);
        self.rtt.back_off();
        self.retries = self.retries.saturating_add(1);
        self.progress.after_timeout(self.max);
        self.nxt = self.max;
        self.retransmit_head();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::Control;
    use crate::{CongestionControl, Recovery};
    use handfast_core::SeqNum;

    /// A sender whose only loss was answered, and which is still in `phase`; ten segments are in flight.
    fn sender(config: &Config, phase: Phase) -> Sender {
        let mut s = Sender::new(config, SeqNum(0));
        s.established(config, 1000, true, false);
        (s.una, s.nxt, s.max) = (1, 10_001, 10_001);
        s.rack.as_mut().unwrap().log.sent(10_001, Instant::ZERO);
        let cwnd = s.window.cwnd();
        s.cc.on_loss(&mut s.window, cwnd);
        s.progress.begin(phase, 1, 10_001);
        s
    }

    fn timed_out(congestion_control: CongestionControl, phase: Phase) -> (String, String) {
        let (recovery, undo) = (Recovery::Rack, Undo::Linux);
        let config = Config { recovery, congestion_control, undo, ..Config::default() };
        let mut s = sender(&config, phase);
        let before = format!("{:?}", s.cc);
        s.on_rack_timeout(Instant::from_millis(1000), &config, true);
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
