//! Handshakes of others: they wait for their turn, and sessions go on between them.

use handfast_assist::iosl::end::PathId;
use handfast_core::{Duration, Instant};
use handfast_io::{Clock, EventLoop, ReadOutcome};

use super::Carrier;
use super::wire::Wire;

/// So long handshakes are read before sessions have their turn again; the one that is being read is read to its end. It is what a
/// line that somebody types may wait.
const AT_ONCE: Duration = Duration::from_millis(2);

impl Carrier {
    /// When there are handshakes to read: at once, and after whatever else there is to do.
    pub(super) fn admits_at(&self) -> Option<Instant> {
        self.end.has_guests().then_some(Instant::ZERO)
    }

    /// Reads handshakes for a while, each in its turn.
    pub(super) fn admit(&mut self, io: &mut EventLoop) {
        let until = Clock::SYSTEM.now() + AT_ONCE;
        while let Some(path) = self.end.next_guest() {
            self.read_guest(io, path);
            if Clock::SYSTEM.now() >= until {
                return;
            }
        }
    }

    /// Reads once. What comes after that has its own turn, or is a session's.
    fn read_guest(&mut self, io: &mut EventLoop, path: PathId) {
        if self.read_once(path) != ReadOutcome::Some || self.end.defers(path) {
            return;
        }
        match self.paths.get(&path) {
            Some(found) if matches!(found.wire, Wire::Inside(_)) => self.look_at_stream(path),
            found => found.and_then(|found| found.id).into_iter().for_each(|id| io.read_again(id)),
        }
    }
}
