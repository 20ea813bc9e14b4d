//! A segment arrives on a synchronised connection (RFC 9293 §3.10.7.4), with the checks of RFC 5961 and RFC 7323.

use handfast_core::{Duration, Instant, SeqNum};
use handfast_wire::tcp::{Flags, Segment};

use super::{Endpoint, Timer};
use crate::receive::memory::DropReason;
use crate::receive::receive_buffer::Arrival;
use crate::{Death, Event, State};

/// RFC 7323 §5.5: a TS.Recent older than this is no longer trusted.
const TS_RECENT_LIFETIME: Duration = Duration::from_secs(24 * 24 * 3600);

impl Endpoint {
    pub(super) fn on_segment_synchronised(&mut self, now: Instant, segment: &Segment) {
        if !self.passes_paws(now, segment) {
            return;
        }
        // RFC 9293 §3.10.7.4, first: the sequence number.
        let start = self.rx.relative(segment.seq);
        if !self.is_acceptable(start, segment) {
            self.on_unacceptable(now, segment, start);
            return;
        }
        self.heard(now);
        // Second: RST.
        if segment.flags.contains(Flags::RST) {
            self.on_reset(now, start);
            return;
        }
        // Fourth: SYN. RFC 5961 §4.2: it never ends a connection; the peer learns where we are.
        if segment.flags.contains(Flags::SYN) {
            self.challenge(now);
            self.reflect_late_syn(segment);
            return;
        }
        // Fifth: ACK.
        if !segment.flags.contains(Flags::ACK) || !self.passes_handshake(now, segment) {
            return;
        }
        if self.marks {
            self.count_packet(segment);
        }
        if !self.on_ack(now, segment) {
            return;
        }
        // RFC 7323 §5.3, R3: a segment that is dropped leaves no timestamp.
        self.note_timestamp(now, segment, start);
        // Seventh and eighth: payload, FIN.
        let len = segment.seq_len();
        if len > 0 && start + i64::from(len) <= 0 {
            self.on_old_text(segment);
        } else if len > 0 {
            self.on_text(now, segment, start);
        }
        self.after_ack(now);
    }

    /// RFC 7323 §5.3, R1: a timestamp older than the last one in order belongs to an earlier use of these sequence numbers.
    fn passes_paws(&mut self, now: Instant, segment: &Segment) -> bool {
        if !self.timestamps || segment.flags.contains(Flags::RST) {
            return true;
        }
        let Some(ts) = segment.timestamps else {
            // RFC 7323 §3.2: once negotiated, a segment without the option is dropped without a word. A SYN carries its own
            // rules and gets a challenge ACK below. Linux takes all (`tcp_validate_incoming` looks at timestamps that are there).
            return segment.flags.contains(Flags::SYN) || self.config.linux_details;
        };
        let stale = SeqNum(ts.val).before(SeqNum(self.rx.ts_recent));
        if stale && now.since(self.rx.ts_recent_at) <= TS_RECENT_LIFETIME {
            self.answer_unacceptable(now, segment);
            return false;
        }
        true
    }

    /// RFC 9293 §3.4, table 5, for a segment that begins `start` octets after RCV.NXT.
    pub(super) fn is_acceptable(&self, start: i64, segment: &Segment) -> bool {
        let window = self.rx.window() as i64;
        let len = i64::from(segment.seq_len());
        if self.rx.memory.is_some() && start + len > window {
            return self.takes_beyond(start, window, segment);
        }
        if start + len <= 0 && self.takes_old(start + len) {
            return true;
        }
        if len == 0 {
            // The table wants it left of the right edge. A sender that has filled the window acknowledges from the edge
            // itself, and losing such ACKs can lock both sides, so the edge counts (as in Linux).
            return (0..=window).contains(&start);
        }
        // Table 5's last rows, and §3.10.7.4: with a closed window a segment at RCV.NXT still counts for its ACK.
        if window == 0 { start <= 0 && start + len > 0 } else { start < window && start + len > 0 }
    }

