//! The end before a server: takes sessions of clients that it knows, and leads them to targets that it has.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use handfast_assist::iosl::end::Identity;
use handfast_assist::iosl::frame::Reason;
use handfast_assist::iosl::ids::Socket;
use handfast_core::{Duration, Instant};
use handfast_io::net::{TcpListener, TcpStream};
use handfast_io::{Clock, EventLoop, Interest, ReadOutcome, SourceId, Timers, next_connection};
use serde_json::{Value, json};
use tracing::{info, warn};

use super::carrier::{Carrier, News, Plug};
use super::keys::{self, Known, name_of};
use super::settings::Settings;
use super::targets::{Place, ProxyWord, proxy_header};
use crate::process::log::limiter::LogLimiter;
use crate::process::{ConfigFile, Context, Failure, Log, descriptors, log_changes, reread};
use crate::services::questions::{ACCEPT_AGAIN, Question, Questions};
use crate::services::{Configured, Running};

/// A target that does not answer by then cannot be reached.
const CONNECT_WITHIN: Duration = Duration::from_secs(10);

/// What has a deadline here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
    Carrier,
    Targets,
    Accept,
    Questions,
    /// Log lines that were left out.
    LeftOut,
}

/// A connection to a target that is not there yet.
struct Connecting {
    socket: Socket,
    stream: TcpStream,
    header: Vec<u8>,
    by: Instant,
}

