//! What an acknowledgement does to the data we send: RFC 9293 §3.10.7.4 (fifth), RFC 5681, RFC 6298, RFC 6675.

use handfast_core::{Duration, Instant};
use handfast_wire::tcp::{Flags, Segment};

use super::{Endpoint, Timer};
use crate::Event;
use crate::cc::{AckSample, PathSample, Request};
use crate::help::is_marked;
use crate::recovery::Phase;
use crate::rtt::Position;
use crate::spurious::{self, AckView, Verdict};

/// What an ACK's SACK blocks say that was not known.
#[derive(Clone, Copy, Default)]
pub(super) struct SackNews {
    /// Octets SACKed for the first time.
    pub(super) fresh: u64,
    /// Some of them lie below `recover`.
    pub(super) below: bool,
    /// Some of them lie at or above it.
    pub(super) above: bool,
    /// The first block reports octets that arrived twice (RFC 2883).
    pub(super) duplicate: bool,
    /// What is missing was lost by the radio or a handoff ([eln] §3.6): no sign of congestion.
    pub(super) marked: bool,
}

/// An acknowledgement as far as congestion control is concerned.
#[derive(Clone, Copy)]
pub(super) struct Ack {
    /// Octets by which SND.UNA advanced.
    pub(super) acked: u64,
    /// Octets that growth counts.
    pub(super) counted: u64,
    /// Octets newly found lost.
    pub(super) lost: u64,
    /// `FlightSize` before it.
    pub(super) flight: u64,
    pub(super) rtt: Option<Duration>,
    /// Segments that slow start may add.
    pub(super) slow_start_segments: u8,
    /// Segments are overtaken by more than `DupThresh` segments.
    pub(super) reorders_far: bool,
    pub(super) ecn_echo: bool,
}

impl Endpoint {
    /// Processes SEG.ACK, the window and SACK blocks; false where the segment must be dropped.
    #[inline]
    pub(super) fn on_ack(&mut self, now: Instant, segment: &Segment) -> bool {
        if self.startup.is_some() {
            return self.on_ack_starting_up(now, segment);
        }
        self.process_ack(now, segment)
    }

    pub(super) fn process_ack(&mut self, now: Instant, segment: &Segment) -> bool {
        let position = self.tx.position(segment.ack);
        // RFC 9293 §3.10.7.4: an ACK of what we never sent; RFC 5961 §5.2: one from before the largest window. Both are answered.
        let Some(ack) = position.filter(|&p| p <= self.tx.max && p + self.tx.max_wnd >= self.tx.una) else {
            self.rx.ack_now = true;
            return false;
        };
        // The peer lives: it answers probes and retransmissions even while its window is closed (RFC 9293 §3.8.6.1).
        let probing = self.tx.wnd == 0;
        let window = u64::from(segment.window) << self.send_shift;
        let repeats = ack == self.tx.una && window == self.tx.wnd;
        self.update_window(segment, ack, window);
        if probing && ack == self.tx.una {
            self.tx.retries = 0;
            self.note_answer(now);
        }
        if ack >= self.tx.una && self.tx.rack.is_some() {
            self.on_rack_ack(now, segment, ack, repeats);
            return true;
        }
        if ack > self.tx.una {
            self.on_new_ack(now, segment, ack);
        } else if ack == self.tx.una {
            let news = self.take_sacks(now, segment);
            self.on_old_ack(now, segment, repeats, news);
        }
        if self.tx.eln.is_some() && ack == self.tx.una {
            self.on_notice(now, segment);
        }
        true
    }

    /// [eln] §3.6: what the acknowledgement says besides.
    #[cold]
    fn on_notice(&mut self, now: Instant, segment: &Segment) {
        self.tx.refill_burst();
        if is_marked(segment) {
            self.tx.on_loss_notice(now, segment);
            return;
        }
        self.tx.end_loss_notice();
        if segment.flags.contains(Flags::ELN) {
            self.tx.on_handoff_notice();
            // "Reset transmission timer"
            self.restart_timer(now);
        }
    }

