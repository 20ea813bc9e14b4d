//! The process beside a program that keeps what its end needs, so that the end may be killed, or replaced by a new version: it is
//! started again and goes on.
//!
//! It is small: it speaks systemd's protocol for descriptors, and waits for both. Of octets it does nothing with any, but those of
//! `connect`, whose program it is itself. Calls of connect(2) it takes, and passes on to the end.

mod given;
mod program;

use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use handfast_assist::iosl::frame::Target;
use handfast_core::Duration as Span;
use handfast_io::{Connects, KeptConnects, KeptFor, Watch, begin_with_files, wait};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGKILL, SIGTERM};
use signal_hook::flag;
use tracing::warn;

use super::super::keys;
use super::group::Group;
use super::{END_VARIABLE, Reach, front};
use crate::process::{descriptors, hangup_is_ignored};
pub(super) use given::Given;
use program::{Started, Wanted, code};

/// What is kept for an end beside its programs' sockets: where programs connect, and what says that the program has ended.
const FRONT: &str = "front";
const PROGRAM: &str = "program";
/// Where calls of connect(2) are answered, and where they come from.
const NOTICES: &str = "notices";
const CALLS: &str = "calls";
/// The program's cgroup.
const GROUP: &str = "group";

/// Descriptors that are kept: of as many sessions as an end has, of what datagrams are led to, and some more.
const MOST: usize = 10_700;
/// Ends that do not come to begin, so many in a row, are not followed by another one.
const TOO_OFTEN: u32 = 10;
/// How often it looks at both, beside when it is told.
const LOOK_EVERY: Span = Span::from_millis(50);
/// The same while a call waits for its answer.
const LOOK_SOON: Span = Span::from_millis(2);
/// An end that crashes after so long is no failure of its beginning.
const LONG_ENOUGH: Duration = Duration::from_secs(1);

/// Signals that have come.
#[derive(Default)]
struct Told {
    end: Arc<AtomicUsize>,
    hangup: Arc<AtomicUsize>,
}

impl Told {
    fn hear() -> std::io::Result<Self> {
        let told = Self::default();
        for signal in [SIGTERM, SIGINT] {
            flag::register_usize(signal, Arc::clone(&told.end), signal as usize)?;
        }
        if !hangup_is_ignored() {
            flag::register_usize(SIGHUP, Arc::clone(&told.hangup), SIGHUP as usize)?;
        }
        // Where it is ignored the kernel keeps no exit code (wait(2)).
        flag::register(SIGCHLD, Arc::default())?;
        Ok(told)
    }
}

struct Keeper {
    kept: KeptFor,
    end: Child,
    /// How many in a row did not come to begin, or to an end after the program's.
    failures: u32,
    /// Until it is started.
    wanted: Option<Wanted>,
    program: Option<Started>,
    ended: Option<ExitCode>,
    /// There will be no other end.
    is_alone: bool,
    /// Since when the end runs, and whether it has come to begin.
    since: Instant,
    has_begun: bool,
    /// Closed once the program has ended.
    alive: Option<UnixStream>,
    /// Of an end: where it is.
    address: String,
    /// The program's calls of connect(2), if they are asked for.
    calls: Option<KeptConnects>,
    told: Told,
    /// The program's, if the kernel leads its connections.
    _group: Option<Group>,
}

/// Runs a program, and its end beside it: the program's exit code.
pub(super) fn run(mut program: Command, reach: Reach) -> Result<ExitCode, String> {
    let wrong = |error: std::io::Error| format!("error: {error}");
    let (front, password) = listen()?;
    let environment = front::environment(front.local_addr().map_err(wrong)?, &password);
    program.envs(front::for_reach(environment, reach));
    let files = descriptors::raise(2 * MOST as u64 + descriptors::OWN);
    // What this process needs is no matter of the program's.
    begin_with_files(&mut program, files.before, files.hard);
    let group = if reach == Reach::Led { Some(Group::of_process()?) } else { None };
    if let Some(group) = &group {
        group.take_in(&mut program).map_err(|error| format!("error: --cgroup: {error}"))?;
    }
    let (wanted, calls) = match reach {
        Reach::Caught => {
            let (starter, connects) =
                Connects::prepare().map_err(|error| format!("error: --all: {error}"))?;
            (Wanted::Caught(program, starter), Some(KeptConnects::new(connects)))
        }
        Reach::Asked | Reach::Led => (Wanted::Program(program), None),
    };
    keep((front, password), wanted, calls, group, files.soft)
}

