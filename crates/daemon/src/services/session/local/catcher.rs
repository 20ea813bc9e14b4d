//! Connections of a program that knows of no proxy: its calls of connect(2) come here first.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;

use handfast_assist::iosl::probe::Policy;
use handfast_core::Duration;
use handfast_io::net::TcpStream as Stream;
use handfast_io::{Attempt, Call, Clock, Connects, EventLoop, Led, SourceId, network_cookie, wait};
use tracing::warn;

use super::super::carrier::Plug;
use super::super::keeping::{Keeping, kept_listener};

/// `EHOSTUNREACH` of errno(3).
pub(super) const UNREACHABLE: i32 = 113;
/// `EPERM`: as where a rule of this machine's firewall forbids it.
pub(super) const FORBIDDEN: i32 = 1;
/// `ECONNRESET`.
const RESET: i32 = 104;
/// Where sockets are led, as the names of descriptors have it that the next end gets.
const FOUR: &str = "caught-four";
const SIX: &str = "caught-six";
/// A connection within this machine is there by then.
const WITHIN: Duration = Duration::from_millis(200);

/// A call that concerns another machine.
pub(super) enum Caught {
    Connection(Attempt),
    /// It names the target of a socket of UDP.
    Datagrams(Attempt),
}

/// Where the calls come, and where sockets are led.
pub(super) struct Catcher {
    connects: Connects,
    policy: Policy,
    id: SourceId,
    four: TcpListener,
    /// [`None`]: this machine has no IPv6.
    six: Option<TcpListener>,
}

impl Catcher {
    pub(super) fn new(
        connects: Connects,
        policy: Policy,
        mut store: Option<&mut Keeping>,
        io: &mut EventLoop,
    ) -> io::Result<Self> {
        let mut listen = |name, at: IpAddr| kept_listener(store.as_deref_mut(), name, (at, 0).into());
        let four = listen(FOUR, Ipv4Addr::LOCALHOST.into())?;
        let six = listen(SIX, Ipv6Addr::LOCALHOST.into()).ok();
        let id = io.add_descriptor(&connects)?;
        Ok(Self { connects, policy, id, four, six })
    }

    pub(super) fn id(&self) -> SourceId {
        self.id
    }

    /// The next call that concerns another machine.
    ///
    /// # Errors
    /// The program and its children are gone, or who takes their calls: nobody is to wait for an answer of this.
    pub(super) fn next(&self) -> io::Result<Option<Caught>> {
        loop {
            match self.connects.next()? {
                None => return Ok(None),
                Some(Call::Tcp(attempt)) if is_elsewhere(attempt.remote) => {
                    return Ok(Some(Caught::Connection(attempt)));
                }
                Some(Call::Udp(attempt)) if is_elsewhere(attempt.remote) => {
                    return Ok(Some(Caught::Datagrams(attempt)));
                }
                Some(Call::Tcp(attempt)) => self.connects.let_go(&attempt),
                Some(Call::Udp(attempt)) => self.let_go_datagrams(&attempt),
                Some(Call::Unseen(unseen)) => {
                    warn!(error = %unseen.error, policy = ?self.policy, "a call of connect(2) cannot be looked at");
                    self.connects.answer_unseen(&unseen, self.policy == Policy::Prefer);
                }
            }
        }
    }

    /// The kernel connects the program to what it wants.
    pub(super) fn let_go(&self, attempt: &Attempt) {
        self.connects.let_go(attempt);
    }

    /// The same of a socket of UDP. One that was led before has the address by which it was, which is of this machine alone.
    pub(super) fn let_go_datagrams(&self, attempt: &Attempt) {
        if attempt.led().is_some_and(|[local, _]| local.ip().is_loopback()) {
            // Where it fails the program hears of it from its own call.
            let _ = attempt.unconnect();
        }
        self.connects.let_go(attempt);
    }

