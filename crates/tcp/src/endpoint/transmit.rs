//! A segment leaves, and what follows from it.

use std::ops::ControlFlow;

use handfast_core::{Bytes, Instant};
use handfast_wire::Payload;
use handfast_wire::tcp::{Flags, Timestamps};

use super::{Endpoint, Timer};
use crate::cc::{Controlled, Departure};
use crate::phase::Phase;
use crate::send::piece::{Piece, Why};
use crate::{Nagle, State, Transmit};

impl Endpoint {
    pub(super) fn transmit(&mut self, now: Instant) -> Option<Transmit> {
        self.spent = false;
        if self.reset_due.is_some() {
            return self.due_reset(now);
        }
        if !self.is_synchronised()
            && let ControlFlow::Break(other) = self.transmit_unsynchronised(now)
        {
            return other;
        }
        if self.tx.una < self.tx.stream_end() && !self.is_suspended() {
            if self.config.linux_details && self.tx.probe_due && self.tx.wnd == 0 {
                return Some(self.old_octet(now));
            }
            self.validate_window(now);
            if let Some(piece) = self.choose(now) {
                return Some(self.send(now, piece));
            }
            self.time_outstanding(now);
        }
        if self.is_early() {
            // The peer cannot use a bare acknowledgement before it has the SYN-ACK, which says the same.
            return None;
        }
        if let Some(probe) = self.keepalive_probe(now) {
            return Some(probe);
        }
        let owed = self.rx.ack_now
            || self.rx.owes_window_update(u64::from(self.config.mss))
            || self.rx.takes_duplicate();
        owed.then(|| {
            // RFC 9293 §3.10.7.4, first: with the probe of a closed window outstanding, SND.MAX lies outside the window, and
            // the peer would drop the acknowledgement.
            let position = self.tx.max.min(self.tx.right_edge());
            self.counters.segments_sent += 1;
            self.spent = self.ends_with_acknowledgement();
            self.build(now, position, Payload::EMPTY, Flags::ACK)
        })
    }

    #[cold]
    fn due_reset(&mut self, now: Instant) -> Option<Transmit> {
        let (seq, ack) = self.reset_due.take()?;
        let mut reset = self.build_reset(seq, ack);
        if self.timestamps && ack.is_some() {
            // RFC 7323 §3.2: a reset SHOULD have them too.
            let val = self.tsval(now);
            reset.segment.timestamps = Some(Timestamps { val, ecr: self.rx.ts_recent });
        }
        if ack.is_some() {
            self.count_in_reset(now, &mut reset);
        }
        Some(reset)
    }

    /// What a connection sends that carries no data yet; it goes on where it may send some before the handshake is over.
    #[cold]
    fn transmit_unsynchronised(&mut self, now: Instant) -> ControlFlow<Option<Transmit>> {
        if matches!(self.state, State::Closed | State::Listen) {
            return ControlFlow::Break(None);
        }
        if self.tx.nxt == 0 && !self.is_suspended() {
            return ControlFlow::Break(Some(self.build_syn_counted(now)));
        }
        if self.is_early() {
            return ControlFlow::Continue(());
        }
        ControlFlow::Break(if self.startup.is_some() { self.startup_window(now) } else { None })
    }

    /// Linux probes a closed window by an empty segment from before it, which the peer must answer (`tcp_xmit_probe_skb`).
    #[cold]
    fn old_octet(&mut self, now: Instant) -> Transmit {
        self.tx.probe_due = false;
        self.counters.segments_sent += 1;
        // `tcp_probe_timer`: a user timeout counts from the first probe of a closed window.
        self.begin_waiting(now, || true);
        self.build(now, self.tx.una - 1, Payload::EMPTY, Flags::ACK)
    }

    fn build_syn_counted(&mut self, now: Instant) -> Transmit {
        self.counters.segments_sent += 1;
        self.build_syn(now)
    }