/// Connects standard input and output to a target, by an end beside this process.
pub(super) fn connect(target: Target) -> Result<ExitCode, String> {
    let files = descriptors::raise(descriptors::OWN);
    keep(listen()?, Wanted::Pipes(target), None, None, files.soft)
}

/// Where programs connect, and what they have to say there.
fn listen() -> Result<(TcpListener, String), String> {
    let front = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(|error| format!("error: {error}"))?;
    Ok((front, keys::password()?))
}

/// `files`: so many may be open. For an end that is started each that is kept has a second number for a moment.
fn keep(
    (front, password): (TcpListener, String),
    wanted: Wanted,
    calls: Option<KeptConnects>,
    group: Option<Group>,
    files: u64,
) -> Result<ExitCode, String> {
    let wrong = |error: std::io::Error| format!("error: {error}");
    // Calls that wait have a socket each.
    let own = descriptors::OWN + if calls.is_some() { KeptConnects::MOST as u64 } else { 0 };
    let most = MOST.min((files.saturating_sub(own) / 2) as usize);
    if most < MOST && !matches!(wanted, Wanted::Pipes(_)) {
        warn!(files, kept = most, "of the sessions beyond so many none outlives its end");
    }
    let told = Told::hear().map_err(wrong)?;
    let address = front::address(front.local_addr().map_err(wrong)?, &password);
    let mut kept = KeptFor::new(most).map_err(wrong)?;
    let (alive, there) = UnixStream::pair().map_err(wrong)?;
    kept.insert(FRONT, front.into());
    kept.insert(PROGRAM, there.into());
    if let Some(group) = &group {
        kept.insert(GROUP, group.open()?.into());
    }
    let mut calls = calls;
    let end = start_end(&mut kept, &mut calls, &address).map_err(wrong)?;
    let mut keeper = Keeper {
        kept,
        end,
        failures: 0,
        wanted: Some(wanted),
        program: None,
        ended: None,
        is_alone: false,
        since: Instant::now(),
        has_begun: false,
        alive: Some(alive),
        address,
        calls,
        told,
        _group: group,
    };
    keeper.run()
}

/// The same binary, or the one that has taken its place since.
fn start_end(kept: &mut KeptFor, calls: &mut Option<KeptConnects>, address: &str) -> std::io::Result<Child> {
    if let Some(calls) = calls {
        let [notices, channel] = calls.next_one()?;
        kept.insert(NOTICES, notices);
        kept.insert(CALLS, channel);
    }
    let path = std::env::current_exe()?;
    let text = path.to_string_lossy();
    let path = text.strip_suffix(" (deleted)").map_or(path.clone(), Into::into);
    let mut command = Command::new(path);
    command.args(std::env::args_os().skip(1)).env(END_VARIABLE, address);
    // Those are the program's: who reads its output waits until nobody has it.
    command.stdin(Stdio::null()).stdout(Stdio::null());
    kept.start(&mut command)
}

impl Keeper {
    fn run(&mut self) -> Result<ExitCode, String> {
        let wrong = |error: std::io::Error| format!("error: {error}");
        loop {
            // An answer wakes nobody, and until it is seen a program's socket is held here.
            let has_waiting = self.calls.as_ref().is_some_and(KeptConnects::has_waiting);
            let look_in = if has_waiting { LOOK_SOON } else { LOOK_EVERY };
            let calls = self.calls.as_ref().and_then(KeptConnects::watch);
            let mut calls: Vec<_> = calls.map(|calls| Watch::new(calls, true, false)).into_iter().collect();
            wait(Some(self.kept.as_fd()), &mut calls, look_in).map_err(wrong)?;
            if let Some(calls) = &mut self.calls {
                calls.turn();
            }
            if self.kept.hear(self.end.id()).map_err(wrong)? {
                self.has_begun = true;
                self.start()?;
            }
            self.pass_on();
            self.look_at_program().map_err(wrong)?;
            if self.is_alone
                && let Some(code) = self.ended
            {
                return Ok(code);
            }
            if !self.is_alone
                && let Some(status) = self.end.try_wait().map_err(wrong)?
                && let Some(code) = self.after(status).map_err(wrong)?
            {
                return Ok(code);
            }
        }
    }

