//! `handfastd controller`: the SDN controller's machine between sockets. Adapters and timers, nothing else.

mod descriptors;
mod line_client;
mod news;
mod reload;
mod said;
mod signals;
mod socket_file;
mod switch_link;
mod switches;
mod timer;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::File;
use std::io::{self, BufWriter};
use std::net::IpAddr;
use std::os::fd::RawFd;
use std::path::PathBuf;

use handfast_assist::sdn::{Controller, Outbox, Record};
use handfast_core::{Duration, Instant};
use mio::event::Event;
use mio::net::{TcpListener, UnixListener};
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token};
use tracing::{info, warn};

use crate::clock;
use crate::config::Settings;
use crate::conversation::Input;
use crate::log::often::Often;
use crate::log::{self, Log};
use crate::recording::Recorder;
use line_client::LineClient;
use said::Said;
use signals::{Asked, Signals};
use socket_file::SocketFile;
use switch_link::{CHUNK, SwitchLink};
use timer::Timer;

const LISTENER: Token = Token(0);
const TIMER: Token = Token(1);
const SIGNALS: Token = Token(2);
const ASSOCIATION: Token = Token(3);
/// Connections are numbered from here on, each number is used once.
const FIRST: usize = 4;

/// After a failed accept, such as for want of file descriptors, how long until the next.
const ACCEPT_AGAIN: Duration = Duration::from_secs(1);
/// What switches have to take what is still to be sent when the daemon ends.
const FAREWELL: Duration = Duration::from_secs(1);

/// What a read found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    /// Bytes; there may be more.
    Some,
    /// No more for now.
    Nothing,
    /// The other side has closed.
    End,
}

/// Why the daemon cannot run.
#[derive(Debug)]
pub struct Failure {
    what: String,
    error: io::Error,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.error)
    }
}

impl std::error::Error for Failure {}

/// What a system call failed at.
trait While<T> {
    fn during(self, what: impl FnOnce() -> String) -> Result<T, Failure>;
}

impl<T> While<T> for io::Result<T> {
    fn during(self, what: impl FnOnce() -> String) -> Result<T, Failure> {
        self.map_err(|error| Failure { what: what(), error })
    }
}

/// A recording that becomes a file.
pub type FileRecorder = Recorder<BufWriter<File>>;

/// The running daemon.
pub struct Daemon {
    settings: Settings,
    machine: Controller,
    out: Outbox,
    poll: Poll,
    timer: Timer,
    signals: Signals,
    listener: TcpListener,
    association: UnixListener,
    _socket_file: SocketFile,
    next: usize,
    links: BTreeMap<usize, SwitchLink>,
    clients: BTreeMap<usize, LineClient>,
    /// Connections of which there may be something to read.
    readable: BTreeSet<usize>,
    /// Connections of switches to which something is to be sent.
    writable: BTreeSet<usize>,
    chunk: Box<[u8; CHUNK]>,
    accept_again: Option<Instant>,
    summary_due: Instant,
    counts: Counts,
    /// Peers whose OpenFlow version was warned of.
    wrong_version: Said,
    recorder: Option<FileRecorder>,
    /// Which lines were logged of late.
    often: Often,
    /// Connections of switches that there are descriptors for.
    room: usize,
    log: Log,
    file: ConfigFile,
}

/// The configuration file as it was read.
#[derive(Clone, Debug)]
pub struct ConfigFile {
    /// Where it is.
    pub path: PathBuf,
    /// What it said.
    pub text: String,
}

/// What the adapter counts besides the machine.
#[derive(Debug, Default)]
struct Counts {
    /// Lines at the association socket.
    lines: u64,
    /// Those that could not be read.
    malformed_lines: u64,
    /// Connections that were closed here: garbage, or nobody who reads.
    closed: u64,
    /// Messages that have no form on the wire.
    unsendable: u64,
}

