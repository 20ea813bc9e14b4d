//! The program for which an end is there.

use std::io::{self, Read, Write};
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
    /// [`None`]: another process has started it, and waits for it.
    of_this: Option<(Pid, Receiver<io::Result<ExitStatus>>)>,
    status: Option<io::Result<ExitStatus>>,
    woken: UnixStream,
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
        Ok(Self { of_this: Some((pid, ended)), status: None, woken, id })
    }

    /// One that another process has started, which closes the other end of this once the program has ended.
    pub(super) fn elsewhere(mut woken: UnixStream, io: &mut EventLoop) -> io::Result<Self> {
        let id = io.add(&mut woken, Interest::READABLE)?;
        Ok(Self { of_this: None, status: None, woken, id })
    }

    /// Whether this process has started it.
    pub(super) fn is_of_this(&self) -> bool {
        self.of_this.is_some()
    }

    pub(super) fn id(&self) -> SourceId {
        self.id
    }

    /// Whether it has ended.
    pub(super) fn look(&mut self) -> bool {
        match &self.of_this {
            Some((_, ended)) => {
                if let Ok(status) = ended.try_recv() {
                    self.status = Some(status);
                }
            }
            None if matches!(self.woken.read(&mut [0]), Ok(0)) => {
                self.status = Some(Ok(ExitStatus::default()));
            }
            None => {}
        }
        self.has_ended()
    }

    pub(super) fn has_ended(&self) -> bool {
        self.status.is_some()
    }

    /// Tells it to end.
    pub(super) fn terminate(&self) {
        // It may be gone already.
        if let Some((pid, _)) = &self.of_this {
            let _ = kill(*pid, Signal::SIGTERM);
        }
    }

    /// As shells say it: its code, or 128 and the signal that has ended it.
    pub(super) fn exit_code(&self) -> ExitCode {
        let Some(Ok(status)) = self.status else { return ExitCode::FAILURE };
        let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default());
        ExitCode::from(code as u8)
    }
}
