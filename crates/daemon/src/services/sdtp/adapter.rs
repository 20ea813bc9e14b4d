//! The machine between its interfaces, the controller, and who asks how it does.

mod leaving;

use handfast_assist::sdtp::Config;
use handfast_assist::sdtp::bump::{Bump, Mode, Side};
use handfast_core::{Duration, Instant};
use handfast_io::frame_io::Method;
use handfast_io::{Clock, EventLoop, ReadOutcome, SourceId, Timers};
use serde_json::{Value, json};
use tracing::{info, warn};

use super::channel::{Channel, Said};
use super::handover::{self, Leaving, Stage};
use super::settings::Settings;
use super::status;
use super::wire::Wire;
use crate::process::log::mode_word;
use crate::process::{ConfigFile, Context, Failure, Log, log_changes, reread};
use crate::services::questions::{ACCEPT_AGAIN, Question, Questions};
use crate::services::tls::{renew, unreadable};
use crate::services::{Configured, Running};

/// How often counters are logged.
const SUMMARY_INTERVAL: Duration = Duration::from_secs(60);

/// How long after a read it looks whether the kernel had no room for frames.
const LOOK_AT_OVERRUNS: Duration = Duration::from_millis(100);

/// How often it looks whether an interface was removed and made again.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// How long an interface that has no room now is left alone.
const SEND_AGAIN: Duration = Duration::from_millis(1);

/// What has a deadline here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
    Machine,
    Channel,
    Summary,
    Accept,
    Interfaces,
    Send,
    Overruns,
    Handover,
}

/// The running node.
pub(super) struct Adapter {
    settings: Settings,
    bump: Bump,
    wire: Wire,
    channel: Channel,
    questions: Questions,
    timers: Timers<Due>,
    said: Vec<Said>,
    /// Whether it will look at overruns.
    looks: bool,
    /// Another one takes over.
    leaving: Option<Leaving>,
    log: Log,
    file: ConfigFile,
}

impl Adapter {
    /// Takes the interfaces and the socket, from another node if there is one and it is to `take_over`.
    pub(super) fn start(
        settings: Settings,
        file: ConfigFile,
        log: Log,
        take_over: bool,
        io: &mut EventLoop,
    ) -> Result<Self, Failure> {
        let mut wire = Wire::open(&settings.interfaces, settings.packet_io.methods(), io)?;
        let came = if take_over { handover::take_over(&settings.socket, &mut wire, io)? } else { None };
        let questions = Questions::listen(&settings.socket, io)
            .context(|| format!("socket {}", settings.socket.display()))?;
        let bump = Bump::new(settings.node(), settings.mode, settings.config.connections);
        let channel = Channel::new(
            settings.controller,
            settings.connector().map_err(unreadable)?,
            settings.datapath_id,
            settings.mode == Mode::Act,
        );
        let mut timers = Timers::default();
        let now = Clock::SYSTEM.now();
        timers.set(Due::Summary, Some(now + SUMMARY_INTERVAL));
        timers.set(Due::Interfaces, Some(now + LOOK_AGAIN));
        let [inside, outside] = &settings.interfaces;
        info!(inside, outside, address = %settings.address, "started");
        let (said, leaving) = (Vec::new(), None);
        let looks = false;
        let mut this =
            Self { settings, bump, wire, channel, questions, timers, said, looks, leaving, log, file };
        if came.is_some() {
            this.bump.follow(now);
        }
        for (side, frame) in came.into_iter().flatten() {
            this.bump.on_frame(now, side, &frame);
            this.carry_out();
        }
        Ok(this)
    }

    /// Reads frames of a side; whether there may be more.
    fn read_frames(&mut self, side: Side) -> bool {
        let now = Clock::SYSTEM.now();
        let Self { wire, bump, leaving, .. } = self;
        let more = wire.read(side, |frame| {
            if let Some(leaving) = leaving {
                leaving.note(side, frame);
            }
            bump.on_frame(now, side, frame);
        });
        self.carry_out();
        if !std::mem::replace(&mut self.looks, true) {
            self.timers.set(Due::Overruns, Some(now + LOOK_AT_OVERRUNS));
        }
        more
    }

    /// What the machine has put out leaves.
    fn carry_out(&mut self) {
        self.wire.send(self.bump.emitted());
        for frame in self.wire.dropped() {
            self.bump.on_drop(Clock::SYSTEM.now(), &frame);
        }
        if self.wire.flush() {
            self.timers.set(Due::Send, Some(Clock::SYSTEM.now() + SEND_AGAIN));
        }
        for report in self.bump.reports() {
            self.channel.report(&report);
        }
    }

    fn hear(&mut self, said: Said) {
        match said {
            Said::Ready => self.bump.set_controller(true),
            Said::Gone => self.bump.set_controller(false),
            Said::Instruction(instruction) => {
                self.bump.on_instruction(Clock::SYSTEM.now(), *instruction);
                self.carry_out();
            }
        }
    }

    fn read_controller(&mut self) -> ReadOutcome {
        let mut said = std::mem::take(&mut self.said);
        let outcome = self.channel.read(&mut said);
        said.drain(..).for_each(|said| self.hear(said));
        self.said = said;
        outcome
    }

    fn read_question(&mut self, id: SourceId) -> ReadOutcome {
        let (asked, outcome) = self.questions.read(id);
        for question in asked {
            if question == Some(Question::Handover) {
                self.hand_over(id);
                continue;
            }
            let answer = question.map(|question| self.answer(question));
            self.questions.answer(id, answer.as_ref());
        }
        if outcome == ReadOutcome::End && self.leaving.as_ref().is_some_and(|leaving| leaving.asker == id) {
            self.go_on();
        }
        self.questions.read_on(id, outcome)
    }

