//! RACK-TLP at work (RFC 8985): what it does with an acknowledgement, when its timer expires, and what it lets go next.

use handfast_core::{Duration, Instant, SeqNum};
use handfast_wire::tcp::{Flags, Segment};

use super::ack::{Ack, SackNews, is_dsack};
use super::transmit::{Piece, Why};
use super::{Endpoint, Timer, timestamp};
use crate::cc::{Delivery, Request};
use crate::recovery::Phase;
use crate::recovery::rack::{Answer, Facts, Found, Pending, deadline, pto};
use crate::send::scoreboard::{DUP_THRESH, Range};
use crate::spurious::Verdict;
use crate::{Event, RttEstimation};

/// What an acknowledgement has brought.
#[derive(Clone, Copy, Default)]
pub(super) struct News {
    /// `DeliveredData` (RFC 6937 §3): octets newly acknowledged and newly SACKed.
    pub(super) delivered: u64,
    /// SND.UNA has advanced by so many.
    pub(super) octets: u64,
    /// Octets that were sent once arrived from below `recover`.
    pub(super) originals: bool,
    /// It reports that these octets arrived twice (RFC 2883).
    pub(super) dsack: Option<Range>,
    pub(super) sacks: SackNews,
    /// A duplicate: it acknowledges nothing, and says nothing else but by its SACK blocks.
    pub(super) bare: bool,
    /// The round-trip time that it measured.
    pub(super) rtt: Option<Duration>,
}

impl Endpoint {
    /// The acknowledgement `ack` of SND.UNA or more. `repeats`: neither it nor the window is new.
    pub(super) fn on_rack_ack(&mut self, now: Instant, segment: &Segment, ack: u64, repeats: bool) {
        let flight = self.tx.flight_size();
        let outstanding = self.tx.una < self.tx.nxt;
        let timed = self.timed_by_log(now, ack);
        let mut news = self.take_deliveries(now, segment, ack);
        let advanced = news.octets > 0;
        news.bare = repeats && segment.payload.is_empty() && !segment.flags.contains(Flags::FIN);
        self.note_dsack(&news);
        if advanced {
            self.note_answer(now);
            let delay = match timed {
                Some((oldest, newest)) => {
                    self.take_sample(oldest, flight);
                    Some(newest)
                }
                None => self.sample_rtt(now, segment, flight),
            };
            if let Some(delay) = delay {
                self.tx.measured(now, delay);
            }
            news.rtt = delay;
        }
        let duplicate = !advanced && outstanding && (news.bare || news.sacks.fresh > 0);
        let verdict = self.judge_timeout(segment, advanced, duplicate, news.sacks);
        let mut recheck = None;
        if self.apply(verdict, news.octets) {
            recheck = self.recover(now, segment, &news, flight);
        }
        self.set_rack_timer(now, advanced || matches!(verdict, Verdict::Spurious(_)), recheck);
    }

    /// As Linux times it (`tcp_clean_rtx_queue`): by when the oldest and the newest segment that `ack` acknowledges left, where
    /// none was sent again or SACKed before; finer than timestamps, which count otherwise.
    fn timed_by_log(&self, now: Instant, ack: u64) -> Option<(Duration, Duration)> {
        let tx = &self.tx;
        let log = &tx.rack.as_ref()?.log;
        let by_log = self.config.rtt_estimation == RttEstimation::Linux;
        if !by_log || !tx.board.is_empty() || !log.sent_once() {
            return None;
        }
        Some((now.since(log.first_sent(tx.una)?), now.since(log.first_sent(ack - 1)?)))
    }

