//! Names of hosts, asked for in threads: the system's resolver has no other way that does not wait.

use std::io::{Read, Write};
use std::net::{SocketAddr, ToSocketAddrs};
use std::os::unix::net::UnixStream as Waker;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use handfast_assist::iosl::frame::Target;
use handfast_io::net::UnixStream;
use handfast_io::{EventLoop, Interest, SourceId};

/// Questions at once.
const MOST: usize = 32;

/// Asks, and gets the answers.
pub(super) struct Resolver {
    to: Sender<(u64, Vec<SocketAddr>)>,
    answers: Receiver<(u64, Vec<SocketAddr>)>,
    waker: Arc<Waker>,
    woken: UnixStream,
    id: SourceId,
    asked: usize,
}

impl Resolver {
    pub(super) fn new(io: &mut EventLoop) -> std::io::Result<Self> {
        let (to, answers) = channel();
        let (here, there) = Waker::pair()?;
        here.set_nonblocking(true)?;
        there.set_nonblocking(true)?;
        let mut woken = UnixStream::from_std(here);
        let id = io.add(&mut woken, Interest::READABLE)?;
        Ok(Self { to, answers, waker: Arc::new(there), woken, id, asked: 0 })
    }

    pub(super) fn id(&self) -> SourceId {
        self.id
    }

    /// Asks for the addresses of a target. False: there are too many questions.
    pub(super) fn ask(&mut self, number: u64, target: &Target) -> bool {
        if self.asked >= MOST {
            return false;
        }
        let (host, port) = (target.host().to_owned(), target.port());
        let (to, waker) = (self.to.clone(), Arc::clone(&self.waker));
        let asking = std::thread::Builder::new().name("resolver".to_owned()).spawn(move || {
            let found = (host.as_str(), port).to_socket_addrs().map(Iterator::collect);
            // Nobody waits any more where this fails.
            let _ = to.send((number, found.unwrap_or_default()));
            let _ = (&*waker).write(&[1]);
        });
        self.asked += usize::from(asking.is_ok());
        asking.is_ok()
    }

    /// The answers that have come: none where a name is unknown.
    pub(super) fn answers(&mut self) -> Vec<(u64, Vec<SocketAddr>)> {
        while matches!(self.woken.read(&mut [0; 64]), Ok(1..)) {}
        let answers: Vec<_> = self.answers.try_iter().collect();
        self.asked -= answers.len();
        answers
    }
}
