//! The controller's machine between its sockets.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufWriter};
use std::net::IpAddr;

use handfast_assist::sdn::{Controller, Outbox, Record};
use handfast_core::{Duration, Instant};
use handfast_io::line_socket::LineSocket;
use handfast_io::net::TcpListener;
use handfast_io::tls::Acceptor;
use handfast_io::{Clock, EventLoop, Interest, ReadOutcome, SourceId, Timers, wall_ms};
use serde_json::Value;
use tracing::{info, warn};

use super::association::LIMITS;
use super::config::Settings;
use super::conversation::Input;
use super::recording::Recorder;
use super::warned::WarnedPeers;
use super::{descriptors, log};
use crate::process::log::limiter::LogLimiter;
use crate::process::{ConfigFile, Context, Failure, Log};
use crate::services::Running;
use crate::services::openflow_link::{CHUNK, OpenFlowLink};
use crate::services::tls::{TlsTable, unreadable};

/// After a failed accept, such as for want of file descriptors, how long until the next.
pub(super) const ACCEPT_AGAIN: Duration = Duration::from_secs(1);

/// A recording that becomes a file.
pub(super) type FileRecorder = Recorder<BufWriter<File>>;

/// What has a deadline here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// The machine.
    Machine,
    /// The counters in the log.
    Summary,
    /// Log lines that were left out.
    LeftOut,
    /// The next accept after one that failed.
    Accept,
}

/// The running controller.
pub(super) struct Adapter {
    pub(super) settings: Settings,
    pub(super) machine: Controller,
    pub(super) out: Outbox,
    pub(super) timers: Timers<Due>,
    /// How switches prove who they are.
    pub(super) tls: Option<Acceptor>,
    pub(super) listener: TcpListener,
    listener_id: SourceId,
    pub(super) lines: LineSocket,
    pub(super) links: BTreeMap<SourceId, OpenFlowLink>,
    /// Connections of switches to which something is to be sent.
    pub(super) to_flush: BTreeSet<SourceId>,
    pub(super) chunk: Box<[u8; CHUNK]>,
    pub(super) counts: Counts,
    /// Peers whose OpenFlow version was warned of.
    pub(super) wrong_version: WarnedPeers,
    pub(super) recorder: Option<FileRecorder>,
    pub(super) limiter: LogLimiter,
    /// Connections of switches that there are descriptors for.
    pub(super) room: usize,
    pub(super) log: Log,
    pub(super) file: ConfigFile,
}

/// What the adapter counts besides the machine.
#[derive(Debug, Default)]
pub(super) struct Counts {
    /// Lines at the association socket.
    pub(super) lines: u64,
    /// Those that could not be read.
    pub(super) malformed_lines: u64,
    /// Connections that were closed here: no OpenFlow, or a full send queue.
    pub(super) closed: u64,
    /// Messages that have no form on the wire.
    pub(super) unsendable: u64,
}

impl Adapter {
    /// Takes the sockets. `recorder`: where all that passes is recorded.
    pub(super) fn start(
        settings: Settings,
        file: ConfigFile,
        log: Log,
        recorder: Option<FileRecorder>,
        io: &mut EventLoop,
    ) -> Result<Self, Failure> {
        let room = descriptors::reserve(&settings)
            .map_err(|what| Failure::new(what, io::ErrorKind::QuotaExceeded.into()))?;
        let tls = settings.tls.as_ref().map(TlsTable::acceptor).transpose().map_err(unreadable)?;
        let mut listener =
            TcpListener::bind(settings.listen).context(|| format!("listen at {}", settings.listen))?;
        let listener_id = io.add(&mut listener, Interest::READABLE).context(|| "epoll".to_owned())?;
        let lines = LineSocket::listen(&settings.association_socket, LIMITS, io)
            .context(|| format!("association socket {}", settings.association_socket.display()))?;
        let listen = listener.local_addr().context(|| "the listening socket".to_owned())?;
        info!(%listen, association = %settings.association_socket.display(), "started");
        let mut timers = Timers::default();
        timers.set(Due::Summary, Some(Clock::SYSTEM.now() + settings.summary_interval));
        let mut this = Self {
            machine: Controller::new(settings.controller.clone()),
            out: Outbox::default(),
            timers,
            settings,
            tls,
            listener,
            listener_id,
            lines,
            links: BTreeMap::new(),
            to_flush: BTreeSet::new(),
            chunk: vec![0; CHUNK].into_boxed_slice().try_into().unwrap_or_else(|_| unreachable!("its size")),
            counts: Counts::default(),
            wrong_version: WarnedPeers::default(),
            recorder,
            limiter: LogLimiter::default(),
            log,
            file,
            room,
        };
        this.tell(Input::Began(wall_ms()));
        Ok(this)
    }

    /// Tells the machine something, and does what it asks for.
    pub(super) fn tell(&mut self, input: Input) {
        let now = Clock::SYSTEM.now();
        self.record(|recorder| recorder.input(now, &input));
        input.tell(now, &mut self.machine, &mut self.out);
        self.carry_out();
    }

    /// Does what the machine has asked for.
    pub(super) fn carry_out(&mut self) {
        let mut out = std::mem::take(&mut self.out);
        for record in out.records() {
            self.note_version(&record);
            if self.may_log_record(&record) {
                log::record(&record, &self.settings);
            }
        }
        for output in out.drain() {
            self.record(|recorder| recorder.output(&output));
            self.perform(output);
        }
        self.out = out;
    }

