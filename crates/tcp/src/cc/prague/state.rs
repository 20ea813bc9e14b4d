//! What Prague keeps of a connection, and its rules.

use handfast_core::{BitRate, Duration, Instant};

use super::classic::ClassicQueue;
use super::{ALPHA_BITS, ONE, PragueReport};
use crate::Config;
use crate::cc::pacer::window_rate;
use crate::cc::{AckSample, Controller, Needs, Pacing, PathSample, Request, RttSample, Window};
use crate::phase::Phase;

/// `g = 1/16` of RFC 8257 §3.3 (`PRAGUE_SHIFT_G`).
const SHIFT_G: u32 = 4;

/// `prague_rtt_target`: a flow with a shorter round trip takes the share of one with this (RFC 9331 §4.3, reduced RTT dependence).
const RTT_TARGET: Duration = Duration::from_millis(25);

/// `prague_rtt_transition`: after so many rounds behind slow start.
const RTT_TRANSITION: u32 = 4;

/// `MIN_CWND_RTT`, segments.
const MIN_CWND: u64 = 2;

/// `prague_update_pacing_rate`: twice the window a round trip in slow start, then the window; 3 % more in the first half of a virtual
/// round trip, and 3 % less in the second, where round trips count as [`RTT_TARGET`].
const SLOW_START_RATIO: u128 = 200;
const PLAIN_RATIO: u128 = 100;
const FIRST_HALF_RATIO: u128 = 103;
const SECOND_HALF_RATIO: u128 = 97;

/// The state of one connection.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct State {
    /// `frac_cwnd`, octets: cwnd is this, rounded up to a segment.
    window: u64,
    /// What cwnd was made of it: anything else is the doing of recovery or of validation.
    cwnd: u64,
    /// Growth of less than an octet, in parts of `window`.
    rest: u64,
    /// `upscaled_alpha`: the share of marked packets, times `ONE / g`.
    alpha: u64,
    /// `saw_ce`: something on the path marks.
    saw_ce: bool,
    /// Rounds since slow start ended.
    rounds: u32,
    /// The round ends when this is acknowledged; what it has delivered, and how much of that marked, octets.
    round_end: u64,
    delivered: u64,
    marked: u64,
    /// When alpha was last updated.
    alpha_at: Instant,
    /// When a mark last reduced the window, SND.NXT then, and the window before.
    reduced_at: Instant,
    reduced_before: u64,
    unreduced: u64,
    /// SND.UNA at the last acknowledgement.
    una: u64,
    second_half: bool,
    /// Whether the queue seems to mark as RFC 3168 says, and whether that changes the answers to marks.
    classic: ClassicQueue,
    falls_back: bool,
}

/// `prague_frac_cwnd_to_snd_cwnd`: cwnd is rounded up, so that the pace is what limits.
fn rounded_up(window: u64, smss: u64) -> u64 {
    window.div_ceil(smss) * smss
}

impl State {
    /// Whether it reacts as a flow with a round trip of [`RTT_TARGET`], where its own is shorter.
    fn is_rtt_independent(&self) -> bool {
        self.saw_ce && self.rounds >= RTT_TRANSITION
    }

    /// The span in which it updates alpha once and reduces once, besides a round trip.
    fn least_span(&self) -> Duration {
        if self.is_rtt_independent() { RTT_TARGET } else { Duration::ZERO }
    }

    /// `alpha = (1 - g) * alpha + g * F` (RFC 8257 §3.3), once a round trip.
    fn end_round(&mut self, now: Instant, min_rtt: Option<Duration>) {
        if self.saw_ce {
            self.classic.end_round(min_rtt);
            let share = (self.marked.min(self.delivered) << ALPHA_BITS) / self.delivered.max(1);
            self.alpha = self.alpha - (self.alpha >> SHIFT_G) + share;
            self.alpha_at = now;
        }
        (self.delivered, self.marked) = (0, 0);
    }

