//! A connection whose octets stay in the kernel until they are not needed any more: tcp(7), recv(2), socket(7).

use std::io;
use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use super::tcp_info::TcpInfo;
use super::{check, set};

/// States of `linux/tcp_states.h`.
const TCP_FIN_WAIT1: u64 = 4;
const TCP_FIN_WAIT2: u64 = 5;
const TCP_TIME_WAIT: u64 = 6;
const TCP_CLOSE: u64 = 7;
const TCP_CLOSE_WAIT: u64 = 8;
const TCP_LAST_ACK: u64 = 9;
const TCP_CLOSING: u64 = 11;

/// How far a connection has come, as the kernel counts: each from where the connection began, about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Octets that were read and are not in the kernel any more.
    pub read: u64,
    /// Octets that have come and are in the kernel.
    pub waiting: u64,
    /// Octets that were written: the kernel has them, or the other end has.
    pub written: u64,
    /// The other end writes no more.
    pub has_finished: bool,
    /// This end writes no more.
    pub is_shut: bool,
    /// Nothing is left of it: both ends have ended it, or it has failed.
    pub is_closed: bool,
}

impl Standing {
    /// What the kernel says now.
    ///
    /// # Errors
    /// What getsockopt(2) and ioctl(2) say, or that the kernel does not count.
    pub fn of(stream: &impl AsFd) -> io::Result<Self> {
        // Octets come and acknowledgments too, while it is asked: until nothing has changed in between.
        loop {
            let before = TcpInfo::counts(stream.as_fd())?;
            let waiting = count(stream.as_fd(), libc::FIONREAD)?;
            let unsent = count(stream.as_fd(), libc::TIOCOUTQ)?;
            let after = TcpInfo::counts(stream.as_fd())?;
            if before != after {
                continue;
            }
            let [state, acknowledged, received] = after;
            let is_over = matches!(state, TCP_CLOSE | TCP_TIME_WAIT | TCP_LAST_ACK | TCP_CLOSING);
            let has_finished = is_over || state == TCP_CLOSE_WAIT;
            let is_shut = is_over || matches!(state, TCP_FIN_WAIT1 | TCP_FIN_WAIT2);
            // The end of each direction counts as an octet (RFC 9293 §3.4).
            let read = received.checked_sub(waiting + u64::from(has_finished));
            let written = (acknowledged + unsent).checked_sub(u64::from(is_shut));
            let (Some(read), Some(written)) = (read, written) else {
                return Err(io::Error::other("the kernel counts otherwise"));
            };
            let is_closed = state == TCP_CLOSE;
            return Ok(Self { read, waiting, written, has_finished, is_shut, is_closed });
        }
    }
}

/// Whether a connection has failed. It is looked at and not taken, as reading and `SO_ERROR` do: then the state alone does not say whether
/// a connection that is closed was ended or reset.
///
/// # Errors
/// What poll(2) says.
pub fn has_failed(stream: &impl AsFd) -> io::Result<bool> {
    polled(stream.as_fd()).map(|found| found & libc::POLLERR != 0)
}

/// What poll(2) finds of failures and ends.
fn polled(stream: BorrowedFd<'_>) -> io::Result<libc::c_short> {
    let mut polled = libc::pollfd { fd: stream.as_raw_fd(), events: libc::POLLRDHUP, revents: 0 };
    loop {
        // SAFETY: one structure that lives through the call.
        match check(unsafe { libc::poll(&raw mut polled, 1, 0) }) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
            Ok(_) => return Ok(polled.revents),
        }
    }
}