    /// Connects a program's socket of UDP and one of this end to each other: that one, and what [`Catcher::answer`] is to say.
    pub(super) fn pair(&self, attempt: &Attempt) -> io::Result<(UdpSocket, Led)> {
        if attempt.network()? != network_cookie()? {
            return Err(io::Error::other("it is in another network namespace"));
        }
        // An address that it was given for another target may go.
        if attempt.led().is_some_and(|[local, _]| !local.ip().is_loopback()) {
            attempt.unconnect()?;
        }
        let mut last: io::Error = ErrorKind::AddrNotAvailable.into();
        for own in [IpAddr::from(Ipv4Addr::LOCALHOST), Ipv6Addr::LOCALHOST.into()] {
            let led = UdpSocket::bind((own, 0)).and_then(|socket| {
                let led = self.connects.lead(attempt, socket.local_addr()?)?;
                socket.connect(led.local)?;
                socket.set_nonblocking(true)?;
                Ok((socket, led))
            });
            match led {
                Ok(led) => return Ok(led),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// The program gets an error: a number of errno(3).
    pub(super) fn refuse(&self, attempt: &Attempt, error: i32) {
        self.connects.refuse(attempt, error);
    }

    /// The program's end of a call whose socket leads here already, if it does: an end before this one has not come to answer.
    pub(super) fn led_before(&self, attempt: &Attempt) -> Option<SocketAddr> {
        let [local, peer] = attempt.led()?;
        let is_own = |listener: &TcpListener| listener.local_addr().is_ok_and(|own| own == peer);
        self.listeners().any(is_own).then_some(local)
    }

    /// The other end of the program's own socket, and what [`Catcher::answer`] is to say. Where it fails the call was answered as the
    /// policy has it.
    pub(super) fn catch(&self, attempt: &Attempt) -> io::Result<(Plug, Led)> {
        let mut last: io::Error = ErrorKind::AddrNotAvailable.into();
        let was_led = self.led_before(attempt).is_some();
        for listener in self.listeners() {
            if !was_led {
                drain(listener);
            }
            // A socket that is for IPv6 only is not led to an address of IPv4.
            match self.connects.lead(attempt, listener.local_addr()?) {
                Ok(led) => {
                    let accepted = accept(listener, led.local).map(|stream| (Plug::Tcp(stream), led));
                    return accepted.inspect_err(|_| self.connects.refuse(attempt, RESET));
                }
                Err(error) => last = error,
            }
        }
        match self.policy {
            Policy::Prefer => self.connects.let_go(attempt),
            // What its own socket has said is what the program would hear, such as that it is connected already.
            Policy::Require => self.connects.refuse(attempt, last.raw_os_error().unwrap_or(UNREACHABLE)),
        }
        Err(last)
    }

    /// The program is connected. Before that it waits: what it was not told of may still fail.
    pub(super) fn answer(&self, attempt: &Attempt, led: Led) {
        self.connects.answer(attempt, led);
    }

    /// The same for one of [`Catcher::led_before`].
    pub(super) fn answer_again(&self, attempt: &Attempt) {
        if let Some([_, peer]) = attempt.led()
            && let Ok(led) = self.connects.lead(attempt, peer)
        {
            self.connects.answer(attempt, led);
        }
    }

    fn listeners(&self) -> impl Iterator<Item = &TcpListener> {
        [Some(&self.four), self.six.as_ref()].into_iter().flatten()
    }
}

fn is_elsewhere(remote: SocketAddr) -> bool {
    let to = remote.ip();
    !(to.is_loopback() || to.is_unspecified() || to.is_multicast() || remote.port() == 0)
}

/// Others of this machine who have connected would leave no room for the program.
fn drain(listener: &TcpListener) {
    while listener.accept().is_ok() {}
}

/// The connection from an address: others are none of this program's.
fn accept(listener: &TcpListener, from: SocketAddr) -> io::Result<Stream> {
    let by = Clock::SYSTEM.now() + WITHIN;
    loop {
        match listener.accept() {
            Ok((stream, at)) if at == from => return ready(stream),
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                wait(Some(listener.as_fd()), &mut [], by.since(Clock::SYSTEM.now()))?;
            }
            Err(error) if matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::Interrupted) => {}
            Err(error) => return Err(error),
        }
        if Clock::SYSTEM.now() >= by {
            return Err(ErrorKind::TimedOut.into());
        }
    }
}

fn ready(stream: TcpStream) -> io::Result<Stream> {
    stream.set_nonblocking(true)?;
    stream.set_nodelay(true)?;
    Ok(Stream::from_std(stream))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_program_s_own_connection_is_taken() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let to = listener.local_addr().unwrap();
        // More of them than a few looks would pass by.
        let strangers: Vec<_> = (0..40).map(|_| TcpStream::connect(to).unwrap()).collect();
        let own = TcpStream::connect(to).unwrap();
        let taken = accept(&listener, own.local_addr().unwrap()).unwrap();
        assert_eq!(taken.peer_addr().unwrap(), own.local_addr().unwrap());
        assert_eq!(strangers.len(), 40);
        // One with the same port at another address of this machine is a stranger too.
        let mut elsewhere = own.local_addr().unwrap();
        elsewhere.set_ip(Ipv4Addr::new(127, 0, 0, 2).into());
        let _same_port = TcpStream::connect(to).unwrap();
        assert_eq!(accept(&listener, elsewhere).unwrap_err().kind(), ErrorKind::TimedOut);
    }

    #[test]
    fn strangers_are_drained() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let _strangers = [(); 3].map(|()| TcpStream::connect(listener.local_addr().unwrap()).unwrap());
        drain(&listener);
        assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
    }
}
