//! What is known of the path: its rate, its shortest round trip, and what follows from them.

use handfast_core::{Instant, Stream};

use super::super::max_filter::MaxFilter;
use super::sample::{Last, Sample};
use super::state::{Aggregation, LongTerm, Mode, ProbeRtt};
use super::units::{GAIN, GAIN_SCALE, HIGH_GAIN, UNIT, bytes_per_second};
use crate::cc::Window;
use crate::phase::Phase;

/// `bbr_bw_rtts`: rounds for which a rate counts.
const BW_ROUNDS: u32 = 10;

/// `TCP_INIT_CWND`, segments.
pub(super) const INITIAL_CWND: u64 = 10;

/// `bbr_min_tso_rate`, bytes a second: below, segments leave one by one.
const MIN_TSO_RATE: u64 = 1_200_000 >> 3;

/// `sk_pacing_shift`: a burst takes about a millisecond.
const PACING_SHIFT: u32 = 10;

/// `tcp_tso_rtt_log`: bursts are larger where the shortest round trip is below some multiples of 2^9 microseconds.
const TSO_RTT_LOG: u32 = 9;

/// `sk_gso_max_size`: `GSO_LEGACY_MAX_SIZE` without `MAX_TCP_HEADER` (320 bytes) and one.
const GSO_MAX_SIZE: u64 = 65_536 - 320 - 1;

/// `bbr_tso_segs_goal`: `min(segs, 0x7FU)`.
const MAX_GOAL: u64 = 0x7f;

/// `struct bbr`.
#[derive(Clone, Debug)]
pub(super) struct Model {
    pub(super) has_begun: bool,
    pub(super) mode: Mode,
    pub(super) pacing_gain: u64,
    pub(super) cwnd_gain: u64,
    /// `sk_pacing_rate`, bytes a second.
    pub(super) pacing_rate: u64,
    /// `bw`.
    pub(super) rates: MaxFilter,
    /// `rtt_cnt`, `next_rtt_delivered` (octets) and `round_start`.
    pub(super) rounds: u32,
    pub(super) round_end: u64,
    pub(super) round_start: bool,
    /// `full_bw_reached`, `full_bw` and `full_bw_cnt`.
    pub(super) is_full: bool,
    pub(super) full_bw: u64,
    pub(super) full_bw_rounds: u32,
    /// `cycle_idx` and `cycle_mstamp`.
    pub(super) phase: usize,
    pub(super) phase_at: Instant,
    /// `get_random_u32_below`.
    pub(super) random: Stream,
    /// `min_rtt_us` and `min_rtt_stamp`.
    pub(super) min_rtt: Option<u32>,
    pub(super) min_rtt_at: Instant,
    /// `tcp_min_rtt`: the shortest of all.
    pub(super) lowest_rtt: Option<u32>,
    /// The round trip that the first pacing rate came from, microseconds; [`None`]: not `has_seen_rtt`.
    pub(super) first_rtt: Option<u32>,
    pub(super) probe_rtt: ProbeRtt,
    /// `prev_ca_state`.
    pub(super) previous: Phase,
    /// `packet_conservation`, `prior_cwnd` (segments), `idle_restart`.
    pub(super) conserves: bool,
    pub(super) prior_cwnd: u64,
    pub(super) idle_restart: bool,
    pub(super) long_term: LongTerm,
    pub(super) aggregation: Aggregation,
    pub(super) last: Last,
}

impl Default for Model {
    fn default() -> Self {
        Self {
            has_begun: false,
            mode: Mode::Startup,
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_GAIN,
            pacing_rate: 0,
            rates: MaxFilter::default(),
            rounds: 0,
            round_end: 0,
            round_start: false,
            is_full: false,
            full_bw: 0,
            full_bw_rounds: 0,
            phase: 0,
            phase_at: Instant::ZERO,
            random: Self::stream(0),
            min_rtt: None,
            min_rtt_at: Instant::ZERO,
            lowest_rtt: None,
            first_rtt: None,
            probe_rtt: ProbeRtt::default(),
            previous: Phase::Open,
            conserves: false,
            prior_cwnd: 0,
            idle_restart: false,
            long_term: LongTerm::default(),
            aggregation: Aggregation::default(),
            last: Last::default(),
        }
    }
}