    fn count(&mut self, window: &Window, ack: &AckSample, path: &PathSample) {
        self.delivered += path.delivered;
        // Marks count packets, and packets may be small.
        self.marked += (path.marked * window.smss).min(path.delivered);
        if path.una < self.round_end {
            return;
        }
        if ack.now.since(self.alpha_at) >= self.least_span() {
            self.end_round(ack.now, path.min_rtt);
        }
        self.round_end = path.nxt.max(path.una + 1);
        self.rounds = if window.in_slow_start() { 0 } else { self.rounds.saturating_add(1) };
    }

    /// Alpha, where a mark is answered. RFC 9331 §4.3: "automatically adapting its congestion response to coexist with TCP Reno congestion
    /// controls", where the configuration asks for it (`prague_ecn_fallback` 1).
    fn answer(&self) -> u64 {
        let alpha = self.alpha >> SHIFT_G;
        if self.falls_back { alpha.max(self.classic.floor()) } else { alpha }
    }

    /// `[prague]`, multiplicative decrease: by alpha/2, once a round trip; by half at the first mark, which ends slow start.
    fn reduce(&mut self, window: &mut Window, now: Instant, path: &PathSample) {
        let is_answered = path.una <= self.reduced_before || now.since(self.reduced_at) < self.least_span();
        if self.saw_ce && is_answered {
            return;
        }
        let alpha = if self.saw_ce { self.answer() } else { ONE };
        self.saw_ce = true;
        // What a loss is to halve: a window that the peer or the application left unused says nothing (RFC 5681 §3.1, FlightSize).
        self.unreduced = self.window.min(path.in_flight + path.delivered);
        let twice = u128::from(self.window) * u128::from(alpha);
        // Here too: where cwnd is clamped below ssthresh it is in slow start for ever, and never steps.
        self.window = (self.window - (twice >> (ALPHA_BITS + 1)) as u64).max(MIN_CWND * window.smss);
        (self.reduced_at, self.reduced_before) = (now, path.nxt);
        // Slow start is over, whatever the steps of cwnd, and ends here after a pause too. cwnd may be clamped to less than two segments.
        window.ssthresh = rounded_up(self.window, window.smss).max(2 * window.smss);
        self.classic.on_reduction(window.ssthresh / window.smss);
    }

    /// `[prague]`, additive increase: a segment a round trip, by what came without a mark; `(RTT/target)^2` of it where the round trip
    /// is short (`prague_rate_scaled_ai_ack_increase`).
    fn increase(&mut self, smss: u64, octets: u64, srtt: Duration) {
        let mut growth = u128::from(octets) * u128::from(smss);
        if self.is_rtt_independent() && srtt < RTT_TARGET {
            let [rtt, target] = [srtt, RTT_TARGET].map(|span| u128::from(span.as_nanos()));
            growth = growth * rtt / target * rtt / target;
        }
        let window = u128::from(self.window.max(1));
        let growth = growth + u128::from(self.rest);
        self.window = self.window.saturating_add((growth / window) as u64);
        self.rest = (growth % window) as u64;
    }

    /// `prague_update_cwnd`: cwnd follows by a segment an acknowledgement, so that a reduction does not silence the sender; the pace follows
    /// at once.
    fn step(&mut self, window: &mut Window) {
        let smss = window.smss;
        self.window = self.window.max(MIN_CWND * smss);
        let due = rounded_up(self.window, smss);
        window.set_cwnd(due.clamp(window.cwnd.saturating_sub(smss), window.cwnd + smss));
        self.cwnd = window.cwnd;
    }

    /// Recovery or a request may have set cwnd: its value is the window then.
    fn current(&self, window: &Window) -> u64 {
        if window.cwnd == self.cwnd { self.window } else { window.cwnd }
    }

    fn follow(&mut self, window: &Window) {
        (self.window, self.cwnd) = (self.current(window), window.cwnd);
    }
}

