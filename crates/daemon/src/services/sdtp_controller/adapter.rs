//! The machine between the nodes' connections, and who asks how it does.

use handfast_assist::sdtp::{Controller, Instructions};
use handfast_core::Instant;
use handfast_io::net::TcpListener;
use handfast_io::tls::Acceptor;
use handfast_io::{Clock, EventLoop, Interest, ReadOutcome, SourceId, Timers, next_connection, wall_ms};
use serde_json::{Map, Value, json};
use tracing::{info, warn};

use super::links::{Links, Said};
use super::settings::Settings;
use crate::process::{ConfigFile, Context, Failure, Log, reread};
use crate::services::questions::{ACCEPT_AGAIN, Question, Questions};
use crate::services::tls::{self, TlsTable};
use crate::services::{Configured, Running};

/// What has a deadline here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
    Links,
    Accept,
    /// Log lines that were left out.
    LeftOut,
}

/// The running controller.
pub(super) struct Adapter {
    settings: Settings,
    machine: Controller,
    links: Links,
    /// How nodes prove who they are.
    tls: Option<Acceptor>,
    listener: TcpListener,
    listener_id: SourceId,
    questions: Questions,
    timers: Timers<Due>,
    said: Vec<Said>,
    log: Log,
    file: ConfigFile,
}

impl Adapter {
    /// Takes the sockets.
    pub(super) fn start(
        settings: Settings,
        file: ConfigFile,
        log: Log,
        io: &mut EventLoop,
    ) -> Result<Self, Failure> {
        let tls = settings.tls.as_ref().map(TlsTable::acceptor).transpose().map_err(tls::unreadable)?;
        let mut listener =
            TcpListener::bind(settings.listen).context(|| format!("listen at {}", settings.listen))?;
        let listener_id = io.add(&mut listener, Interest::READABLE).context(|| "epoll".to_owned())?;
        let questions = Questions::listen(&settings.socket, io)
            .context(|| format!("socket {}", settings.socket.display()))?;
        // Another number at each start, whatever edges still use of the last one.
        let mut machine = settings.controller().numbering_from((wall_ms() / 1000) as u16);
        settings.nodes.iter().for_each(|node| machine.is_away(node.address));
        let links = Links::new(settings.nodes.iter().map(|node| (node.datapath_id, node.address)).collect());
        let listen = listener.local_addr().context(|| "the listening socket".to_owned())?;
        info!(%listen, nodes = settings.nodes.len(), "started");
        let (timers, said) = (Timers::default(), Vec::new());
        Ok(Self { settings, machine, links, tls, listener, listener_id, questions, timers, said, log, file })
    }

    fn accept(&mut self, io: &mut EventLoop) {
        loop {
            let accepted = match next_connection(&self.listener) {
                Ok(None) => return,
                Ok(Some((_, peer))) if !self.links.make_room(peer.ip()) => {
                    if self.links.limiter.allows(Clock::SYSTEM.now(), "refused", peer.ip()) {
                        warn!(%peer, "connection refused: too many");
                    }
                    continue;
                }
                Ok(Some((mut stream, peer))) => {
                    let added = stream.set_nodelay(true);
                    let added =
                        added.and_then(|()| io.add(&mut stream, Interest::READABLE | Interest::WRITABLE));
                    added.and_then(|id| {
                        let stream = tls::accept(self.tls.as_ref(), stream)?;
                        self.links.add(Clock::SYSTEM.now(), id, stream, peer);
                        Ok(())
                    })
                }
                Err(error) => Err(error),
            };
            if let Err(error) = accepted {
                warn!(%error, "no connection can be taken");
                return self.accept_again();
            }
        }
    }

    fn accept_again(&mut self) {
        self.timers.set(Due::Accept, Some(Clock::SYSTEM.now() + ACCEPT_AGAIN));
    }

