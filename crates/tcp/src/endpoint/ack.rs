//! What an acknowledgement does to the data we send: RFC 9293 §3.10.7.4 (fifth), RFC 5681, RFC 6298, RFC 6675.

use handfast_core::Instant;
use handfast_wire::tcp::{Flags, Segment};

use super::{Endpoint, Timer};
use crate::Event;
use crate::cc::{AckSample, Delivery, PathSample};
use crate::help::is_marked;
use crate::phase::Phase;
use crate::recovery::{AckFacts, Timing};
use crate::send::scoreboard::Range;
use crate::spurious::Verdict;

/// An acknowledgement as far as congestion control is concerned.
#[derive(Clone, Copy)]
struct Ack {
    /// Octets by which SND.UNA advanced.
    acked: u64,
    /// Octets that growth counts.
    counted: u64,
    /// Octets newly found lost.
    lost: u64,
    /// `FlightSize` before it.
    flight: u64,
    /// Segments that slow start may add.
    slow_start_segments: u8,
    /// Segments are overtaken by more than `DupThresh` segments.
    reorders_far: bool,
    ecn_echo: bool,
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
            // Linux's tcp_ack drops what acknowledges the unsent without a word.
            let is_unsent = position.is_some_and(|p| p > self.tx.max);
            if !is_unsent || !self.config.linux_details {
                self.challenge(now);
            }
            return false;
        };
        // The peer lives: it answers probes and retransmissions even while its window is closed (RFC 9293 §3.8.6.1).
        let probing = self.tx.wnd == 0;
        let window = u64::from(segment.window) << self.send_shift;
        let repeats = ack == self.tx.una && window == self.tx.wnd;
        self.update_window(segment, ack, window);
        if probing && ack == self.tx.una {
            self.tx.retries = 0;
            // "if the user specifies a TCP_USER_TIMEOUT, we kill the socket" though probes are answered (`tcp_probe_timer`).
            if window > 0 || !self.config.linux_details {
                self.note_answer(now);
            }
        }
        if self.ecn.is_some() {
            self.note_echo(segment, ack);
        }
        if ack >= self.tx.una {
            self.on_current_ack(now, segment, ack, repeats);
        } else if self.config.linux_details && !segment.sack.is_empty() {
            self.on_overtaken_ack(now, segment);
        }
        if self.eln.is_some() && ack == self.tx.una {
            self.on_notice(now, segment);
        }
        true
    }

    /// [eln] §3.6: what the acknowledgement says besides.
    #[cold]
    fn on_notice(&mut self, now: Instant, segment: &Segment) {
        let Some(eln) = &mut self.eln else { return };
        eln.refill_burst(self.tx.nxt);
        if is_marked(segment) {
            eln.on_loss_notice(&self.tx, now, segment);
            return;
        }
        eln.end_loss_notice();
        if segment.flags.contains(Flags::ELN) {
            if eln.on_handoff_notice(&mut self.tx) {
                self.spurious.give_up_frto();
            }
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

    /// The acknowledgement `ack` of SND.UNA or more. `repeats`: neither it nor the window is new.
    #[inline]
    fn on_current_ack(&mut self, now: Instant, segment: &Segment, ack: u64, repeats: bool) {
        let octets = ack - self.tx.una;
        if octets > 0 {
            self.on_new_ack(now, segment, ack, octets);
        } else {
            self.on_old_ack(now, segment, repeats);
        }
    }

    #[inline]
    fn on_new_ack(&mut self, now: Instant, segment: &Segment, ack: u64, octets: u64) {
        let flight = self.tx.flight_size();
        let timed = self.recovery.begin_ack(now, &self.tx, &self.config, ack);
        self.note_delivered(now, Range { start: self.tx.una, end: ack }, Some(segment));
        if self.ecn.is_some() {
            self.note_sacked(ack);
        }
        self.advance(ack);
        self.note_answer(now);
        let sacks = self.take_sacks(now, segment);
        // As in Linux: by what was acknowledged, then by what was SACKed, then by the timestamp.
        let rtt = match timed.or_else(|| self.recovery.sack_rtt(now)) {
            Some((oldest, newest)) => self.take_sample(oldest, flight).then_some(newest),
            None => self.sample_rtt(now, segment, flight),
        };
        if let Some(delay) = rtt {
            self.tx.measured(now, delay);
        }
        let facts = AckFacts { octets, sacks, bare: false, duplicate: false, ecr: self.echo(segment) };
        let partial_before = self.tx.progress.phase == Phase::Recovery && self.tx.progress.partial_seen;
        let verdict = self.judge_timeout(&facts, false);
        let mut recheck = None;
        if self.apply(verdict, octets) {
            recheck = self.recover(now, segment, &facts, flight);
        }
        if self.help.is_some() {
            self.help_acked();
        }
        let still = partial_before && self.tx.progress.phase == Phase::Recovery;
        let restart = !(still && self.recovery.is_impatient());
        self.time_ack(now, restart, recheck);
    }

    /// An acknowledgement that does not advance SND.UNA.
    #[inline]
    fn on_old_ack(&mut self, now: Instant, segment: &Segment, repeats: bool) {
        if self.tx.una == self.tx.max && segment.sack.is_empty() && self.recovery.counts_duplicates() {
            // All that a mere receiver gets: nothing is outstanding, so it is no duplicate, and what judges timeouts waits for
            // one that advances.
            return;
        }
        self.recovery.begin_ack(now, &self.tx, &self.config, self.tx.una);
        // A zero-window probe is not outstanding data: the answers to it tell of no loss.
        let outstanding = self.tx.una < self.tx.nxt;
        let sacks = self.take_sacks(now, segment);
        let bare = segment.payload.is_empty() && !segment.flags.contains(Flags::FIN) && repeats;
        let duplicate = outstanding && if self.sack { sacks.fresh > 0 } else { bare };
        let facts = AckFacts { octets: 0, sacks, bare, duplicate, ecr: self.echo(segment) };
        let flight = self.tx.flight_size();
        if let Some((oldest, newest)) = self.recovery.sack_rtt(now)
            && self.take_sample(oldest, flight)
        {
            self.tx.measured(now, newest);
        }
        let verdict = self.judge_timeout(&facts, outstanding && (bare || duplicate));
        let mut recheck = None;
        if self.apply(verdict, 0) {
            recheck = self.recover_out_of_line(now, segment, facts, flight);
        }
        self.time_ack(now, matches!(verdict, Verdict::Spurious(_)), recheck);
    }

    /// An acknowledgement of less than SND.UNA, which others have overtaken: what it SACKs is news all the same (`tcp_ack`, at
    /// `old_ack`). It times nothing.
    #[cold]
    fn on_overtaken_ack(&mut self, now: Instant, segment: &Segment) {
        self.recovery.begin_ack(now, &self.tx, &self.config, self.tx.una);
        let sacks = self.take_sacks(now, segment);
        let duplicate = self.tx.una < self.tx.nxt && sacks.fresh > 0;
        let facts = AckFacts { octets: 0, sacks, bare: false, duplicate, ecr: self.echo(segment) };
        let flight = self.tx.flight_size();
        let verdict = self.judge_timeout(&facts, duplicate);
        let mut recheck = None;
        if self.apply(verdict, 0) {
            recheck = self.recover_out_of_line(now, segment, facts, flight);
        }
        self.time_ack(now, false, recheck);
    }

    /// The timer after an acknowledgement.
    #[inline]
    fn time_ack(&mut self, now: Instant, restart: bool, recheck: Option<Instant>) {
        let all = self.tx.una == self.tx.max;
        let timing = Timing { restart, all, is_set: self.timers.is_set(Timer::Retransmit) };
        let change = self.recovery.time_ack(lend!(self, now), timing, recheck);
        self.change_timer(now, change);
    }

    fn advance(&mut self, ack: u64) {
        self.tx.una = ack;
        self.tx.nxt = self.tx.nxt.max(ack);
        self.tx.forget_cuts();
        self.recovery.advance(ack);
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
            self.recovery.start_over(ack);
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

    /// Congestion control and loss recovery; returns when recovery wants to look again.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "with each acknowledgement; a call is 30 instructions")]
    fn recover(&mut self, now: Instant, segment: &Segment, facts: &AckFacts, flight: u64) -> Option<Instant> {
        let ecn_echo = self.ecn.is_some() && self.reads_mark(segment, facts);
        if !self.recovery.counts_duplicates() {
            return self.find_losses(now, *facts, flight, ecn_echo);
        }
        let mut duplicate = facts.duplicate;
        if facts.octets > 0 || facts.sacks.fresh > 0 {
            // RFC 3465 §2.3: after a timeout L is 1.
            let after_timeout = self.tx.progress.phase == Phase::Loss;
            let slow_start_segments = if after_timeout { 1 } else { self.config.slow_start_segments };
            let (acked, counted) = (facts.octets, self.counted(facts.octets));
            let reorders_far = false;
            let ack = Ack { acked, counted, lost: 0, flight, slow_start_segments, reorders_far, ecn_echo };
            self.tell_control(now, &ack);
        }
        if facts.octets > 0 {
            if self.recovery.go_on(&mut self.tx, facts.octets) {
                self.emit(Event::RecoveryLeft);
            }
            // RFC 6675 §5: new SACK information counts "regardless of its status as a cumulative acknowledgment".
            duplicate = facts.sacks.fresh > 0 && self.tx.progress.phase == Phase::Open;
        }
        if ecn_echo {
            self.answer_counted_marks();
        }
        if duplicate && !facts.sacks.marked && self.recovery.count_duplicate(&mut self.tx) {
            self.enter_recovery();
        }
        None
    }

    /// Octets that growth counts. Linux without SACK takes each duplicate for a segment that has arrived: the acknowledgement brings
    /// the others, one at least (`tcp_remove_reno_sacks`).
    fn counted(&self, octets: u64) -> u64 {
        let duplicates = self.tx.progress.dup_acks;
        let octets = self.tx.in_full_segments(octets);
        if duplicates == 0 || self.sack || !self.config.linux_details {
            return octets;
        }
        let smss = self.tx.window.smss;
        octets.saturating_sub(u64::from(duplicates) * smss).max(smss.min(octets))
    }

    /// As [`Endpoint::recover`], for acknowledgements that do not advance SND.UNA.
    #[inline(never)]
    fn recover_out_of_line(
        &mut self,
        now: Instant,
        segment: &Segment,
        facts: AckFacts,
        flight: u64,
    ) -> Option<Instant> {
        self.recover(now, segment, &facts, flight)
    }

    /// Where losses are found by time, congestion control hears of the acknowledgement once they are judged (as in Linux).
    // `facts` is passed by value: a reference would force it into memory where duplicates count.
    #[inline(never)]
    fn find_losses(&mut self, now: Instant, facts: AckFacts, flight: u64, ecn_echo: bool) -> Option<Instant> {
        let found = self.recovery.find_losses(&mut context!(self, now), &facts);
        if found.begins {
            self.enter_recovery();
        }
        if ecn_echo {
            self.answer_counted_marks();
        }
        self.recovery.reduce(&mut self.tx, facts.octets > 0, &found);
        if facts.octets > 0 || found.delivered > 0 {
            let whole = facts.octets > 0 && found.delivered == facts.octets;
            let ack = Ack {
                acked: facts.octets,
                // Linux's `acked_sacked`.
                counted: if whole { self.tx.in_full_segments(facts.octets) } else { found.delivered },
                lost: found.lost,
                flight,
                // Only what is lost goes again, and Linux knows no bound as that of RFC 3465 §2.3.
                slow_start_segments: self.config.slow_start_segments,
                reorders_far: self.recovery.reorders_far(self.tx.window.smss),
                ecn_echo,
            };
            self.tell_control(now, &ack);
        } else if found.lost > 0 {
            // It delivers nothing, but the reordering window has passed before its timer.
            self.tell_losses(now);
        }
        found.recheck
    }

    /// Tells the congestion control what an acknowledgement has delivered.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "with each acknowledgement; a call with its sample is 40 instructions"
    )]
    fn tell_control(&mut self, now: Instant, ack: &Ack) {
        let tx = &self.tx;
        let sample = AckSample {
            now,
            acked: ack.acked,
            counted: ack.counted,
            slow_start_segments: ack.slow_start_segments,
            srtt: tx.rtt.srtt(),
            flight: ack.flight,
            cwnd_limited: tx.validation.cwnd_limited
                || !self.config.cwnd_validation
                || self.config.linux_details && self.uses_window(),
            reorders_far: ack.reorders_far,
            phase: tx.progress.phase,
            ecn_echo: ack.ecn_echo,
            path: None,
        };
        if tx.cc.samples_path() {
            self.tell_control_of_path(sample, ack.lost);
        } else {
            self.tx.cc.on_ack(&mut self.tx.window, &sample);
        }
    }

    #[cold]
    fn uses_window(&self) -> bool {
        self.tx.window.in_slow_start() && self.tx.validation.used_half(self.tx.window.cwnd())
    }

    // The sample by value: by reference it would be in memory where nobody asks for the path.
    #[cold]
    fn tell_control_of_path(&mut self, mut sample: AckSample, lost: u64) {
        if lost > 0 {
            self.tell_losses(sample.now);
        }
        let tells_losses = self.recovery.times_segments();
        let marked = self.ecn.as_mut().map_or(0, |ecn| ecn.take_newly_marked());
        let tx = &mut self.tx;
        let Delivery { octets, total, rtt, min_rtt, rate, newest } = tx.cc.take_delivery(tx.una);
        let (in_flight, una, nxt) = (self.recovery.in_flight(tx), tx.una, tx.nxt);
        let wait = tx.cc.pacing_wait(sample.now);
        let recent = Some(self.recovery.path_facts().min_rtt).filter(|rtt| rtt.as_nanos() > 0);
        sample.path = Some(PathSample {
            delivered: octets,
            lost,
            in_flight,
            marked,
            total,
            rtt,
            min_rtt: recent.or(min_rtt),
            rate,
            newest,
            tells_losses,
            wait,
            una,
            nxt,
        });
        tx.cc.on_path(&mut tx.window, &sample, in_flight);
    }

    /// Something is newly lost: what it is, where the congestion control wants to know.
    #[cold]
    pub(super) fn tell_losses(&mut self, now: Instant) {
        let Self { tx, recovery, .. } = self;
        if tx.cc.watches_losses() {
            let (una, board, changed) = (tx.una, &tx.board, recovery.take_changed());
            tx.cc.on_losses(now, &mut tx.window, una, changed.start..changed.end, |octet| {
                recovery.is_lost(octet, board)
            });
        }
    }

    /// Fast recovery begins.
    #[inline(never)]
    pub(super) fn enter_recovery(&mut self) {
        if self.probe_failed() {
            return;
        }
        self.help_before_recovery();
        self.recovery.enter(&mut self.tx);
        self.help_after_entering_recovery();
        self.counters.fast_retransmits += 1;
        self.emit(Event::RecoveryEntered);
        self.startup_loss();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use handfast_core::{Bytes, Duration, Instant, SeqNum};
    use handfast_wire::Payload;
    use handfast_wire::tcp::{Flags, SackBlock, SackBlocks, Segment};

    use crate::{Endpoint, PROFILES, Received};

    const ISS: SeqNum = SeqNum(100);
    const MS: fn(u64) -> Instant = Instant::from_millis;

    /// A connection of that profile, over a path of 100 ms, with ten segments of 1000 octets outstanding at 200 ms.
    fn in_flight(profile: &str) -> Endpoint {
        let profile = PROFILES.iter().find(|known| known.name == profile).expect("a profile");
        let config = Arc::new(crate::Config { mss: 1000, timestamps: false, ..profile.config() });
        let mut client = Endpoint::connect(config.clone(), 1, 2, ISS, MS(0));
        let mut server = Endpoint::listen(config, 2, SeqNum(7));
        let all = Bytes(u64::MAX);
        let syn = client.poll_transmit(MS(0), all).expect("a SYN").segment;
        server.on_segment(MS(50), &Received::plain(&syn));
        let answer = server.poll_transmit(MS(50), all).expect("a SYN-ACK").segment;
        client.on_segment(MS(100), &Received::plain(&answer));
        client.write(Payload::Synthetic { stream: 1, offset: 0, len: 10_000 });
        for ms in 100..200 {
            if client.deadline().is_some_and(|at| at <= MS(ms)) {
                client.on_timer(MS(ms));
            }
            while client.poll_transmit(MS(ms), all).is_some() {}
        }
        assert_eq!(client.tx.flight_size(), 10_000);
        client
    }

    /// An acknowledgement of nothing but the third segment.
    fn third_sacked() -> Segment {
        let mut sack = SackBlocks::NONE;
        sack.push(SackBlock { start: ISS + 2001, end: ISS + 3001 });
        let (seq, ack) = (SeqNum(8), ISS + 1);
        Segment {
            src_port: 2,
            dst_port: 1,
            seq,
            ack,
            flags: Flags::ACK,
            window: 1000,
            sack,
            ..Segment::EMPTY
        }
    }

    #[test]
    fn losses_are_told_that_an_acknowledgement_shows_which_delivers_nothing() {
        let mut client = in_flight("bbr3");
        client.on_segment(MS(210), &Received::plain(&third_sacked()));
        assert_eq!(client.tx.cc.lost(), 0, "the reordering window has not passed");
        // The kernel's timer for it has two jiffies more.
        let timer = client.deadline().expect("a timer runs");
        client.on_segment(timer - Duration::from_millis(1), &Received::plain(&third_sacked()));
        assert_eq!(client.tx.cc.lost(), 2000);
    }
}