impl State {
    pub(super) fn report(&self) -> PragueReport {
        let [alpha, classic] =
            [self.alpha >> SHIFT_G, self.classic.score()].map(|value| value as f64 / ONE as f64);
        PragueReport { alpha, classic }
    }
}

impl Controller for State {
    fn new(config: &Config) -> Self {
        Self { falls_back: config.prague_fallback, ..Self::default() }
    }

    fn needs() -> Needs {
        Needs { path_samples: true, pacing: Pacing::Segments, ..Needs::default() }
    }

    /// `prague_init`: the monitor begins with the round trip of the handshake.
    fn on_handshake(&mut self, delay: Duration) {
        self.classic.on_rtt(delay);
    }

    /// `prague_pkts_acked`.
    fn on_rtt(&mut self, _window: &mut Window, rtt: &RttSample) {
        self.classic.on_rtt(rtt.delay);
    }

    fn on_ack(&mut self, window: &mut Window, ack: &AckSample) {
        let Some(path) = &ack.path else { return };
        self.una = path.una;
        self.follow(window);
        self.count(window, ack, path);
        let half = ack.srtt.max(RTT_TARGET) / 2;
        self.second_half = ack.now.since(self.alpha_at) >= half;
        if ack.phase.reduces() {
            return;
        }
        if path.marked > 0 && ack.phase == Phase::Open {
            self.reduce(window, ack.now, path);
        }
        // `prague_update_cwnd`: the pace limits, not cwnd; only the application's pauses let it stay.
        let limited = path.rate.is_some_and(|rate| rate.app_limited);
        let grows = ack.acked > 0 && !ack.ecn_echo && !limited;
        if window.in_slow_start() {
            if grows {
                self.grow(window, ack);
                self.follow(window);
            }
            return;
        }
        if grows {
            let octets = ack.counted.saturating_sub(path.marked * window.smss);
            self.increase(window.smss, octets, ack.srtt);
        }
        self.step(window);
    }

    /// RFC 9331 §4.3: a loss is answered as Reno does (RFC 5681 §3.1 (4)). RFC 8257 §3.3, RFC 3168 §6.1.2: a window of data is answered
    /// once. Where a mark of it has reduced the window, both together halve it.
    fn ssthresh(&mut self, window: &Window, flight: u64) -> u64 {
        self.rest = 0;
        // The window that cwnd has not followed yet counts.
        let now = rounded_up(self.current(window), window.smss).min(flight);
        let whole = if self.una < self.reduced_before { self.unreduced } else { now };
        let ssthresh = (whole / 2).min(now).max(MIN_CWND * window.smss);
        self.classic.on_reduction(ssthresh / window.smss);
        ssthresh
    }

    /// A pause, or what was left unused, takes from the window that cwnd has not followed yet.
    fn on_request(&mut self, window: &mut Window, request: Request) {
        if matches!(request, Request::Idle { .. } | Request::Unused { .. }) && window.cwnd == self.cwnd {
            window.set_cwnd(rounded_up(self.window, window.smss).min(window.cwnd));
        }
        window.apply(request);
    }

