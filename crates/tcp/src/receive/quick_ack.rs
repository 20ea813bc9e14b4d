//! When Linux acknowledges what it receives: quick ACKs, the adaptive delay, ping-pong mode, compressed SACKs
//! (`tcp_input.c`, `tcp_output.c`, `tcp_timer.c`; names as there).

use handfast_core::{Duration, Instant};

/// `TCP_MAX_QUICKACKS`.
const MAX_QUICK_ACKS: u8 = 16;

/// `TCP_DELACK_MAX`: HZ / 5. The HZ / 2 that the kernel begins with outside ping-pong mode come down to it as well.
const DELACK_MAX: Duration = Duration::from_millis(200);

/// `TCP_MSS_DEFAULT`: what `tcp_initialize_rcv_mss` takes at first; the first full segment corrects it.
const INITIAL_RCV_MSS: u64 = 536;

/// `TCP_FASTRETRANS_THRESH`: duplicate ACKs that are not compressed.
const UNCOMPRESSED: u8 = 3;

/// `tcp_comp_sack_nr` and `tcp_comp_sack_delay_ns`.
const COMPRESSED_MAX: u8 = 44;
const COMPRESSION_MAX: Duration = Duration::from_millis(1);

/// `tcp_invalid_ratelimit`
const CHALLENGE_INTERVAL: Duration = Duration::from_millis(500);

/// What is owed for a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owed {
    /// An acknowledgement at once.
    Now,
    /// One after this span, unless one leaves earlier.
    Within(Duration),
    /// One of compressed SACKs (an exact timer): after this span.
    Compressed(Duration),
}

/// What a segment in order looks like to the engine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InOrder {
    /// Payload octets of the segment.
    pub(crate) len: u64,
    /// PSH.
    pub(crate) pushed: bool,
    /// Octets received in order since the last acknowledgement left, these included.
    pub(crate) unacknowledged: u64,
    /// The window we offer, and whether this segment has opened it.
    pub(crate) window: u64,
    pub(crate) opened: bool,
    /// The window that could be offered is less than what was, and less than half of the buffer is free.
    pub(crate) shrinks: bool,
    pub(crate) tight: bool,
    /// The size of a full segment, where somebody else measures it.
    pub(crate) full: Option<u64>,
    /// The sender's estimates, which bound the delay.
    pub(crate) rto: Duration,
    pub(crate) srtt: Duration,
}

/// `icsk_ack`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QuickAck {
    /// `TCP_ATO_MIN`, which is `TCP_DELACK_MIN`: 40 ms.
    ato_min: Duration,
    /// Quick ACKs left.
    quick: u8,
    /// The delay of the next delayed ACK; zero before the first segment.
    ato: Duration,
    /// `lrcvtime`.
    received_at: Instant,
    /// `rcv_mss`: the size of a full segment.
    rcv_mss: u64,
    /// `ICSK_ACK_PUSHED`, `ICSK_ACK_PUSHED2`: how many small or pushed segments wait for an ACK, two at most.
    pushed: u8,
    /// We answer what we receive: data will carry the ACKs.
    pingpong: bool,
    /// Duplicate ACKs sent since RCV.NXT last moved, and ACKs swallowed by compression since the last one that left.
    duplicates: u8,
    compressed: u8,
    /// `last_oow_ack_time`
    challenged_at: Option<Instant>,
}

impl QuickAck {
    pub(crate) fn new(ato_min: Duration) -> Self {
        Self {
            ato_min,
            quick: 0,
            ato: Duration::ZERO,
            received_at: Instant::ZERO,
            rcv_mss: INITIAL_RCV_MSS,
            pushed: 0,
            pingpong: false,
            duplicates: 0,
            compressed: 0,
            challenged_at: None,
        }
    }

    /// Whether a segment without payload that is not acceptable is answered (`__tcp_oow_rate_limited`).
    pub(crate) fn may_challenge(&mut self, now: Instant) -> bool {
        let may = self.challenged_at.is_none_or(|at| now.since(at) >= CHALLENGE_INTERVAL);
        if may {
            self.challenged_at = Some(now);
        }
        may
    }

    /// `tcp_event_data_recv`, then `__tcp_ack_snd_check`: a segment extended the in-order data, and no hole is left.
    pub(crate) fn on_in_order(&mut self, now: Instant, arrived: &InOrder) -> Owed {
        self.measure_rcv_mss(arrived);
        self.rcv_mss = arrived.full.unwrap_or(self.rcv_mss);
        self.adapt(now, arrived);
        if arrived.opened {
            self.on_opened();
        }
        self.duplicates = 0;
        let frame = arrived.unacknowledged > self.rcv_mss;
        if frame && arrived.tight {
            // `__tcp_select_window`, which is asked then.
            self.quick = 0;
        }
        // "More than one full frame received", and the window is no narrower; or quick-ACK mode.
        if frame && !arrived.shrinks || (self.quick > 0 && !self.pingpong) {
            return Owed::Now;
        }
        Owed::Within(self.delay(arrived.srtt))
    }