    /// RFC 9293 §3.10.7.4: the window of the newest segment counts, by WL1 and WL2. One that acknowledges more is newer than
    /// all before it even where it repeats old payload: without its window, SND.UNA + SND.WND would lie beyond what the
    /// peer has offered.
    fn update_window(&mut self, segment: &Segment, ack: u64, window: u64) {
        let newer = ack > self.tx.una
            || self.tx.wl1.before(segment.seq)
            || (self.tx.wl1 == segment.seq && self.tx.wl2 <= ack);
        if ack < self.tx.una || !newer {
            return;
        }
        let opened = ack + window > self.tx.right_edge();
        self.tx.wnd = window;
        self.tx.max_wnd = self.tx.max_wnd.max(window);
        if self.tx.wl1.before(segment.seq) {
            self.tx.wl1 = segment.seq;
        }
        self.tx.wl2 = ack;
        // Only a window that opens ends the probing: the override timeout must not begin anew with each segment that repeats
        // a window too narrow to use. What was counted belongs to the old window.
        if opened && self.timers.is_set(Timer::Persist) {
            self.timers.stop(Timer::Persist);
            self.tx.probes = 0;
            self.tx.probe_due = false;
            self.tx.retries = 0;
        }
    }

    /// Enters the segment's SACK blocks into the scoreboard. Blocks at or below SND.UNA are duplicates' (RFC 2883), blocks
    /// beyond SND.MAX are lies.
    #[inline]
    fn take_sacks(&mut self, now: Instant, segment: &Segment) -> SackNews {
        if !self.sack || segment.sack.is_empty() {
            SackNews::default()
        } else {
            self.take_blocks(now, segment)
        }
    }

    // Not inlined: most segments have none.
    #[inline(never)]
    fn take_blocks(&mut self, now: Instant, segment: &Segment) -> SackNews {
        let marked = self.tx.eln.is_some() && segment.flags.contains(Flags::ELN);
        let mut news = SackNews { duplicate: is_dsack(segment), marked, ..SackNews::default() };
        if news.duplicate {
            self.help_dsack(segment);
        }
        for block in segment.sack.as_slice() {
            let (Some(start), Some(end)) = (self.tx.position(block.start), self.tx.position(block.end))
            else {
                continue;
            };
            if start <= self.tx.una || start >= end || end > self.tx.max {
                continue;
            }
            self.note_delivered(now, start, end);
            let fresh = self.tx.board.insert(start, end);
            news.fresh += fresh;
            news.below |= fresh > 0 && start < self.tx.progress.recover;
            news.above |= fresh > 0 && end > self.tx.progress.recover;
        }
        news
    }

    fn on_new_ack(&mut self, now: Instant, segment: &Segment, ack: u64) {
        let octets = ack - self.tx.una;
        let flight = self.tx.flight_size();
        self.note_delivered(now, self.tx.una, ack);
        self.advance(ack);
        self.note_answer(now);
        let news = self.take_sacks(now, segment);
        let rtt = self.sample_rtt(now, segment, flight);
        if let Some(delay) = rtt {
            self.tx.measured(now, delay);
        }
        let recovering = self.tx.progress.phase == Phase::Recovery;
        let partial_before = self.tx.progress.partial_seen;
        let verdict = self.judge_timeout(segment, true, false, news);
        if self.apply(verdict, octets) {
            let ack = Ack {
                acked: octets,
                counted: octets,
                lost: 0,
                flight,
                rtt,
                slow_start_segments: self.slow_start_segments(),
                reorders_far: false,
                ecn_echo: segment.flags.contains(Flags::ECE),
            };
            self.continue_recovery(now, &ack);
            // RFC 6675 §5: new SACK information counts "regardless of its status as a cumulative acknowledgment".
            if news.fresh > 0 && !news.marked && self.tx.progress.phase == Phase::Open {
                self.on_duplicate();
            }
        }
        let still = recovering && self.tx.progress.phase == Phase::Recovery;
        if !(still && partial_before && self.tx.algorithm.is_impatient()) {
            self.restart_timer(now);
        }
    }

