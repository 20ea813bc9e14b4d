//! What is known of the path, and the rate of it (§5.5): round trips, the highest bandwidth of two cycles, what the last round
//! delivered.

use handfast_core::{Duration, Instant, Stream};

use super::super::max_filter::MaxFilter;
use super::sample::Sample;
use super::state::{Cycle, FullPipe, LossRound, ProbeRtt, Rounds, State, UndoState};
use super::units::{UNBOUNDED, percent, volume};
use crate::cc::Window;
use crate::phase::Phase;

/// All of a connection's state (`BBR`, and what of `C` only BBR has).
#[derive(Clone, Debug)]
pub(super) struct Model {
    pub(super) state: State,
    /// `BBR.max_bw_filter`: the highest of the cycle before and of this one (§5.5.6).
    pub(super) bandwidths: [u64; 2],
    /// `BBR.bw`.
    pub(super) bw: u64,
    /// `BBR.min_rtt` and `BBR.min_rtt_stamp`.
    pub(super) min_rtt: Option<Duration>,
    pub(super) min_rtt_at: Instant,
    /// `BBR.bw_shortterm`, `BBR.inflight_shortterm` and `BBR.inflight_longterm`.
    pub(super) bw_shortterm: u64,
    pub(super) inflight_shortterm: u64,
    pub(super) inflight_longterm: u64,
    pub(super) rounds: Rounds,
    pub(super) full: FullPipe,
    pub(super) cycle: Cycle,
    pub(super) loss: LossRound,
    pub(super) undo: UndoState,
    pub(super) probe_rtt: ProbeRtt,
    /// `BBR.extra_acked_filter`, `BBR.extra_acked_interval_start` and `BBR.extra_acked_delivered`.
    pub(super) extra_acked: MaxFilter,
    pub(super) extra_since: Instant,
    pub(super) extra_delivered: u64,
    /// `BBR.drain_start_round`.
    pub(super) drain_start: u32,
    /// `BBR.idle_restart`.
    pub(super) idle_restart: bool,
    /// `BBR.prior_cwnd`.
    pub(super) prior_cwnd: u64,
    /// `C.pacing_rate`; before the first acknowledgement see [`Model::first_rate`].
    pub(super) pacing_rate: u64,
    /// `C.delivered`.
    pub(super) delivered: u64,
    /// `C.InitialCwnd`; 0: as the window is.
    pub(super) initial_cwnd: u64,
    /// `C.has_selective_acks`.
    pub(super) selective: bool,
    /// Where loss recovery stood at the last acknowledgement, and what was delivered when fast recovery began.
    pub(super) phase: Phase,
    pub(super) recovery_at: u64,
    pub(super) has_begun: bool,
    /// When the last acknowledgement came.
    pub(super) at: Instant,
    pub(super) random: Stream,
}

impl Model {
    /// `OnInit` (§5.2.1).
    pub(super) fn new() -> Self {
        Self {
            state: State::Startup,
            bandwidths: [0; 2],
            bw: 0,
            min_rtt: None,
            min_rtt_at: Instant::ZERO,
            bw_shortterm: UNBOUNDED,
            inflight_shortterm: UNBOUNDED,
            inflight_longterm: UNBOUNDED,
            rounds: Rounds::default(),
            full: FullPipe::default(),
            cycle: Cycle::default(),
            loss: LossRound::default(),
            undo: UndoState { state: None, bw_shortterm: 0, inflight_shortterm: 0, inflight_longterm: 0 },
            probe_rtt: ProbeRtt::default(),
            extra_acked: MaxFilter::default(),
            extra_since: Instant::ZERO,
            extra_delivered: 0,
            drain_start: 0,
            idle_restart: false,
            prior_cwnd: 0,
            pacing_rate: 0,
            delivered: 0,
            initial_cwnd: 0,
            selective: true,
            phase: Phase::Open,
            recovery_at: 0,
            has_begun: false,
            at: Instant::ZERO,
            random: Self::stream(0),
        }
    }

    /// The numbers that one connection draws.
    pub(super) fn stream(seed: u64) -> Stream {
        Stream::new(seed, "bbr3")
    }

    /// The rest of `OnInit`, which wants a clock and the first window.
    pub(super) fn begin(&mut self, window: &Window, sample: &Sample) {
        if self.has_begun {
            return;
        }
        if self.min_rtt.is_none() && sample.srtt > Duration::ZERO {
            // "BBR.min_rtt = C.srtt ? C.srtt : Infinity"
            self.min_rtt = Some(sample.srtt);
        }
        self.has_begun = true;
        self.note_initial_cwnd(window);
        self.pacing_rate = self.first_rate(window);
        self.min_rtt_at = sample.now;
        self.probe_rtt.min_at = sample.now;
        self.extra_since = sample.now;
    }

    /// `C.InitialCwnd`: the window before anything changes it, an acknowledgement or a timeout of the first flight.
    pub(super) fn note_initial_cwnd(&mut self, window: &Window) {
        if self.initial_cwnd == 0 {
            self.initial_cwnd = window.cwnd;
        }
    }

    /// `BBR.max_bw`.
    pub(super) fn max_bw(&self) -> u64 {
        self.bandwidths[0].max(self.bandwidths[1])
    }

    /// `StartRound` (§5.5.1).
    pub(super) fn start_round(&mut self) {
        self.rounds.next_delivered = self.delivered;
    }

    /// `UpdateRound` (§5.5.1).
    fn update_round(&mut self, sample: &Sample) {
        self.rounds.start = sample.prior_delivered.is_some_and(|prior| prior >= self.rounds.next_delivered);
        if self.rounds.start {
            self.start_round();
            self.rounds.count = self.rounds.count.wrapping_add(1);
            self.rounds.since_probe_up += 1;
        }
    }