    /// `tcp_fin`, of a connection that is open both ways: data will carry the acknowledgement, unless more is owed.
    pub(crate) fn on_fin(&mut self, unacknowledged: u64, srtt: Duration) -> Owed {
        self.pingpong = true;
        if unacknowledged > self.rcv_mss { Owed::Now } else { Owed::Within(self.delay(srtt)) }
    }

    /// `tcp_measure_rcv_mss`: small segments, and pushed ones, end an application's write.
    fn measure_rcv_mss(&mut self, arrived: &InOrder) {
        if arrived.len >= self.rcv_mss {
            self.rcv_mss = arrived.len;
            self.pushed = self.pushed.max(u8::from(arrived.pushed));
        } else {
            self.pushed = (self.pushed + 1).min(2);
        }
    }

    /// The delay follows the time between segments.
    fn adapt(&mut self, now: Instant, arrived: &InOrder) {
        let gap = now.since(self.received_at);
        self.received_at = now;
        let half = self.ato_min / 2;
        if self.ato == Duration::ZERO {
            // "The _first_ data packet received, initialize delayed ACK engine."
            self.grant_quick(arrived.window);
            self.ato = self.ato_min;
        } else if gap <= half {
            self.ato = self.ato / 2 + half;
        } else if gap < self.ato {
            self.ato = (self.ato / 2 + gap).min(arrived.rto);
        } else if gap > arrived.rto {
            // "Too long gap. Apparently sender failed to restart window, so that we will send ACKs quickly."
            self.grant_quick(arrived.window);
        }
    }

    /// `tcp_grow_window`: "`icsk_ack.quick |= 1`". While the window opens, each segment is acknowledged.
    pub(crate) fn on_opened(&mut self) {
        self.quick |= 1;
    }

    /// `tcp_incr_quickack`: ACKs for half a window of segments, 2 to 16.
    fn grant_quick(&mut self, window: u64) {
        let acks = (window / (2 * self.rcv_mss)).max(2).min(u64::from(MAX_QUICK_ACKS)) as u8;
        self.quick = self.quick.max(acks);
    }

    /// `tcp_send_delayed_ack`: "If some rtt estimate is known, use it to bound delayed ack."
    fn delay(&self, srtt: Duration) -> Duration {
        let most = if srtt == Duration::ZERO { DELACK_MAX } else { srtt.max(self.ato_min) };
        self.ato.min(most).min(DELACK_MAX)
    }

    /// `tcp_enter_quickack_mode`: old data came again; an ACK of ours was lost, or the sender timed out early.
    pub(crate) fn on_duplicate(&mut self, window: u64) {
        self.grant_quick(window);
        self.pingpong = false;
        self.ato = self.ato_min;
    }

    /// `__tcp_ack_snd_check` while holes are left. `srtt` bounds the time SACKs are compressed for. `third`: there is a block to report
    /// beside two that may not have been, and an ACK with timestamps holds three (`tcp_sack_compress_send_ack`; the kernel reports
    /// the two just before the third, here they go together).
    pub(crate) fn on_hole(&mut self, srtt: Duration, moved: bool, sack: bool, third: bool) -> Owed {
        if self.quick > 0 && !self.pingpong {
            return Owed::Now;
        }
        if moved {
            self.duplicates = 0;
        }
        let window = COMPRESSION_MAX.min(srtt / 20);
        if !sack || self.duplicates < UNCOMPRESSED || window == Duration::ZERO {
            self.duplicates = self.duplicates.saturating_add(1);
            return Owed::Now;
        }
        self.compressed += 1;
        let hides = third && self.compressed > 1;
        if hides || self.compressed >= COMPRESSED_MAX { Owed::Now } else { Owed::Compressed(window) }
    }

    /// `tcp_delack_timer_handler`: the delay passed without data to carry the ACK.
    pub(crate) fn on_expiry(&mut self, rto: Duration) {
        if self.compressed > 0 {
            return;
        }
        if self.pingpong {
            self.pingpong = false;
            self.ato = self.ato_min;
        } else {
            self.ato = (self.ato * 2).min(rto);
        }
    }

    /// `tcp_cleanup_rbuf`: the application has read all there was. Whether the ACK that is owed leaves now.
    pub(crate) fn on_drained(&self) -> bool {
        self.pushed == 2 || (self.pushed == 1 && !self.pingpong)
    }

    /// `tcp_event_ack_sent`; `owed`: one was scheduled.
    pub(crate) fn on_ack_sent(&mut self, owed: bool) {
        self.pushed = 0;
        self.compressed = 0;
        if owed && self.quick > 0 {
            self.quick -= 1;
            if self.quick == 0 {
                self.ato = self.ato_min;
            }
        }
    }