/// As [`peek`], where so many octets were peeked at and are in the kernel, but that a failure stays there too: whoever has the socket next
/// sees it.
///
/// # Errors
/// What recv(2) says. [`io::ErrorKind::ConnectionReset`]: it has failed.
pub fn peek_and_leave(stream: &impl AsFd, seen: u64, into: &mut [u8]) -> io::Result<usize> {
    let has_more = || count(stream.as_fd(), libc::FIONREAD).map(|waiting| waiting > seen);
    loop {
        // recv(2) takes the error of a connection only where there is nothing to read.
        if has_more()? {
            return peek(stream, into);
        }
        // `tcp_reset` sets the error before it ends both directions: an end without one is an end.
        let found = polled(stream.as_fd())?;
        match () {
            () if found & libc::POLLERR != 0 => return Err(io::ErrorKind::ConnectionReset.into()),
            () if found & libc::POLLRDHUP == 0 => return Err(io::ErrorKind::WouldBlock.into()),
            // What has come with the end, after it was looked for.
            () if has_more()? => {}
            () => return Ok(0),
        }
    }
}

fn count(socket: BorrowedFd<'_>, request: libc::Ioctl) -> io::Result<u64> {
    let mut count: libc::c_int = 0;
    // SAFETY: both requests write an integer there, which lives through the call.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), request, &raw mut count) })?;
    Ok(count.max(0) as u64)
}

/// Where reading with `MSG_PEEK` goes on: so many octets behind the first one that the kernel has. It then goes on by itself.
///
/// # Errors
/// What setsockopt(2) says: for TCP it is there since Linux 6.9.
pub fn peek_from(stream: &impl AsFd, offset: u32) -> io::Result<()> {
    let offset = libc::c_int::try_from(offset).map_err(io::Error::other)?;
    set(stream.as_fd(), libc::SOL_SOCKET, libc::SO_PEEK_OFF, &offset)
}

/// Urgent octets come among the others, in order (tcp(7), `SO_OOBINLINE`): they are in what the kernel counts, and a reader that leaves
/// them out would count otherwise.
///
/// # Errors
/// What setsockopt(2) says.
pub fn take_urgent(stream: &impl AsFd) -> io::Result<()> {
    set::<libc::c_int>(stream.as_fd(), libc::SOL_SOCKET, libc::SO_OOBINLINE, &1)
}

/// Reads, and leaves the octets in the kernel.
///
/// # Errors
/// What recv(2) says.
pub fn peek(stream: &impl AsFd, into: &mut [u8]) -> io::Result<usize> {
    let flags = libc::MSG_PEEK | libc::MSG_DONTWAIT;
    // SAFETY: `into` lives through the call and its length is given.
    let read = unsafe { libc::recv(stream.as_fd().as_raw_fd(), into.as_mut_ptr().cast(), into.len(), flags) };
    usize::try_from(read).map_err(|_| io::Error::last_os_error())
}

/// The kernel forgets so many octets: how many it had of them.
///
/// # Errors
/// What recv(2) says.
pub fn forget(stream: &impl AsFd, octets: usize) -> io::Result<usize> {
    let flags = libc::MSG_TRUNC | libc::MSG_DONTWAIT;
    // SAFETY: with MSG_TRUNC TCP writes nothing into the buffer (tcp(7)).
    let read = unsafe { libc::recv(stream.as_fd().as_raw_fd(), std::ptr::null_mut(), octets, flags) };
    usize::try_from(read).map_err(|_| io::Error::last_os_error())
}

/// Has the kernel take so many octets of the other end, half of `net.ipv4.tcp_rmem`'s last number at most. Its own tuning looks at what is
/// read, and sees nothing of what is only peeked at.
///
/// # Errors
/// What setsockopt(2) says.
pub fn make_room(stream: &impl AsFd, octets: u32) -> io::Result<()> {
    let fd = stream.as_fd();
    let octets = libc::c_int::try_from(octets).unwrap_or(libc::c_int::MAX);
    // `tcp_set_rcvlowat` makes the buffer large enough, and leaves it so.
    set(fd, libc::SOL_SOCKET, libc::SO_RCVLOWAT, &octets)?;
    set(fd, libc::SOL_SOCKET, libc::SO_RCVLOWAT, &1)
}

/// Resets a connection at once, whoever else has a descriptor of it.
///
/// # Errors
/// What connect(2) says.
pub fn disconnect(stream: &impl AsFd) -> io::Result<()> {
    super::stream_options::reset(stream.as_fd())?;
    unconnect(stream.as_fd())
}

