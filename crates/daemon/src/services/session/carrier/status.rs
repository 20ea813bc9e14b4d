//! What there is to say of sessions.

use handfast_assist::iosl::ids::Socket;
use serde_json::{Value, json};

use super::Carrier;
use super::paths::Path;
use super::programs::Program;
use crate::services::session::keys::name_of;

/// Sessions of an answer.
const MOST_SHOWN: usize = 256;

impl Carrier {
    /// The sessions, a line each.
    pub(in crate::services::session) fn sessions(&self) -> Vec<Value> {
        self.end.sessions().take(MOST_SHOWN).filter_map(|socket| self.session(socket)).collect()
    }

    fn session(&self, socket: Socket) -> Option<Value> {
        let (session, (target, key)) = (self.end.session(socket)?, self.end.target(socket)?);
        let state = match () {
            () if session.is_done() => "done",
            () if session.failed().is_some() => "failed",
            () if self.is_suspended => "suspended",
            () if !session.is_opened() => "opening",
            () if session.epochs().next().is_none() => "away",
            () => "open",
        };
        Some(json!({
            "target": target.to_string(),
            "peer": key.map(|key| name_of(&key)),
            "state": state,
            "below": self.end.paths(socket).last().and_then(|path| self.paths.get(&path)).map(|path| path.wire.below().name()),
            "unacknowledged_bytes": session.unacknowledged(),
            "datagrams_dropped": target.is_datagrams().then(|| session.dropped_datagrams()),
        }))
    }

    /// What was counted.
    pub(in crate::services::session) fn counters(&self) -> Value {
        let counters = self.end.counters();
        json!({
            "paths_taken": counters.resumed,
            "connections_crowded": counters.crowded,
            "connections_broken": counters.broken,
            "windows_restored": self.windows.restored,
            "datagrams_strange": counters.strange,
            "requests_refused": counters.refused,
        })
    }

    /// How many sessions there are, paths, and bytes that are kept.
    pub(in crate::services::session) fn totals(&self) -> [u64; 3] {
        let beside = self.programs.values().map(Program::memory).sum::<usize>()
            + self.paths.values().map(Path::memory).sum::<usize>();
        let kept = self.end.memory() + beside as u64;
        [self.end.sessions().count() as u64, self.paths.len() as u64, kept]
    }
}
