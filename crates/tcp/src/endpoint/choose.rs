//! What goes next: a retransmission, a probe, new data, or nothing yet.

use std::ops::ControlFlow;

use handfast_core::Instant;

use super::{Endpoint, Timer};
use crate::Nagle;
use crate::phase::Phase;
use crate::send::piece::{Piece, Why};

impl Endpoint {
    /// What the next segment carries; [`None`]: nothing may go now. A new reason to send belongs into
    /// [`Endpoint::others_have_a_say`] too.
    pub(super) fn choose(&mut self, now: Instant) -> Option<Piece> {
        let room = self.room(now);
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
        if self.help.is_some()
            && let ControlFlow::Break(other) = self.help_chooses(now)
        {
            return other;
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
        if self.tx.progress.phase.repairs()
            && self.recovery.repairs(self.tx.progress.phase, self.spurious.new_data_limit().is_some())
            && let Some(piece) = self.repair(room)
        {
            return Some(piece);
        }
        self.next(now, room)
    }

    /// Whether what the windows let go must wait for its turn at the pacing rate. Retransmission timeouts and probes do not wait.
    #[inline]
    fn waits_for_pacer(&mut self, now: Instant) -> bool {
        let Some(due) = self.tx.cc.pacing_due(now).filter(|&due| due > now) else { return false };
        // The timer may wait for a schedule of the start-up's.
        let at = self.timers.get(Timer::Pace).map_or(due, |set| set.min(due));
        self.timers.set(Timer::Pace, at);
        true
    }

    /// Payload octets that a full segment holds now: SACK blocks take from it (RFC 6691 §2).
    #[inline]
    pub(super) fn room(&self, now: Instant) -> u64 {
        if self.adds_options() {
            return self.room_beside_options(now);
        }
        self.tx.window.smss
    }

    #[cold]
    fn room_beside_options(&self, now: Instant) -> u64 {
        let blocks = self.sack_blocks().as_slice().len() as u64;
        let taken = match self.counters_room(now, blocks as usize) {
            Some(room) => room.octets as u64,
            None if blocks == 0 => 0,
            None => 4 + 8 * blocks,
        };
        let room = self.tx.window.smss.saturating_sub(taken).max(1);
        if self.startup.is_some() { self.startup_room(room) } else { room }
    }

    /// The segment at SND.UNA again: only what has been sent before, and nothing that is SACKed.
    fn head(&self, room: u64) -> Piece {
        let tx = &self.tx;
        let joins = tx.joins_until();
        let end = tx.board.next_start(tx.una).unwrap_or(tx.max).min(tx.una + room).min(tx.max).min(joins);
        // A FIN takes no room.
        let end = if joins > end && tx.fin_goes_with(end) { tx.max } else { end };
        Piece { start: tx.una, end, why: Why::Head }
    }

    /// RFC 9293 §3.8.6.1: one octet of new data into a closed window; as much as fits into a narrow one, when silly-window
    /// avoidance has waited long enough (§3.8.6.2.1, the override timeout).
    fn probe(&self, room: u64) -> Piece {
        let tx = &self.tx;
        let until_sacked = tx.board.next_start(tx.una).unwrap_or(u64::MAX);
        let end = (tx.una + tx.wnd.clamp(1, room)).min(tx.stream_end()).min(until_sacked);
        Piece { start: tx.una, end, why: Why::Probe }
    }

    /// Retransmissions within fast recovery, as far as cwnd lets them (RFC 6675 §5 step C).
    fn repair(&self, room: u64) -> Option<Piece> {
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
    fn next(&mut self, now: Instant, room: u64) -> Option<Piece> {
        let start = self.skip_sacked();
        let data_end = self.tx.data_end();
        if start >= self.tx.stream_end() {
            self.tx.validation.cwnd_limited = false;
            self.note_idle();
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
        let fin = self.tx.fin_goes_with(start + len);
        Some(Piece { start, end: start + len + u64::from(fin), why: Why::Next })
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
            if self.tx.corked && self.tx.una == self.tx.nxt {
                // Linux's tcp_check_probe_timer: no acknowledgement will come to release it, so the persist timer does.
                self.set_persist(now);
            }
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
        if tx.corked {
            return true;
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
            let in_flight = recovery.in_flight(tx);
            if self.config.linux_details {
                // `tcp_packets_in_flight`: each segment counts as a full one.
                return in_flight + tx.lacking() + tx.window.smss <= tx.window.cwnd();
            }
            return in_flight + len <= tx.window.cwnd();
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
}