    pub(super) fn advance(&mut self, ack: u64) {
        self.tx.una = ack;
        self.tx.nxt = self.tx.nxt.max(ack);
        if let Some(rack) = &mut self.tx.rack {
            rack.log.advance(ack);
        }
        self.tx.retries = 0;
        self.tx.probes = 0;
        self.tx.progress.head_due = false;
        // Where the window is still closed, what follows begins to probe anew; where nothing follows, nothing may.
        self.timers.stop(Timer::Persist);
        self.tx.probe_due = false;
        self.tx.probed = self.tx.probed.filter(|&p| p >= ack);
        self.tx.buffer.release(ack - 1);
        if !self.tx.board.advance(ack) {
            // RFC 2018 §8: the receiver has dropped what it had SACKed; nothing it said holds.
            self.tx.board.clear();
            if let Some(rack) = &mut self.tx.rack {
                rack.log.start_over(ack);
            }
            self.emit(Event::Reneged);
        }
    }

    /// RFC 6298 §5.2 and §5.3.
    fn restart_timer(&mut self, now: Instant) {
        if self.tx.una == self.tx.max {
            self.timers.stop(Timer::Retransmit);
        } else if self.timers.is_set(Timer::Retransmit) {
            self.timers.set(Timer::Retransmit, self.expiry(now, self.rto()));
        }
    }

    /// The octets `start .. end` are acknowledged: what of them had not arrived before is news to who measures delivery rates.
    #[inline]
    fn note_delivered(&mut self, now: Instant, start: u64, end: u64) {
        if self.tx.cc.samples_path() {
            self.tell_deliveries(now, start, end);
        }
    }

    #[cold]
    fn tell_deliveries(&mut self, now: Instant, start: u64, end: u64) {
        let mut at = start;
        while let Some(gap) = self.tx.board.gap(at, end) {
            self.tx.cc.on_delivered(now, gap.start, gap.end);
            at = gap.end;
        }
    }

    /// Congestion control and loss recovery, according to the phase.
    fn continue_recovery(&mut self, now: Instant, ack: &Ack) {
        // Before the phase may change: the sample says where recovery stood.
        let phase = self.tx.progress.phase;
        self.tell_control(now, ack);
        match phase {
            Phase::Open => {
                self.tx.progress.dup_acks = 0;
                self.tx.progress.limited = 0;
            }
            Phase::Recovery => {
                let algorithm = self.tx.algorithm;
                algorithm.on_new_ack(&mut self.tx, ack.acked);
                self.tx.progress.partial_seen = true;
                if self.tx.progress.phase == Phase::Open {
                    self.emit(Event::RecoveryLeft);
                }
            }
            Phase::Loss => {
                if self.tx.una >= self.tx.progress.recover {
                    self.tx.progress.leave();
                    self.emit(Event::RecoveryLeft);
                }
            }
        }
    }