    /// Enters what has arrived into the scoreboard and RACK's records, in the order of the octets (RFC 8985 §6.2 step 3).
    fn take_deliveries(&mut self, now: Instant, segment: &Segment, ack: u64) -> News {
        let una = self.tx.una;
        let mut news = News { octets: ack - una, ..News::default() };
        if is_dsack(segment) {
            news.sacks.duplicate = true;
            news.dsack = self.block(segment, 0);
        }
        if ack > una {
            let ecr = segment.timestamps.filter(|_| self.timestamps).map(|ts| ts.ecr);
            self.deliver(now, Range { start: una, end: ack }, ecr, &mut news);
            self.advance(ack);
        }
        let mut blocks = [0, 1, 2, 3].map(|i| self.block(segment, i).filter(|b| b.start > self.tx.una));
        blocks.sort_unstable_by_key(|b| b.map(|b| b.start));
        for block in blocks.into_iter().flatten() {
            self.deliver(now, block, None, &mut news);
            let fresh = self.tx.board.insert(block.start, block.end);
            news.sacks.fresh += fresh;
            news.sacks.below |= fresh > 0 && block.start < self.tx.progress.recover;
            news.sacks.above |= fresh > 0 && block.end > self.tx.progress.recover;
        }
        news
    }

    /// The octets of SACK block `i`; none beyond SND.MAX.
    fn block(&self, segment: &Segment, i: usize) -> Option<Range> {
        let block = segment.sack.as_slice().get(i)?;
        let (start, end) = (self.tx.position(block.start)?, self.tx.position(block.end)?);
        (start < end && end <= self.tx.max).then_some(Range { start, end })
    }

    /// `ecr`: what the acknowledgement echoes, where it tells which transmission was answered: not for octets beyond a hole.
    fn deliver(&mut self, now: Instant, range: Range, ecr: Option<u32>, news: &mut News) {
        let Self { config, tx, .. } = self;
        let (recover, iss) = (tx.progress.recover, tx.iss);
        let Some(rack) = &mut tx.rack else { return };
        let echoes_older =
            |sent| ecr.is_some_and(|ecr| SeqNum(ecr).before(SeqNum(timestamp(config, iss, sent))));
        let mut at = range.start;
        while let Some(gap) = tx.board.gap(at, range.end) {
            // What lies across `recover` counts in two parts.
            let end = if gap.start < recover { gap.end.min(recover) } else { gap.end };
            let once = rack.delivered(now, Range { start: gap.start, end }, echoes_older);
            news.originals |= once && end <= recover;
            news.delivered += end - gap.start;
            tx.cc.on_delivered(now, gap.start, end);
            at = end;
        }
    }

    /// A duplicate tells of reordering, and that a retransmission was not needed. More of them than we have sent again are lies,
    /// or the network's own.
    fn note_dsack(&mut self, news: &News) {
        let Some(twice) = news.dsack else { return };
        let Some(rack) = &mut self.tx.rack else { return };
        if rack.dsacks >= self.counters.retransmitted_segments {
            return;
        }
        rack.dsacks += 1;
        rack.undo.duplicate(twice.end - twice.start, twice.end);
        // A probe's duplicate comes of the timer, not of reordering (as in Linux).
        let of_probe = rack.probe.is_at(twice.end);
        rack.window.on_ack(self.tx.una, self.tx.max, !of_probe);
    }

    /// Losses, the window, and the phase; returns when RACK wants to look again.
    fn recover(&mut self, now: Instant, segment: &Segment, news: &News, flight: u64) -> Option<Instant> {
        let may_judge = self.judge_phase(segment, news);
        self.answer_probe(news);
        let advanced = news.octets > 0;
        let found = if may_judge { self.detect(now) } else { Found::default() };
        self.enter_recovery(&found);
        if self.tx.progress.phase == Phase::Recovery && news.delivered > 0 {
            self.reduce_in_proportion(news.delivered, advanced && found.octets == 0);
        }
        if advanced || news.delivered > 0 {
            let ack = Ack {
                acked: news.octets,
                // Linux's `acked_sacked`.
                counted: news.delivered,
                lost: found.octets,
                flight,
                rtt: news.rtt,
                // RACK repairs only what is lost, and Linux knows no bound as that of RFC 3465 §2.3.
                slow_start_segments: self.config.slow_start_segments,
                reorders_far: self.reorders_far(),
                ecn_echo: segment.flags.contains(Flags::ECE),
            };
            self.tell_control(now, &ack);
        }
        found.recheck
    }