impl Model {
    /// The numbers that one connection draws.
    pub(super) fn stream(seed: u64) -> Stream {
        Stream::new(seed, "bbr")
    }

    /// `bbr_max_bw`.
    pub(super) fn max_bw(&self) -> u64 {
        self.rates.get()
    }

    /// `bbr_bw`.
    pub(super) fn bw(&self) -> u64 {
        if self.long_term.in_use { self.long_term.bw } else { self.max_bw() }
    }

    /// `bbr_update_bw`.
    pub(super) fn update_bw(&mut self, sample: &Sample) {
        self.round_start = false;
        let Some(rate) = sample.rate else { return };
        if rate.prior_delivered >= self.round_end {
            self.round_end = sample.delivered;
            self.rounds = self.rounds.wrapping_add(1);
            self.round_start = true;
            self.conserves = false;
        }
        self.sample_long_term(sample);
        // "filter out app-limited samples unless they describe the path bw at least as well as our bw model"
        if !sample.app_limited || rate.bw >= self.max_bw() {
            self.rates.add(BW_ROUNDS, self.rounds, rate.bw);
        }
    }

    /// `bbr_bdp`: segments, rounded up.
    pub(super) fn bdp(&self, bw: u64, gain: u64) -> u64 {
        // "be safe: cap at default initial cwnd"
        let Some(rtt) = self.min_rtt else { return INITIAL_CWND };
        let octets = (u128::from(bw) * u128::from(rtt) * u128::from(gain)) >> GAIN_SCALE;
        u64::try_from(octets.div_ceil(u128::from(UNIT))).unwrap_or(u64::MAX)
    }

    /// `bbr_inflight`.
    pub(super) fn inflight(&self, bw: u64, gain: u64, smss: u64) -> u64 {
        self.with_budget(self.bdp(bw, gain), smss)
    }

    /// `bbr_quantization_budget`: room for bursts at both ends; an even number of segments, for peers that acknowledge every other;
    /// and two more in the phase that probes, for the least windows.
    pub(super) fn with_budget(&self, segments: u64, smss: u64) -> u64 {
        let segments = segments.saturating_add(3 * self.burst_goal(smss)).saturating_add(1) & !1;
        let probes = self.mode == Mode::ProbeBw && self.phase == 0;
        segments.saturating_add(if probes { 2 } else { 0 })
    }

    /// `bbr_min_tso_segs`.
    fn least_burst(&self) -> u64 {
        if self.pacing_rate < MIN_TSO_RATE { 1 } else { 2 }
    }

    /// `bbr_tso_segs_goal`.
    pub(super) fn burst_goal(&self, smss: u64) -> u64 {
        let octets = (self.pacing_rate >> PACING_SHIFT).min(GSO_MAX_SIZE);
        (octets / smss).max(self.least_burst()).min(MAX_GOAL)
    }

    /// `tcp_tso_autosize`: segments that leave together. Before the first acknowledgement the rate is the first.
    pub(super) fn burst(&self, window: &Window) -> u32 {
        let rate = if self.has_begun { self.pacing_rate } else { self.first_rate(window) };
        let mut octets = rate >> PACING_SHIFT;
        let shift = self.lowest_rtt.unwrap_or(u32::MAX) >> TSO_RTT_LOG;
        if shift < u32::BITS {
            octets += GSO_MAX_SIZE >> shift;
        }
        let least = if rate < MIN_TSO_RATE { 1 } else { 2 };
        u32::try_from((octets.min(GSO_MAX_SIZE) / window.smss).max(least)).unwrap_or(u32::MAX)
    }

