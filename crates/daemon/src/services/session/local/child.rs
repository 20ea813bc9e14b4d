//! The program for which an end is there.

use std::io::{self, Write};
use std::os::unix::net::UnixStream as Waker;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child as Running, ExitCode, ExitStatus};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

use handfast_io::net::UnixStream;
use handfast_io::{EventLoop, Interest, SourceId};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use signal_hook::consts::SIGCHLD;

/// A program that runs, or has ended.
pub(super) struct Child {
    pid: Pid,
    ended: Receiver<io::Result<ExitStatus>>,
    status: Option<io::Result<ExitStatus>>,
    _woken: UnixStream,
    id: SourceId,
}

impl Child {
    /// To be called before the program is started: where SIGCHLD is ignored, as whoever has started this may have it, the kernel
    /// keeps no program's exit code (`wait(2)`).
    pub(super) fn hear_of_ends() -> io::Result<()> {
        signal_hook::flag::register(SIGCHLD, Arc::default()).map(|_| ())
    }

    pub(super) fn watch(mut child: Running, io: &mut EventLoop) -> io::Result<Self> {
        let (here, mut there) = Waker::pair()?;
        here.set_nonblocking(true)?;
        let mut woken = UnixStream::from_std(here);
        let id = io.add(&mut woken, Interest::READABLE)?;
        let pid = Pid::from_raw(child.id() as i32);
        let (to, ended) = channel();
        std::thread::Builder::new().name("child".to_owned()).spawn(move || {
            // Nobody waits any more where this fails.
            let _ = to.send(child.wait());
            let _ = there.write(&[1]);
        })?;
        Ok(Self { pid, ended, status: None, _woken: woken, id })
    }

    pub(super) fn id(&self) -> SourceId {
        self.id
    }

    /// Whether it has ended.
    pub(super) fn look(&mut self) -> bool {
        if let Ok(status) = self.ended.try_recv() {
            self.status = Some(status);
        }
        self.has_ended()
    }

    pub(super) fn has_ended(&self) -> bool {
        self.status.is_some()
    }

    /// Tells it to end.
    pub(super) fn terminate(&self) {
        // It may be gone already.
        let _ = kill(self.pid, Signal::SIGTERM);
    }

    /// As shells say it: its code, or 128 and the signal that has ended it.
    pub(super) fn exit_code(&self) -> ExitCode {
        let Some(Ok(status)) = self.status else { return ExitCode::FAILURE };
        let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default());
        ExitCode::from(code as u8)
    }
}
