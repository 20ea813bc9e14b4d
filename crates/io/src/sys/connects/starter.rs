//! How a program begins whose connections are asked for.

use std::io;
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use super::Connects;
use super::filter::filter;

/// Starts a program whose connections are asked for.
#[derive(Debug)]
pub struct Starter {
    to: Sender<Command>,
    started: Receiver<io::Result<Child>>,
}

impl Starter {
    /// Starts it.
    ///
    /// # Errors
    /// What fork(2) and execve(2) say.
    pub fn start(self, command: Command) -> io::Result<Child> {
        self.to.send(command).map_err(|_| gone())?;
        self.started.recv().map_err(|_| gone())?
    }
}

impl Connects {
    /// Starts a program whose connections are asked for here. It, and all that it starts, can no longer get other rights: set-user-ID
    /// programs such as sudo(8) run as the user (`PR_SET_NO_NEW_PRIVS`).
    ///
    /// # Errors
    /// What the kernel says; [`io::ErrorKind::Unsupported`] on an architecture that this does not know.
    pub fn of(command: &mut Command) -> io::Result<(Child, Self)> {
        let start = || -> io::Result<_> {
            let connects = Self::of_thread()?;
            Ok((command.spawn()?, connects))
        };
        let started = thread::scope(|scope| scope.spawn(start).join());
        started.unwrap_or_else(|_| Err(gone()))
    }

    /// The same for a program that is started later.
    ///
    /// # Errors
    /// As [`Connects::of`].
    pub fn prepare() -> io::Result<(Starter, Self)> {
        let ((to, commands), (tell, ready), (report, started)) = (channel(), channel(), channel());
        thread::Builder::new().name("starter".to_owned()).spawn(move || {
            let is_ready = tell.send(Self::of_thread());
            // Nobody wants a program any more where one of these is gone.
            if let (Ok(()), Ok(mut command)) = (is_ready, commands.recv()) {
                let command: &mut Command = &mut command;
                let _ = report.send(command.spawn());
            }
        })?;
        let connects = ready.recv().map_err(|_| gone())??;
        Ok((Starter { to, started }, connects))
    }

    /// Of all that the calling thread starts from now on. It must connect to nothing itself: nobody else could answer.
    fn of_thread() -> io::Result<Self> {
        Ok(Self { listener: filter()?, channel: None })
    }
}

fn gone() -> io::Error {
    io::Error::other("the thread that starts the program is gone")
}
