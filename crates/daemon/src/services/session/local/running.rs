//! What the end beside a program does at an event, at a deadline, and at its end.

use std::process::ExitCode;

use handfast_assist::iosl::frame::Reason;
use handfast_core::{Duration, Instant};
use handfast_io::{EventLoop, ReadOutcome, SourceId};
use serde_json::{Value, json};

use super::super::keys::name_of;
use super::Local;
use super::child::Child;
use super::fronts::Fronts;
use super::pipes::Pipes;
use crate::process::Failure;
use crate::services::Running;
use crate::services::questions::{ACCEPT_AGAIN, Question};

/// Changes of addresses come several at once.
const SETTLE: Duration = Duration::from_millis(20);
/// How often it looks whether standard output has taken all.
const LOOK_AGAIN: Duration = Duration::from_millis(2);
/// What a session has for its end once the terminal is gone, or ssh.
const HANG_UP: Duration = Duration::from_secs(3);

impl Local {
    fn read_question(&mut self, io: &mut EventLoop, id: SourceId) -> ReadOutcome {
        let (asked, outcome) = self.questions.read(id);
        for question in asked {
            let answer = question.map(|question| match question {
                Question::Status => self.status(),
                Question::Suspend => self.suspend(true),
                Question::Resume => self.suspend(false),
                Question::Reload | Question::Handover => json!({"error": "it has no configuration"}),
            });
            self.questions.answer(id, answer.as_ref());
        }
        self.hear(io);
        self.questions.read_on(id, outcome)
    }

    fn suspend(&mut self, is_suspended: bool) -> Value {
        self.carrier.suspend(is_suspended);
        if !is_suspended {
            self.look_at_routes();
        }
        json!({"ok": true, "sessions": self.carrier.totals()[0]})
    }

    fn is_running(&self) -> bool {
        self.child.as_ref().is_some_and(|child| !child.has_ended())
    }

    /// All is done but what standard output has not taken yet.
    fn is_over_but_for_pipes(&self) -> bool {
        !self.is_running() && self.is_idle()
    }
}

impl Running for Local {
    fn on_readable(&mut self, io: &mut EventLoop, id: SourceId) -> ReadOutcome {
        if self.carrier.has(id) {
            let outcome = self.carrier.on_readable(io, id);
            self.hear(io);
            return outcome;
        }
        if self.straight.has(id) {
            self.straight.on_ready(io, id);
        } else if let Some(fronts) = self.fronts.as_mut().filter(|fronts| fronts.has(id)) {
            let (client, outcome) = fronts.on_readable(io, id);
            if let Some(client) = client {
                self.ask(io, client);
                return ReadOutcome::Nothing;
            }
            return outcome;
        } else if self.catcher.as_ref().is_some_and(|catcher| catcher.id() == id) {
            self.on_calls(io);
        } else if id == self.resolver.id() {
            self.on_answers(io);
        } else if id == self.routes_id {
            if self.routes.take() {
                self.look_at.get_or_insert(Self::now() + SETTLE);
            }
        } else if self.child.as_ref().is_some_and(|child| child.id() == id) {
            self.child.as_mut().map(Child::look);
        } else if self.questions.is_listener(id) {
            if !self.questions.accept(io) {
                self.questions_again = Some(Self::now() + ACCEPT_AGAIN);
            }
        } else if self.questions.has(id) {
            return self.read_question(io, id);
        }
        ReadOutcome::Nothing
    }

    fn flush(&mut self, io: &mut EventLoop) {
        while let Some(id) = io.next_writable() {
            if self.carrier.has(id) {
                self.carrier.on_writable(io, id);
            } else if self.straight.has(id) {
                self.straight.on_ready(io, id);
            } else if self.questions.has(id) {
                self.questions.is_writable(id);
            }
        }
        self.hear(io);
        self.questions.flush();
    }

    fn deadline(&mut self) -> Option<Instant> {
        let pipes = (self.pipes.is_some() && self.is_over_but_for_pipes()).then(|| Self::now() + LOOK_AGAIN);
        let fronts = self.fronts.as_ref().and_then(Fronts::deadline);
        let goes = self.carrier.idle_at().filter(|at| !self.is_running() && *at > Self::now());
        let own = [self.look_at, self.questions_again, self.end_by, pipes, fronts];
        let parts = [self.carrier.deadline(), self.straight.deadline(), self.waits_until(), goes];
        own.into_iter().chain(parts).flatten().min()
    }

    fn on_timer(&mut self, io: &mut EventLoop, now: Instant) {
        self.carrier.on_timer(now);
        self.straight.on_timer(now);
        self.on_waited(io, now);
        if let Some(fronts) = &mut self.fronts {
            fronts.on_timer(now);
        }
        if self.look_at.take_if(|at| *at <= now).is_some() {
            self.look_at_routes();
        }
        if self.questions_again.take_if(|at| *at <= now).is_some() && !self.questions.accept(io) {
            self.questions_again = Some(now + ACCEPT_AGAIN);
        }
        self.hear(io);
    }

    /// The terminal is gone, or the ssh for which this is the way to its server.
    fn reload(&mut self) {
        self.end_by.get_or_insert(Self::now() + HANG_UP);
    }

    fn status(&self) -> Value {
        let [sessions, paths, kept] = self.carrier.totals();
        json!({
            "ok": true,
            "public_key": name_of(&self.carrier.end().public_key()),
            "sessions": sessions,
            "paths": paths,
            "kept_bytes": kept,
            "straight": self.straight.len(),
            "servers_probed": self.peers.servers_probed(),
            "counters": self.carrier.counters(),
            "list": self.carrier.sessions(),
        })
    }

    fn is_over(&self) -> bool {
        let is_late = !self.is_running() && self.end_by.is_some_and(|by| by <= Self::now());
        is_late || self.is_over_but_for_pipes() && self.pipes.as_ref().is_none_or(Pipes::is_finished)
    }

    /// The terminal tells the program as well, which may go on: this end goes on with it.
    fn ends_at(&mut self, signal: &str) -> bool {
        match self.child.as_ref().filter(|child| !child.has_ended()) {
            Some(child) if signal == "SIGTERM" => {
                child.terminate();
                false
            }
            Some(_) => false,
            None => true,
        }
    }

    fn exit_code(&self) -> ExitCode {
        match &self.child {
            Some(child) => child.exit_code(),
            None if self.has_failed => ExitCode::FAILURE,
            None => ExitCode::SUCCESS,
        }
    }

    fn stop(&mut self, io: &mut EventLoop, _: Instant) -> Result<(), Failure> {
        for socket in self.carrier.end().sessions().collect::<Vec<_>>() {
            self.carrier.reset(socket, Reason::Aborted);
        }
        self.hear(io);
        Ok(())
    }
}