    fn reorders_far(&self) -> bool {
        let smss = self.tx.window.smss;
        self.tx.rack.as_ref().is_some_and(|rack| rack.window.reorders_far(smss))
    }

    fn detect(&mut self, now: Instant) -> Found {
        let tx = &mut self.tx;
        let facts = Facts {
            recovering: tx.progress.phase != Phase::Open,
            dup_thresh: tx.board.segments(tx.window.smss) >= u64::from(DUP_THRESH),
            srtt: tx.rtt.srtt(),
        };
        let Some(rack) = &mut tx.rack else { return Found::default() };
        rack.detect(now, tx.una, &tx.board, &facts)
    }

    /// Fast recovery begins where something is lost; after a timeout, where a retransmission is (as in Linux).
    fn enter_recovery(&mut self, found: &Found) {
        let algorithm = self.tx.algorithm;
        let begins = match self.tx.progress.phase {
            Phase::Open => algorithm.is_loss(&self.tx),
            Phase::Loss => found.again,
            Phase::Recovery => false,
        };
        if begins {
            algorithm.enter(&mut self.tx);
            self.recovery_entered();
        }
    }

    fn reduce_in_proportion(&mut self, octets: u64, progress: bool) {
        let tx = &mut self.tx;
        let pipe = tx.in_flight();
        let Some(rack) = &mut tx.rack else { return };
        let delivery = Delivery { octets, progress, pipe };
        let cwnd = rack.prr.cwnd(tx.window.ssthresh(), tx.window.smss, delivery);
        tx.request(Request::Proportional { cwnd });
    }

    /// RFC 8985 §7.4.2: where the probe has repaired a loss, congestion control must hear of it.
    fn answer_probe(&mut self, news: &News) {
        let tx = &mut self.tx;
        let Some(rack) = &mut tx.rack else { return };
        let bare_duplicate = news.bare && news.sacks.fresh == 0;
        let answer = Answer { una: tx.una, dsack: news.dsack.map(|d| d.end), bare_duplicate };
        if rack.probe.has_repaired(&answer) {
            rack.counters.loss_probe_recoveries += 1;
            let cwnd = tx.window.cwnd();
            tx.cc.on_loss(&mut tx.window, cwnd);
            tx.request(Request::ToSsthresh);
        }
    }

    /// The retransmission timer has expired, or whatever else it stood for (RFC 8985 §8).
    pub(super) fn on_loss_timer(&mut self, now: Instant) {
        let Some(rack) = &mut self.tx.rack else {
            self.on_retransmission_timeout(now);
            return;
        };
        match std::mem::take(&mut rack.pending) {
            Pending::Rto => self.on_retransmission_timeout(now),
            Pending::Reordering => self.on_reordering_timeout(now),
            Pending::Probe => {
                rack.probe.due = self.tx.una < self.tx.max;
                // RFC 8985 §7.3: afterwards the RTO timer runs, whether or not a probe could be sent.
                self.arm(now, Pending::Rto, now + self.rto());
            }
        }
    }

    /// RFC 8985 §6.2 step 5: the reordering window has passed.
    fn on_reordering_timeout(&mut self, now: Instant) {
        if self.tx.una == self.tx.max {
            return;
        }
        let mut found = self.detect(now);
        if found.octets > 0 && self.tx.progress.phase != Phase::Recovery {
            // As in Linux (`tcp_rack_reo_timeout`): after a timeout too.
            found.again = true;
            self.enter_recovery(&found);
            self.reduce_in_proportion(self.tx.window.smss, false);
        }
        // All that waited was due: the timer stands at the last of it.
        self.arm(now, Pending::Rto, self.rto_expiry(now));
    }

