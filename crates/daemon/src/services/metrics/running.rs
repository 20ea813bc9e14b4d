//! The running service: what it does at an event, at a deadline and at a reload.

use std::io;

use handfast_core::Instant;
use handfast_io::{EventLoop, ReadOutcome, SourceId};
use serde_json::{Value, json};
use tracing::{info, warn};

use super::settings::Settings;
use super::state::{Due, Metrics};
use crate::process::{Failure, log_changes, reread};
use crate::services::{Configured, Running};

impl Running for Metrics {
    fn on_readable(&mut self, io: &mut EventLoop, id: SourceId) -> ReadOutcome {
        if id == self.listener_id {
            self.accept(io);
            return ReadOutcome::Nothing;
        }
        if self.question.as_ref().is_some_and(|(asked, ..)| *asked == id) {
            return self.read_answer();
        }
        self.read_request(io, id)
    }

    fn flush(&mut self, io: &mut EventLoop) {
        self.write_answers(io);
    }

    fn deadline(&mut self) -> Option<Instant> {
        self.timers.next()
    }

    fn on_timer(&mut self, io: &mut EventLoop, now: Instant) {
        while let Some(due) = self.timers.due(now) {
            match due {
                Due::Question => self.ask(io, now),
                Due::Answer => self.answered(Err(io::ErrorKind::TimedOut.into())),
                Due::Accept => self.accept(io),
                Due::Client(id) => self.close(id),
            }
        }
    }

    fn reload(&mut self) {
        let Some((mut new, _)) = reread(&mut self.file, Settings::parse) else { return };
        if new.listen != self.settings.listen {
            warn!("listen stays as it is until the daemon is started again");
            new.listen = self.settings.listen;
        }
        log_changes(&self.settings.plan(), &new.plan());
        self.settings = new;
        info!("configuration applied");
    }

    fn status(&self) -> Value {
        json!({"ok": true, "plan": self.settings.plan().lines().collect::<Vec<_>>(),
               "up": self.status.is_some(), "clients": self.clients.len(),
               "log_lines_dropped": self.log.dropped()})
    }

    fn stop(&mut self, _: &mut EventLoop, _: Instant) -> Result<(), Failure> {
        Ok(())
    }
}
