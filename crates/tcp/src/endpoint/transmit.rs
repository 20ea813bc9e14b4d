//! What to send next, and the segment that carries it.

use handfast_core::{Bytes, Instant};
use handfast_wire::tcp::{Flags, Segment, Timestamps};
use handfast_wire::{IpFacts, Payload};

use super::{Endpoint, Timer};
use crate::cc::{Controlled, Departure};
use crate::phase::Phase;
use crate::send::piece::{Piece, Why};
use crate::{Nagle, State, Transmit};

impl Endpoint {
    pub(super) fn transmit(&mut self, now: Instant) -> Option<Transmit> {
        if let Some((seq, ack)) = self.reset_due.take() {
            return Some(self.build_reset(seq, ack));
        }
        match self.state {
            State::Closed | State::Listen => return None,
            State::SynSent | State::SynReceived => {
                if self.tx.nxt == 0 {
                    return Some(self.build_syn_counted(now));
                }
                return if self.startup.is_some() { self.startup_window(now) } else { None };
            }
            _ => {}
        }
        if self.tx.una < self.tx.stream_end() {
            self.validate_window(now);
            if let Some(piece) = self.choose(now) {
                return Some(self.send(now, piece));
            }
            self.time_outstanding(now);
        }
        if let Some(probe) = self.keepalive_probe(now) {
            return Some(probe);
        }
        let owed = self.rx.ack_now || self.rx.owes_window_update(u64::from(self.config.mss));
        owed.then(|| {
            // RFC 9293 §3.10.7.4, first: with the probe of a closed window outstanding, SND.MAX lies outside the window, and
            // the peer would drop the acknowledgement.
            let position = self.tx.max.min(self.tx.right_edge());
            self.counters.segments_sent += 1;
            self.build(now, position, Payload::EMPTY, Flags::ACK)
        })
    }

    fn build_syn_counted(&mut self, now: Instant) -> Transmit {
        self.counters.segments_sent += 1;
        self.build_syn(now)
    }