    /// When the RTO of the first segment passes, counted from its last transmission.
    fn rto_expiry(&self, now: Instant) -> Instant {
        let sent = self.tx.rack.as_ref().and_then(|rack| rack.log.last_sent(self.tx.una));
        sent.unwrap_or(now) + self.rto()
    }

    /// One timer serves all (RFC 8985 §8). It never lies in the past.
    pub(super) fn arm(&mut self, now: Instant, pending: Pending, at: Instant) {
        let Some(rack) = &mut self.tx.rack else { return };
        rack.pending = pending;
        let soonest = self.config.clock_granularity.max(Duration::from_nanos(1));
        let delay = if at > now { at.since(now) } else { soonest };
        self.timers.set(Timer::Retransmit, self.expiry(now, delay));
    }

    /// After an acknowledgement. `restart`: SND.UNA has advanced.
    fn set_rack_timer(&mut self, now: Instant, restart: bool, recheck: Option<Instant>) {
        if self.tx.una == self.tx.max {
            self.timers.stop(Timer::Retransmit);
        } else if !self.timers.is_set(Timer::Retransmit) {
            // The persist timer serves.
        } else if let Some(at) = recheck {
            // Linux adds `TCP_TIMEOUT_MIN`, two jiffies.
            self.arm(now, Pending::Reordering, at + self.config.timer_tick * 2);
        } else if restart && self.may_probe() {
            let at = deadline(now, self.pto(), now + self.rto());
            self.arm(now, Pending::Probe, at);
        } else if restart {
            // RFC 6298 §5.3. Where another timer stood in its place, the time since the first segment left counts (as in Linux).
            let was_rto = self.tx.rack.as_ref().is_some_and(|rack| rack.pending == Pending::Rto);
            let at = if was_rto { now + self.rto() } else { self.rto_expiry(now) };
            self.arm(now, Pending::Rto, at);
        }
    }

    /// RFC 8985 §7.2: SACK, no recovery, nothing SACKed, no probe outstanding.
    fn may_probe(&self) -> bool {
        let tx = &self.tx;
        tx.progress.phase == Phase::Open
            && tx.board.is_empty()
            && tx.rack.as_ref().is_some_and(|rack| !rack.probe.is_outstanding())
    }

    fn pto(&self) -> Duration {
        let single = self.tx.max - self.tx.una <= self.tx.window.smss;
        // Linux: its least RTO for the longest delay of an acknowledgement, and two jiffies at least (`TCP_TIMEOUT_MIN`).
        let allowance = if single { self.config.rto_min } else { self.config.timer_tick * 2 };
        pto(self.tx.rtt.srtt(), allowance)
    }

    /// A segment leaves; SND.MAX is still what it was.
    pub(super) fn log_sent(&mut self, now: Instant, piece: Piece, end: u64) {
        let tsval = self.timestamps.then(|| self.tsval(now));
        let tx = &mut self.tx;
        let Some(rack) = &mut tx.rack else { return };
        let again = Range { start: piece.start, end: end.min(tx.max) };
        if again.start < again.end {
            rack.log.resent(again, now);
            // A probe is no retransmission that an undo could miss: its duplicate says that nothing was lost.
            if matches!(piece.why, Why::Head | Why::Hole) {
                rack.undo.resent(again.end - again.start, tsval);
            }
        }
        if end > tx.max {
            rack.log.sent(end, now);
        }
        if tx.progress.phase == Phase::Recovery {
            rack.prr.sent(end - piece.start);
        }
        if piece.why == Why::LossProbe {
            rack.probe.sent(tx.max.max(end), end <= tx.max);
            rack.counters.loss_probes += 1;
            self.emit(Event::LossProbe);
        }
    }