    /// Tells the machine what nodes have said, and sends what it answers.
    fn hear(&mut self) {
        let mut said = std::mem::take(&mut self.said);
        let mut instructions = Instructions::new();
        for said in said.drain(..) {
            match said {
                Said::Ready(node) => self.machine.is_back(node, &mut instructions),
                Said::Gone(node) => self.machine.is_away(node),
                Said::Report(node, report) => self.machine.on_report(node, report, &mut instructions),
            }
            for (node, instruction) in instructions.drain(..) {
                self.links.instruct(node, &instruction);
            }
        }
        self.said = said;
    }

    fn read_question(&mut self, id: SourceId) -> ReadOutcome {
        let (asked, outcome) = self.questions.read(id);
        for question in asked {
            let answer = question.map(|question| match question {
                Question::Status => self.status(),
                Question::Reload => {
                    self.reload();
                    json!({"ok": true, "mode": "act"})
                }
                Question::Handover => json!({"error": "only a node of SDTP hands over"}),
                Question::Suspend | Question::Resume | Question::Away(_) | Question::Back(_) => {
                    json!({"error": "a controller of SDTP has no sessions"})
                }
            });
            self.questions.answer(id, answer.as_ref());
        }
        self.questions.read_on(id, outcome)
    }
}

impl Running for Adapter {
    fn on_readable(&mut self, io: &mut EventLoop, id: SourceId) -> ReadOutcome {
        if id == self.listener_id {
            self.accept(io);
            return ReadOutcome::Nothing;
        }
        if self.questions.is_listener(id) {
            if !self.questions.accept(io) {
                self.accept_again();
            }
            return ReadOutcome::Nothing;
        }
        if self.questions.has(id) {
            return self.read_question(id);
        }
        let outcome = self.links.read(Clock::SYSTEM.now(), id, &mut self.said);
        self.hear();
        outcome
    }

    fn flush(&mut self, io: &mut EventLoop) {
        while let Some(id) = io.next_writable() {
            if self.links.has(id) {
                self.links.is_writable(id);
            } else {
                self.questions.is_writable(id);
            }
        }
        self.questions.flush();
        self.links.flush(&mut self.said);
        self.hear();
    }

    fn deadline(&mut self) -> Option<Instant> {
        self.timers.set(Due::Links, self.links.deadline());
        self.timers.set(Due::LeftOut, self.links.limiter.deadline());
        self.timers.next()
    }

    fn on_timer(&mut self, io: &mut EventLoop, now: Instant) {
        // What came in since the last sleep may have moved it.
        self.timers.set(Due::Links, self.links.deadline());
        while let Some(due) = self.timers.due(now) {
            match due {
                Due::Links => {
                    self.links.on_timer(now, &mut self.said);
                    self.hear();
                }
                Due::LeftOut => {
                    for (what, peer, left_out) in self.links.limiter.take_left_out(now) {
                        warn!(%peer, what, left_out, "lines left out");
                    }
                }
                Due::Accept => {
                    self.accept(io);
                    if !self.questions.accept(io) {
                        self.accept_again();
                    }
                }
            }
        }
    }

    fn reload(&mut self) {
        let Some((mut new, _)) = reread(&mut self.file, Settings::parse) else { return };
        tls::renew(&mut self.tls, self.settings.tls.as_ref(), &mut new.tls, TlsTable::acceptor);
        if new.plan() == self.settings.plan() {
            info!("configuration applied: nothing has changed");
        } else {
            warn!("the configuration stays as it is until the daemon is started again");
        }
    }

    fn status(&self) -> Value {
        let counters = self.machine.counted().totals();
        let counters = counters.chain([("undelivered", self.links.undelivered)]);
        json!({
            "ok": true,
            "mode": "act",
            "plan": self.settings.plan().lines().collect::<Vec<_>>(),
            "switches": self.links.ready().map(|node| node.to_string()).collect::<Vec<_>>(),
            "log_lines_dropped": self.log.dropped(),
            "counters": counters.map(|(name, count)| (name.to_owned(), count.into())).collect::<Map<_, _>>(),
        })
    }

    fn stop(&mut self, _: &mut EventLoop, _: Instant) -> Result<(), Failure> {
        Ok(())
    }
}