impl Daemon {
    /// Takes the sockets. `recorder`: where all that passes is recorded.
    ///
    /// # Errors
    /// What the system refuses.
    pub fn start(
        settings: Settings,
        file: ConfigFile,
        log: Log,
        recorder: Option<FileRecorder>,
    ) -> Result<Self, Failure> {
        let room = descriptors::reserve(&settings)
            .map_err(|what| Failure { what, error: io::ErrorKind::QuotaExceeded.into() })?;
        let poll = Poll::new().during(|| "epoll".to_owned())?;
        let timer = Timer::new().during(|| "timerfd".to_owned())?;
        let mut signals = Signals::new().during(|| "signal handlers".to_owned())?;
        let mut listener =
            TcpListener::bind(settings.listen).during(|| format!("listen at {}", settings.listen))?;
        let (mut association, socket_file) = SocketFile::listen(&settings.association_socket)
            .during(|| format!("association socket {}", settings.association_socket.display()))?;
        let registry = poll.registry();
        let fd: RawFd = timer.raw_fd();
        registry
            .register(&mut SourceFd(&fd), TIMER, Interest::READABLE)
            .and_then(|()| registry.register(&mut signals.stream, SIGNALS, Interest::READABLE))
            .and_then(|()| registry.register(&mut listener, LISTENER, Interest::READABLE))
            .and_then(|()| registry.register(&mut association, ASSOCIATION, Interest::READABLE))
            .during(|| "epoll".to_owned())?;
        let listen = listener.local_addr().during(|| "the listening socket".to_owned())?;
        info!(%listen, association = %settings.association_socket.display(), "started");
        let mut this = Self {
            machine: Controller::new(settings.controller.clone()),
            out: Outbox::default(),
            summary_due: clock::now() + settings.summary_interval,
            settings,
            poll,
            timer,
            signals,
            listener,
            association,
            _socket_file: socket_file,
            next: FIRST,
            links: BTreeMap::new(),
            clients: BTreeMap::new(),
            readable: BTreeSet::new(),
            writable: BTreeSet::new(),
            chunk: vec![0; CHUNK].into_boxed_slice().try_into().unwrap_or_else(|_| unreachable!("its size")),
            accept_again: None,
            counts: Counts::default(),
            wrong_version: Said::default(),
            recorder,
            often: Often::default(),
            log,
            file,
            room,
        };
        this.tell(Input::Began(clock::wall_ms()));
        Ok(this)
    }

    /// Runs until it is told to stop by SIGTERM or SIGINT.
    ///
    /// # Errors
    /// What the system refuses.
    pub fn run(mut self) -> Result<(), Failure> {
        let mut events = Events::with_capacity(256);
        loop {
            self.on_time();
            // First: what a switch has got is then in the recording, whenever the daemon dies.
            self.record(Recorder::flush);
            self.flush();
            self.wait(&mut events).during(|| "epoll".to_owned())?;
            for event in &events {
                match event.token() {
                    SIGNALS => match self.signals.asked() {
                        Asked::End(signal) => return self.end(signal),
                        Asked::Reload => self.reload(),
                        Asked::Nothing => {}
                    },
                    TIMER => self.timer.gone_off(),
                    LISTENER => self.accept_switches(),
                    ASSOCIATION => self.accept_clients(),
                    Token(number) => self.awake(number, event),
                }
            }
            self.read();
        }
    }

    /// Does what is due.
    fn on_time(&mut self) {
        let now = clock::now();
        if self.machine.deadline().is_some_and(|deadline| deadline <= now) {
            self.tell(Input::Timer);
        }
        if self.summary_due <= now {
            log::summary(&self.machine, self.log.dropped());
            self.summary_due = now + self.settings.summary_interval;
        }
        for (what, peer, left_out) in self.often.over(now) {
            warn!(%peer, what, left_out, "lines left out");
        }
        if self.accept_again.is_some_and(|again| again <= now) {
            self.accept_again = None;
            self.accept_switches();
            self.accept_clients();
        }
    }