/// Has a socket be connected to nobody (connect(2), `AF_UNSPEC`).
pub(crate) fn unconnect(stream: BorrowedFd<'_>) -> io::Result<()> {
    let nowhere = libc::sockaddr { sa_family: libc::AF_UNSPEC as libc::sa_family_t, sa_data: [0; 14] };
    let len = size_of::<libc::sockaddr>() as libc::socklen_t;
    // SAFETY: the address lives through the call and `len` is its size.
    check(unsafe { libc::connect(stream.as_raw_fd(), &raw const nowhere, len) }).map(|_| ())
}

/// Whether this kernel lets octets of TCP be read twice.
pub fn keeps_octets() -> bool {
    std::net::TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, 0))
        .is_ok_and(|one| peek_from(&one, 0).is_ok())
}

#[cfg(test)]
mod tests {
    use std::io::{ErrorKind, Read, Write};
    use std::net::{Shutdown, TcpListener, TcpStream};
    use std::thread::sleep;
    use std::time::Duration;

    use super::*;

    fn pair() -> [TcpStream; 2] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        [client, listener.accept().unwrap().0]
    }

    fn settle() {
        sleep(Duration::from_millis(50));
    }

    #[test]
    fn what_is_peeked_at_stays_until_it_is_forgotten() {
        if !keeps_octets() {
            return;
        }
        let [mut one, other] = pair();
        let octets: Vec<u8> = (0..100_000u32).map(|at| (at % 251) as u8).collect();
        let begin = Standing::of(&other).unwrap();
        peek_from(&other, 0).unwrap();
        make_room(&other, 1 << 20).unwrap();
        one.write_all(&octets).unwrap();
        settle();
        let mut seen = vec![0; 60_000];
        assert_eq!(peek(&other, &mut seen).unwrap(), 60_000);
        assert_eq!(seen, octets[..60_000]);
        assert_eq!(forget(&other, 50_000).unwrap(), 50_000);
        assert_eq!(peek(&other, &mut seen).unwrap(), 40_000, "it goes on where it was");
        assert_eq!(seen[..40_000], octets[60_000..]);
        assert_eq!(peek(&other, &mut seen).unwrap_err().kind(), ErrorKind::WouldBlock);
        one.shutdown(Shutdown::Write).unwrap();
        settle();
        assert_eq!(peek(&other, &mut seen).unwrap(), 0, "the end is seen before the octets are forgotten");
        let standing = Standing::of(&other).unwrap();
        assert_eq!((standing.read - begin.read, standing.waiting), (50_000, 50_000));
        assert!(standing.has_finished && !standing.is_shut);
        peek_from(&other, 10).unwrap();
        assert_eq!(peek(&other, &mut seen).unwrap(), 49_990, "another process begins where it wants");
        assert_eq!(seen[..49_990], octets[50_010..]);
    }

    #[test]
    fn urgent_octets_are_peeked_at_and_forgotten_like_others() {
        if !keeps_octets() {
            return;
        }
        let [mut one, other] = pair();
        take_urgent(&other).unwrap();
        let begin = Standing::of(&other).unwrap();
        peek_from(&other, 0).unwrap();
        one.write_all(b"before").unwrap();
        assert_eq!(nix::sys::socket::send(one.as_raw_fd(), b"!", nix::sys::socket::MsgFlags::MSG_OOB), Ok(1));
        one.write_all(b"after").unwrap();
        settle();
        let (mut seen, mut part) = (Vec::new(), [0; 100]);
        while seen.len() < 12 {
            let read = peek(&other, &mut part).unwrap();
            seen.extend_from_slice(&part[..read]);
        }
        assert_eq!(seen, b"before!after");
        for (octets, left) in [(3, 9), (3, 6), (1, 5)] {
            let mut forgotten = 0;
            while forgotten < octets {
                forgotten += forget(&other, octets - forgotten).unwrap();
            }
            let standing = Standing::of(&other).unwrap();
            assert_eq!((standing.read - begin.read, standing.waiting), (12 - left, left));
        }
    }

    #[test]
    fn what_was_written_is_counted_whether_or_not_it_was_read() {
        let [mut one, mut other] = pair();
        let begin = [&one, &other].map(|end| Standing::of(end).unwrap().written);
        for (end, octets) in [(&mut one, 70_000), (&mut other, 5)] {
            end.write_all(&vec![7; octets]).unwrap();
        }
        settle();
        let written = |end: &TcpStream, begin: u64| Standing::of(end).unwrap().written - begin;
        assert_eq!([written(&one, begin[0]), written(&other, begin[1])], [70_000, 5]);
        one.shutdown(Shutdown::Write).unwrap();
        settle();
        assert_eq!(written(&one, begin[0]), 70_000);
        assert!(Standing::of(&one).unwrap().is_shut && !Standing::of(&one).unwrap().has_finished);
        other.read_exact(&mut vec![0; 70_000]).unwrap();
        other.shutdown(Shutdown::Write).unwrap();
        settle();
        let closed = Standing::of(&one).unwrap();
        assert!(closed.is_shut && closed.has_finished);
        assert_eq!((closed.written - begin[0], closed.waiting), (70_000, 5));
        assert_eq!(written(&other, begin[1]), 5);
    }

    #[test]
    fn a_failure_is_seen_as_often_as_it_is_looked_for() {
        let [one, other] = pair();
        assert!(!has_failed(&other).unwrap());
        one.shutdown(Shutdown::Write).unwrap();
        other.shutdown(Shutdown::Write).unwrap();
        settle();
        assert!(!has_failed(&other).unwrap() && Standing::of(&other).unwrap().has_finished, "it has an end");
        let [one, mut other] = pair();
        disconnect(&one).unwrap();
        settle();
        assert!(has_failed(&other).unwrap() && has_failed(&other).unwrap());
        assert_eq!(other.read(&mut [0]).unwrap_err().kind(), ErrorKind::ConnectionReset);
        assert!(!has_failed(&other).unwrap(), "who reads takes it");
    }

    #[test]
    fn a_failure_is_read_and_left_for_the_next_one() {
        if !keeps_octets() {
            return;
        }
        let (mut part, mut seen) = ([0; 100], 0);
        let [mut one, other] = pair();
        peek_from(&other, 0).unwrap();
        other.shutdown(Shutdown::Write).unwrap();
        let mut read = |seen: &mut u64| {
            let read = peek_and_leave(&other, *seen, &mut part)?;
            *seen += read as u64;
            Ok::<_, io::Error>(read)
        };
        assert_eq!(read(&mut seen).unwrap_err().kind(), ErrorKind::WouldBlock);
        one.write_all(b"octets").unwrap();
        settle();
        assert_eq!(read(&mut seen).unwrap(), 6);
        assert_eq!(read(&mut seen).unwrap_err().kind(), ErrorKind::WouldBlock);
        one.write_all(b"more").unwrap();
        disconnect(&one).unwrap();
        settle();
        assert_eq!(read(&mut seen).unwrap(), 4, "what has come before is there");
        for _ in 0..2 {
            assert_eq!(read(&mut seen).unwrap_err().kind(), ErrorKind::ConnectionReset);
        }
        assert!(has_failed(&other).unwrap(), "the next one sees it");
        // An end is an end, whichever of them closes first.
        for order in [[0, 1], [1, 0]] {
            let both = pair();
            peek_from(&both[1], 0).unwrap();
            (&both[0]).write_all(b"x").unwrap();
            for end in order {
                both[end].shutdown(Shutdown::Write).unwrap();
                settle();
            }
            assert_eq!(peek_and_leave(&both[1], 0, &mut [0; 9]).unwrap(), 1);
            assert_eq!(peek_and_leave(&both[1], 1, &mut [0; 9]).unwrap(), 0);
        }
    }

    #[test]
    fn one_that_is_disconnected_is_reset_though_somebody_keeps_it() {
        let [one, mut other] = pair();
        let _kept = one.try_clone().unwrap();
        disconnect(&one).unwrap();
        other.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        assert_eq!(other.read(&mut [0]).unwrap_err().kind(), ErrorKind::ConnectionReset);
    }
}
