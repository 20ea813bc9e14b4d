//! The end before a server: takes sessions of clients that it knows, and leads them to targets that it has.

mod datagrams;
mod leading;

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use handfast_assist::iosl::end::Identity;
use handfast_assist::iosl::ids::Socket;
use handfast_assist::iosl::secure::PublicKey;
use handfast_core::Instant;
use handfast_io::net::TcpListener;
use handfast_io::{
    Clock, EventLoop, Interest, ReadOutcome, SourceId, Timers, accept_fast, caps_timeout, disconnect,
    listen_mptcp, next_connection, takes_early_data,
};
use serde_json::{Value, json};
use tracing::{info, warn};

use super::below::Below;
use super::carrier::{Carrier, News};
use super::keeping::Keeping;
use super::keys::{self, name_of};
use super::ports::Ports;
use super::settings::Settings;
use crate::process::log::limiter::LogLimiter;
use crate::process::{ConfigFile, Context, Failure, Log, descriptors, log_changes, reread};
use crate::services::questions::{ACCEPT_AGAIN, Question, Questions};
use crate::services::{Configured, Running};
use leading::Connecting;

/// What has a deadline here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
    Carrier,
    Targets,
    /// Sessions of datagrams that nobody uses.
    Ports,
    Accept,
    Questions,
    /// Log lines that were left out.
    LeftOut,
}

/// Clients whose SYN carries data and whose handshake is not over, as RFC 7413 §5.1 wants them bounded: the kernel answers others as usual.
const MOST_EARLY: u16 = 256;

/// Connections that are taken before sessions have their turn again.
const MOST_ACCEPTED: usize = 64;

/// What a listener's name in the store begins with; whether it is of TCP or of Multipath TCP follows.
const LISTENER: &str = "listener-";

/// The listener of the process before, where that listened at the same address: who has connected meanwhile waits there. Any other one
/// ends: as long as somebody keeps it, nobody else can listen at its address.
fn listener(carrier: &mut Carrier, settings: &Settings) -> io::Result<TcpListener> {
    let (at, name) = (settings.listen, format!("{LISTENER}{}", settings.below.listener().name()));
    let is_right = |kept: &std::net::TcpListener| {
        kept.local_addr().is_ok_and(|own| own == at || at.port() == 0 && own.ip() == at.ip())
    };
    let mut right = None;
    for (found, kept) in carrier.store().map(|store| store.take_all(LISTENER)).unwrap_or_default() {
        let kept = std::net::TcpListener::from(kept);
        if found == name && is_right(&kept) {
            right = Some(kept);
        } else if let Some(store) = carrier.store() {
            disconnect(&kept)?;
            store.drop_from_store(&found);
        }
    }
    if let Some(kept) = right {
        kept.set_nonblocking(true)?;
        return Ok(TcpListener::from_std(kept));
    }
    let made =
        if settings.below.listener() == Below::Mptcp { listen_mptcp(at) } else { TcpListener::bind(at) }?;
    if let Some(store) = carrier.store() {
        store.keep(&name, &made)?;
    }
    Ok(made)
}

/// The running end.
pub(super) struct Server {
    settings: Settings,
    carrier: Carrier,
    listener: TcpListener,
    listener_id: SourceId,
    connecting: BTreeMap<SourceId, Connecting>,
    ports: Ports,
    questions: Questions,
    timers: Timers<Due>,
    limiter: LogLimiter,
    refused_targets: u64,
    /// Sessions that nobody has led to their target yet.
    unled: BTreeSet<Socket>,
    /// Clients that are written down, or were and have been struck off.
    listed: BTreeSet<PublicKey>,
    log: Log,
    file: ConfigFile,
}