    /// Linux's left edge is RCV.NXT as it was last sent (`tcp_sequence`, `rcv_wup`), not RCV.NXT: a segment that goes again because only
    /// its acknowledgement was lost, or is delayed, still counts for its ACK and its timestamp. `end` is relative to RCV.NXT.
    fn takes_old(&self, end: i64) -> bool {
        // `tcp_check_req` and `tcp_timewait_state_process` judge by RFC 9293's table.
        self.config.linux_details
            && !matches!(self.state, State::SynReceived | State::TimeWait)
            && end >= self.rx.relative(self.rx.last_ack_sent)
    }

    /// Where memory counts (`tcp_sequence`): a segment that ends beyond the window is taken if nothing waits to be read, or if only its FIN
    /// does not fit.
    #[cold]
    fn takes_beyond(&self, start: i64, window: i64, segment: &Segment) -> bool {
        let only_fin = start + segment.payload.len() as i64 <= window && !segment.flags.contains(Flags::SYN);
        start <= window && (only_fin || self.rx.buffer.readable() == 0)
    }

    /// RFC 9293 §3.10.7.4, first: an unacceptable segment is answered with an ACK, unless it is a reset.
    fn on_unacceptable(&mut self, now: Instant, segment: &Segment, start: i64) {
        if segment.flags.contains(Flags::RST) {
            return;
        }
        if self.state == State::SynReceived
            && segment.flags.contains(Flags::SYN)
            && segment.seq == self.rx.irs
        {
            // RFC 7323 §4.3 (2): the answer echoes the SYN that it answers.
            self.note_timestamp(now, segment, start);
            self.on_repeated_syn(now, segment);
            return;
        }
        self.heard(now);
        if let Some(memory) = &mut self.rx.memory
            && start + i64::from(segment.seq_len()) > 0
        {
            memory.count(DropReason::BeyondWindow);
        }
        self.answer_unacceptable(now, segment);
        if start == -1 && segment.seq_len() == 0 {
            self.on_ack_before_probe(now, segment);
        }
        self.note_old_text(segment);
        if self.state == State::TimeWait && segment.flags.contains(Flags::FIN) {
            self.forget_counters();
            // RFC 9293 §3.10.7.4, eighth: acknowledge the repeated FIN and restart 2 MSL.
            self.start_time_wait(now);
        }
    }

    /// A bare acknowledgement from one octet before RCV.NXT: the peer has sent that octet into a window it thought closed, does
    /// not know that we took it, and numbers its acknowledgements by the window's edge. Where probes cross, both sides would
    /// drop each other's acknowledgements and answer them for ever (4.4BSD processes the ACK of any old segment for that).
    fn on_ack_before_probe(&mut self, now: Instant, segment: &Segment) {
        let acknowledges_new = self.tx.position(segment.ack).is_some_and(|ack| ack > self.tx.una);
        if acknowledges_new
            && segment.flags.contains(Flags::ACK)
            && self.is_synchronised()
            && self.on_ack(now, segment)
        {
            self.after_ack(now);
        }
    }

    /// SYN-RECEIVED, and the SYN that brought us here comes again. With an acknowledgement of ours it is the end of a
    /// simultaneous open (RFC 9293 §3.5, figure 8); without, the peer has not seen our SYN-ACK, which goes out again.
    fn on_repeated_syn(&mut self, now: Instant, segment: &Segment) {
        if segment.flags.contains(Flags::ACK) && self.acknowledges_syn(segment) {
            self.on_syn_acknowledged(now, segment);
            self.rx.ack_now = true;
        } else {
            if self.ecn.is_some() {
                self.settle_ecn_again(segment);
            }
            self.tx.nxt = 0;
        }
    }

    /// All of an acceptable segment has arrived before: its acknowledgement goes out at once (`tcp_data_queue`).
    fn on_old_text(&mut self, segment: &Segment) {
        self.rx.ack_now = true;
        self.note_old_text(segment);
    }

    fn note_old_text(&mut self, segment: &Segment) {
        if !segment.payload.is_empty() {
            self.counters.data_segments_received += 1;
            self.note_old_payload(segment);
        }
    }