    fn pacing_rate(&self, window: &Window, srtt: Duration) -> Option<BitRate> {
        let ratio = match self.second_half {
            _ if window.cwnd < window.ssthresh / 2 => SLOW_START_RATIO,
            _ if !self.is_rtt_independent() => PLAIN_RATIO,
            true => SECOND_HALF_RATIO,
            false => FIRST_HALF_RATIO,
        };
        window_rate(self.current(window), ratio, srtt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    /// At `ms`, up to `una` of a window of 10,000 octets, with so many marks.
    fn ack(ms: u64, una: u64, marked: u64, rtt: u64) -> AckSample {
        let path = PathSample { una, nxt: una + 10_000, marked, in_flight: 200_000, ..PathSample::of(1000) };
        AckSample { path: Some(path), ..AckSample::of(Instant::from_millis(ms), 1000, MS(rtt)) }
    }

    /// Ten segments, of which all are in flight in each round, for so many rounds; `marks` of ten come marked.
    fn rounds(prague: &mut State, window: &mut Window, (from, to): (u64, u64), marks: u64, rtt: u64) {
        for segment in 10 * from..10 * to {
            let marked = u64::from(segment % 10 < marks);
            prague.on_ack(window, &ack(1_000 + segment * rtt / 10, 1000 * (segment + 1), marked, rtt));
        }
    }

    fn alpha(prague: &State) -> f64 {
        prague.alpha as f64 / 16.0 / ONE as f64
    }

    #[test]
    fn marks_leave_two_segments_also_where_cwnd_is_clamped_to_one() {
        let config = Config { cwnd_clamp: Some(1), ..Config::default() };
        let (mut prague, mut window) = (State::default(), Window::new(&config, 1000));
        (0..40).for_each(|k| prague.on_ack(&mut window, &ack(40 * k, 10_000 * (k + 1), 1, 40)));
        assert!(window.in_slow_start() && prague.saw_ce);
        assert_eq!((prague.window, window.cwnd), (2000, 1000));
    }

    #[test]
    fn the_first_mark_halves_and_ends_slow_start() {
        let (mut prague, mut window) = (State::default(), Window::of(1000, 20, 100));
        prague.on_ack(&mut window, &ack(0, 1000, 0, 40));
        assert_eq!(window.cwnd, 21_000);
        prague.on_ack(&mut window, &ack(1, 2000, 1, 40));
        assert_eq!((prague.window, window.cwnd, window.ssthresh), (10_500, 20_000, 11_000));
        assert!(!window.in_slow_start());
        // The same round trip: cwnd follows by a segment an acknowledgement, down to 10.5 segments, rounded up.
        (2..20).for_each(|k| prague.on_ack(&mut window, &ack(k, 3000, 1, 40)));
        assert_eq!((prague.window, window.cwnd, window.ssthresh), (10_500, 11_000, 11_000));
    }

    #[test]
    fn alpha_is_the_share_of_marks_with_a_gain_of_a_sixteenth() {
        let (mut prague, mut window) = (State::default(), Window::of(1000, 10, 10));
        (prague.saw_ce, prague.round_end) = (true, 10_000);
        rounds(&mut prague, &mut window, (0, 2), 5, 40);
        assert!((0.01..0.07).contains(&alpha(&prague)), "{}", alpha(&prague));
        rounds(&mut prague, &mut window, (2, 100), 5, 40);
        assert!((alpha(&prague) - 0.5).abs() < 0.02, "{}", alpha(&prague));
        rounds(&mut prague, &mut window, (100, 111), 0, 40);
        assert!((0.22..0.29).contains(&alpha(&prague)), "(15/16)^11 is 0.49: {}", alpha(&prague));
    }

    /// A round trip of 20 ms and a queue of 5 to 20 ms, a round of ten segments each; none is marked.
    fn swing(prague: &mut State, window: &mut Window, rounds: u64) {
        for segment in 0..10 * rounds {
            let (now, una) = (Instant::from_millis(1_000 + 3 * segment), 1000 * (segment + 1));
            let delay = MS(25 + segment / 10 % 16);
            prague.on_rtt(window, &RttSample { now, delay, una, nxt: una + 10_000 });
            let sample = ack(1_000 + 3 * segment, una, 0, 30);
            let path = sample.path.map(|path| PathSample { min_rtt: Some(MS(20)), ..path });
            prague.on_ack(window, &AckSample { path, ..sample });
        }
    }

    #[test]
    fn a_queue_that_seems_to_mark_as_rfc_3168_says_is_noticed_once_something_marks() {
        for (saw_ce, falls_back, classic) in [(true, false, 17.0), (true, true, 17.0), (false, true, 0.0)] {
            let (mut prague, mut window) = (State::default(), Window::of(1000, 10, 10));
            (prague.saw_ce, prague.falls_back) = (saw_ce, falls_back);
            prague.on_handshake(MS(20));
            prague.on_loss(&mut window, 10_000);
            swing(&mut prague, &mut window, 200);
            assert_eq!(prague.report(), PragueReport { alpha: 0.0, classic });
        }
    }

    #[test]
    fn with_a_fallback_a_mark_of_such_a_queue_takes_a_third() {
        // Alpha is next to nothing, or one.
        for (falls_back, alpha, kept) in [(false, 0, 100_000), (true, 0, 68_750), (true, ONE * 16, 50_000)] {
            let (mut prague, mut window) = (State::default(), Window::of(1000, 10, 10));
            (prague.saw_ce, prague.falls_back) = (true, falls_back);
            prague.on_loss(&mut window, 10_000);
            swing(&mut prague, &mut window, 200);
            (prague.alpha, prague.round_end, window) = (alpha, u64::MAX, Window::of(1000, 100, 100));
            prague.on_ack(&mut window, &ack(90_000, 3_000_000, 1, 30));
            assert_eq!(prague.window, kept, "{falls_back} {alpha}");
        }
    }

    #[test]
    fn the_averages_of_the_round_trip_follow_each_reduction() {
        let grown = |reduce: fn(&mut State, &mut Window)| {
            let (mut prague, mut window) =
                (State { saw_ce: true, ..State::default() }, Window::of(1000, 20, 20));
            prague.on_handshake(MS(20));
            reduce(&mut prague, &mut window);
            swing(&mut prague, &mut window, 64);
            prague.report().classic
        };
        assert!(grown(|_, _| ()) < 1.0, "a gain of 2^-18 sees nothing");
        assert!(grown(|prague, window| prague.on_loss(window, 20_000)) > 9.0);
        assert!(grown(|prague, window| prague.on_ack(window, &ack(0, 1000, 1, 20))) > 9.0);
    }

    #[test]
    fn a_round_trip_reduces_once_by_half_of_alpha() {
        let mut window = Window::of(1000, 100, 100);
        let mut prague = State { saw_ce: true, alpha: ONE * 8, round_end: u64::MAX, ..State::default() };
        for una in [50_000, 51_000, 60_000] {
            prague.on_ack(&mut window, &ack(100, una, 1, 40));
            assert_eq!(prague.window, 75_000, "{una}: a quarter of 100 segments");
        }
        assert_eq!(window.cwnd, 97_000);
        prague.on_ack(&mut window, &ack(140, 60_001, 1, 40));
        assert_eq!((prague.window, window.cwnd), (56_250, 96_000));
    }

    #[test]
    fn it_grows_by_a_segment_a_round_trip_and_less_where_that_is_short() {
        for (rtt, rounds, grown) in [(40, 0, 1_000), (25, 9, 1_000), (5, 9, 40), (5, 3, 1_000)] {
            let mut prague = State { window: 100_000, saw_ce: true, rounds, ..State::default() };
            (0..100).for_each(|_| prague.increase(1000, 1000, MS(rtt)));
            let found = prague.window - 100_000;
            assert!(found.abs_diff(grown) <= grown / 100 + 1, "{rtt} ms, round {rounds}: {found}");
        }
    }

    #[test]
    fn with_a_short_round_trip_it_reduces_once_in_25_ms() {
        let mut window = Window::of(1000, 100, 100);
        let mut prague =
            State { saw_ce: true, alpha: ONE * 8, rounds: 9, round_end: u64::MAX, ..State::default() };
        for (ms, una, cwnd) in
            [(100, 50_000, 75_000), (110, 70_000, 75_000), (124, 90_000, 75_000), (125, 110_000, 56_250)]
        {
            prague.on_ack(&mut window, &ack(ms, una, 1, 5));
            assert_eq!(prague.window, cwnd, "{ms} ms");
        }
    }

    #[test]
    fn what_comes_marked_is_no_reason_to_grow() {
        let mut window = Window::of(1000, 10, 10);
        let mut prague =
            State { saw_ce: true, round_end: u64::MAX, reduced_before: u64::MAX, ..State::default() };
        (0..10).for_each(|k| prague.on_ack(&mut window, &ack(100, 1000 * k, 1, 40)));
        assert_eq!(prague.window, 10_000);
    }

    #[test]
    fn a_loss_is_answered_as_reno_does_and_what_recovery_sets_is_followed() {
        let (mut prague, mut window) = (State::default(), Window::of(1000, 20, 20));
        prague.on_loss(&mut window, 20_000);
        assert_eq!(window.ssthresh, 10_000);
        window.set_cwnd(10_000);
        prague.on_ack(&mut window, &AckSample { phase: Phase::Recovery, ..ack(0, 1000, 1, 40) });
        assert_eq!((prague.window, window.cwnd), (10_000, 10_000), "recovery goes on");
        assert!(!prague.saw_ce);
    }

    #[test]
    fn a_mark_and_a_loss_of_one_window_halve_it_together() {
        // A quarter for the mark. The second loss is of data sent after it.
        for (una, alpha, halved) in
            [(50_000, 8, 50_000), (60_000, 8, 37_500), (50_000, 16, 50_000), (50_000, 0, 50_000)]
        {
            let mut window = Window::of(1000, 100, 100);
            let mut prague =
                State { saw_ce: true, alpha: ONE * alpha, round_end: u64::MAX, ..State::default() };
            prague.on_ack(&mut window, &ack(100, 50_000, 1, 40));
            prague.on_ack(&mut window, &AckSample { acked: 0, ..ack(120, una, 0, 40) });
            let flight = window.cwnd;
            prague.on_loss(&mut window, flight);
            assert_eq!(window.ssthresh, halved, "{una} {alpha}");
        }
    }

    #[test]
    fn a_window_that_was_not_used_is_not_what_a_loss_halves() {
        let mut window = Window::of(1000, 100, 100);
        let mut prague = State { saw_ce: true, alpha: ONE * 2, round_end: u64::MAX, ..State::default() };
        let marked = ack(100, 50_000, 1, 40);
        let path = marked.path.map(|path| PathSample { in_flight: 19_000, ..path });
        prague.on_ack(&mut window, &AckSample { path, ..marked });
        prague.on_loss(&mut window, 20_000);
        assert_eq!(window.ssthresh, 10_000, "half of what was in flight");
    }

    #[test]
    fn a_pause_takes_from_the_window_that_a_mark_has_left() {
        for request in [Request::Idle { halvings: 1, restart: 10_000 }, Request::Unused { used: 20_000 }] {
            let (mut prague, mut window) = (State::default(), Window::of(1000, 100, 1000));
            prague.on_ack(&mut window, &ack(100, 50_000, 1, 40));
            assert_eq!((window.cwnd, window.ssthresh), (99_000, 50_000));
            prague.on_request(&mut window, request);
            assert!(window.cwnd < 50_000, "{}", window.cwnd);
            assert_eq!(window.ssthresh, 50_000);
        }
    }

    #[test]
    fn it_is_paced_a_little_above_and_then_a_little_below_the_window_a_round_trip() {
        let window = Window::of(1000, 20, 10);
        let rate = |second_half| {
            let marked = State { saw_ce: true, rounds: RTT_TRANSITION, ..State::default() };
            let prague = State { window: 19_500, cwnd: 20_000, second_half, ..marked };
            prague.pacing_rate(&window, MS(100)).map(BitRate::as_bps)
        };
        assert_eq!((rate(false), rate(true)), (Some(1_606_800), Some(1_513_200)), "of 19.5 segments");
        let unmarked = State { window: 19_500, cwnd: 20_000, second_half: true, ..State::default() };
        let rate = unmarked.pacing_rate(&window, MS(100)).map(BitRate::as_bps);
        assert_eq!(rate, Some(1_560_000), "before the first mark");
        let fast = State::default().pacing_rate(&Window::of(1000, 20, 41), MS(100)).map(BitRate::as_bps);
        assert_eq!(fast, Some(3_200_000), "slow start");
    }
}
