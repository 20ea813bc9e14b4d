//! Another node takes over, or is gone before it has: what the one that runs does.

use handfast_assist::sdtp::bump::{Mode, Side};
use handfast_core::Instant;
use handfast_io::{Clock, SourceId};
use serde_json::json;
use tracing::info;

use super::Adapter;
use crate::services::sdtp::handover::{Leaving, Stage};

/// So often frames of a side are read before another node goes on.
const MOST_READS: usize = 1_000;

impl Adapter {
    /// Another node wants to take over.
    pub(super) fn hand_over(&mut self, asker: SourceId) {
        if self.leaving.is_some() {
            self.questions.answer(asker, Some(&json!({"error": "another one takes over already"})));
            return;
        }
        info!("another one takes over");
        let converts = self.settings.mode == Mode::Act && !self.settings.hosts.is_empty();
        if converts {
            self.bump.retire();
            self.carry_out();
        }
        self.leaving = Some(Leaving::new(Clock::SYSTEM.now(), asker, converts));
    }

    /// The one that wanted to take over is gone.
    pub(super) fn go_on(&mut self) {
        info!("nobody takes over");
        self.leaving = None;
        // The controller admits nothing for a node that leaves, until it comes back.
        self.channel.want(false);
        self.bump.set_controller(false);
        self.channel.want(self.settings.mode == Mode::Act);
    }

    pub(super) fn advance_handover(&mut self, now: Instant) {
        if self.leaving.as_ref().is_some_and(|leaving| leaving.stage() == Stage::Last) {
            for side in Side::BOTH {
                // As much as a socket holds, and no more: frames come all the time.
                (0..MOST_READS).take_while(|_| self.read_frames(side)).for_each(|_| {});
            }
            // What an interface has taken leaves before its queue is gone.
            (0..MOST_READS).take_while(|_| self.wire.flush()).for_each(|_| {});
            // The next one listens there. What cannot be removed is seen by it.
            let _ = std::fs::remove_file(&self.settings.socket);
        }
        if let Some(leaving) = &mut self.leaving {
            let said = leaving.advance(now);
            self.questions.answer(leaving.asker, Some(&said));
        }
    }
}
