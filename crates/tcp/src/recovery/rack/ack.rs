//! What RACK does with an acknowledgement (RFC 8985 §6.2), and how it reduces the window (RFC 6937).

use handfast_core::{Duration, Instant, SeqNum};

use super::{Answer, Delivery, Facts, Losses, Rack};
use crate::cc::Request;
use crate::phase::Phase;
use crate::recovery::{AckFacts, Algorithm, Context, Found};
use crate::send::scoreboard::{DUP_THRESH, Range};
use crate::send::sender::Sender;
use crate::{Config, RttEstimation, rtt};

/// What the acknowledgement at hand has brought.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Arrivals {
    /// `DeliveredData` (RFC 6937 §3): octets newly acknowledged and newly SACKed.
    pub(crate) delivered: u64,
    /// Octets that were sent once arrived from below `recover`.
    pub(crate) originals: bool,
    /// It reports that these octets arrived twice (RFC 2883).
    pub(crate) dsack: Option<Range>,
    /// When the first and the last segment left that it newly SACKs, of those that never went again (`first_sackt`, `last_sackt`).
    pub(crate) sacked: Option<(Instant, Instant)>,
    /// What arrived was sent before something that had arrived already.
    pub(crate) overtaken: bool,
}

impl Rack {
    /// See [`crate::recovery::LossRecovery::begin_ack`].
    pub(crate) fn begin_ack(
        &mut self,
        now: Instant,
        tx: &Sender,
        config: &Config,
        ack: u64,
    ) -> Option<(Duration, Duration)> {
        self.arrivals = Arrivals::default();
        let by_log = config.rtt_estimation == RttEstimation::Linux;
        if ack == tx.una || !by_log || !tx.board.is_empty() || !self.log.sent_once() {
            return None;
        }
        Some((now.since(self.log.first_sent(tx.una)?), now.since(self.log.first_sent(ack - 1)?)))
    }

    /// `range` has arrived, which lies below `recover` or above. `ecr`: what tells which transmission was answered.
    pub(crate) fn on_delivered(&mut self, c: &Context<'_>, range: Range, ecr: Option<u32>, sacked: bool) {
        if sacked && c.config.rtt_estimation == RttEstimation::Linux {
            self.note_sacked(range);
        }
        let (config, iss) = (c.config, c.tx.iss);
        let echoes_older =
            |sent| ecr.is_some_and(|ecr| SeqNum(ecr).before(SeqNum(rtt::timestamp(config, iss, sent))));
        let once = self.delivered(c.now, range, echoes_older);
        self.arrivals.originals |= once && range.end <= c.tx.progress.recover;
        self.arrivals.delivered += range.end - range.start;
    }

    /// See [`crate::recovery::LossRecovery::sack_rtt`].
    pub(crate) fn sack_rtt(&self, now: Instant) -> Option<(Duration, Duration)> {
        self.arrivals.sacked.map(|(first, last)| (now.since(first), now.since(last)))
    }

    fn note_sacked(&mut self, range: Range) {
        let (first, last) = (self.log.only_sent(range.start), self.log.only_sent(range.end - 1));
        let Some(first) = self.arrivals.sacked.map(|(first, _)| first).or(first).or(last) else { return };
        let last = last.or(self.arrivals.sacked.map(|(_, last)| last)).unwrap_or(first);
        self.arrivals.sacked = Some((first, last));
    }

    /// A duplicate tells of reordering, and that a retransmission was not needed. More of them than we have sent again are lies,
    /// or the network's own.
    pub(crate) fn on_dsack(&mut self, c: &Context<'_>, twice: Range) {
        self.arrivals.dsack = Some(twice);
        if self.dsacks >= c.counters.retransmitted_segments {
            return;
        }
        self.dsacks += 1;
        self.undo.duplicate(twice.end - twice.start, twice.end);
        // A probe's duplicate comes of the timer, not of reordering (as in Linux).
        let of_probe = self.probe.is_at(twice.end);
        self.window.on_ack(c.tx.una, c.tx.max, !of_probe);
    }