    /// RFC 2861: the connection was idle and has something to send.
    fn validate_window(&mut self, now: Instant) {
        if !self.config.cwnd_validation || self.tx.una != self.tx.max || self.tx.max <= 1 {
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

    fn choose(&mut self, now: Instant) -> Option<Piece> {
        let room = self.room();
        if self.tx.progress.head_due {
            return Some(self.head(room));
        }
        if self.tx.probe_due {
            return Some(self.probe(room));
        }
        if let Some(piece) = self.recovery.probe(&self.tx, room) {
            return Some(piece);
        }
        if self.waits_for_pacer(now) {
            return None;
        }
        if let Some(eln) = &self.eln {
            if let Some(piece) = eln.marked_piece(&self.tx, room) {
                return Some(piece);
            }
            if !eln.may_go_on(self.tx.nxt) {
                return None;
            }
            if self.tx.progress.phase == Phase::Recovery {
                eln.skip_repaired(&mut self.tx, now);
            }
        }
        if self.recovery.sends_new_first() {
            let piece = self.next(now, room);
            if piece.is_some() || self.tx.max > self.tx.progress.recover {
                return piece;
            }
            self.recovery.give_up_new_first();
        }
        if self.tx.progress.phase != Phase::Open
            && self.recovery.repairs(self.tx.progress.phase, self.spurious.new_data_limit().is_some())
            && let Some(piece) = self.repair(room)
        {
            return Some(piece);
        }
        self.next(now, room)
    }

    /// Whether what the windows let go must wait for its turn at the pacing rate. Retransmission timeouts and probes do not wait.
    #[inline]
    pub(super) fn waits_for_pacer(&mut self, now: Instant) -> bool {
        let Some(due) = self.tx.cc.pacing_due().filter(|&due| due > now) else { return false };
        // The timer may wait for a schedule of the start-up's.
        let at = self.timers.get(Timer::Pace).map_or(due, |set| set.min(due));
        self.timers.set(Timer::Pace, at);
        true
    }

    /// Payload octets that a full segment holds now: SACK blocks take from it (RFC 6691 §2).
    pub(super) fn room(&self) -> u64 {
        let blocks = self.sack_blocks().as_slice().len() as u64;
        let room = self.tx.window.smss - if blocks == 0 { 0 } else { 4 + 8 * blocks };
        if self.startup.is_some() { self.startup_room(room) } else { room }
    }

    /// The segment at SND.UNA again: only what has been sent before, and nothing that is SACKed.
    fn head(&self, room: u64) -> Piece {
        let tx = &self.tx;
        let end = tx.board.next_start(tx.una).unwrap_or(tx.max).min(tx.una + room).min(tx.max);
        // A FIN takes no room.
        let end = if end == tx.data_end() { tx.max } else { end };
        Piece { start: tx.una, end, why: Why::Head }
    }

    /// RFC 9293 §3.8.6.1: one octet of new data into a closed window; as much as fits into a narrow one, when silly-window
    /// avoidance has waited long enough (§3.8.6.2.1, the override timeout).
    fn probe(&self, room: u64) -> Piece {
        let tx = &self.tx;
        let end = (tx.una + tx.wnd.clamp(1, room)).min(tx.stream_end());
        Piece { start: tx.una, end, why: Why::Probe }
    }

    /// Retransmissions within fast recovery, as far as cwnd lets them (RFC 6675 §5 step C).
    pub(super) fn repair(&self, room: u64) -> Option<Piece> {
        let tx = &self.tx;
        if self.in_flight() + tx.window.smss > tx.window.cwnd() {
            return None;
        }
        let unsent = tx.stream_end().saturating_sub(tx.max);
        let new_data = unsent > 0 && tx.max + unsent.min(room) <= tx.right_edge();
        let r = self.recovery.retransmission(tx, new_data)?;
        let why = if r.rescue { Why::Rescue } else { Why::Hole };
        Some(Piece { start: r.range.start, end: r.range.end.min(r.range.start + room), why })
    }

    /// From SND.NXT on: new data, or after a timeout what has to go again.
    pub(super) fn next(&mut self, now: Instant, room: u64) -> Option<Piece> {
        let start = self.skip_sacked();
        let data_end = self.tx.data_end();
        if start >= self.tx.stream_end() {
            self.tx.validation.cwnd_limited = false;
            if self.tx.cc.samples_path() {
                self.note_app_limited();
            }
            return None;
        }
        // A train takes its place in the segments that it consists of.
        let room = if self.startup.is_some() { self.startup_next(now, start, room)? } else { room };
        let until_sacked = self.tx.board.next_start(start).map_or(u64::MAX, |sacked| sacked - start);
        let wanted = data_end.saturating_sub(start).min(room).min(until_sacked);
        let len = self.fit_window(now, start, wanted, room)?;
        if wanted > 0 && !self.fits_cwnd(start, len) {
            self.tx.validation.cwnd_limited = true;
            return None;
        }
        let fin = self.tx.closing && start + len == data_end;
        Some(Piece { start, end: start + len + u64::from(fin), why: Why::Next })
    }

    /// Nothing waits to be sent.
    #[cold]
    fn note_app_limited(&mut self) {
        let in_flight = self.in_flight();
        if in_flight < self.tx.window.cwnd() {
            self.tx.cc.on_app_limited(in_flight);
        }
    }

    /// SND.NXT, moved past what the receiver holds already.
    fn skip_sacked(&mut self) -> u64 {
        if let Some(range) = self.tx.board.holding(self.tx.nxt) {
            self.tx.nxt = range.end;
        }
        self.tx.nxt
    }

    /// How much of `wanted` the peer's window takes; [`None`]: wait.
    fn fit_window(&mut self, now: Instant, start: u64, wanted: u64, room: u64) -> Option<u64> {
        let usable = self.tx.right_edge().saturating_sub(start);
        let len = wanted.min(usable);
        // RFC 9293 §3.8.6.2.1: a full segment, all there is, or half of the peer's buffer. A lone FIN needs no window.
        let all = len == wanted;
        if len < room && self.nagle_waits(start, len) {
            self.tx.validation.cwnd_limited = false;
            return None;
        }
        if all || len >= room || (len > 0 && len >= self.tx.max_wnd / 2) {
            return Some(len);
        }
        self.tx.validation.cwnd_limited = false;
        if self.tx.una == self.tx.nxt && !self.timers.is_set(Timer::Retransmit) {
            // Nothing in flight would bring the window update again if it is lost.
            self.set_persist(now);
        }
        None
    }

    /// RFC 9293 §3.7.4: whether a segment that is not full-sized must wait for an acknowledgement.
    fn nagle_waits(&self, start: u64, len: u64) -> bool {
        let tx = &self.tx;
        // What was sent before goes again as it is, and the final FIN never waits.
        if len == 0 || start < tx.max || (tx.closing && start + len == tx.data_end()) {
            return false;
        }
        match self.config.nagle {
            Nagle::Off => false,
            Nagle::Rfc896 => tx.una < tx.max,
            // Linux's tcp_minshall_check: a small segment is outstanding.
            Nagle::Minshall => {
                let (small, una) = (tx.small_end, tx.seq(tx.una));
                small.after(una) && !small.after(tx.seq(tx.max))
            }
        }
    }

    fn fits_cwnd(&mut self, start: u64, len: u64) -> bool {
        let Self { tx, recovery, .. } = self;
        if let Some(limit) = self.spurious.new_data_limit() {
            // RFC 5682 step 2b: two segments, whatever cwnd says, and no more before the next ACK.
            return start + len <= limit;
        }
        if tx.progress.phase != Phase::Open || tx.progress.dup_acks == 0 {
            return recovery.in_flight(tx) + len <= tx.window.cwnd();
        }
        // RFC 3042 §2: a segment for each of the first two duplicates, at most two beyond cwnd. With SACK the octets SACKed
        // have left the pipe, which comes to the same (RFC 6675 §5 step 3).
        let allowance = if self.config.limited_transmit {
            // As many as DupThresh is waited for (RFC 4653 §3.2).
            u64::from(tx.progress.dup_acks.min(tx.dup_thresh() - 1)) * tx.window.smss
        } else {
            0
        };
        let fits = tx.flight_size() + len <= tx.window.cwnd() + allowance;
        if fits && tx.flight_size() + len > tx.window.cwnd() {
            tx.progress.limited += len;
        }
        fits
    }

    fn send(&mut self, now: Instant, piece: Piece) -> Transmit {
        let data_end = self.tx.data_end();
        let len = piece.end.min(data_end).saturating_sub(piece.start);
        let payload = self.tx.buffer.slice(piece.start - 1, len as usize);
        // The buffer may give less where real and synthetic data meet.
        let end = if (payload.len() as u64) < len { piece.start + payload.len() as u64 } else { piece.end };
        let fin = end > data_end;
        self.count(piece, &payload);
        if self.config.nagle == Nagle::Minshall && (payload.len() as u64) < self.room() {
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
        self.note_sent(now, piece, end);
        let mut flags = Flags::ACK;
        if fin {
            flags = flags | Flags::FIN;
            self.fin_sent();
        }
        if end >= data_end && !payload.is_empty() {
            // RFC 9293 §3.9.1: nothing more is queued.
            flags = flags | Flags::PSH;
        }
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
            self.begin_waiting(now);
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
        self.begin_waiting(now);
        self.note_use(now, fresh);
    }

    /// The congestion control measures or paces what leaves; SND.MAX is still what it was.
    #[cold]
    fn note_departure(&mut self, now: Instant, piece: Piece, end: u64) {
        let tx = &mut self.tx;
        let departure =
            Departure { srtt: tx.rtt.srtt(), end, size: Bytes(end - piece.start), idle: tx.una == tx.max };
        tx.cc.on_sent(now, &tx.window, &departure);
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
        if !fresh || !self.config.cwnd_validation || self.tx.progress.phase != Phase::Open {
            self.tx.validation.touch(now);
            return;
        }
        let in_flight = self.tx.flight_size();
        let app_limited = self.tx.nxt >= self.tx.data_end();
        let rto = self.rto();
        let tx = &mut self.tx;
        let controlled = Controlled { window: &mut tx.window, control: &mut tx.cc };
        tx.validation.on_send(controlled, now, in_flight, rto, app_limited);
    }

    /// RFC 9293 §3.10.4: the state follows the FIN out.
    fn fin_sent(&mut self) {
        match self.state {
            State::Established => self.state = State::FinWait1,
            State::CloseWait => self.state = State::LastAck,
            _ => {}
        }
    }

    #[inline]
    pub(super) fn build(&mut self, now: Instant, position: u64, payload: Payload, flags: Flags) -> Transmit {
        if self.startup.is_some() || self.has_sack_blocks() {
            return self.build_with_options(now, position, payload, flags);
        }
        self.build_plain(now, position, payload, flags)
    }

    #[cold]
    fn build_with_options(
        &mut self,
        now: Instant,
        position: u64,
        payload: Payload,
        flags: Flags,
    ) -> Transmit {
        let sack = self.sack_blocks();
        let mut transmit = self.build_plain(now, position, payload, flags);
        transmit.segment.sack = sack;
        if self.startup.is_some() {
            self.startup_built(&mut transmit);
        }
        transmit
    }

    /// Without SACK blocks, and without what start-up adds.
    fn build_plain(&mut self, now: Instant, position: u64, payload: Payload, mut flags: Flags) -> Transmit {
        let window = self.rx.offer(u64::from(self.config.mss));
        if self.config.eln {
            flags = flags | self.notices();
        }
        self.acknowledged();
        // Made where it is returned: a copy of it would cost every segment.
        Transmit {
            ip: IpFacts::PLAIN,
            segment: Segment {
                src_port: self.local_port,
                dst_port: self.remote_port,
                seq: self.tx.seq(position),
                ack: self.rx.rcv_nxt(),
                flags,
                window,
                timestamps: self
                    .timestamps
                    .then(|| Timestamps { val: self.tsval(now), ecr: self.rx.ts_recent }),
                payload,
                ..Segment::EMPTY
            },
        }
    }

    /// [eln] §3.4: what a mobile adds to an acknowledgement.
    #[cold]
    fn notices(&mut self) -> Flags {
        if std::mem::take(&mut self.rx.handed_over) {
            // "Else if MH completes handover": the mobile's word comes first, the losses that it brought follow from it.
            Flags::ELN
        } else if self.rx.buffer.has_holes() {
            Flags::ELN | Flags::ELN_LOSS
        } else {
            Flags::NONE
        }
    }

    fn build_reset(&mut self, seq: handfast_core::SeqNum, ack: Option<handfast_core::SeqNum>) -> Transmit {
        self.counters.segments_sent += 1;
        Transmit::plain(Segment {
            src_port: self.local_port,
            dst_port: self.remote_port,
            seq,
            ack: ack.unwrap_or_default(),
            flags: if ack.is_some() { Flags::RST | Flags::ACK } else { Flags::RST },
            ..Segment::EMPTY
        })
    }
}
