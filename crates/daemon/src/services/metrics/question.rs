//! The question to the controller, and its answer.

use std::io::{self, Write};

use handfast_core::{Duration, Instant};
use handfast_io::net::UnixStream;
use handfast_io::{Clock, EventLoop, Interest, ReadOutcome};
use serde_json::Value;
use tracing::{info, warn};

use super::read::read;
use super::state::{Due, Metrics};

const QUESTION: &[u8] = b"{\"event\": \"status\"}\n";
/// What the controller has for its answer, and how long that may get.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);
const LONGEST_ANSWER: usize = 1 << 20;

impl Metrics {
    /// Asks the controller, unless an answer is still missing.
    pub(super) fn ask(&mut self, io: &mut EventLoop, now: Instant) {
        self.timers.set(Due::Question, Some(now + self.settings.interval));
        if self.question.is_some() {
            return;
        }
        self.timers.set(Due::Answer, Some(now + ANSWER_WITHIN));
        let asked = UnixStream::connect(&self.settings.association_socket).and_then(|mut stream| {
            let id = io.add(&mut stream, Interest::READABLE)?;
            // A new connection has room for one short line.
            stream.write_all(QUESTION)?;
            Ok((id, stream, Vec::new()))
        });
        match asked {
            Ok(question) => self.question = Some(question),
            Err(error) => self.answered(Err(error)),
        }
    }

    /// The controller has answered, or has not.
    pub(super) fn answered(&mut self, answer: io::Result<Value>) {
        self.question = None;
        self.timers.set(Due::Answer, None);
        let answers = answer.is_ok();
        if self.logged.replace(answers) != Some(answers) {
            match &answer {
                Ok(_) => info!("the controller answers"),
                Err(error) => warn!(%error, "the controller does not answer"),
            }
        }
        self.status = answer.ok().map(|status| (Clock::SYSTEM.now(), status));
    }

    /// Reads once from the controller.
    pub(super) fn read_answer(&mut self) -> ReadOutcome {
        let Some((_, stream, answer)) = &mut self.question else { return ReadOutcome::Nothing };
        let outcome = read(stream, answer, LONGEST_ANSWER);
        let line = answer.iter().position(|&byte| byte == b'\n').map(|end| &answer[..end]);
        let parsed = line.map(|line| serde_json::from_slice(line).map_err(io::Error::from));
        match (parsed, outcome) {
            (Some(parsed), _) => self.answered(parsed),
            (None, Ok(outcome @ (ReadOutcome::Some | ReadOutcome::Nothing))) => return outcome,
            (None, Ok(ReadOutcome::End)) => self.answered(Err(io::ErrorKind::UnexpectedEof.into())),
            (None, Err(error)) => self.answered(Err(error)),
        }
        ReadOutcome::Nothing
    }
}