    /// Payload that lies outside the window: what we have had already is reported (RFC 2883 §4.1).
    fn note_old_payload(&mut self, segment: &Segment) {
        let next = self.rx.buffer.next();
        let start = next.checked_add_signed(i64::from(segment.seq.distance(self.rx.seq(next))));
        if let Some(start) = start
            && start + segment.payload.len() as u64 <= next
        {
            let repeated = Some((start, start + segment.payload.len() as u64));
            self.note_repetition(start);
            self.note_arrival(Arrival::Duplicate, self.repeated_with_fin(segment, repeated));
        }
    }

    /// RFC 5961 §7: a challenge ACK, as often as is allowed.
    pub(super) fn challenge(&mut self, now: Instant) {
        let engine = self.rx.quick_ack.as_mut().filter(|_| self.config.linux_details);
        self.rx.ack_now |= engine.is_none_or(|engine| engine.may_challenge(now));
    }

    /// A segment that is not acceptable is answered. "Data packets without SYNs are not likely part of an ACK loop"
    /// (`tcp_oow_rate_limited`).
    fn answer_unacceptable(&mut self, now: Instant, segment: &Segment) {
        if segment.seq_len() > 0 && !segment.flags.contains(Flags::SYN) {
            self.rx.ack_now = true;
        } else {
            self.challenge(now);
        }
    }

    fn on_reset(&mut self, now: Instant, start: i64) {
        // RFC 5961 §3.2: only an exact RCV.NXT resets; elsewhere in the window a challenge ACK lets a true peer repeat it.
        if start != 0 {
            self.challenge(now);
            return;
        }
        if self.state == State::SynReceived && self.passive && !self.is_early() {
            self.listen_again();
            return;
        }
        let orderly = matches!(self.state, State::Closing | State::LastAck | State::TimeWait);
        self.end(if orderly { Event::Closed } else { Event::Died(Death::Reset) });
    }

    /// RFC 9293 §3.10.7.4, second: back to LISTEN, as if nothing had come. What the application has done stays done.
    fn listen_again(&mut self) {
        let mut fresh = Self::listen(self.config.clone(), self.local_port, self.tx.iss);
        fresh.counters = self.counters;
        fresh.events = std::mem::take(&mut self.events);
        fresh.tx.buffer = std::mem::take(&mut self.tx.buffer);
        fresh.tx.closing = self.tx.closing;
        fresh.keep_path(self.help.take());
        *self = fresh;
    }

    /// SYN-RECEIVED: the ACK that completes the handshake, or a refusal.
    fn passes_handshake(&mut self, now: Instant, segment: &Segment) -> bool {
        if self.state != State::SynReceived {
            return true;
        }
        if !self.acknowledges_syn(segment) {
            // RFC 9293 §3.10.7.4, fifth: <SEQ=SEG.ACK><CTL=RST>
            self.reset_due = Some((segment.ack, None));
            return false;
        }
        self.on_syn_acknowledged(now, segment);
        true
    }

    /// RFC 7323 §4.3 (2): TS.Recent follows the segment that spans Last.ACK.sent, so that it echoes the earliest segment that
    /// is not acknowledged yet.
    fn note_timestamp(&mut self, now: Instant, segment: &Segment, start: i64) {
        let Some(ts) = segment.timestamps.filter(|_| self.timestamps) else { return };
        let spans = start <= self.rx.relative(self.rx.last_ack_sent);
        // RFC 7323 §5.5: one that has lost its meaning is replaced, whatever it was.
        let expired = now.since(self.rx.ts_recent_at) > TS_RECENT_LIFETIME;
        if spans && (expired || !SeqNum(ts.val).before(SeqNum(self.rx.ts_recent))) {
            self.rx.ts_recent = ts.val;
            self.rx.ts_recent_at = now;
        }
    }

    /// RFC 9293 §3.10.7.4, fifth: what an acknowledgement of our FIN does to the state.
    fn after_ack(&mut self, now: Instant) {
        let fin_acknowledged = self.tx.closing && self.tx.una == self.tx.stream_end();
        if !fin_acknowledged {
            return;
        }
        match self.state {
            State::FinWait1 => {
                self.state = State::FinWait2;
                self.timers.stop(Timer::Retransmit);
            }
            State::Closing => self.start_time_wait(now),
            State::LastAck => self.end(Event::Closed),
            _ => {}
        }
    }
}
