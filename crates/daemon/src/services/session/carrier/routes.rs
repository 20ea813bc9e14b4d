//! What becomes of paths when addresses or routes change.

use handfast_io::{Clock, has_address, source_towards};

use super::paths::{Path, State};
use super::wire::Wire;
use super::{Below, Carrier};

impl Carrier {
    /// What has several addresses takes another one before it is looked at whether it has to go.
    fn follow_routes(&mut self) {
        let Self { paths, udp, .. } = self;
        for path in paths.values().filter(|path| path.dialled_for.is_some()) {
            if let Wire::Inside(id) = path.wire
                && let Ok(source) = source_towards(path.remote)
            {
                udp.on_routes_changed(id, source);
            }
        }
    }

    /// Addresses or routes have changed: sessions whose path does not go as a new one would get a new one. How many.
    ///
    /// While there is no way at all a path stays: if its address comes back it goes on.
    pub(in crate::services::session) fn on_routes_changed(&mut self) -> usize {
        if self.is_suspended {
            return 0;
        }
        let now = Clock::SYSTEM.now();
        self.follow_routes();
        let moved = |path: &Path| {
            let source = source_towards(path.remote).ok()?;
            (path.wire.local(&self.udp).is_none_or(|local| local != source)).then_some(())
        };
        let dialled = |path: &Path| path.dialled_for.filter(|_| path.state != State::Closing);
        let stale: Vec<_> = self
            .paths
            .iter()
            .filter_map(|(&path, found)| Some((path, dialled(found)?, found.state, moved(found)?)))
            .collect();
        for &(path, session, state, ()) in &stale {
            // From an address that is not here any more nothing goes out, nor would an answer come. Only Multipath TCP has others.
            let found = self.paths.get(&path);
            let goes_on = found.is_some_and(|path| {
                path.wire.local(&self.udp).is_some_and(has_address) || path.wire.below() == Below::Mptcp
            });
            if state == State::Connecting || !goes_on {
                self.take_path(path);
                self.end.on_closed(now, path);
            }
            self.end.migrate(now, session);
        }
        let others: Vec<_> = self.peers.keys().copied().collect();
        for session in others {
            if self.end.session(session).is_some_and(|session| session.epochs().next().is_none()) {
                self.end.resume(now, session);
            }
        }
        stale.len()
    }
}
