//! The process beside a program that keeps what its end needs, so that the end may be killed, or replaced by a new version: it is
//! started again and goes on.
//!
//! It is small, and does nothing with octets: it speaks systemd's protocol for descriptors, and waits for both.

use std::ffi::OsString;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitCode, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::Duration;

use handfast_core::Duration as Span;
use handfast_io::net::{TcpListener as Listener, UnixStream as Stream};
use handfast_io::{DescriptorStore, EventLoop, KeptFor, wait};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use tracing::warn;

use super::super::keeping::Keeping;
use super::super::keys;
use super::child::Child as Watched;
use super::fronts::Fronts;
use super::{END_VARIABLE, Local, Places, Setup, front};
use crate::process::{descriptors, hangup_is_ignored};
use crate::services::Begun;

/// What is kept for an end beside its programs' sockets: where programs connect, and what says that the program has ended.
const FRONT: &str = "front";
const PROGRAM: &str = "program";

/// Descriptors that are kept: of as many sessions as an end has, and a few more.
const MOST: usize = 10_100;
/// Ends that do not come to begin, so many in a row, are not followed by another one.
const TOO_OFTEN: u32 = 10;
/// How often it looks at both, beside when it is told.
const LOOK_EVERY: Span = Span::from_millis(50);

/// What an end gets from its keeper.
pub(super) struct Given {
    store: DescriptorStore,
    front: TcpListener,
    program: UnixStream,
    password: String,
}

impl Given {
    /// [`None`]: it has none.
    pub(super) fn of(mut store: DescriptorStore) -> Option<Self> {
        let (front, program) = (store.take(FRONT)?.into(), store.take(PROGRAM)?.into());
        let end = std::env::var(END_VARIABLE).ok()?;
        let password = front::end_at(&end)?.0.to_owned();
        Some(Self { store, front, program, password })
    }

    /// Begins, and goes on with what an end before has left.
    pub(super) fn begin(self, setup: Setup, places: &Places, io: &mut EventLoop) -> Result<Begun, String> {
        let Self { store, front, program, password } = self;
        let wrong = |error: std::io::Error| format!("error: {error}");
        front.set_nonblocking(true).and_then(|()| program.set_nonblocking(true)).map_err(wrong)?;
        let (outlives, left) = Keeping::of(Some(store), setup.config.sessions)?;
        let mut local = Local::new(Setup { outlives, ..setup }, places, io)?;
        local.fronts = Some(Fronts::at(Listener::from_std(front), password, io).map_err(wrong)?);
        local.child = Some(Watched::elsewhere(Stream::from_std(program), io).map_err(wrong)?);
        local.restore(io, left);
        if let Some(store) = local.carrier.store() {
            store.ready();
        }
        Ok(Begun::Running(Box::new(local)))
    }
}

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
    program: Option<Child>,
    ended: Option<ExitStatus>,
    /// Closed once the program has ended.
    alive: Option<UnixStream>,
    environment: Vec<(&'static str, String)>,
    told: Told,
}

/// Runs a program, and its end beside it: the program's exit code.
pub(super) fn run(program: &[OsString]) -> Result<ExitCode, String> {
    let wrong = |error: std::io::Error| format!("error: {error}");
    // For an end that is started each of them has a second number for a moment.
    let files = descriptors::raise(2 * MOST as u64 + descriptors::OWN);
    let most = MOST.min((files.soft.saturating_sub(descriptors::OWN) / 2) as usize);
    if most < MOST {
        warn!(files = files.soft, kept = most, "of the sessions beyond so many none outlives its end");
    }
    let told = Told::hear().map_err(wrong)?;
    let front = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(wrong)?;
    let (at, password) = (front.local_addr().map_err(wrong)?, keys::password()?);
    let environment = front::environment(at, &password);
    let mut kept = KeptFor::new(most).map_err(wrong)?;
    let (alive, there) = UnixStream::pair().map_err(wrong)?;
    kept.insert(FRONT, front.into());
    kept.insert(PROGRAM, there.into());
    let end = start_end(&kept, &environment).map_err(wrong)?;
    let (alive, ended) = (Some(alive), None);
    let mut keeper = Keeper { kept, end, failures: 0, program: None, ended, alive, environment, told };
    keeper.run(program)
}