    /// `tcp_event_data_sent`: data that follows what was received within the delay is an answer (`tcp_pingpong_thresh` 1).
    pub(crate) fn on_data_sent(&mut self, now: Instant) {
        if now.since(self.received_at) < self.ato {
            self.pingpong = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    /// After a first segment at 1 s, which used up its quick ACKs, and with this delay.
    fn engine(ato_ms: u64) -> QuickAck {
        QuickAck {
            ato: MS(ato_ms),
            received_at: Instant::from_millis(1000),
            rcv_mss: 1000,
            ..QuickAck::new(MS(40))
        }
    }

    const FULL: InOrder = InOrder {
        len: 1000,
        pushed: false,
        unacknowledged: 1000,
        window: 64_000,
        opened: false,
        shrinks: false,
        tight: false,
        full: None,
        rto: Duration::from_millis(200),
        srtt: Duration::ZERO,
    };

    #[test]
    fn challenges_are_half_a_second_apart() {
        let mut engine = QuickAck::new(Duration::from_millis(40));
        let at = |ms: u64| Instant::from_millis(1000 + ms);
        let found = [0, 1, 499, 500, 999, 1000].map(|ms| engine.may_challenge(at(ms)));
        assert_eq!(found, [true, false, false, true, false, true]);
    }

    #[test]
    fn the_delay_is_what_tcp_event_data_recv_makes_of_it() {
        // "m <= TCP_ATO_MIN / 2", "m < ato", at most the RTO; "m > rto" brings quick ACKs, and leaves the delay.
        for (ato, gap, expected, quick) in [
            (40, 20, 40, 0),
            (80, 0, 60, 0),
            (80, 20, 60, 0),
            (80, 21, 61, 0),
            (80, 79, 119, 0),
            (80, 80, 80, 0),
            (160, 159, 200, 0),
            (160, 200, 160, 0),
            (160, 201, 160, 16),
        ] {
            let mut engine = engine(ato);
            engine.adapt(Instant::from_millis(1000 + gap), &FULL);
            assert_eq!((engine.ato, engine.quick), (MS(expected), quick), "{gap} ms after, with {ato}");
        }
    }

    #[test]
    fn the_round_trip_bounds_the_delay() {
        // `tcp_send_delayed_ack`: no more than SRTT, but TCP_DELACK_MIN at least; without an estimate TCP_DELACK_MAX.
        for (ato, srtt, expected) in
            [(160, 0, 160), (160, 100, 100), (160, 10, 40), (40, 10, 40), (300, 0, 200), (300, 400, 200)]
        {
            assert_eq!(engine(ato).delay(MS(srtt)), MS(expected), "{ato} ms with an SRTT of {srtt}");
        }
    }

    #[test]
    fn selective_acknowledgements_are_held_for_a_twentieth_of_a_round_trip() {
        // `tcp_comp_sack_delay_ns`, and 5 % of SRTT; 44 of them at most (`tcp_comp_sack_nr`).
        let mut engine = engine(40);
        let held = |engine: &mut QuickAck, srtt| engine.on_hole(srtt, false, true, false);
        for _ in 0..3 {
            assert_eq!(held(&mut engine, MS(10)), Owed::Now);
        }
        assert_eq!(held(&mut engine, MS(10)), Owed::Compressed(Duration::from_micros(500)));
        assert_eq!(held(&mut engine, MS(400)), Owed::Compressed(MS(1)));
        assert_eq!(held(&mut engine, Duration::ZERO), Owed::Now, "no estimate");
        for _ in 3..44 {
            assert_eq!(held(&mut engine, MS(10)), Owed::Compressed(Duration::from_micros(500)));
        }
        assert_eq!(held(&mut engine, MS(10)), Owed::Now);
        // `tcp_compressed_ack_kick` is not the delayed ACK's timer: the delay stays.
        engine.on_expiry(MS(200));
        assert_eq!(engine.ato, MS(40));
        engine.on_ack_sent(true);
        engine.on_expiry(MS(200));
        assert_eq!(engine.ato, MS(80));
        (0..2).for_each(|_| engine.on_expiry(MS(200)));
        assert_eq!(engine.ato, MS(200), "the RTO");
    }

    #[test]
    fn the_last_quick_acknowledgement_deflates_the_delay() {
        // `tcp_dec_quickack_mode`: "Leaving quickack mode we deflate ATO."
        let mut engine = QuickAck { quick: 2, ..engine(100) };
        let after = [false, true, true].map(|owed| {
            engine.on_ack_sent(owed);
            (engine.quick, engine.ato)
        });
        assert_eq!(after, [(2, MS(100)), (1, MS(100)), (0, MS(40))]);
    }

    #[test]
    fn data_within_the_delay_is_an_answer() {
        // `tcp_event_data_sent`: "(u32)(now - icsk->icsk_ack.lrcvtime) < icsk->icsk_ack.ato".
        for (after, answers) in [(0, true), (39, true), (40, false)] {
            let mut engine = engine(40);
            engine.on_data_sent(Instant::from_millis(1000 + after));
            assert_eq!(engine.pingpong, answers, "{after} ms");
        }
    }
}
