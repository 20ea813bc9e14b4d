//! Payload and FIN arrive; which acknowledgements they owe (RFC 5681 §4.2, RFC 2018, RFC 2883).

use handfast_core::{Duration, Instant};
use handfast_wire::tcp::{Flags, SackBlock, SackBlocks, Segment};

use super::{Endpoint, Timer};
use crate::receive::autotune::Echo;
use crate::receive::memory::DropReason;
use crate::receive::quick_ack::{InOrder, Owed};
use crate::receive::receive_buffer::{Arrival, Run};
use crate::{Event, State};

impl Endpoint {
    /// A segment that begins `start` octets after RCV.NXT and overlaps the window.
    pub(super) fn on_text(&mut self, now: Instant, segment: &Segment, start: i64) {
        if !matches!(self.state, State::Established | State::FinWait1 | State::FinWait2) {
            return;
        }
        // Acceptable segments begin at most their own length before RCV.NXT, which is never negative.
        let Some(position) = self.rx.buffer.next().checked_add_signed(start) else { return };
        let offered = segment.payload.len() as u64;
        let right_edge = self.rx.next() + self.rx.window();
        let kept = match &self.rx.memory {
            None => right_edge.saturating_sub(position).min(offered),
            Some(_) => self.keep_whole(segment, start, offered),
        };
        let owed_before = self.rx.ack_now;
        let early_fin = self.rx.fin.and_then(|fin| self.rx.buffer.covering(fin, fin));
        if offered > 0 {
            self.counters.data_segments_received += 1;
            if self.ecn.is_some() {
                self.note_marks(segment);
            }
            let repeated = self.rx.buffer.repeated(position, position + kept);
            let repeated = self.repeated_with_fin(segment, repeated);
            let arrival = if kept == offered {
                self.rx.buffer.insert(position, &segment.payload)
            } else if kept == 0 {
                Arrival::Dropped
            } else {
                self.rx.buffer.insert(position, &segment.payload.slice(0, kept as usize))
            };
            self.note_arrival(arrival, repeated);
            if self.rx.memory.is_some() {
                self.take_memory(arrival, segment, position, kept);
            }
            if segment.rare.is_some() {
                self.startup_measure(now, segment);
            }
            let opened = self.open_window(now, segment);
            self.delay_ack(now, arrival, segment, opened);
        }
        if segment.flags.contains(Flags::FIN) && kept == offered {
            // A second FIN elsewhere would be a lie: the first stands.
            let fin = *self.rx.fin.get_or_insert(position + offered);
            self.rx.ack_now = true;
            if self.config.linux_details {
                self.rx.buffer.note_fin(fin);
            }
        }
        if self.rx.fin == Some(self.rx.buffer.next()) {
            if self.config.linux_details {
                // `tcp_fin` forgets all that was to be SACKed, a duplicate too. Before that it acknowledges a FIN to who has sent one.
                let answers = self.state != State::Established;
                self.rx.dsack = early_fin.filter(|_| answers).map(|run| (run.start, run.end + 1));
            }
            let first = self.config.linux_details && self.state == State::Established;
            self.on_fin(now);
            if first {
                self.delay_fin(now, owed_before);
            }
        }
    }

    /// Octets of a segment that have arrived before; as in Linux the number of its FIN is one, if that has arrived before too.
    pub(super) fn repeated_with_fin(
        &self,
        segment: &Segment,
        repeated: Option<(u64, u64)>,
    ) -> Option<(u64, u64)> {
        let is_fin = |end: u64| {
            self.config.linux_details && segment.flags.contains(Flags::FIN) && self.rx.fin == Some(end)
        };
        repeated.map(|(start, end)| (start, end + u64::from(is_fin(end))))
    }

    /// Where memory counts, a segment is taken whole or not at all (`tcp_data_queue`): its octets that are kept. `start`: as for
    /// [`Endpoint::on_text`].
    #[cold]
    fn keep_whole(&mut self, segment: &Segment, start: i64, offered: u64) -> u64 {
        let (window, waits) = (self.rx.window(), self.rx.buffer.readable() > 0);
        let Some(memory) = &mut self.rx.memory else { return offered };
        if window == 0 && segment.seq_len() > 0 && offered > 0 && start <= 0 {
            memory.count(DropReason::ZeroWindow);
            self.rx.ack_now = true;
            return 0;
        }
        if start > 0 && start >= window as i64 {
            memory.count(DropReason::BeyondWindow);
            return 0;
        }
        // A bare FIN is taken in any case.
        let taken = memory.schedule(offered, start <= 0, waits) || offered == 0;
        // `ICSK_ACK_NOMEM | ICSK_ACK_NOW`
        self.rx.ack_now |= memory.is_out();
        if taken { offered } else { 0 }
    }