/// The same binary, or the one that has taken its place since.
fn start_end(kept: &KeptFor, environment: &[(&'static str, String)]) -> std::io::Result<Child> {
    let path = std::env::current_exe()?;
    let text = path.to_string_lossy();
    let path = text.strip_suffix(" (deleted)").map_or(path.clone(), Into::into);
    let mut command = Command::new(path);
    command.args(std::env::args_os().skip(1));
    command.envs(environment.iter().filter(|(name, _)| *name == END_VARIABLE).cloned());
    kept.start(&mut command)
}

impl Keeper {
    fn run(&mut self, program: &[OsString]) -> Result<ExitCode, String> {
        let wrong = |error: std::io::Error| format!("error: {error}");
        loop {
            wait(Some(self.kept.as_fd()), &mut [], LOOK_EVERY).map_err(wrong)?;
            let is_ready = self.kept.hear(self.end.id()).map_err(wrong)?;
            if is_ready && self.ended.is_none() {
                self.failures = 0;
            }
            if is_ready && self.program.is_none() {
                self.start(program)?;
            }
            self.pass_on();
            self.look_at_program().map_err(wrong)?;
            if let Some(status) = self.end.try_wait().map_err(wrong)?
                && let Some(code) = self.after(status).map_err(wrong)?
            {
                return Ok(code);
            }
        }
    }

    fn start(&mut self, program: &[OsString]) -> Result<(), String> {
        let Some((name, arguments)) = program.split_first() else {
            return Err("error: no program".to_owned());
        };
        let started = Command::new(name).args(arguments).envs(self.environment.clone()).spawn();
        self.program = Some(started.map_err(|error| {
            // Nobody needs it.
            let _ = self.end.kill().and_then(|()| self.end.wait());
            format!("error: {}: {error}", name.to_string_lossy())
        })?);
        Ok(())
    }

    /// What this process is told is for the program while there is one, and for the end then.
    fn pass_on(&mut self) {
        let end = Pid::from_raw(self.end.id() as i32);
        // Whoever is told may be gone.
        match self.told.end.swap(0, Ordering::SeqCst) as i32 {
            0 => {}
            signal => match self.program.as_ref().filter(|_| self.ended.is_none()) {
                Some(program) if signal == SIGTERM => {
                    let _ = kill(Pid::from_raw(program.id() as i32), Signal::SIGTERM);
                }
                // The terminal tells the program itself.
                Some(_) => {}
                None => drop(kill(end, Signal::SIGTERM)),
            },
        }
        if self.told.hangup.swap(0, Ordering::SeqCst) != 0 {
            let _ = kill(end, Signal::SIGHUP);
        }
    }

    fn look_at_program(&mut self) -> std::io::Result<()> {
        let Some(program) = self.program.as_mut().filter(|_| self.ended.is_none()) else { return Ok(()) };
        if let Some(status) = program.try_wait()? {
            self.ended = Some(status);
            self.alive = None;
        }
        Ok(())
    }

    /// The end has ended: with which code this process does too, if it does.
    fn after(&mut self, status: ExitStatus) -> std::io::Result<Option<ExitCode>> {
        // What it has said last.
        let has_begun = self.kept.hear(self.end.id())?;
        match (&self.program, self.ended) {
            (None, _) => return Ok(Some(code(status))),
            // One that was killed, or has crashed, may not have brought all that the program has written.
            (Some(_), Some(ended)) if status.success() => return Ok(Some(code(ended))),
            _ => {}
        }
        // After the program none has long to run: those that begin are counted too.
        self.failures = if has_begun && self.ended.is_none() { 0 } else { self.failures + 1 };
        if self.failures > TOO_OFTEN {
            let ended = match (&mut self.program, self.ended) {
                (Some(program), None) => program.wait()?,
                (_, ended) => ended.unwrap_or(status),
            };
            return Ok(Some(code(ended)));
        }
        if self.failures > 1 {
            sleep(Duration::from_millis(100));
        }
        self.end = start_end(&self.kept, &self.environment)?;
        Ok(None)
    }
}

/// As shells say it: its code, or 128 and the signal that has ended it.
fn code(status: ExitStatus) -> ExitCode {
    ExitCode::from(status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default()) as u8)
}