    /// RFC 2861: the connection was idle and has something to send.
    fn validate_window(&mut self, now: Instant) {
        // Most segments leave while others are in flight: that is asked first.
        if self.tx.una != self.tx.max
            || self.tx.max <= 1
            || !(self.config.cwnd_validation && self.config.idle_restart)
            // Linux looks when something is written and when the window changes (`tcp_slow_start_after_idle_check`), not before a probe.
            || self.config.linux_details && self.tx.wnd == 0
        {
            return;
        }
        let restart = self.config.initial_window.bytes(self.tx.window.smss);
        let rto = self.rto();
        let tx = &mut self.tx;
        let controlled = Controlled { window: &mut tx.window, control: &mut tx.cc };
        let idle = tx.validation.after_idle(controlled, now, rto, restart);
        if let Some(idle) = idle {
            self.tx.cc.on_idle(now, idle);
            // Counted once: the segment that follows restarts the clock even if the window stops it.
            self.tx.validation.touch(now);
        }
    }

    fn send(&mut self, now: Instant, piece: Piece) -> Transmit {
        let data_end = self.tx.data_end();
        let len = piece.end.min(data_end).saturating_sub(piece.start);
        let payload = self.tx.buffer.slice(piece.start - 1, len as usize);
        // The buffer may give less where real and synthetic data meet.
        let end = if (payload.len() as u64) < len { piece.start + payload.len() as u64 } else { piece.end };
        let fin = end > data_end;
        self.count(piece, &payload);
        // A retransmission is not a small segment: only new segments reach Linux's `tcp_minshall_update`.
        if self.config.nagle == Nagle::Minshall
            && (payload.len() as u64) < self.room(now)
            && (piece.start >= self.tx.max || !self.config.linux_details)
        {
            self.tx.small_end = self.tx.seq(end);
        }
        if let Some(engine) = &mut self.rx.quick_ack
            && !payload.is_empty()
        {
            engine.on_data_sent(now);
        }
        if self.startup.is_some() {
            self.startup_sent(now, piece, end);
        }
        if let Some(marks) = &mut self.ecn {
            marks.on_send(!payload.is_empty() && piece.start >= self.tx.max && piece.why == Why::Next);
        }
        self.note_sent(now, piece, end);
        if self.help.is_some() {
            self.help_sent(now, end - piece.start);
        }
        let mut flags = Flags::ACK;
        if fin {
            flags = flags | Flags::FIN;
            self.fin_sent();
        }
        if end >= data_end && !payload.is_empty() {
            // RFC 9293 §3.9.1: nothing more is queued.
            flags = flags | Flags::PSH;
        }
        self.spent = piece.why == Why::Next && !fin && self.ends_with_data();
        self.build(now, piece.start, payload, flags)
    }

    fn count(&mut self, piece: Piece, payload: &Payload) {
        self.counters.segments_sent += 1;
        if payload.is_empty() {
            return;
        }
        self.counters.data_segments_sent += 1;
        // The octet of a zero-window probe that opens the first full segment is no retransmission of a lost one.
        if piece.start < self.tx.max && self.tx.probed != Some(piece.start) {
            self.counters.retransmitted_segments += 1;
            let octets = (self.tx.max - piece.start).min(payload.len() as u64);
            self.counters.retransmitted_bytes += octets;
            self.help_sent_again(octets);
        }
    }

    fn note_sent(&mut self, now: Instant, piece: Piece, end: u64) {
        let fresh = piece.start >= self.tx.max;
        self.tx.note_cut(piece.start, end);
        self.note_progress(now, piece, end);
        if let Some(eln) = &mut self.eln {
            eln.on_sent(now, self.tx.max, piece, end);
            if piece.why == Why::Marked && piece.start == self.tx.una {
                // The path answers: a timeout while it is being repaired would take that for congestion (as in Linux, where a
                // retransmission of the head restarts the timer).
                self.timers.stop(Timer::Retransmit);
            }
        }
        self.recovery.on_sent(lend!(self, now), piece, end);
        if self.tx.cc.watches_departures() {
            self.note_departure(now, piece, end);
        }
        self.tx.max = self.tx.max.max(end);
        if piece.why == Why::Probe {
            self.tx.probe_due = false;
            self.tx.probed = Some(piece.start);
            self.begin_waiting(now, || true);
            return;
        }
        if fresh && self.tx.timed.is_none() && !self.timestamps {
            self.tx.timed = Some((end, now));
        } else if !fresh {
            self.tx.timed = None;
        }
        self.timers.stop(Timer::Persist);
        // RFC 6298 §5.1
        let is_set = self.timers.is_set(Timer::Retransmit);
        let change = self.recovery.time_sending(lend!(self, now), is_set, piece, fresh);
        self.change_timer(now, change);
        // A tail loss probe is no repetition by the timer (`tcp_send_loss_probe` leaves `retrans_stamp` alone).
        self.begin_waiting(now, || !fresh && piece.why != Why::LossProbe);
        self.note_use(now, fresh);
    }

