//! What a connection of TCP is told beyond what mio knows: tcp(7), socket(7).

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use handfast_core::Duration;

use super::set;

/// `TCP_RTO_MAX_MS` of `linux/tcp.h`, since Linux 6.15.
const TCP_RTO_MAX_MS: libc::c_int = 44;

/// `TCP_FASTOPEN_NO_COOKIE` of `linux/tcp.h`, since Linux 4.15.
const TCP_FASTOPEN_NO_COOKIE: libc::c_int = 34;

/// How a connection notices that its path is dead, and how soon it sends again once the path is back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Liveliness {
    /// Silence after which the other end is asked whether it is there, and between two questions.
    pub ask_after: Duration,
    /// What was sent and is not acknowledged after so long ends the connection; so does silence after as many questions as fit.
    pub give_up_after: Duration,
    /// The retransmission timeout grows to this and no further, where the kernel is new enough.
    pub most_rto: Duration,
    /// What may wait in the kernel without having been sent.
    pub most_unsent: u32,
}

impl Liveliness {
    /// Sets it, and turns Nagle's algorithm off. What the kernel does not know of this kind of connection stays as it is: Multipath
    /// TCP has no user timeout.
    ///
    /// # Errors
    /// What setsockopt(2) says.
    pub fn set(&self, stream: &impl AsFd) -> io::Result<()> {
        let (fd, tcp) = (stream.as_fd(), libc::IPPROTO_TCP);
        let seconds = |time: Duration| (time.as_millis() / 1_000).max(1) as libc::c_int;
        let (ask, give_up) = (seconds(self.ask_after), seconds(self.give_up_after));
        set(fd, libc::SOL_SOCKET, libc::SO_KEEPALIVE, &1)?;
        set(fd, tcp, libc::TCP_NODELAY, &1)?;
        known(set(fd, tcp, libc::TCP_KEEPIDLE, &ask))?;
        known(set(fd, tcp, libc::TCP_KEEPINTVL, &ask))?;
        known(set(fd, tcp, libc::TCP_KEEPCNT, &(give_up / ask).max(1)))?;
        known(set(fd, tcp, libc::TCP_USER_TIMEOUT, &(self.give_up_after.as_millis() as u32)))?;
        known(set(fd, tcp, libc::TCP_NOTSENT_LOWAT, &self.most_unsent))?;
        // An older kernel doubles its timeout as RFC 6298 §5.5 has it.
        let _ = set(fd, tcp, TCP_RTO_MAX_MS, &(self.most_rto.as_millis() as libc::c_int));
        Ok(())
    }
}

/// Whether this kernel lets a connection's retransmission timeout grow to a bound and no further (`TCP_RTO_MAX_MS`, Linux 6.15).
pub fn caps_timeout() -> bool {
    let tried = || -> io::Result<()> {
        let socket = std::net::TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, 0))?;
        set(socket.as_fd(), libc::IPPROTO_TCP, TCP_RTO_MAX_MS, &1_000)
    };
    tried().is_ok()
}

/// As far as there is such an option.
fn known(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(error) if matches!(error.raw_os_error(), Some(libc::ENOPROTOOPT | libc::EOPNOTSUPP)) => Ok(()),
        done => done,
    }
}

/// When the connection is closed, the other end gets a reset: its program learns that it has failed, and does not take it for an end.
///
/// # Errors
/// What setsockopt(2) says.
pub fn reset_on_close(stream: &impl AsFd) -> io::Result<()> {
    reset(stream.as_fd())
}

/// Undoes [`reset_on_close`]: the other end gets an end.
///
/// # Errors
/// What setsockopt(2) says.
pub fn end_on_close(stream: &impl AsFd) -> io::Result<()> {
    let linger = libc::linger { l_onoff: 0, l_linger: 0 };
    set(stream.as_fd(), libc::SOL_SOCKET, libc::SO_LINGER, &linger)
}

pub(crate) fn reset(stream: BorrowedFd<'_>) -> io::Result<()> {
    let linger = libc::linger { l_onoff: 1, l_linger: 0 };
    set(stream, libc::SOL_SOCKET, libc::SO_LINGER, &linger)
}

/// connect(2) waits for the first octets, which go with the SYN: `TCP_FASTOPEN_CONNECT`.
pub(crate) fn defer_connect(socket: BorrowedFd<'_>) -> io::Result<()> {
    set(socket, libc::IPPROTO_TCP, libc::TCP_FASTOPEN_CONNECT, &1)?;
    set(socket, libc::IPPROTO_TCP, TCP_FASTOPEN_NO_COOKIE, &1)
}

/// A listener gets what SYNs carry, of so many connections at once: `TCP_FASTOPEN`.
pub(crate) fn take_early(listener: BorrowedFd<'_>, most: u16) -> io::Result<()> {
    set(listener, libc::IPPROTO_TCP, libc::TCP_FASTOPEN, &libc::c_int::from(most))?;
    set(listener, libc::IPPROTO_TCP, TCP_FASTOPEN_NO_COOKIE, &1)
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::{TcpListener, TcpStream};

    use super::*;

    fn pair() -> [TcpStream; 2] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        [client, listener.accept().unwrap().0]
    }

    #[test]
    fn the_kernel_takes_it() {
        let [client, _server] = pair();
        let of = Duration::from_secs;
        let liveliness =
            Liveliness { ask_after: of(2), give_up_after: of(9), most_rto: of(1), most_unsent: 1 << 17 };
        liveliness.set(&client).unwrap();
        assert!(client.nodelay().unwrap());
        let (fd, tcp) = (client.as_fd(), libc::IPPROTO_TCP);
        let ask = |option| super::super::get::<u32>(fd, tcp, option).unwrap();
        assert_eq!([ask(libc::TCP_KEEPCNT), ask(libc::TCP_USER_TIMEOUT)], [4, 9_000]);
    }

    #[test]
    fn the_other_end_sees_a_failure_and_no_end() {
        let [client, mut server] = pair();
        reset_on_close(&client).unwrap();
        drop(client);
        let error = server.read(&mut [0]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
    }
}