    /// `bbr_packets_in_net_at_edt`: segments in the network when the next burst leaves.
    pub(super) fn in_net_at_departure(&self, sample: &Sample, in_flight: u64) -> u64 {
        let delivered = super::units::segments_in(self.bw(), sample.wait);
        let burst = if self.pacing_gain > GAIN { self.burst_goal(sample.smss) } else { 0 };
        (in_flight + burst).saturating_sub(delivered)
    }

    /// `bbr_set_pacing_rate`.
    pub(super) fn set_pacing_rate(&mut self, gain: u64, smss: u64) {
        let rate = bytes_per_second(self.bw(), gain, smss);
        if self.is_full || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At so many Mbit/s of segments of 1448 octets.
    fn paced(kilobits: u64) -> Model {
        Model { has_begun: true, pacing_rate: kilobits * 1000 / 8, ..Model::default() }
    }

    fn burst(kilobits: u64, lowest: u32) -> u32 {
        let model = Model { lowest_rtt: Some(lowest), ..paced(kilobits) };
        model.burst(&Window::of(1448, 10, 100))
    }

    #[test]
    fn a_burst_takes_a_millisecond_and_is_two_segments_at_least() {
        // 20 Mbit/s >> 10 are 2441 bytes: one segment. 100 Mbit/s: 12,207 bytes, 8 segments; 1 Gbit/s: 65,215 bytes, 45.
        for (kilobits, segments) in [(1199, 1), (1200, 2), (20_000, 2), (100_000, 8), (1_000_000, 45)] {
            assert_eq!(burst(kilobits, 40_000), segments, "{kilobits} kbit/s");
        }
        assert_eq!(paced(1_000_000).burst_goal(1448), 45);
        assert_eq!(paced(100_000).burst_goal(100), 122);
        assert_eq!(paced(1_000_000).burst_goal(100), 127);
    }

    #[test]
    fn bursts_are_larger_where_the_round_trip_is_short() {
        // `sk_gso_max_size >> (min_rtt >> 9)`: 65,215 bytes below 512 us, half of that below 1024.
        for (lowest, segments) in [(511, 45), (512, 24), (1024, 12), (2048, 4), (4096, 2), (40_000, 2)] {
            assert_eq!(burst(20_000, lowest), segments, "{lowest} us");
        }
    }

    #[test]
    fn the_window_has_room_for_three_bursts_is_even_and_two_more_while_it_probes() {
        let mut model = paced(20_000);
        assert_eq!([10, 11].map(|n| model.with_budget(n, 1448)), [16, 18]);
        model.mode = Mode::ProbeBw;
        assert_eq!(model.with_budget(10, 1448), 18, "phase 0");
        model.phase = 1;
        assert_eq!(model.with_budget(10, 1448), 16);
        assert_eq!(paced(1000).with_budget(10, 1448), 14, "3 * 1, rounded up");
    }

    #[test]
    fn the_pipe_is_rounded_up() {
        let mut model = Model::default();
        assert_eq!(model.bdp(UNIT, GAIN), INITIAL_CWND, "no round trip is known");
        model.min_rtt = Some(10_000);
        // A segment a millisecond, and a little more.
        assert_eq!(model.bdp(UNIT / 1000, GAIN), 10);
        assert_eq!(model.bdp(UNIT / 1000 + 2, GAIN), 11);
        assert_eq!(model.bdp(UNIT / 1000, GAIN * 2), 20);
    }

    #[test]
    fn until_the_pipe_is_full_the_rate_only_rises() {
        let mut model = Model { pacing_rate: 1_000_000, ..Model::default() };
        model.set_pacing_rate(GAIN, 1000);
        assert_eq!(model.pacing_rate, 1_000_000);
        model.is_full = true;
        model.set_pacing_rate(GAIN, 1000);
        assert_eq!(model.pacing_rate, 0);
    }
}