    /// Tells the congestion control what an acknowledgement has delivered.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "with each acknowledgement; a call with its sample is 40 instructions"
    )]
    pub(super) fn tell_control(&mut self, now: Instant, ack: &Ack) {
        let tx = &self.tx;
        let sample = AckSample {
            now,
            acked: ack.acked,
            counted: ack.counted,
            slow_start_segments: ack.slow_start_segments,
            srtt: tx.rtt.srtt(),
            flight: ack.flight,
            cwnd_limited: tx.validation.cwnd_limited || !self.config.cwnd_validation,
            reorders_far: ack.reorders_far,
            phase: tx.progress.phase,
            path: None,
        };
        if tx.cc.samples_path() {
            self.tell_control_of_path(sample, ack.lost, ack.rtt, ack.ecn_echo);
        } else {
            self.tx.cc.on_ack(&mut self.tx.window, &sample);
        }
    }

    // The sample by value: by reference it would be in memory where nobody asks for the path.
    #[cold]
    fn tell_control_of_path(
        &mut self,
        mut sample: AckSample,
        lost: u64,
        rtt: Option<Duration>,
        ecn_echo: bool,
    ) {
        let tx = &mut self.tx;
        let (delivered, rate) = tx.cc.take_delivery(tx.una);
        let (in_flight, una, nxt) = (tx.in_flight(), tx.una, tx.nxt);
        sample.path = Some(PathSample { delivered, lost, in_flight, rtt, rate, una, nxt, ecn_echo });
        tx.cc.on_ack(&mut tx.window, &sample);
    }

    /// L of RFC 3465, for recoveries that send again from SND.UNA on: §2.3 bounds it after a timeout.
    fn slow_start_segments(&self) -> u8 {
        if self.tx.progress.phase == Phase::Loss { 1 } else { self.config.slow_start_segments }
    }

    /// An acknowledgement that does not advance SND.UNA.
    fn on_old_ack(&mut self, now: Instant, segment: &Segment, repeats: bool, news: SackNews) {
        if self.tx.una == self.tx.max && segment.sack.is_empty() {
            // All that a mere receiver gets: nothing is outstanding, so it is no duplicate, and what judges timeouts waits for
            // one that advances.
            return;
        }
        // A zero-window probe is not outstanding data: the answers to it tell of no loss.
        let outstanding = self.tx.una < self.tx.nxt;
        let bare = segment.payload.is_empty() && !segment.flags.contains(Flags::FIN) && repeats;
        // RFC 5681 §2's definition; with SACK it is that of RFC 6675 §2: new octets are SACKed.
        let duplicate = outstanding && if self.sack { news.fresh > 0 } else { bare };
        // F-RTO goes by both.
        let verdict = self.judge_timeout(segment, false, outstanding && (bare || duplicate), news);
        if self.apply(verdict, 0) {
            if news.fresh > 0 {
                self.tell_sacked(now, segment);
            }
            if duplicate && !news.marked {
                self.on_duplicate();
            }
        }
        if matches!(verdict, Verdict::Spurious(_)) {
            self.restart_timer(now);
        }
    }

    /// The congestion control learns of octets that were only SACKed.
    #[inline(never)]
    fn tell_sacked(&mut self, now: Instant, segment: &Segment) {
        let ack = Ack {
            acked: 0,
            counted: 0,
            lost: 0,
            flight: self.tx.flight_size(),
            rtt: None,
            slow_start_segments: self.slow_start_segments(),
            reorders_far: false,
            ecn_echo: segment.flags.contains(Flags::ECE),
        };
        self.tell_control(now, &ack);
    }

    fn on_duplicate(&mut self) {
        let algorithm = self.tx.algorithm;
        match self.tx.progress.phase {
            Phase::Open => {
                self.tx.progress.dup_acks += 1;
                if algorithm.is_loss(&self.tx) {
                    self.help_before_recovery();
                    algorithm.enter(&mut self.tx);
                    self.help_after_entering_recovery();
                    self.recovery_entered();
                }
            }
            Phase::Recovery => algorithm.on_duplicate(&mut self.tx),
            // RFC 5681 §4.3: after a timeout duplicates may be those of our own repetitions.
            Phase::Loss => {}
        }
    }

    /// Fast recovery has begun.
    pub(super) fn recovery_entered(&mut self) {
        self.counters.fast_retransmits += 1;
        self.emit(Event::RecoveryEntered);
        self.startup_loss();
    }

    #[inline]
    pub(super) fn judge_timeout(
        &mut self,
        segment: &Segment,
        advanced: bool,
        duplicate: bool,
        news: SackNews,
    ) -> Verdict {
        let dsack_seen = self.tx.spurious.note_dsack(news.duplicate);
        if !self.tx.spurious.is_judging() {
            return Verdict::Undecided;
        }
        let view = AckView {
            advanced,
            duplicate,
            una: self.tx.una,
            sacked_below: news.below,
            sacked_above: news.above,
            all: self.tx.una == self.tx.max,
            dsack: news.duplicate,
            ecr: segment.timestamps.filter(|_| self.timestamps).map(|ts| ts.ecr),
        };
        self.tx.spurious.judge(&view, dsack_seen)
    }

    /// Carries out a verdict; false where the ACK's usual effects must not follow.
    #[inline]
    pub(super) fn apply(&mut self, verdict: Verdict, octets: u64) -> bool {
        verdict == Verdict::Undecided || self.act_on(verdict, octets)
    }

    // Not inlined: hardly ever is there a verdict.
    #[inline(never)]
    fn act_on(&mut self, verdict: Verdict, octets: u64) -> bool {
        match verdict {
            Verdict::Undecided => true,
            Verdict::SendNew => {
                self.send_new_for_frto();
                true
            }
            Verdict::Genuine => {
                // RFC 5682 step 3a: cwnd of no more than three segments, retransmission in slow start from SND.UNA.
                self.tx.request(Request::GenuineTimeout);
                // With the SACK-enhanced rule everything from before the timeout may be acknowledged: then only the new
                // segments are outstanding, and on their way.
                if self.tx.una < self.tx.progress.recover && self.tx.rack.is_none() {
                    self.tx.nxt = self.tx.una;
                }
                true
            }
            Verdict::Spurious(detector) => {
                spurious::respond(&mut self.tx, &self.config, octets);
                self.counters.spurious_timeouts += 1;
                self.emit(Event::SpuriousTimeout(detector));
                false
            }
        }
    }

    /// RFC 5682 step 2b: up to two segments of new data, if there are any and the peer's window takes them.
    fn send_new_for_frto(&mut self) {
        let tx = &mut self.tx;
        let limit = (tx.max + 2 * tx.window.smss).min(tx.right_edge()).min(tx.data_end());
        if limit > tx.max {
            tx.nxt = tx.max;
            tx.spurious.sending_new(limit);
        } else {
            tx.spurious.give_up_frto();
        }
    }

    /// RFC 7323 §4.1 with timestamps, Karn's algorithm without (RFC 6298 §3).
    pub(super) fn sample_rtt(&mut self, now: Instant, segment: &Segment, flight: u64) -> Option<Duration> {
        let sample = match segment.timestamps.filter(|_| self.timestamps) {
            Some(ts) => self.echoed_rtt(now, ts.ecr),
            None => self.timed_rtt(now),
        };
        let sample = sample?;
        self.take_sample(sample, flight);
        Some(sample)
    }

    /// `flight`: octets that were outstanding.
    pub(super) fn take_sample(&mut self, sample: Duration, flight: u64) {
        if let Some(before) = self.tx.spurious.rto_before(self.tx.una) {
            self.tx.rtt.after_spurious(&self.config, before, sample);
            return;
        }
        // RFC 7323 appendix G: ExpectedSamples = ceiling (FlightSize / (SMSS * 2))
        let expected = if self.timestamps { flight.div_ceil(2 * self.tx.window.smss) } else { 1 };
        let at = Position { una: self.tx.una, nxt: self.tx.nxt };
        self.tx.rtt.sample(&self.config, sample, expected, at);
    }

    pub(super) fn echoed_rtt(&self, now: Instant, ecr: u32) -> Option<Duration> {
        let ticks = self.tsval(now).wrapping_sub(ecr);
        // An echo from the future, or of more than 2^31 ticks ago, is not ours. One from this tick is half a tick old.
        let tick = self.config.clock_granularity;
        (ticks < 1 << 31).then(|| if ticks == 0 { tick / 2 } else { tick * u64::from(ticks) })
    }

    fn timed_rtt(&mut self, now: Instant) -> Option<Duration> {
        let (upto, sent) = self.tx.timed?;
        if self.tx.una < upto {
            return None;
        }
        self.tx.timed = None;
        Some(now.since(sent))
    }
}