    fn answer(&mut self, question: Question) -> Value {
        match question {
            Question::Status | Question::Handover => self.status(),
            Question::Suspend | Question::Resume | Question::Away(_) | Question::Back(_) => {
                json!({"error": "a node of SDTP has no sessions"})
            }
            Question::Reload => {
                self.reload();
                json!({"ok": true, "mode": mode_word(self.settings.mode == Mode::Act)})
            }
        }
    }

    fn look_at_overruns(&mut self, now: Instant) {
        self.looks = false;
        let dropped = self.wire.look_at_overruns();
        if dropped == 0 {
            return;
        }
        if !self.bump.is_overloaded() {
            warn!(dropped, "it cannot keep up: connections that begin are plain, and nothing is repaired");
        }
        self.bump.on_overrun(now);
    }

    fn counters(&self) -> Value {
        status::counters(&self.bump, self.wire.counters)
    }

    fn apply(&mut self, new: &Settings) {
        let (mut tls, name) = (new.tls.clone(), &self.settings.controller_name);
        renew(self.channel.tls(), self.settings.tls.as_ref(), &mut tls, |tls| tls.connector(name));
        let mut applied = Settings { mode: new.mode, tls, ..self.settings.clone() };
        // Where the counter of seals begins is another one each time.
        let config = |of: &Settings| Config { sealing: None, ..of.config.clone() };
        if applied.plan() != new.plan() || applied.hosts != new.hosts || config(&applied) != config(new) {
            warn!("all but mode stays as it is until the daemon is started again");
        }
        log_changes(&self.settings.plan(), &applied.plan());
        if applied.mode != self.settings.mode {
            self.bump.set_mode(applied.mode);
            self.channel.want(applied.mode == Mode::Act);
            self.log.set_mode(applied.mode == Mode::Act);
        }
        std::mem::swap(&mut self.settings, &mut applied);
        info!("configuration applied");
    }
}

impl Running for Adapter {
    fn on_readable(&mut self, io: &mut EventLoop, id: SourceId) -> ReadOutcome {
        if let Some(side) = self.wire.side(id) {
            let more = !self.is_over() && self.read_frames(side);
            return if more { ReadOutcome::Some } else { ReadOutcome::Nothing };
        }
        if self.channel.is(id) {
            return self.read_controller();
        }
        if self.questions.is_listener(id) {
            if !self.questions.accept(io) {
                self.timers.set(Due::Accept, Some(Clock::SYSTEM.now() + ACCEPT_AGAIN));
            }
            return ReadOutcome::Nothing;
        }
        if self.questions.has(id) { self.read_question(id) } else { ReadOutcome::Nothing }
    }

    fn flush(&mut self, io: &mut EventLoop) {
        while let Some(id) = io.next_writable() {
            if self.questions.has(id) {
                self.questions.is_writable(id);
            }
        }
        self.questions.flush();
        if let Some(said) = self.channel.flush() {
            self.hear(said);
        }
    }

    fn deadline(&mut self) -> Option<Instant> {
        self.timers.set(Due::Machine, self.bump.deadline());
        self.timers.set(Due::Channel, self.channel.deadline());
        self.timers.set(Due::Handover, self.leaving.as_ref().and_then(Leaving::due));
        self.timers.next()
    }

    fn on_timer(&mut self, io: &mut EventLoop, now: Instant) {
        // What came in since the last sleep may have moved them.
        self.timers.set(Due::Machine, self.bump.deadline());
        self.timers.set(Due::Channel, self.channel.deadline());
        self.timers.set(Due::Handover, self.leaving.as_ref().and_then(Leaving::due));
        while let Some(due) = self.timers.due(now) {
            match due {
                Due::Machine => {
                    let was_overloaded = self.bump.is_overloaded();
                    self.bump.on_timer(now);
                    if was_overloaded && !self.bump.is_overloaded() {
                        info!("it keeps copies and repairs again");
                    }
                    self.carry_out();
                }
                Due::Overruns => self.look_at_overruns(now),
                Due::Channel => {
                    if let Some(said) = self.channel.on_timer(io, now) {
                        self.hear(said);
                    }
                }
                Due::Summary => {
                    info!(counters = %self.counters(), "summary");
                    self.timers.set(Due::Summary, Some(now + SUMMARY_INTERVAL));
                }
                Due::Interfaces => {
                    self.wire.look_again(io);
                    self.timers.set(Due::Interfaces, Some(now + LOOK_AGAIN));
                }
                Due::Send => {
                    if self.wire.flush() {
                        self.timers.set(Due::Send, Some(now + SEND_AGAIN));
                    }
                }
                Due::Handover => self.advance_handover(now),
                Due::Accept => {
                    if !self.questions.accept(io) {
                        self.timers.set(Due::Accept, Some(now + ACCEPT_AGAIN));
                    }
                }
            }
        }
    }

    fn reload(&mut self) {
        if let Some((mut new, off)) = reread(&mut self.file, Settings::parse) {
            new.switch_off(off);
            self.apply(&new);
        }
    }

    fn status(&self) -> Value {
        let has_controller = self.channel.is_ready();
        let methods = self.wire.methods().map(Method::name);
        let (counters, lost) = (self.counters(), self.log.dropped());
        status::report(&self.settings, &self.bump, has_controller, methods, &counters, lost)
    }

    fn is_over(&self) -> bool {
        self.leaving.as_ref().is_some_and(|leaving| leaving.stage() == Stage::Over)
    }

    fn stop(&mut self, _: &mut EventLoop, _: Instant) -> Result<(), Failure> {
        info!(counters = %self.counters(), "summary");
        Ok(())
    }
}
