//! The states, what each does to rate and volume, and the parts of the model that a file each changes.

use handfast_core::{Duration, Instant};

use super::units::UNBOUNDED;

/// `BBR.state` (§5.1.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum State {
    /// Doubles the rate each round until the path is full.
    #[default]
    Startup,
    /// Drains the queue of it.
    Drain,
    /// `ProbeBW_DOWN`: leaves room and drains the queue of the last probe.
    Down,
    /// `ProbeBW_CRUISE`: at the rate of the path.
    Cruise,
    /// `ProbeBW_REFILL`: fills the pipe, so that a probe is not judged by an empty one.
    Refill,
    /// `ProbeBW_UP`: a quarter faster.
    Up,
    /// Half of the pipe, so that the shortest round trip shows.
    ProbeRtt,
}

impl State {
    /// `BBR.pacing_gain`, hundredths (§5.6.1, the table).
    pub(super) const fn pacing_gain(self) -> u64 {
        match self {
            // `BBR.StartupPacingGain`, 4 ln 2 (§2.5).
            Self::Startup => 277,
            Self::Drain => 50,
            Self::Down => 90,
            Self::Cruise | Self::Refill | Self::ProbeRtt => 100,
            Self::Up => 125,
        }
    }

    /// `BBR.cwnd_gain`, hundredths (§5.6.1, the table).
    pub(super) const fn cwnd_gain(self) -> u64 {
        match self {
            Self::Up => 225,
            // `BBR.ProbeRTTCwndGain` (§2.16.2).
            Self::ProbeRtt => 50,
            // `BBR.DefaultCwndGain` (§2.6).
            _ => 200,
        }
    }

    /// `IsInAProbeBWState` (§5.3.3.9).
    pub(super) const fn is_probe_bw(self) -> bool {
        matches!(self, Self::Down | Self::Cruise | Self::Refill | Self::Up)
    }

    /// `IsProbingBW` (§5.3.3.9).
    pub(super) const fn is_probing(self) -> bool {
        matches!(self, Self::Startup | Self::Refill | Self::Up)
    }
}

/// `BBR.ack_phase` (§2.14): what acknowledgements say of the last probe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum AckPhase {
    #[default]
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// Round trips timed by packets (§5.5.1).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rounds {
    /// `BBR.round_count`, `BBR.round_start` and `BBR.next_round_delivered`.
    pub(super) count: u32,
    pub(super) start: bool,
    pub(super) next_delivered: u64,
    /// `BBR.rounds_since_probe_up`.
    pub(super) since_probe_up: u64,
}

/// Whether the pipe is full (§5.3.1.2).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FullPipe {
    /// `BBR.full_bw_reached`.
    pub(super) reached: bool,
    /// `BBR.full_bw_now`, `BBR.full_bw` and `BBR.full_bw_count`.
    pub(super) now: bool,
    pub(super) bw: u64,
    pub(super) count: u32,
}

impl FullPipe {
    /// `ResetFullBW`, with `bw` as the baseline.
    pub(super) fn reset(&mut self, bw: u64) {
        *self = Self { reached: self.reached, bw, ..Self::default() };
    }
}

/// `ProbeBW` (§2.14).
#[derive(Clone, Copy, Debug)]
pub(super) struct Cycle {
    pub(super) ack_phase: AckPhase,
    /// `BBR.is_bw_probe_sample`.
    pub(super) is_probe_sample: bool,
    /// `BBR.prev_probe_too_high` and `BBR.prev_probe_precautionary`.
    pub(super) too_high: bool,
    pub(super) precautionary: bool,
    /// `BBR.bw_probe_up_acked`, `BBR.probe_up_acked_per_inc` and `BBR.bw_probe_up_rounds`.
    pub(super) up_acked: u64,
    pub(super) acked_per_step: u64,
    pub(super) up_rounds: u32,
    /// `BBR.bw_probe_wait` and `BBR.cycle_stamp`.
    pub(super) wait: Duration,
    pub(super) began: Instant,
}

impl Default for Cycle {
    fn default() -> Self {
        Self {
            ack_phase: AckPhase::Init,
            is_probe_sample: false,
            too_high: false,
            precautionary: false,
            up_acked: 0,
            acked_per_step: UNBOUNDED,
            up_rounds: 0,
            wait: Duration::ZERO,
            began: Instant::ZERO,
        }
    }
}

/// What a round trip has delivered and lost (§2.10, §5.5.10.3).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LossRound {
    /// `BBR.is_loss_in_round`.
    pub(super) seen: bool,
    /// `BBR.loss_round_delivered` and `BBR.loss_round_start`.
    pub(super) delivered: u64,
    pub(super) start: bool,
    /// `BBR.bw_latest` and `BBR.inflight_latest`.
    pub(super) bw_latest: u64,
    pub(super) inflight_latest: u64,
    /// Ranges of lost octets in this round that do not touch, and where the last one ended.
    pub(super) ranges: u32,
    pub(super) last_end: u64,
}

/// What an undo restores (§2.15).
#[derive(Clone, Copy, Debug)]
pub(super) struct UndoState {
    /// `BBR.undo_state`.
    pub(super) state: Option<State>,
    pub(super) bw_shortterm: u64,
    pub(super) inflight_shortterm: u64,
    pub(super) inflight_longterm: u64,
}

/// When the shortest round trip is due to be looked for (§2.16).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ProbeRtt {
    /// `BBR.probe_rtt_min_delay` and `BBR.probe_rtt_min_stamp`.
    pub(super) min_delay: Option<Duration>,
    pub(super) min_at: Instant,
    /// `BBR.probe_rtt_expired`.
    pub(super) expired: bool,
    /// `BBR.probe_rtt_done_stamp` and `BBR.probe_rtt_round_done`.
    pub(super) until: Option<Instant>,
    pub(super) round_done: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gains_are_those_of_the_draft_s_table() {
        let table = [
            (State::Startup, 277, 200),
            (State::Drain, 50, 200),
            (State::Down, 90, 200),
            (State::Cruise, 100, 200),
            (State::Refill, 100, 200),
            (State::Up, 125, 225),
            (State::ProbeRtt, 100, 50),
        ];
        for (state, pacing, cwnd) in table {
            assert_eq!((state.pacing_gain(), state.cwnd_gain()), (pacing, cwnd), "{state:?}");
        }
    }
}