/// RFC 2883 §4: the first block lies below the cumulative acknowledgement, or within the second block.
pub(super) fn is_dsack(segment: &Segment) -> bool {
    let blocks = segment.sack.as_slice();
    let Some(first) = blocks.first() else { return false };
    first.start.before(segment.ack)
        || blocks.get(1).is_some_and(|run| !first.start.before(run.start) && !first.end.after(run.end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use handfast_core::SeqNum;
    use handfast_wire::tcp::{SackBlock, SackBlocks};

    #[test]
    fn a_first_block_below_the_acknowledgement_or_within_the_second_is_a_duplicates() {
        for (blocks, duplicate) in [
            (&[][..], false),
            (&[(2000, 3000)], false),
            (&[(1000, 1500)], false),
            (&[(999, 1000)], true),
            (&[(0, 500), (2000, 3000)], true),
            (&[(2000, 3000), (2000, 4000)], true),
            (&[(2500, 3000), (2000, 3000)], true),
            (&[(2000, 3000), (2000, 3000)], true),
            (&[(2000, 3000), (2001, 4000)], false),
            (&[(2000, 4000), (2000, 3999)], false),
            (&[(5000, 6000), (2000, 3000)], false),
        ] {
            let mut sack = SackBlocks::NONE;
            for &(start, end) in blocks {
                sack.push(SackBlock { start: SeqNum(start), end: SeqNum(end) });
            }
            let segment = Segment { ack: SeqNum(1000), sack, ..Segment::EMPTY };
            assert_eq!(is_dsack(&segment), duplicate, "{blocks:?}");
        }
    }
}
