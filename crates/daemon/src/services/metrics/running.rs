//! The running service: its timers and its sockets.

use std::collections::BTreeMap;
use std::io::{self, Read};

use handfast_core::Instant;
use handfast_io::net::{TcpListener, UnixStream};
use handfast_io::{Clock, EventLoop, Interest, ReadOutcome, SourceId, Timers};
use serde_json::{Value, json};
use tracing::{info, warn};

use super::clients::Client;
use super::settings::Settings;
use crate::process::{ConfigFile, Context, Failure, Log, log_changes, reread};
use crate::services::{Configured, Running};

/// What has a deadline here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// The next question to the controller.
    Question,
    /// The answer to the last one.
    Answer,
    /// The next accept after one that failed.
    Accept,
    /// A client's last byte.
    Client(SourceId),
}

/// The running service.
pub(super) struct Metrics {
    pub(super) settings: Settings,
    file: ConfigFile,
    log: Log,
    pub(super) timers: Timers<Due>,
    pub(super) listener: TcpListener,
    listener_id: SourceId,
    /// The connection on which the controller was asked, and what it has answered so far.
    pub(super) question: Option<(SourceId, UnixStream, Vec<u8>)>,
    /// The last answer; [`None`]: there was none.
    pub(super) status: Option<(Instant, Value)>,
    /// Whether it was logged that the controller answers, or that it does not.
    pub(super) logged: Option<bool>,
    pub(super) clients: BTreeMap<SourceId, Client>,
}

impl Metrics {
    pub(super) fn start(
        settings: Settings,
        file: ConfigFile,
        log: Log,
        io: &mut EventLoop,
    ) -> Result<Self, Failure> {
        let mut listener =
            TcpListener::bind(settings.listen).context(|| format!("listen at {}", settings.listen))?;
        let listener_id = io.add(&mut listener, Interest::READABLE).context(|| "epoll".to_owned())?;
        let listen = listener.local_addr().context(|| "the listening socket".to_owned())?;
        info!(%listen, association = %settings.association_socket.display(), "started");
        let mut timers = Timers::default();
        timers.set(Due::Question, Some(Clock::SYSTEM.now()));
        let (question, status, logged, clients) = (None, None, None, BTreeMap::new());
        Ok(Self { settings, file, log, timers, listener, listener_id, question, status, logged, clients })
    }
}

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

/// Reads once; `most`: how much may be kept.
pub(super) fn read(from: &mut impl Read, into: &mut Vec<u8>, most: usize) -> io::Result<ReadOutcome> {
    let mut chunk = [0; 4096];
    match from.read(&mut chunk) {
        Ok(0) => Ok(ReadOutcome::End),
        Ok(read) => {
            into.extend_from_slice(&chunk[..read]);
            let fits = into.len() <= most;
            if fits { Ok(ReadOutcome::Some) } else { Err(io::ErrorKind::FileTooLarge.into()) }
        }
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(ReadOutcome::Nothing),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(ReadOutcome::Some),
        Err(error) => Err(error),
    }
}