/// The running end.
pub(super) struct Server {
    settings: Settings,
    carrier: Carrier,
    listener: TcpListener,
    listener_id: SourceId,
    connecting: BTreeMap<SourceId, Connecting>,
    questions: Questions,
    timers: Timers<Due>,
    limiter: LogLimiter,
    refused_targets: u64,
    /// How many clients are written down.
    listed: usize,
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
        let listed = allowed.keys.len();
        let carrier = Carrier::new(Identity { keys, allowed, seed: keys::random()? }, settings.config);
        // A session has its target's connection, and two paths while it migrates.
        let wanted = 3 * settings.config.sessions as u64 + descriptors::OWN;
        let files = descriptors::raise(wanted);
        if files.soft < wanted {
            warn!(files = files.soft, wanted, "fewer files may be open than all sessions would need");
        }
        let mut started = || -> Result<_, Failure> {
            let mut listener =
                TcpListener::bind(settings.listen).context(|| format!("listen at {}", settings.listen))?;
            let listener_id = io.add(&mut listener, Interest::READABLE).context(|| "epoll".to_owned())?;
            let questions = Questions::listen(&settings.socket, io)
                .context(|| format!("socket {}", settings.socket.display()))?;
            let listen = listener.local_addr().context(|| "the listening socket".to_owned())?;
            info!(%listen, public_key = name_of(&public), "started");
            Ok((listener, listener_id, questions))
        };
        let (listener, listener_id, questions) = started().map_err(|failure| {
            crate::services::unobstructed(&settings).err().unwrap_or_else(|| format!("error: {failure}"))
        })?;
        Ok(Self {
            settings,
            carrier,
            listener,
            listener_id,
            connecting: BTreeMap::new(),
            questions,
            timers: Timers::default(),
            limiter: LogLimiter::default(),
            refused_targets: 0,
            listed,
            log,
            file,
        })
    }

    fn accept(&mut self, io: &mut EventLoop) {
        loop {
            match next_connection(&self.listener) {
                Ok(None) => return,
                Ok(Some((stream, from))) => match self.carrier.accept(io, stream, from) {
                    Ok(true) => {}
                    Ok(false) => self.warn("too many connections that say nothing", from),
                    Err(error) => warn!(%error, %from, "connection not taken"),
                },
                Err(error) => {
                    warn!(%error, "no connection can be taken");
                    self.timers.set(Due::Accept, Some(Clock::SYSTEM.now() + ACCEPT_AGAIN));
                    return;
                }
            }
        }
    }

    fn warn(&mut self, what: &'static str, from: SocketAddr) {
        if self.limiter.allows(Clock::SYSTEM.now(), what, from.ip()) {
            warn!(%from, "{what}");
        }
    }

    fn hear(&mut self, io: &mut EventLoop) {
        loop {
            self.carrier.drive(io);
            let Some(news) = self.carrier.next_news() else { return };
            match news {
                News::Opened(socket) => self.lead(io, socket),
                News::Resumed(socket, away) => {
                    let target = self.target_of(socket);
                    let from = self.carrier.remote_of(socket).map(|from| from.to_string());
                    info!(target, from, away_ms = away.as_millis(), "session goes on by another path");
                }
                News::Done(_) | News::Unreached(..) => {}
                News::Failed(socket, reason) => {
                    self.connecting.retain(|_, connecting| connecting.socket != socket);
                    info!(session = socket.0, %reason, "session failed");
                }
            }
        }
    }

    fn target_of(&self, socket: Socket) -> Option<String> {
        self.carrier.target(socket).map(|(target, _)| target.to_string())
    }

    /// A client has asked for a target, and has shown that it has its key.
    fn lead(&mut self, io: &mut EventLoop, socket: Socket) {
        self.remember_pins();
        let Some((target, key)) = self.carrier.target(socket) else { return };
        let client = key.map(|key| name_of(&key)).unwrap_or_default();
        let Some(from) = self.carrier.remote_of(socket) else { return };
        let Some(place) = self.settings.targets.find(&target) else {
            self.refused_targets += 1;
            if self.limiter.allows(Clock::SYSTEM.now(), "target refused", from.ip()) {
                warn!(%target, client, %from, "target refused: it is not in `targets`");
            }
            return self.carrier.reset(socket, Reason::TargetRefused);
        };
        info!(%target, client, %from, session = socket.0, "session opened");
        if let Err(error) = self.connect(io, socket, place, from) {
            warn!(%target, %error, "target not reached");
            self.carrier.reset(socket, Reason::TargetUnreachable);
        }
    }

    fn connect(
        &mut self,
        io: &mut EventLoop,
        socket: Socket,
        place: Place,
        from: SocketAddr,
    ) -> std::io::Result<()> {
        let mut stream = TcpStream::connect(place.address)?;
        // It may fail on no connection of TCP.
        let _ = stream.set_nodelay(true);
        let header = match place.proxy {
            ProxyWord::None => Vec::new(),
            ProxyWord::V2 => proxy_header(from, place.address),
        };
        let id = io.add(&mut stream, Interest::READABLE | Interest::WRITABLE)?;
        let by = Clock::SYSTEM.now() + CONNECT_WITHIN;
        self.connecting.insert(id, Connecting { socket, stream, header, by });
        Ok(())
    }

    /// Whether a target is connected to.
    fn look_at(&mut self, io: &mut EventLoop, id: SourceId) {
        let Some(found) = self.connecting.get(&id) else { return };
        let error = match found.stream.take_error() {
            Ok(None) if found.stream.peer_addr().is_err() => return,
            Ok(error) => error,
            Err(error) => Some(error),
        };
        let Some(Connecting { socket, stream, header, .. }) = self.connecting.remove(&id) else { return };
        // Such a connection would be this machine's own, whatever the file calls the address.
        let is_own = stream.local_addr().is_ok_and(|own| own.ip().to_canonical().is_loopback());
        let done = match error {
            Some(error) => Err(error),
            None if is_own && header.is_empty() => {
                Err(std::io::Error::other("it would see this machine at 127.0.0.1 as its client"))
            }
            None => self.carrier.attach(io, socket, (Plug::Tcp(stream), Some(id)), header, Vec::new()),
        };
        if let Err(error) = done {
            let target = self.target_of(socket);
            warn!(target, %error, "target not reached");
            self.carrier.reset(socket, Reason::TargetUnreachable);
        }
    }

    /// Clients that were taken on first use are written down.
    fn remember_pins(&mut self) {
        let Some(file) = &self.settings.clients.file else { return };
        let all = &self.carrier.end().allowed().keys;
        if all.len() == std::mem::replace(&mut self.listed, all.len()) {
            return;
        }
        let Ok(listed) = self.settings.clients.allowed() else { return };
        let new: Vec<_> = all.difference(&listed.keys).copied().collect();
        for key in new {
            info!(client = name_of(&key), file = %file.display(), "client taken on first use");
            let name = format!("client-{}", &name_of(&key)[..8]);
            if let Err(error) = Known::read(file)
                .map_err(std::io::Error::other)
                .and_then(|mut known| known.pin(&name, key))
            {
                warn!(%error, file = %file.display(), "client not written down");
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
                Question::Handover | Question::Suspend | Question::Resume => {
                    json!({"error": "an end before a server does not do that"})
                }
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
        self.timers.set(Due::LeftOut, self.limiter.deadline());
        self.timers.next()
    }

    fn on_timer(&mut self, io: &mut EventLoop, now: Instant) {
        self.deadline();
        while let Some(due) = self.timers.due(now) {
            match due {
                Due::Carrier => self.carrier.on_timer(now),
                Due::Targets => {
                    let late = self.connecting.extract_if(.., |_, connecting| connecting.by <= now);
                    let late: Vec<_> = late.map(|(_, connecting)| connecting.socket).collect();
                    for socket in late {
                        warn!(target = self.target_of(socket), "target not reached: it does not answer");
                        self.carrier.reset(socket, Reason::TargetUnreachable);
                    }
                }
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
        let Settings { listen, key_file, socket, config, log, .. } = &self.settings;
        if (&new.listen, &new.key_file, &new.socket, &new.config) != (listen, key_file, socket, config) {
            warn!("all but clients and targets stays as it is until the daemon is started again");
        }
        (new.listen, new.key_file, new.socket) = (*listen, key_file.clone(), socket.clone());
        (new.config, new.log) = (*config, *log);
        log_changes(&self.settings.plan(), &new.plan());
        self.listed = allowed.keys.len();
        self.carrier.set_allowed(allowed);
        self.settings = new;
        info!("configuration applied");
    }

    fn status(&self) -> Value {
        let [sessions, paths, kept] = self.carrier.totals();
        let mut counters = self.carrier.counters();
        counters["targets_refused"] = self.refused_targets.into();
        json!({
            "ok": true,
            "mode": "act",
            "plan": self.settings.plan().lines().collect::<Vec<_>>(),
            "public_key": name_of(&self.carrier.end().public_key()),
            "sessions": sessions,
            "paths": paths,
            "kept_bytes": kept,
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
