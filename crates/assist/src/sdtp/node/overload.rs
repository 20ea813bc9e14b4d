//! What a node does without that cannot keep up.

use handfast_core::{Duration, Instant};
use handfast_wire::sdtp::Stream;

use super::{Functions, Node};
use crate::sdtp::detection::Extent;

/// How long after it could not keep up a node takes a stream that it meets for one that has passed unseen.
const UNSEEN: Duration = Duration::from_secs(10);

impl Node {
    /// Whether it cannot keep up. Then it keeps no copies and asks for nothing, connections that begin are plain, and packets that no
    /// connection has are not protected. What it has kept and noted is forgotten: afterwards it begins as one that was started
    /// again, and does not take for lost what it has not looked at.
    pub fn set_overloaded(&mut self, now: Instant, is_overloaded: bool) {
        self.is_overloaded = is_overloaded;
        self.unseen_until = now + UNSEEN;
        self.caching.clear();
        self.detection.clear();
        if let Some(edge) = &mut self.edge {
            edge.set_overloaded(is_overloaded);
        }
    }

    /// What it does for a stream.
    pub(super) fn functions_for(&self, stream: &Stream) -> Option<Functions> {
        let functions = self.functions.get(&(stream.from, stream.to, stream.slice)).copied();
        functions.filter(|_| !self.is_overloaded)
    }

    /// A packet of a stream; of one that may have passed unseen it is the first.
    pub(super) fn as_seen(&self, now: Instant, extent: Extent) -> Extent {
        if now < self.unseen_until { Extent { since_start: u16::MAX, ..extent } } else { extent }
    }
}