impl Server {
    /// Takes the sockets, and makes the key where there is none.
    pub(super) fn start(
        settings: Settings,
        file: ConfigFile,
        log: Log,
        io: &mut EventLoop,
    ) -> Result<Self, String> {
        let keys = keys::own(&settings.key_file)?;
        let (public, allowed) = (keys.public(), settings.clients.allowed()?);
        let (listed, now_allowed) = (allowed.keys.clone(), allowed.clone());
        let (outlives, left) = Keeping::of_process(settings.config.sessions)?;
        let identity = Identity { keys, allowed, seed: keys::random()? };
        let below = settings.below.listener();
        let mut carrier = Carrier::new(identity, settings.config, below, outlives, keys::random()?);
        // A session has its target's connection, and two paths while it migrates.
        let wanted = 3 * settings.config.sessions as u64 + descriptors::OWN;
        let files = descriptors::raise(wanted);
        if files.soft < wanted {
            warn!(files = files.soft, wanted, "fewer files may be open than all sessions would need");
        }
        let mut started = || -> Result<_, Failure> {
            let mut listener =
                listener(&mut carrier, &settings).context(|| format!("listen at {}", settings.listen))?;
            if let Err(error) = accept_fast(&listener, MOST_EARLY) {
                warn!(%error, "a client's first message waits for TCP's handshake");
            } else if !takes_early_data() {
                info!(
                    "a client's first message waits for TCP's handshake; `sysctl -w net.ipv4.tcp_fastopen=3` saves a round trip"
                );
            }
            if !caps_timeout() {
                info!(
                    "a path over TCP waits for doubled timeouts after an outage: capping them needs Linux 6.15"
                );
            }
            let listener_id = io.add(&mut listener, Interest::READABLE).context(|| "epoll".to_owned())?;
            let questions = Questions::listen(&settings.socket, io)
                .context(|| format!("socket {}", settings.socket.display()))?;
            let listen = listener.local_addr().context(|| "the listening socket".to_owned())?;
            let inside = settings.below.inside();
            if !inside.is_empty() {
                carrier.listen(io, listen, &inside).context(|| format!("listen at {listen} of UDP"))?;
            }
            if let Some(why) = carrier.why_not_kept() {
                info!(why, "sessions end with this process");
            }
            info!(%listen, public_key = name_of(&public), "started");
            Ok((listener, listener_id, questions))
        };
        let (listener, listener_id, questions) = started().map_err(|failure| {
            crate::services::unobstructed(&settings).err().unwrap_or_else(|| format!("error: {failure}"))
        })?;
        carrier.restore(io, left);
        // Clients may have been struck off meanwhile.
        carrier.set_allowed(now_allowed);
        if let Some(store) = carrier.store() {
            store.ready();
        }
        Ok(Self {
            settings,
            carrier,
            listener,
            listener_id,
            connecting: BTreeMap::new(),
            ports: Ports::new(),
            questions,
            timers: Timers::default(),
            limiter: LogLimiter::default(),
            refused_targets: 0,
            unled: BTreeSet::new(),
            listed,
            log,
            file,
        })
    }

    fn accept(&mut self, io: &mut EventLoop) {
        for _ in 0..MOST_ACCEPTED {
            match next_connection(&self.listener) {
                Ok(None) => return,
                Ok(Some((stream, from))) => {
                    if let Err(error) = self.carrier.on_accepted(io, stream, from) {
                        warn!(%error, %from, "connection not taken");
                    }
                }
                Err(error) => {
                    warn!(%error, "no connection can be taken");
                    self.timers.set(Due::Accept, Some(Clock::SYSTEM.now() + ACCEPT_AGAIN));
                    return;
                }
            }
        }
        self.timers.set(Due::Accept, Some(Clock::SYSTEM.now()));
    }

    fn hear(&mut self, io: &mut EventLoop) {
        loop {
            self.carrier.drive(io);
            let Some(news) = self.carrier.next_news() else { return };
            match news {
                News::Opened(socket) => self.lead(io, socket),
                News::Resumed(socket, away) => {
                    if self.unled.remove(&socket) {
                        self.lead(io, socket);
                    }
                    self.ports.touch(Clock::SYSTEM.now(), socket);
                    let target = self.target_of(socket);
                    let from = self.carrier.remote_of(socket).map(|from| from.to_string());
                    info!(target, from, away_ms = away.as_millis(), "session goes on by another path");
                }
                News::Datagrams(socket) => self.send_datagrams(socket),
                News::Done(socket) => self.ports.close(socket),
                News::Aborted(_) | News::Unreached(..) => {}
                News::Failed(socket, reason) => {
                    self.ports.close(socket);
                    self.connecting.retain(|_, connecting| connecting.socket != socket);
                    self.unled.remove(&socket);
                    info!(session = socket.0, %reason, "session failed");
                }
            }
        }
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
                _ => json!({"error": "an end before a server does not do that"}),
            });
            self.questions.answer(id, answer.as_ref());
        }
        self.questions.read_on(id, outcome)
    }
}