    /// A segment was taken, or was not.
    #[cold]
    fn take_memory(&mut self, arrival: Arrival, segment: &Segment, position: u64, kept: u64) {
        let pushed = segment.flags.contains(Flags::PSH);
        let (next, grows) = (self.rx.buffer.next(), self.sack);
        let Some(memory) = &mut self.rx.memory else { return };
        match arrival {
            Arrival::InOrder | Arrival::FilledHole => {
                memory.take_in_order(position + kept, next, kept, pushed);
            }
            Arrival::OutOfOrder => memory.take_beyond(position, next, kept, pushed, grows),
            Arrival::Duplicate | Arrival::Dropped => {}
        }
    }

    /// Linux's `tcp_fin`: a FIN that is the first puts the connection into ping-pong mode, so that its acknowledgement waits.
    #[cold]
    fn delay_fin(&mut self, now: Instant, owed_before: bool) {
        let unacknowledged = self.rx.rcv_nxt().distance(self.rx.last_ack_sent).max(0) as u64;
        let srtt = self.tx.rtt.srtt();
        let owed = self.rx.quick_ack.as_mut().map(|engine| engine.on_fin(unacknowledged, srtt));
        if let Some(Owed::Within(by)) = owed {
            self.rx.ack_now = owed_before;
            self.set_delayed_ack(now, by);
        }
    }

    /// `repeated`: octets of the segment that had arrived before.
    pub(super) fn note_arrival(&mut self, arrival: Arrival, repeated: Option<(u64, u64)>) {
        if arrival == Arrival::Duplicate {
            self.counters.duplicate_segments_received += 1;
            let window = self.rx.window();
            if let Some(engine) = &mut self.rx.quick_ack {
                engine.on_duplicate(window);
            }
        }
        if repeated.is_some() && self.sack {
            // RFC 2883 §4: each duplicate is reported once, in the next ACK.
            self.rx.dsack = repeated;
        }
    }

    /// RFC 5681 §4.2: at least every second segment, within the delay; at once out of order and when a hole fills.
    fn delay_ack(&mut self, now: Instant, arrival: Arrival, segment: &Segment, opened: bool) {
        if self.rx.quick_ack.is_some() {
            self.delay_ack_as_linux(now, arrival, segment, opened);
            return;
        }
        if arrival != Arrival::InOrder || self.config.delayed_ack == Duration::ZERO {
            self.rx.ack_now = true;
            return;
        }
        self.rx.unacknowledged = self.rx.unacknowledged.saturating_add(1);
        if self.rx.unacknowledged >= 2 {
            self.rx.ack_now = true;
        } else {
            self.timers.set_if_off(Timer::DelayedAck, now + self.config.delayed_ack);
        }
    }

    /// Linux's window follows what arrives; whether it has opened.
    fn open_window(&mut self, now: Instant, segment: &Segment) -> bool {
        if !self.config.receive_autotuning {
            return false;
        }
        let echo = segment.timestamps.filter(|_| self.timestamps);
        let echoed = echo.and_then(|ts| self.echoed_rtt(now, ts.ecr).map(|rtt| Echo { ecr: ts.ecr, rtt }));
        self.rx.after_segment(now, segment.payload.len() as u64, echoed)
    }

    /// The kernel's rules: see [`crate::receive::quick_ack`].
    fn delay_ack_as_linux(&mut self, now: Instant, arrival: Arrival, segment: &Segment, opened: bool) {
        let (rto, srtt, window) = (self.rto(), self.tx.rtt.srtt(), self.rx.window());
        let unacknowledged = self.rx.rcv_nxt().distance(self.rx.last_ack_sent).max(0) as u64;
        let sack = self.sack;
        self.rx.unacknowledged = self.rx.unacknowledged.saturating_add(1);
        let (holes, third) = (self.rx.buffer.has_holes(), self.rx.buffer.made_third());
        let Some(engine) = &mut self.rx.quick_ack else { return };
        // The window as it was last offered.
        let window = window + unacknowledged;
        let (mut len, pushed) = (segment.payload.len() as u64, segment.flags.contains(Flags::PSH));
        let (mut shrinks, mut tight, mut opened, mut full) = (false, false, opened, None);
        if let Some(memory) = &self.rx.memory {
            opened = memory.grew();
            (shrinks, tight) = (memory.shrinks(self.rx.shift), memory.is_tight());
            (len, full) = (memory.unit(len), Some(memory.segment()));
        }
        let arrived =
            InOrder { len, pushed, unacknowledged, window, opened, shrinks, tight, full, rto, srtt };
        let owed = match arrival {
            Arrival::InOrder => engine.on_in_order(now, &arrived),
            // RFC 5681 §4.2: a hole that closes is acknowledged at once.
            Arrival::FilledHole if !holes => {
                engine.on_in_order(now, &arrived);
                Owed::Now
            }
            Arrival::FilledHole => engine.on_hole(srtt, true, sack, false),
            Arrival::OutOfOrder => {
                if opened && sack {
                    engine.on_opened();
                }
                engine.on_hole(srtt, false, sack, third)
            }
            Arrival::Duplicate | Arrival::Dropped => Owed::Now,
        };
        match owed {
            Owed::Now => self.rx.ack_now = true,
            Owed::Compressed(by) => self.timers.set_if_off(Timer::DelayedAck, now + by),
            Owed::Within(by) => self.set_delayed_ack(now, by),
        }
    }