    /// Whether a record is to be logged: of those that a peer can bring about as often as it likes, a few in a window.
    fn may_log_record(&mut self, record: &Record) -> bool {
        let what = match record {
            Record::SwitchUnknown { .. } => "switch unknown",
            Record::SwitchClaimed { .. } => "switch claimed",
            Record::SwitchNotOurs { .. } => "switch left alone",
            Record::SwitchError { .. } => "switch error",
            Record::Ignored { .. } => "event ignored",
            _ => return true,
        };
        self.limiter.allows(Clock::SYSTEM.now(), what, IpAddr::from([0, 0, 0, 0]))
    }

    /// Warns once of a peer that speaks another version of OpenFlow; a switch that is ready ends that.
    fn note_version(&mut self, record: &Record) {
        let (conn, version) = match *record {
            Record::WrongVersion { conn, version } => (conn, Some(version)),
            Record::SwitchReady { conn, .. } => (conn, None),
            _ => return,
        };
        let link = self.links.get(&SourceId(conn.0 as usize));
        let Some(peer) = link.map(|link| link.peer().ip()) else { return };
        match version {
            Some(version) if self.wrong_version.insert(peer) => log::wrong_version(peer, version),
            Some(_) => {}
            None => self.wrong_version.remove(peer),
        }
    }

    /// Writes to the recording, if there is one. The network matters more: a full disk only ends the recording.
    fn record(&mut self, write: impl FnOnce(&mut FileRecorder) -> io::Result<()>) {
        let Some(recorder) = &mut self.recorder else { return };
        if let Err(error) = write(recorder) {
            warn!(%error, "the recording ends here");
            self.recorder = None;
        }
    }

    /// Sends what is left, and closes each connection when its switch has, or at the deadline. A connection that is closed
    /// with unread bytes is reset, and the switch would lose what it has not read yet: the order that removes the entries.
    fn drain_links(&mut self, io: &mut EventLoop, deadline: Instant) -> Result<(), Failure> {
        loop {
            self.to_flush = self.links.keys().copied().collect();
            self.flush_links();
            let chunk = &mut self.chunk;
            self.links.retain(|_, link| link.drain(chunk));
            if self.links.is_empty() || Clock::SYSTEM.now() >= deadline {
                let waiting: usize = self.links.values().map(OpenFlowLink::waiting).sum();
                let switches = self.links.values().filter(|link| !link.is_sent()).count();
                if switches > 0 {
                    warn!(waiting, switches, "switches did not take all in time");
                }
                return Ok(());
            }
            // All connections are read above, whatever has woken this up.
            drop(io.take_readable());
            io.wait(Some(deadline)).context(|| "epoll".to_owned())?;
        }
    }

    fn flush_links(&mut self) {
        while let Some(id) = self.to_flush.pop_first() {
            self.lines.flush(id);
            let most = self.settings.write_buffer;
            let flushed = self.links.get_mut(&id).map(|link| link.flush(most));
            if let Some(Err(error)) = flushed {
                self.lose(id, &error);
            }
        }
    }
}

impl Running for Adapter {
    fn on_readable(&mut self, io: &mut EventLoop, id: SourceId) -> ReadOutcome {
        if id == self.listener_id {
            self.accept_switches(io);
        } else if id == self.lines.id() {
            self.accept_clients(io);
        } else if self.lines.has(id) {
            return self.read_client(id);
        } else {
            return self.read_switch(id);
        }
        ReadOutcome::Nothing
    }

    fn flush(&mut self, io: &mut EventLoop) {
        // First: what a switch has got is then in the recording, whenever the daemon dies.
        self.record(Recorder::flush);
        while let Some(id) = io.next_writable() {
            self.to_flush.insert(id);
        }
        self.flush_links();
    }

    fn deadline(&mut self) -> Option<Instant> {
        self.timers.set(Due::Machine, self.machine.deadline());
        self.timers.set(Due::LeftOut, self.limiter.deadline());
        self.timers.next()
    }

    fn on_timer(&mut self, io: &mut EventLoop, now: Instant) {
        // What came in since the last sleep may have moved it.
        self.timers.set(Due::Machine, self.machine.deadline());
        while let Some(due) = self.timers.due(now) {
            match due {
                Due::Machine => self.tell(Input::Timer),
                Due::Summary => {
                    log::summary(&self.machine, self.log.dropped());
                    self.timers.set(Due::Summary, Some(now + self.settings.summary_interval));
                }
                Due::LeftOut => {
                    for (what, peer, left_out) in self.limiter.take_left_out(now) {
                        warn!(%peer, what, left_out, "lines left out");
                    }
                }
                Due::Accept => {
                    self.accept_switches(io);
                    self.accept_clients(io);
                }
            }
        }
    }

    fn reload(&mut self) {
        self.read_configuration();
    }

    fn status(&self) -> Value {
        self.report()
    }

    /// Releases what can be released, takes back its rules, and gives switches a moment to read that.
    fn stop(&mut self, io: &mut EventLoop, deadline: Instant) -> Result<(), Failure> {
        self.tell(Input::ShutDown);
        self.record(Recorder::flush);
        let done = self.drain_links(io, deadline);
        log::summary(&self.machine, self.log.dropped());
        done
    }
}
