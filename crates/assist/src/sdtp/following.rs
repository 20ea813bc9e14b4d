//! A node in the place of another one: what that one has had of streams did not come here, and is not missing.

use handfast_core::{Duration, Instant, SeqNum};

/// How long streams of before are new to it. What is lost of streams that begin meanwhile, before their first packet that comes,
/// hosts repair.
const FOLLOWING: Duration = Duration::from_secs(1);

/// Where streams begin for a node.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Following {
    /// Until then with what comes first.
    until: Instant,
}

impl Following {
    /// Another node was here until now.
    pub(super) fn begin(&mut self, now: Instant) {
        self.until = now + FOLLOWING;
    }

    /// The first number of a stream of which `first` comes first, and that says where it began.
    pub(super) fn start(self, now: Instant, first: SeqNum, began: SeqNum) -> SeqNum {
        if now < self.until { first } else { began }
    }
}
