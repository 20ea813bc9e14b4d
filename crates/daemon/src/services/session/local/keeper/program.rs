//! For what an end is there: a program that is started, or this process's own standard input and output.

use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitCode, ExitStatus};
use std::thread::{JoinHandle, sleep};
use std::time::Duration;

use handfast_assist::iosl::frame::Target;
use handfast_io::Starter;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::super::pipes::Pipes;

/// How often an end is asked, and how long it is waited for in between: ends that do not come to begin end this process before.
const TRIES: u32 = 100;
const AGAIN_AFTER: Duration = Duration::from_millis(50);

/// What is to be started.
pub(super) enum Wanted {
    Program(Command),
    /// The same where its calls of connect(2) are asked for.
    Caught(Command, Starter),
    /// Standard input and output are connected to this target.
    Pipes(Target),
}

/// What was started.
pub(super) enum Started {
    Program(Child),
    /// [`None`]: it has ended, and has said how.
    Pipes(Option<JoinHandle<ExitCode>>),
}

impl Wanted {
    /// `end`: where its end is, as a URL.
    pub(super) fn start(self, end: String) -> Result<Started, String> {
        let (name, started) = match self {
            Self::Program(mut command) => (name_of(&command), command.spawn()),
            Self::Caught(command, starter) => (name_of(&command), starter.start(command)),
            Self::Pipes(target) => {
                let pipes = std::thread::Builder::new().name("pipes".to_owned());
                let pipes = pipes.spawn(move || connect(&end, &target));
                return pipes
                    .map(|pipes| Started::Pipes(Some(pipes)))
                    .map_err(|error| format!("error: {error}"));
            }
        };
        started.map(Started::Program).map_err(|error| format!("error: {name}: {error}"))
    }
}

fn name_of(command: &Command) -> String {
    command.get_program().to_string_lossy().into_owned()
}

/// Why a target is not reached the end says, which knows it.
fn connect(end: &str, target: &Target) -> ExitCode {
    for _ in 0..TRIES {
        match Pipes::by_end(end, target) {
            Ok(Some(pipes)) => {
                let is_well = pipes.wait_and_say(target);
                return if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE };
            }
            Ok(None) => break,
            // An end is gone that has not answered yet: another one follows.
            Err(_) => sleep(AGAIN_AFTER),
        }
    }
    ExitCode::FAILURE
}

impl Started {
    /// Its exit code, if it has ended.
    pub(super) fn look(&mut self) -> std::io::Result<Option<ExitCode>> {
        Ok(match self {
            Self::Program(child) => child.try_wait()?.map(code),
            // A thread that has panicked has said so.
            Self::Pipes(pipes) => pipes
                .take_if(|pipes| pipes.is_finished())
                .map(|pipes| pipes.join().unwrap_or(ExitCode::FAILURE)),
        })
    }

    /// SIGTERM has come: whether that is for the program.
    pub(super) fn terminate(&self) -> bool {
        match self {
            Self::Program(child) => {
                // It may be gone.
                let _ = kill(Pid::from_raw(child.id() as i32), Signal::SIGTERM);
                true
            }
            Self::Pipes(_) => false,
        }
    }

    /// Whether a signal of the terminal reaches it without this process.
    pub(super) fn is_told_by_terminal(&self) -> bool {
        matches!(self, Self::Program(_))
    }
}

/// As shells say it: its code, or 128 and the signal that has ended it.
pub(super) fn code(status: ExitStatus) -> ExitCode {
    ExitCode::from(status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default()) as u8)
}
