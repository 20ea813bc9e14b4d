//! What the tests of several files need: a path of a megabyte a second and 100 ms, which 100 segments of 1000 octets fill.

use handfast_core::{Duration, Instant};

use super::model::Model;
use super::sample::Sample;
use super::state::State;
use crate::cc::Window;
use crate::phase::Phase;

pub(super) const MS: fn(u64) -> Instant = Instant::from_millis;
pub(super) const SMSS: u64 = 1000;
pub(super) const RATE: u64 = 1_000_000;

pub(super) fn window(segments: u64) -> Window {
    Window::of(SMSS, segments, u64::MAX / SMSS)
}

/// A segment is acknowledged that begins no round, with all as the path has it.
pub(super) fn sample(now: Instant) -> Sample {
    Sample {
        now,
        smss: SMSS,
        phase: Phase::Open,
        total: 1_000_000,
        inflight: 100 * SMSS,
        srtt: Duration::from_millis(100),
        newly_acked: SMSS,
        rtt: Some(Duration::from_millis(100)),
        delivery_rate: RATE,
        delivered: 100 * SMSS,
        prior_delivered: Some(900_000),
        app_limited: false,
        tx_in_flight: 100 * SMSS,
        lost: 0,
        cwnd_limited: false,
        selective: true,
        ecn_echo: false,
    }
}

/// A model of it at one second, of what was delivered before a megabyte, in this state.
pub(super) fn model(state: State) -> Model {
    let mut model = Model::new();
    model.begin(&window(100), &sample(MS(1000)));
    model.state = state;
    model.full.reached = state != State::Startup;
    model.bandwidths = [RATE, RATE];
    model.bw = RATE;
    model.min_rtt = Some(Duration::from_millis(100));
    model.probe_rtt.min_delay = model.min_rtt;
    model.delivered = 1_000_000;
    model.rounds.next_delivered = 1_000_000;
    model.loss.delivered = 1_000_000;
    model.cycle.began = MS(1000);
    model.cycle.wait = Duration::from_secs(2);
    model.pacing_rate = RATE;
    model
}

/// As [`sample`], and a round begins with it.
pub(super) fn round(now: Instant) -> Sample {
    Sample { prior_delivered: Some(1_000_000), ..sample(now) }
}
