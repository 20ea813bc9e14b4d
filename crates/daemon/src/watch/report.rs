//! What was seen in all: stalls, their causes, and what remedies would have saved.

use std::collections::BTreeMap;

use handfast_core::Duration;
use handfast_watch::{Cause, Stall};
use serde_json::{Value, json};

use super::names::Names;
use super::replay::{REMEDIES, Remedy, Replay, replay};

/// Stalls that are kept for the page; the sums count all.
const KEPT: usize = 2000;

/// A stall as it is told.
#[derive(Clone, Debug)]
pub(super) struct Told {
    pub(super) stall: Stall,
    pub(super) peer: String,
    pub(super) replay: Option<Replay>,
}

impl Told {
    pub(super) fn json(&self) -> Value {
        let stall = &self.stall;
        let phases = stall.phases.iter().map(|phase| {
            json!({"cause": phase.cause.word(), "from_s": phase.from.as_secs_f64(), "length_s": phase.length().as_secs_f64()})
        });
        let saved = self.replay.as_ref().map(|replay| {
            let saved =
                replay.saved().map(|(remedy, saved)| (remedy.scheme.to_owned(), json!(rounded(saved))));
            json!({"waited_s": rounded(replay.measured), "simulated_s": rounded(replay.as_it_is), "saved_s": saved.collect::<serde_json::Map<_, _>>()})
        });
        json!({
            "stall": {
                "peer": self.peer,
                "connection": stall.connection.0,
                "direction": stall.direction.word(),
                "from_s": stall.from().as_secs_f64(),
                "length_s": stall.length().as_secs_f64(),
                "cause": stall.main_cause().word(),
                "phases": phases.collect::<Vec<_>>(),
                "end": stall.end.word(),
                "retransmitted_segments": stall.retransmitted,
                "longest_rto_s": stall.longest_rto.as_secs_f64(),
                "min_rtt_s": stall.path.min_rtt.map(Duration::as_secs_f64),
                "rate_bps": stall.path.rate.map(|bytes| bytes.saturating_mul(8)),
                "repeated_permille": stall.path.repeated_permille,
                "replay": saved,
            }
        })
    }
}

fn rounded(seconds: f64) -> f64 {
    (seconds * 1e3).round() / 1e3
}

/// How often a cause was there, and for how long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Share {
    pub(super) stalls: usize,
    pub(super) time: Duration,
}

/// What a remedy would have saved.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Saving {
    pub(super) stalls: usize,
    pub(super) saved_s: f64,
    /// Of so much that was waited after the path's return, or for what was lost.
    pub(super) of_s: f64,
}

/// All of it.
#[derive(Debug)]
pub(super) struct Report {
    names: Names,
    replays: bool,
    pub(super) told: Vec<Told>,
    pub(super) stalls: usize,
    pub(super) time: Duration,
    pub(super) broken: usize,
    /// Those that lost their address, and did not go on.
    pub(super) moved: usize,
    pub(super) causes: BTreeMap<Cause, Share>,
    pub(super) savings: BTreeMap<&'static str, Saving>,
    /// Connections at a time, at most.
    pub(super) watched: usize,
    pub(super) passed: Duration,
}

impl Report {
    pub(super) fn new(names: Names, replays: bool) -> Self {
        Self {
            names,
            replays,
            told: Vec::new(),
            stalls: 0,
            time: Duration::ZERO,
            broken: 0,
            moved: 0,
            causes: BTreeMap::new(),
            savings: BTreeMap::new(),
            watched: 0,
            passed: Duration::ZERO,
        }
    }

    pub(super) fn looked(&mut self, watched: usize, passed: Duration) {
        self.watched = self.watched.max(watched);
        self.passed = passed;
    }

    /// Adds a stall, and replays it.
    pub(super) fn add(&mut self, stall: &Stall) -> &Told {
        self.stalls += 1;
        self.time += stall.length();
        self.broken += usize::from(stall.end == handfast_watch::End::Broke);
        self.moved += usize::from(stall.lost_its_address());
        for cause in Cause::ALL.into_iter().filter(|&cause| stall.of(cause) > Duration::ZERO) {
            let share = self.causes.entry(cause).or_default();
            *share = Share { stalls: share.stalls + 1, time: share.time + stall.of(cause) };
        }
        let replay = if self.replays { replay(stall) } else { None };
        for (remedy, saved_s) in replay.iter().flat_map(Replay::saved) {
            let saving = self.savings.entry(remedy.scheme).or_default();
            let of_s = replay.as_ref().map_or(0.0, |replay| replay.measured);
            *saving = Saving {
                stalls: saving.stalls + 1,
                saved_s: saving.saved_s + saved_s,
                of_s: saving.of_s + of_s,
            };
        }
        let told = Told { stall: stall.clone(), peer: self.names.of(stall.remote), replay };
        if self.told.len() == KEPT {
            self.told.remove(0);
        }
        self.told.push(told);
        &self.told[self.told.len() - 1]
    }

    /// What remedies would have saved, the best first.
    pub(super) fn ranked(&self) -> Vec<(Remedy, Saving)> {
        let found =
            REMEDIES.iter().filter_map(|remedy| self.savings.get(remedy.scheme).map(|one| (*remedy, *one)));
        let mut found: Vec<_> = found.collect();
        found.sort_by(|one, other| other.1.saved_s.total_cmp(&one.1.saved_s));
        found
    }

    pub(super) fn json(&self) -> Value {
        let causes = self.causes.iter().map(|(cause, share)| {
            (
                cause.word().to_owned(),
                json!({"stalls": share.stalls, "time_s": rounded(share.time.as_secs_f64())}),
            )
        });
        let savings = self.ranked().into_iter().map(|(remedy, saving)| {
            let Saving { stalls, saved_s, of_s } = saving;
            (
                remedy.scheme.to_owned(),
                json!({"stalls": stalls, "saved_s": rounded(saved_s), "of_s": rounded(of_s)}),
            )
        });
        json!({
            "watch": {
                "schema": 1,
                "watched_s": rounded(self.passed.as_secs_f64()),
                "connections": self.watched,
                "stalls": self.stalls,
                "stalled_s": rounded(self.time.as_secs_f64()),
                "broken": self.broken,
                "lost_their_address": self.moved,
                "causes": causes.collect::<serde_json::Map<_, _>>(),
                "savings": savings.collect::<serde_json::Map<_, _>>(),
            }
        })
    }
}
