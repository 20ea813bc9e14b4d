//! What the end beside a program does at an event, at a deadline, and at its end.

use std::process::ExitCode;

use handfast_core::{Duration, Instant};
use handfast_io::{EventLoop, ReadOutcome, SourceId};
use serde_json::{Value, json};
use tracing::warn;

use super::super::keys::name_of;
use super::child::Child;
use super::fronts::Fronts;
use super::gate::Gate;
use super::pipes::Pipes;
use super::{Due, Local};
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
                Question::Away(_) | Question::Back(_) => {
                    json!({"error": "`handfastd session freeze` does that"})
                }
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

    fn accept(&mut self, io: &mut EventLoop) {
        if self.fronts.as_mut().is_some_and(|fronts| !fronts.accept(io)) {
            self.timers.set(Due::Accept, Some(Self::now() + ACCEPT_AGAIN));
        }
        let Some(led) = self.gate.as_ref().map(Gate::accept) else { return };
        let clients = led.unwrap_or_else(|error| {
            warn!(%error, "no program can be taken");
            self.timers.set(Due::Accept, Some(Self::now() + ACCEPT_AGAIN));
            Vec::new()
        });
        self.on_led(io, clients);
        self.hear(io);
    }

    fn accept_questions(&mut self, io: &mut EventLoop) {
        if !self.questions.accept(io) {
            self.timers.set(Due::Questions, Some(Self::now() + ACCEPT_AGAIN));
        }
    }

    fn is_running(&self) -> bool {
        self.child.as_ref().is_some_and(|child| !child.has_ended())
    }

    /// The program may go on without a terminal: what it has under way has its time from its end.
    fn end_if_hung_up(&mut self) {
        if self.is_hung_up && !self.is_running() {
            self.end_by.get_or_insert(Self::now() + HANG_UP);
        }
    }

    /// All is done but what standard output has not taken yet.
    fn is_over_but_for_pipes(&self) -> bool {
        !self.is_running() && self.is_idle()
    }
}

impl Running for Local {
    fn begin(&mut self, io: &mut EventLoop) -> Result<(), String> {
        match self.program.take() {
            Some((command, reach)) => self.start(command, reach, io),
            None => Ok(()),
        }
    }

    fn on_readable(&mut self, io: &mut EventLoop, id: SourceId) -> ReadOutcome {
        if self.carrier.has(id) {
            let outcome = self.carrier.on_readable(io, id);
            self.hear(io);
            return outcome;
        }
        if self.straight.has(id) {
            self.straight.on_ready(io, id);
        } else if self.fronts.as_ref().is_some_and(|fronts| fronts.is_listener(id)) {
            self.accept(io);
        } else if let Some(fronts) = self.fronts.as_mut().filter(|fronts| fronts.has(id)) {
            let (client, outcome) = fronts.on_readable(id);
            let associating = fronts.take_associating();
            self.associate(io, associating);
            if let Some(client) = client {
                self.ask(io, client);
                return ReadOutcome::Nothing;
            }
            return outcome;
        } else if self.associations.has(id) {
            return self.on_association(io, id);
        } else if self.gate.as_ref().is_some_and(|gate| gate.has(id)) {
            self.accept(io);
        } else if self.gate.as_ref().and_then(Gate::aliases).is_some_and(|aliases| aliases.has(id)) {
            return self.on_alias(io, id);
        } else if self.catcher.as_ref().is_some_and(|catcher| catcher.id() == id) {
            self.on_calls(io);
        } else if id == self.resolver.id() {
            self.on_answers(io);
        } else if id == self.routes_id {
            // What it says comes in any order, and some is lost where much comes: the routes themselves are looked at.
            let _ = self.routes.take();
            self.timers.set_by(Due::Routes, Self::now() + SETTLE);
        } else if self.child.as_ref().is_some_and(|child| child.id() == id) {
            let has_ended = self.child.as_mut().is_some_and(Child::look);
            if has_ended {
                self.leave_datagrams(io);
                self.hear(io);
            }
            if has_ended && self.is_for_connect {
                // Its threads may wait for input still, and have its socket.
                self.carrier.programs_are_gone();
            }
            self.end_if_hung_up();
        } else if self.questions.is_listener(id) {
            self.accept_questions(io);
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
        let goes = self.carrier.idle_at().filter(|at| !self.is_running() && *at > Self::now());
        let end = [self.end_by, pipes, goes].into_iter().flatten().min();
        self.timers.set(Due::Carrier, self.carrier.deadline());
        self.timers.set(Due::Straight, self.straight.deadline());
        self.timers.set(Due::Waiting, self.waits_until());
        self.timers.set(Due::Asking, self.fronts.as_ref().and_then(Fronts::deadline));
        let datagrams = self.datagrams_deadline();
        self.timers.set(Due::Datagrams, datagrams);
        self.timers.set(Due::End, end);
        self.timers.next()
    }

    fn on_timer(&mut self, io: &mut EventLoop, now: Instant) {
        self.deadline();
        while let Some(due) = self.timers.due(now) {
            match due {
                Due::Carrier => self.carrier.on_timer(io, now),
                Due::Straight => self.straight.on_timer(io, now),
                Due::Waiting => self.on_waited(io, now),
                Due::Asking => self.fronts.iter_mut().for_each(|fronts| fronts.on_timer(now)),
                Due::Datagrams => self.on_datagrams_due(io, now),
                Due::Accept => self.accept(io),
                Due::Questions => self.accept_questions(io),
                Due::Routes => self.look_at_routes(),
                // Whoever runs this looks whether it is over.
                Due::End => {}
            }
        }
        self.hear(io);
    }

    /// The terminal is gone, or the ssh for which this is the way to its server.
    fn reload(&mut self) {
        self.is_hung_up = true;
        self.end_if_hung_up();
    }

    fn status(&self) -> Value {
        let [sessions, paths, kept] = self.carrier.totals();
        json!({
            "ok": true,
            "public_key": name_of(&self.carrier.end().public_key()),
            "sessions": sessions,
            "paths": paths,
            "kept_bytes": kept,
            "outlives_process": self.carrier.why_not_kept().is_none(),
            "why_not": self.carrier.why_not_kept(),
            "straight": self.straight.len(),
            "associations": self.associations.len(),
            "datagrams_dropped": self.associations.dropped,
            "servers_probed": self.peers.servers_probed(),
            "counters": self.carrier.counters(),
            "list": self.carrier.sessions(),
        })
    }

    fn is_over(&self) -> bool {
        let is_late = self.end_by.is_some_and(|by| by <= Self::now());
        is_late || self.is_over_but_for_pipes() && self.pipes.as_ref().is_none_or(Pipes::is_finished)
    }

    /// The terminal tells the program as well, which may go on: this end goes on with it.
    fn ends_at(&mut self, signal: &str) -> bool {
        match self.child.as_ref().filter(|child| !child.has_ended()) {
            // Another process follows, which has what this one has.
            Some(child) if signal == "SIGTERM" && !child.is_of_this() => true,
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
        if self.is_running() && self.carrier.why_not_kept().is_none() {
            // Those of datagrams end with this process.
            for socket in self.carrier.end().sessions().collect::<Vec<_>>() {
                if self.carrier.is_of_datagrams(socket) {
                    self.carrier.end_datagrams(socket);
                }
            }
            self.hear(io);
            return Ok(());
        }
        for socket in self.carrier.end().sessions().collect::<Vec<_>>() {
            self.give_up(socket);
        }
        self.hear(io);
        Ok(())
    }
}