    /// Losses and the phase.
    pub(crate) fn on_ack(&mut self, c: &mut Context<'_>, facts: &AckFacts) -> Found {
        let may_judge = self.judge_phase(c, facts);
        self.answer_probe(c.config, c.tx, facts);
        let losses = if may_judge { self.detect_losses(c.now, c.tx) } else { Losses::default() };
        // Fast recovery begins where something is lost; after a timeout, where a retransmission is (as in Linux).
        let begins = match c.tx.progress.phase {
            Phase::Open | Phase::Cwr => self.is_loss(c.tx),
            Phase::Loss => losses.again,
            Phase::Recovery => false,
        };
        Found { begins, lost: losses.octets, delivered: self.arrivals.delivered, recheck: losses.recheck }
    }

    pub(super) fn detect_losses(&mut self, now: Instant, tx: &Sender) -> Losses {
        let facts = Facts {
            recovering: tx.progress.phase.repairs(),
            dup_thresh: tx.board.segments(tx.window.smss) >= u64::from(DUP_THRESH),
            srtt: tx.rtt.srtt(),
        };
        self.detect(now, tx.una, &tx.board, &facts)
    }

    /// RFC 6937 §3: within a reduction cwnd follows what was delivered.
    pub(crate) fn follow_deliveries(&mut self, tx: &mut Sender, advanced: bool, found: &Found) {
        if !tx.progress.phase.reduces() || found.delivered == 0 {
            return;
        }
        let pipe = self.in_flight(tx);
        let delivery = Delivery { octets: found.delivered, progress: advanced && found.lost == 0, pipe };
        let cwnd = self.prr.cwnd(tx.window.ssthresh(), tx.window.smss, delivery);
        tx.request(Request::Proportional { cwnd });
    }

    /// RFC 8985 §7.4.2: where the probe has repaired a loss, congestion control must hear of it.
    fn answer_probe(&mut self, config: &Config, tx: &mut Sender, facts: &AckFacts) {
        let bare_duplicate = facts.bare && facts.sacks.fresh == 0;
        let dsack = self.arrivals.dsack.map(|d| d.end);
        if let Some(end) = self.probe.repaired(&Answer { una: tx.una, dsack, bare_duplicate }) {
            self.counters.loss_probe_recoveries += 1;
            let cwnd = tx.window.cwnd();
            // `tcp_process_tlp_ack` reduces whatever a mark has reduced before.
            tx.reduce_for(if config.linux_details { tx.max } else { end - 1 }, cwnd);
            tx.request(Request::ToSsthresh);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_and_the_newest_segment_acknowledged_are_timed() {
        // `tcp_clean_rtx_queue`: `seq_rtt_us` from `first_ackt`, `ca_rtt_us` from `last_ackt`.
        let config = Config { rtt_estimation: RttEstimation::Linux, ..Config::default() };
        let mut tx = Sender::new(&config, SeqNum(0));
        (tx.una, tx.nxt, tx.max) = (1, 3001, 3001);
        let mut rack = Rack::new(1);
        for (end, ms) in [(1001, 10), (2001, 50), (3001, 70)] {
            rack.log.sent(end, Instant::from_millis(ms));
        }
        let mut timed =
            |tx: &Sender, config: &Config, ack| rack.begin_ack(Instant::from_millis(100), tx, config, ack);
        let ms = |a, b| Some((Duration::from_millis(a), Duration::from_millis(b)));
        assert_eq!(timed(&tx, &config, 1001), ms(90, 90));
        assert_eq!(timed(&tx, &config, 2001), ms(90, 50));
        assert_eq!(timed(&tx, &config, 3001), ms(90, 30));
        // Not where nothing is acknowledged, where timestamps count, or where something was SACKed before.
        assert_eq!(timed(&tx, &config, 1), None);
        assert_eq!(timed(&tx, &Config::default(), 3001), None);
        tx.board.insert(2001, 3001);
        assert_eq!(timed(&tx, &config, 3001), None);
    }
}