    /// RFC 6298 §5.1 and RFC 8985 §7.2: a segment has left.
    pub(super) fn set_rack_timer_on_sending(&mut self, now: Instant, piece: Piece, fresh: bool) {
        let off = !self.timers.is_set(Timer::Retransmit);
        let settling = self.tx.rack.as_ref().is_some_and(|rack| rack.pending == Pending::Reordering);
        // Linux counts the RTO from the first segment's last transmission.
        let head = !fresh && piece.start == self.tx.una && !settling;
        if fresh && self.may_probe() {
            let at = deadline(now, self.pto(), self.rto_expiry(now));
            self.arm(now, Pending::Probe, at);
        } else if off || head {
            self.arm(now, Pending::Rto, now + self.rto());
        }
    }

    /// What goes next: a probe that is due, what is lost, new data.
    pub(super) fn choose_by_rack(&mut self, now: Instant, room: u64) -> Option<Piece> {
        if let Some(piece) = self.loss_probe(room) {
            return Some(piece);
        }
        if self.waits_for_pacer(now) {
            return None;
        }
        let new_first = self.tx.rack.as_ref().is_some_and(|rack| rack.undo.new_first);
        // RFC 5682 step 2b: new data instead of what seems lost.
        let held = new_first || self.tx.spurious.new_data_limit().is_some();
        if self.tx.progress.phase == Phase::Open || held {
            let piece = self.next(now, room);
            if piece.is_some() || !new_first || self.tx.max > self.tx.progress.recover {
                return piece;
            }
            self.give_up_new_first();
        }
        self.repair(room).or_else(|| self.next(now, room))
    }

    /// RFC 8985 §7.3: a segment of new data, though cwnd has no room for it, or the last one again.
    fn loss_probe(&mut self, room: u64) -> Option<Piece> {
        let tx = &mut self.tx;
        let rack = tx.rack.as_mut().filter(|rack| rack.probe.due)?;
        rack.probe.due = false;
        if tx.progress.phase != Phase::Open {
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
        Some(Piece { start, end: last.end, why: Why::LossProbe })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, Received, Recovery};
    use handfast_core::Bytes;
    use handfast_wire::Payload;
    use std::sync::Arc;

    /// An endpoint that has sent segments of 1000 octets at these milliseconds.
    fn sender(at: &[u64]) -> Endpoint {
        let rtt_estimation = RttEstimation::Linux;
        let config = Config { mss: 1000, recovery: Recovery::Rack, rtt_estimation, ..Config::default() };
        let mut e = Endpoint::connect(Arc::new(config), 4000, 80, SeqNum(0), Instant::ZERO);
        let syn = e.poll_transmit(Instant::ZERO, Bytes(u64::MAX)).unwrap().segment;
        let flags = Flags::SYN | Flags::ACK;
        let answer = Segment {
            src_port: 80,
            dst_port: 4000,
            seq: SeqNum(0),
            ack: SeqNum(1),
            flags,
            window: 60_000,
            ..syn
        };
        e.on_segment(Instant::ZERO, &Received::plain(&answer));
        for (n, &ms) in at.iter().enumerate() {
            e.write(Payload::Synthetic { stream: 0, offset: 1000 * n as u64, len: 1000 });
            while e.poll_transmit(Instant::from_millis(ms), Bytes(u64::MAX)).is_some() {}
        }
        e
    }

    #[test]
    fn the_oldest_and_the_newest_segment_acknowledged_are_timed() {
        // `tcp_clean_rtx_queue`: `seq_rtt_us` from `first_ackt`, `ca_rtt_us` from `last_ackt`.
        let e = sender(&[10, 50, 70]);
        let timed = |upto| e.timed_by_log(Instant::from_millis(100), upto);
        let ms = |a, b| Some((Duration::from_millis(a), Duration::from_millis(b)));
        let smss = e.tx.window.smss;
        assert_eq!(timed(1 + smss), ms(90, 90));
        assert_eq!(timed(1 + 2 * smss), ms(90, 50));
        assert_eq!((timed(e.tx.max), e.tx.max), (ms(90, 30), 3001));
    }
}