    /// The congestion control measures or paces what leaves; SND.MAX is still what it was.
    #[cold]
    fn note_departure(&mut self, now: Instant, piece: Piece, end: u64) {
        let watches_losses = self.tx.cc.watches_losses();
        let in_flight = if watches_losses { self.in_flight_with(end) } else { 0 };
        let tx = &mut self.tx;
        let (size, again) = (Bytes(end - piece.start), piece.start < tx.max);
        // What is lost is not in flight (the BBR draft, §2.2: "C.inflight"); for Linux it is, until it is acknowledged (`packets_out`).
        let idle = if watches_losses { in_flight <= size.0 } else { tx.una == tx.max };
        let departure = Departure { srtt: tx.rtt.srtt(), end, size, idle, again, in_flight };
        tx.cc.on_sent(now, &mut tx.window, &departure);
    }

    /// Octets in the network once what ends at `end` has left: loss recovery knows what goes again, not yet what is new.
    fn in_flight_with(&self, end: u64) -> u64 {
        self.recovery.in_flight(&self.tx) + end.saturating_sub(self.tx.max)
    }

    fn note_progress(&mut self, now: Instant, piece: Piece, end: u64) {
        match piece.why {
            Why::Head => {
                self.tx.progress.head_due = false;
                // RFC 6675 §5 step 4.3: HighRxt and RescueRxt are the highest octet of this retransmission.
                self.tx.progress.high_rxt = self.tx.progress.high_rxt.max(end);
                self.tx.progress.rescue_rxt = Some(end);
                self.tx.nxt = self.tx.nxt.max(end);
                let tsval = self.timestamps.then(|| self.tsval(now));
                self.spurious.on_retransmission(tsval, end);
            }
            Why::Hole => self.tx.progress.high_rxt = end,
            // RFC 6675 §4 rule (4): RescueRxt becomes RecoveryPoint.
            Why::Rescue => self.tx.progress.rescue_rxt = Some(self.tx.progress.recover),
            Why::Next => self.tx.nxt = end,
            Why::LossProbe => self.tx.nxt = self.tx.nxt.max(end),
            // HighRxt stays: what a recovery goes through in order may lie below.
            Why::Marked | Why::Probe => {}
        }
    }

    fn note_use(&mut self, now: Instant, fresh: bool) {
        if self.config.linux_details {
            self.note_most(fresh);
        }
        let decays = self.config.cwnd_validation && self.config.idle_restart;
        if !fresh || !decays || self.tx.progress.phase != Phase::Open {
            self.tx.validation.touch(now);
            return;
        }
        let in_flight = self.tx.flight_size();
        let app_limited = self.tx.nxt >= self.tx.data_end();
        let Self { tx, config, .. } = self;
        let controlled = Controlled { window: &mut tx.window, control: &mut tx.cc };
        tx.validation.on_send(controlled, now, in_flight, || tx.rtt.rto(config), app_limited);
    }

    /// Linux's `tcp_cwnd_validate`: the most that was in flight in this window.
    #[cold]
    fn note_most(&mut self, fresh: bool) {
        if fresh {
            let lacking = self.tx.lacking();
            self.tx.validation.note_most(self.tx.una, self.tx.nxt, lacking);
        }
    }

    /// RFC 9293 §3.10.4: the state follows the FIN out.
    fn fin_sent(&mut self) {
        match self.state {
            State::Established => self.state = State::FinWait1,
            State::CloseWait => self.state = State::LastAck,
            _ => {}
        }
    }
}