    /// `UpdateMaxBw` (§5.5.5).
    pub(super) fn update_max_bw(&mut self, sample: &Sample) {
        self.update_round(sample);
        if sample.delivery_rate > 0 && (sample.delivery_rate >= self.max_bw() || !sample.app_limited) {
            self.bandwidths[1] = self.bandwidths[1].max(sample.delivery_rate);
        }
    }

    /// `AdvanceMaxBwFilter` (§5.5.6). A cycle without a sample takes nothing out, as nothing leaves the filter that the draft names
    /// but for a newer sample.
    pub(super) fn advance_max_bw(&mut self) {
        if self.bandwidths[1] > 0 {
            self.bandwidths = [self.bandwidths[1], 0];
        }
    }

    /// `UpdateLatestDeliverySignals` (§5.5.10.3).
    pub(super) fn update_latest(&mut self, sample: &Sample) {
        let loss = &mut self.loss;
        loss.bw_latest = loss.bw_latest.max(sample.delivery_rate);
        loss.inflight_latest = loss.inflight_latest.max(sample.delivered);
        loss.start = sample.prior_delivered.is_some_and(|prior| prior >= loss.delivered);
        if loss.start {
            loss.delivered = self.delivered;
        }
    }

    /// `AdvanceLatestDeliverySignals` (§5.5.10.3).
    pub(super) fn advance_latest(&mut self, sample: &Sample) {
        if self.loss.start {
            self.loss.bw_latest = sample.delivery_rate;
            self.loss.inflight_latest = sample.delivered;
            self.loss.ranges = 0;
        }
    }

    /// `BoundBWForModel` (§5.5.10.3).
    pub(super) fn bound_bw(&mut self) {
        self.bw = self.max_bw().min(self.bw_shortterm);
    }

    /// `BDPMultiple` (§5.6.4.2) of a rate.
    pub(super) fn bdp_of(&self, bw: u64, gain: u64) -> u64 {
        match self.min_rtt {
            // "no valid RTT samples yet"
            None => self.initial_cwnd,
            Some(rtt) => percent(volume(bw, rtt), gain),
        }
    }

    /// `BBR.bdp`.
    pub(super) fn bdp(&self) -> u64 {
        self.bdp_of(self.bw, super::units::ONE)
    }

    /// `TargetInflight` (§5.3.3.8.3).
    pub(super) fn target_inflight(&self, window: &Window) -> u64 {
        self.bdp().min(window.cwnd)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{MS, RATE, SMSS, model, round, sample, window};
    use super::*;

    #[test]
    fn a_round_ends_with_what_left_after_it_began() {
        let mut model = model(State::Cruise);
        for (prior, start) in [(Some(999_999), false), (None, false), (Some(1_000_000), true)] {
            model.update_max_bw(&Sample { prior_delivered: prior, ..sample(MS(1000)) });
            assert_eq!((model.rounds.start, model.rounds.count), (start, u32::from(start)), "{prior:?}");
        }
        model.delivered = 1_100_000;
        model.start_round();
        assert_eq!(model.rounds.next_delivered, 1_100_000);
    }

    #[test]
    fn the_highest_rate_of_two_cycles_counts_and_the_application_s_only_where_it_is_higher() {
        let mut model = model(State::Cruise);
        let mut see = |rate, app_limited| {
            model.update_max_bw(&Sample { delivery_rate: rate, app_limited, ..sample(MS(1000)) });
            model.max_bw()
        };
        assert_eq!(see(RATE / 2, false), RATE);
        assert_eq!(see(2 * RATE, true), 2 * RATE, "more than was known");
        assert_eq!(see(3 * RATE / 2, true), 2 * RATE);
        model.advance_max_bw();
        assert_eq!(model.bandwidths, [2 * RATE, 0]);
        model.advance_max_bw();
        assert_eq!(model.bandwidths, [2 * RATE, 0], "nothing was measured in between");
        model.update_max_bw(&Sample { app_limited: true, ..sample(MS(1000)) });
        assert_eq!(model.bandwidths[1], 0, "the application's");
        model.update_max_bw(&sample(MS(1000)));
        model.advance_max_bw();
        assert_eq!(model.max_bw(), RATE);
    }

    #[test]
    fn what_a_round_delivered_is_known_when_it_ends() {
        let mut model = model(State::Cruise);
        let faster = Sample { delivery_rate: 2 * RATE, delivered: 5000, ..sample(MS(1000)) };
        model.update_latest(&faster);
        model.advance_latest(&faster);
        assert_eq!(
            (model.loss.start, model.loss.bw_latest, model.loss.inflight_latest),
            (false, 2 * RATE, 5000)
        );
        model.loss.ranges = 3;
        let slower = Sample { delivery_rate: RATE, delivered: 4000, ..round(MS(1100)) };
        model.update_latest(&slower);
        assert_eq!(
            (model.loss.start, model.loss.bw_latest, model.loss.inflight_latest),
            (true, 2 * RATE, 5000)
        );
        model.advance_latest(&slower);
        assert_eq!((model.loss.bw_latest, model.loss.inflight_latest, model.loss.ranges), (RATE, 4000, 0));
    }

    #[test]
    fn the_volume_of_the_path_is_its_rate_times_its_round_trip() {
        let mut model = model(State::Cruise);
        assert_eq!((model.bdp(), model.bdp_of(RATE, 200)), (100 * SMSS, 200 * SMSS));
        assert_eq!(model.target_inflight(&window(70)), 70 * SMSS);
        model.bw_shortterm = RATE / 2;
        model.bound_bw();
        assert_eq!((model.bw, model.bdp()), (RATE / 2, 50 * SMSS));
        model.min_rtt = None;
        assert_eq!(model.bdp(), model.initial_cwnd);
    }
}
