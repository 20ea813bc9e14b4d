//! SIGTERM and SIGINT end the daemon. At SIGHUP it reads its configuration, unless that signal was ignored from the start.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::process::hangup_is_ignored;
use handfast_io::net::UnixStream;
use handfast_io::{EventLoop, Interest, SourceId};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::{flag, low_level};

/// Becomes readable when one of them comes.
pub(super) struct Signals {
    stream: UnixStream,
    id: SourceId,
    /// Which one ends it; zero: none yet.
    end: Arc<AtomicUsize>,
    hangup: Arc<AtomicBool>,
}

/// What a signal asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// To end; the signal's name.
    Stop(&'static str),
    /// To read the configuration.
    Reload,
    /// Nothing that was not done.
    Nothing,
}

impl Signals {
    pub(super) fn new(io: &mut EventLoop) -> io::Result<Self> {
        let (here, there) = std::os::unix::net::UnixStream::pair()?;
        let (end, hangup) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        // First the flag: whoever is woken by the byte finds it.
        for signal in [SIGTERM, SIGINT] {
            flag::register_usize(signal, Arc::clone(&end), signal as usize)?;
            low_level::pipe::register(signal, there.try_clone()?)?;
        }
        if !hangup_is_ignored() {
            flag::register(SIGHUP, Arc::clone(&hangup))?;
            low_level::pipe::register(SIGHUP, there.try_clone()?)?;
        }
        here.set_nonblocking(true)?;
        let mut stream = UnixStream::from_std(here);
        let id = io.add(&mut stream, Interest::READABLE)?;
        Ok(Self { stream, id, end, hangup })
    }

    /// Its number in the event loop.
    pub(super) fn id(&self) -> SourceId {
        self.id
    }

    /// What is asked for. An end comes before all else.
    pub(super) fn request(&mut self) -> Request {
        let mut bytes = [0; 64];
        while matches!(self.stream.read(&mut bytes), Ok(1..)) {}
        match self.end.swap(0, Ordering::SeqCst) {
            0 if self.hangup.swap(false, Ordering::SeqCst) => Request::Reload,
            0 => Request::Nothing,
            signal => Request::Stop(low_level::signal_name(signal as i32).unwrap_or("a signal")),
        }
    }
}