impl Running for Server {
    fn on_readable(&mut self, io: &mut EventLoop, id: SourceId) -> ReadOutcome {
        if self.carrier.has(id) {
            let outcome = self.carrier.on_readable(io, id);
            self.hear(io);
            return outcome;
        }
        if self.ports.session_of(id).is_some() {
            return self.read_port(io, id);
        }
        if id == self.listener_id {
            self.accept(io);
        } else if self.connecting.contains_key(&id) {
            self.look_at(io, id);
        } else if self.questions.is_listener(id) {
            if !self.questions.accept(io) {
                self.timers.set(Due::Questions, Some(Clock::SYSTEM.now() + ACCEPT_AGAIN));
            }
        } else if self.questions.has(id) {
            return self.read_question(id);
        }
        ReadOutcome::Nothing
    }

    fn flush(&mut self, io: &mut EventLoop) {
        while let Some(id) = io.next_writable() {
            if self.carrier.has(id) {
                self.carrier.on_writable(io, id);
            } else if self.connecting.contains_key(&id) {
                self.look_at(io, id);
            } else if self.questions.has(id) {
                self.questions.is_writable(id);
            }
        }
        self.hear(io);
        self.questions.flush();
    }

    fn deadline(&mut self) -> Option<Instant> {
        self.timers.set(Due::Carrier, self.carrier.deadline());
        self.timers.set(Due::Targets, self.connecting.values().map(|connecting| connecting.by).min());
        self.timers.set(Due::Ports, self.ports.deadline());
        self.timers.set(Due::LeftOut, self.limiter.deadline());
        self.timers.next()
    }

    fn on_timer(&mut self, io: &mut EventLoop, now: Instant) {
        self.deadline();
        while let Some(due) = self.timers.due(now) {
            match due {
                Due::Carrier => self.carrier.on_timer(io, now),
                Due::Targets => self.give_up(now),
                Due::Ports => self.end_idle_ports(now),
                Due::Accept => self.accept(io),
                Due::Questions => {
                    if !self.questions.accept(io) {
                        self.timers.set(Due::Questions, Some(now + ACCEPT_AGAIN));
                    }
                }
                Due::LeftOut => {
                    for (what, from, count) in self.limiter.take_left_out(now) {
                        warn!(what, %from, count, "log lines left out");
                    }
                }
            }
        }
        self.hear(io);
    }

    fn reload(&mut self) {
        let Some((mut new, _)) = reread(&mut self.file, Settings::parse) else { return };
        let allowed = match new.clients.allowed() {
            Ok(allowed) => allowed,
            Err(error) => return warn!(error, "clients not read: the old ones stay"),
        };
        let Settings { listen, key_file, socket, config, below, log, .. } = &self.settings;
        let fixed = (&new.listen, &new.key_file, &new.socket, &new.config, &new.below);
        if fixed != (listen, key_file, socket, config, below) {
            warn!("all but clients and targets stays as it is until the daemon is started again");
        }
        (new.listen, new.key_file, new.socket) = (*listen, key_file.clone(), socket.clone());
        (new.config, new.below, new.log) = (*config, below.clone(), *log);
        log_changes(&self.settings.plan(), &new.plan());
        self.listed.clone_from(&allowed.keys);
        self.carrier.set_allowed(allowed);
        self.settings = new;
        info!("configuration applied");
    }

    fn status(&self) -> Value {
        let [sessions, paths, kept] = self.carrier.totals();
        let mut counters = self.carrier.counters();
        counters["targets_refused"] = self.refused_targets.into();
        counters["datagrams_dropped"] = self.ports.dropped.into();
        json!({
            "ok": true,
            "mode": "act",
            "plan": self.settings.plan().lines().collect::<Vec<_>>(),
            "below": self.settings.below.names(),
            "public_key": name_of(&self.carrier.end().public_key()),
            "sessions": sessions,
            "paths": paths,
            "udp_ports": self.ports.len(),
            "kept_bytes": kept,
            "outlives_process": self.carrier.why_not_kept().is_none(),
            "why_not": self.carrier.why_not_kept(),
            "counters": counters,
            "list": self.carrier.sessions(),
            "log_lines_dropped": self.log.dropped(),
        })
    }

    fn stop(&mut self, io: &mut EventLoop, _: Instant) -> Result<(), Failure> {
        self.hear(io);
        info!(counters = %self.carrier.counters(), "summary");
        Ok(())
    }
}