    fn wait(&mut self, events: &mut Events) -> io::Result<()> {
        let due = [Some(self.summary_due), self.machine.deadline(), self.accept_again, self.often.deadline()];
        if let Some(due) = due.into_iter().flatten().min() {
            self.timer.set(due)?;
        }
        // With something left to read it only looks whether there is something besides.
        let timeout = (!self.readable.is_empty()).then_some(std::time::Duration::ZERO);
        match self.poll.poll(events, timeout) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            done => done,
        }
    }

    /// A connection has something to read, or takes something.
    fn awake(&mut self, number: usize, event: &Event) {
        if event.is_readable() || event.is_read_closed() || event.is_error() {
            self.readable.insert(number);
        }
        if event.is_writable() {
            self.writable.insert(number);
        }
    }

    /// Reads once from each connection of which there may be something: none can keep the others waiting.
    fn read(&mut self) {
        for number in std::mem::take(&mut self.readable) {
            let found = if self.links.contains_key(&number) {
                self.read_switch(number)
            } else {
                self.read_client(number)
            };
            if found == Found::Some {
                self.readable.insert(number);
            }
        }
    }

    /// Tells the machine something, and does what it asks for.
    fn tell(&mut self, input: Input) {
        let now = clock::now();
        self.record(|recorder| recorder.input(now, &input));
        input.tell(now, &mut self.machine, &mut self.out);
        self.carry_out();
    }

    /// Does what the machine has asked for.
    fn carry_out(&mut self) {
        let mut out = std::mem::take(&mut self.out);
        for record in out.records() {
            self.heed(&record);
            if self.may_record(&record) {
                log::record(&record, &self.settings);
            }
        }
        for output in out.drain() {
            self.record(|recorder| recorder.output(&output));
            self.perform(output);
        }
        self.out = out;
    }

    /// Whether a record is to be logged: of those that a peer can bring about as often as it likes, a few in a while.
    fn may_record(&mut self, record: &Record) -> bool {
        let what = match record {
            Record::SwitchUnknown { .. } => "switch unknown",
            Record::SwitchClaimed { .. } => "switch claimed",
            Record::SwitchNotOurs { .. } => "switch left alone",
            Record::SwitchError { .. } => "switch error",
            Record::Ignored { .. } => "event ignored",
            _ => return true,
        };
        self.often.may(clock::now(), what, IpAddr::from([0, 0, 0, 0]))
    }

    /// What a record says of a peer.
    fn heed(&mut self, record: &Record) {
        let (conn, version) = match *record {
            Record::WrongVersion { conn, version } => (conn, Some(version)),
            Record::SwitchReady { conn, .. } => (conn, None),
            _ => return,
        };
        let Some(peer) = self.links.get(&(conn.0 as usize)).map(|link| link.peer().ip()) else { return };
        match version {
            Some(version) if self.wrong_version.first(peer) => log::wrong_version(peer, version),
            Some(_) => {}
            None => self.wrong_version.over(peer),
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

    /// Sends what is to be sent.
    fn flush(&mut self) {
        while let Some(number) = self.writable.pop_first() {
            let most = self.settings.write_buffer;
            if let Some(client) = self.clients.get_mut(&number)
                && !client.flush()
            {
                self.clients.remove(&number);
            }
            let flushed = self.links.get_mut(&number).map(|link| link.flush(most));
            if let Some(Err(broken)) = flushed {
                self.lose(number, &broken);
            }
        }
    }

    /// Releases what can be released, takes back its rules, and gives switches a moment to hear of it.
    fn end(mut self, signal: &'static str) -> Result<(), Failure> {
        info!(signal, "told to stop");
        self.tell(Input::ShutDown);
        self.record(Recorder::flush);
        let done = self.farewell(clock::now() + FAREWELL);
        log::summary(&self.machine, self.log.dropped());
        info!("stopped");
        done
    }

    /// Sends what is left, and closes each connection when its switch has, or at the deadline. A connection that is closed
    /// with unread bytes is reset, and what its switch has not read yet would be lost: the order that removes the entries.
    fn farewell(&mut self, deadline: Instant) -> Result<(), Failure> {
        let mut events = Events::with_capacity(256);
        loop {
            self.writable = self.links.keys().copied().collect();
            self.flush();
            let chunk = &mut self.chunk;
            self.links.retain(|_, link| link.say_goodbye(chunk));
            let now = clock::now();
            if self.links.is_empty() || now >= deadline {
                let waiting: usize = self.links.values().map(SwitchLink::waiting).sum();
                if waiting > 0 {
                    warn!(waiting, "switches did not take all in time");
                }
                return Ok(());
            }
            let left = std::time::Duration::from_nanos(deadline.since(now).as_nanos());
            match self.poll.poll(&mut events, Some(left)) {
                Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                    return Err(error).during(|| "epoll".to_owned());
                }
                _ => {}
            }
        }
    }

    fn number(&mut self) -> usize {
        self.next += 1;
        self.next - 1
    }
}