    /// `tcp_send_delayed_ack`: an expiry that is near already is not waited for, a later one moves forward.
    fn set_delayed_ack(&mut self, now: Instant, by: Duration) {
        let (at, soon) = (self.expiry(now, by), self.expiry(now, by / 4));
        match self.timers.get(Timer::DelayedAck) {
            Some(set) if set <= soon => self.rx.ack_now = true,
            Some(set) => self.timers.set(Timer::DelayedAck, set.min(at)),
            None => self.timers.set(Timer::DelayedAck, at),
        }
    }

    pub(super) fn on_delayed_ack_timeout(&mut self) {
        self.rx.ack_now = true;
        let rto = self.rto();
        if let Some(engine) = &mut self.rx.quick_ack {
            engine.on_expiry(rto);
        }
    }

    /// Everything up to the peer's FIN has arrived (RFC 9293 §3.10.7.4, eighth).
    fn on_fin(&mut self, now: Instant) {
        self.rx.finished = true;
        self.rx.ack_now = true;
        self.emit(Event::PeerClosed);
        let fin_acknowledged = self.tx.closing && self.tx.una == self.tx.stream_end();
        match self.state {
            State::Established => self.state = State::CloseWait,
            State::FinWait1 if !fin_acknowledged => self.state = State::Closing,
            State::FinWait1 | State::FinWait2 => self.start_time_wait(now),
            _ => {}
        }
    }

    /// The blocks of the next ACK: a duplicate first (RFC 2883 §4), then the runs, most recent first (RFC 2018 §4).
    #[inline]
    pub(super) fn sack_blocks(&self) -> SackBlocks {
        if self.has_sack_blocks() { self.some_sack_blocks() } else { SackBlocks::NONE }
    }

    /// Whether there are any.
    #[inline]
    pub(super) fn has_sack_blocks(&self) -> bool {
        self.sack && (self.rx.dsack.is_some() || self.rx.buffer.has_holes())
    }

    // Not inlined: most segments have none.
    #[inline(never)]
    fn some_sack_blocks(&self) -> SackBlocks {
        let mut blocks = SackBlocks::NONE;
        // 40 octets of options hold three blocks beside timestamps, four without (RFC 2018 §3).
        let most = if self.timestamps { 3 } else { 4 };
        let block = |start: u64, end: u64| SackBlock { start: self.rx.seq(start), end: self.rx.seq(end) };
        // Linux numbers a FIN like an octet (`tcp_data_queue_ofo`).
        let fin = self.rx.fin.filter(|_| self.config.linux_details);
        let whole = |run: Run| block(run.start, run.end + u64::from(fin == Some(run.end)));
        let mut covering = None;
        if let Some((start, end)) = self.rx.dsack {
            blocks.push(block(start, end));
            // RFC 2883 §4.1 case 3: the second block is the run that holds the duplicate.
            covering = self.rx.buffer.covering(start, fin.map_or(end, |fin| end.min(fin)));
            if let Some(run) = covering {
                blocks.push(whole(run));
            }
        }
        let others = self.rx.buffer.recent_runs().filter(|&run| Some(run) != covering);
        for run in others.take(most - blocks.as_slice().len()) {
            blocks.push(whole(run));
        }
        blocks
    }

    /// A segment with an up-to-date acknowledgement leaves.
    pub(super) fn acknowledged(&mut self) {
        if let Some(engine) = &mut self.rx.quick_ack {
            engine.on_ack_sent(self.rx.ack_now || self.rx.unacknowledged > 0);
        }
        self.rx.ack_now = false;
        self.rx.unacknowledged = 0;
        self.rx.dsack = None;
        self.rx.last_ack_sent = self.rx.rcv_nxt();
        self.timers.stop(Timer::DelayedAck);
    }
}
