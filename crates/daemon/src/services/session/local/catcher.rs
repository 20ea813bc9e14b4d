//! Connections of a program that knows of no proxy: its calls of connect(2) come here first.

use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, Ipv6Addr, TcpListener, TcpStream};
use std::os::fd::AsFd;

use handfast_core::Duration;
use handfast_io::net::TcpStream as Stream;
use handfast_io::{Attempt, Connects, EventLoop, SourceId, wait};

use super::super::carrier::Plug;

/// A connection within this machine is there by then.
const WITHIN: Duration = Duration::from_millis(20);
/// So often it looks for it.
const LOOKS: usize = 10;

/// Where the calls come, and where sockets are led.
pub(super) struct Catcher {
    connects: Connects,
    id: SourceId,
    four: TcpListener,
    /// [`None`]: this machine has no IPv6.
    six: Option<TcpListener>,
}

impl Catcher {
    pub(super) fn new(connects: Connects, io: &mut EventLoop) -> io::Result<Self> {
        let four = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        four.set_nonblocking(true)?;
        let six = TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).ok();
        let six = six.filter(|six| six.set_nonblocking(true).is_ok());
        let id = io.add_descriptor(&connects)?;
        Ok(Self { connects, id, four, six })
    }

    pub(super) fn id(&self) -> SourceId {
        self.id
    }

    /// The next call that concerns another machine.
    pub(super) fn next(&self) -> Option<Attempt> {
        loop {
            // Where it fails the program and its children are gone.
            let attempt = self.connects.next().ok()??;
            let to = attempt.remote.ip();
            if !(to.is_loopback() || to.is_unspecified() || to.is_multicast() || attempt.remote.port() == 0) {
                return Some(attempt);
            }
            self.connects.let_go(&attempt);
        }
    }

    /// The kernel connects the program to what it wants.
    pub(super) fn let_go(&self, attempt: &Attempt) {
        self.connects.let_go(attempt);
    }

    /// The program gets an error: a number of errno(3).
    pub(super) fn refuse(&self, attempt: &Attempt, error: i32) {
        self.connects.refuse(attempt, error);
    }

    /// The other end of the program's own socket.
    pub(super) fn catch(&self, attempt: &Attempt) -> io::Result<Plug> {
        let mut last = io::ErrorKind::AddrNotAvailable.into();
        for listener in [Some(&self.four), self.six.as_ref()].into_iter().flatten() {
            // A socket that is for IPv6 only is not led to an address of IPv4.
            match self.connects.redirect(attempt, listener.local_addr()?) {
                Ok(port) => return accept(listener, port).map(Plug::Tcp),
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}

/// The connection from a port: others are none of this program's.
fn accept(listener: &TcpListener, port: u16) -> io::Result<Stream> {
    for _ in 0..LOOKS {
        match listener.accept() {
            Ok((stream, from)) if from.port() == port => return ready(stream),
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                wait(Some(listener.as_fd()), &mut [], WITHIN)?;
            }
            Err(error) => return Err(error),
        }
    }
    Err(ErrorKind::TimedOut.into())
}

fn ready(stream: TcpStream) -> io::Result<Stream> {
    stream.set_nonblocking(true)?;
    stream.set_nodelay(true)?;
    Ok(Stream::from_std(stream))
}