    fn start(&mut self) -> Result<(), String> {
        let Some(wanted) = self.wanted.take() else { return Ok(()) };
        self.program = Some(wanted.start(self.address.clone()).inspect_err(|_| {
            // Nobody needs it.
            let _ = self.end.kill().and_then(|()| self.end.wait());
        })?);
        Ok(())
    }

    /// What this process is told is for the program while there is one, and for the end then.
    fn pass_on(&mut self) {
        let running = self.program.as_ref().filter(|_| self.ended.is_none());
        match self.told.end.swap(0, Ordering::SeqCst) as i32 {
            0 => {}
            SIGTERM if running.is_some_and(Started::terminate) => {}
            // The terminal tells the program itself.
            SIGINT if running.is_some_and(Started::is_told_by_terminal) => {}
            _ => self.give_up(Signal::SIGTERM),
        }
        if self.told.hangup.swap(0, Ordering::SeqCst) != 0 {
            match self.program.as_ref().filter(|_| self.ended.is_none()) {
                Some(program) if program.is_told_by_terminal() => self.tell(Signal::SIGHUP),
                _ => self.give_up(Signal::SIGHUP),
            }
        }
    }

    /// There is no program any more as far as its end is concerned, which is told why.
    fn give_up(&mut self, signal: Signal) {
        if self.program.is_some() {
            self.ended.get_or_insert(ExitCode::SUCCESS);
            self.alive = None;
        }
        self.tell(signal);
    }

    fn tell(&self, signal: Signal) {
        // Its number may be another process's by now.
        if self.is_alone {
            return;
        }
        // It may be gone.
        let _ = kill(Pid::from_raw(self.end.id() as i32), signal);
    }

    fn look_at_program(&mut self) -> std::io::Result<()> {
        let Some(program) = self.program.as_mut().filter(|_| self.ended.is_none()) else { return Ok(()) };
        if let Some(code) = program.look()? {
            self.ended = Some(code);
            self.alive = None;
        }
        Ok(())
    }

    /// The end has ended: with which code this process does too, if it does.
    fn after(&mut self, status: ExitStatus) -> std::io::Result<Option<ExitCode>> {
        // What it has said last.
        self.has_begun |= self.kept.hear(self.end.id())?;
        match (&self.program, self.ended) {
            (None, _) => return Ok(Some(code(status))),
            // One that was killed, or has crashed, may not have brought all that the program has written.
            (Some(_), Some(ended)) if status.success() => return Ok(Some(ended)),
            _ => {}
        }
        self.failures = if self.is_failure(status) { self.failures + 1 } else { 0 };
        if self.failures > TOO_OFTEN {
            return Ok(self.be_alone());
        }
        if self.failures > 1 {
            sleep(Duration::from_millis(100));
        }
        match start_end(&mut self.kept, &mut self.calls, &self.address) {
            Ok(end) => (self.end, self.since, self.has_begun) = (end, Instant::now(), false),
            // Memory or descriptors may be there a moment later: this is asked again, as the end has the same status.
            Err(error) => {
                warn!(%error, "no end can be started");
                self.has_begun = false;
            }
        }
        Ok(None)
    }

    /// Whether what has ended is to be counted: it did not come to begin, or has crashed soon by itself. After the program none has
    /// long to run: those that begin are counted too.
    fn is_failure(&self, status: ExitStatus) -> bool {
        let was_killed = matches!(status.signal(), Some(SIGKILL | SIGTERM));
        let is_crash = !was_killed && !status.success() && self.since.elapsed() < LONG_ENOUGH;
        !self.has_begun || self.ended.is_some() || is_crash
    }

    /// No other end follows: what waits for one does so no longer, and the program goes on without.
    fn be_alone(&mut self) -> Option<ExitCode> {
        warn!("its end fails again and again: connections of the program are reset");
        self.is_alone = true;
        self.calls = None;
        self.kept.reset_all();
        match (&self.program, self.ended) {
            (_, Some(ended)) => Some(ended),
            // Without an end nothing comes any more.
            (Some(Started::Pipes(_)) | None, None) => Some(ExitCode::FAILURE),
            (Some(Started::Program(_)), None) => None,
        }
    }
}
