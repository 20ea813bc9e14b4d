//! connect(2) of a program, seen before the kernel does it: seccomp's user notification (`seccomp_unotify(2)`).
//!
//! The program keeps its socket: it is fetched (`pidfd_getfd(2)`) and connected in the program's place, so options that were set
//! and an epoll(7) that waits for it stay. A socket put in its place (`SECCOMP_ADDFD_FLAG_SETFD`) would have neither.

mod address;
mod filter;
mod passing;
mod process;
mod starter;

use std::io;
use std::mem::{size_of, zeroed};
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::net::UnixDatagram;

use libc::{c_int, seccomp_notif, seccomp_notif_resp};

use super::check;
use super::kept_stream::unconnect;
use super::network_cookie::cookie_of;
use address::{local_address, parse, peer_address, raw};
pub use passing::KeptConnects;
use passing::receive;
use process::{fetch, read_memory};
pub use starter::Starter;

/// `SECCOMP_IOCTL_NOTIF_RECV`, `_SEND` and `_ID_VALID` of `linux/seccomp.h`: `_IOWR('!', 0, …)`, `_IOWR('!', 1, …)`, `_IOW('!', 2, u64)`.
const RECEIVE: u64 = request(3, 0, size_of::<seccomp_notif>());
const SEND: u64 = request(3, 1, size_of::<seccomp_notif_resp>());
const IS_VALID: u64 = request(1, 2, size_of::<u64>());

/// As `_IOC` of `asm-generic/ioctl.h` has it.
const fn request(direction: u64, number: u64, size: usize) -> u64 {
    direction << 30 | (size as u64) << 16 | (b'!' as u64) << 8 | number
}

/// The longest address that is read: `struct sockaddr_in6`.
const LONGEST: usize = size_of::<libc::sockaddr_in6>();

/// Where calls of connect(2) of a program and its children come.
#[derive(Debug)]
pub struct Connects {
    listener: OwnedFd,
    /// [`Some`]: another process takes them, and passes them on here.
    channel: Option<UnixDatagram>,
}

/// What a program's call of connect(2) is.
#[derive(Debug)]
pub enum Call {
    /// It wants a connection of TCP.
    Tcp(Attempt),
    /// It names the target of a socket of UDP.
    Udp(Attempt),
    /// Nobody can tell: neither its memory nor its socket can be looked at, as where Yama forbids it (ptrace(2)).
    Unseen(Unseen),
}

/// A call that cannot be looked at, and waits.
#[derive(Debug)]
pub struct Unseen {
    id: u64,
    /// Why.
    pub error: io::Error,
}

impl Unseen {
    /// What connect(2) would say of it, where the kernel is not asked: a number of errno(3).
    pub fn refusal(&self) -> i32 {
        match self.error.raw_os_error() {
            Some(error @ (libc::EFAULT | libc::EBADF | libc::ENOTSOCK)) => error,
            // As where a rule of this machine's firewall forbids it.
            _ => libc::EPERM,
        }
    }
}

/// A connection that a program wants, and waits for.
#[derive(Debug)]
pub struct Attempt {
    id: u64,
    /// Where to.
    pub remote: SocketAddr,
    /// The program's own socket.
    socket: OwnedFd,
    /// The family of the socket is that of IPv6, though `remote` may be an IPv4 address in it.
    is_six: bool,
    /// Somebody had it before who has not answered, and may have led the socket somewhere.
    is_left: bool,
}

impl Attempt {
    /// Where the program's socket is, and where it leads to already, if it does: it was led there, and nobody has answered yet.
    pub fn led(&self) -> Option<[SocketAddr; 2]> {
        let peer = peer_address(self.socket.as_fd()).ok()?;
        Some([local_address(self.socket.as_fd()).ok()?, peer])
    }

    /// The network namespace of the program's socket, as [`crate::network_cookie`] has this thread's.
    ///
    /// # Errors
    /// What the kernel says, as where it is older than Linux 5.14.
    pub fn network(&self) -> io::Result<u64> {
        cookie_of(self.socket.as_fd())
    }

    /// The program's socket is connected to nobody, and has no address by which it was.
    ///
    /// # Errors
    /// What connect(2) says.
    pub fn unconnect(&self) -> io::Result<()> {
        unconnect(self.socket.as_fd())
    }
}

/// A program's socket that was connected to somewhere else. The program waits on.
#[derive(Clone, Copy, Debug)]
pub struct Led {
    /// The address that it has there.
    pub local: SocketAddr,
    /// What connect(2) has said: zero, or a negative number of errno(3).
    result: i32,
}

impl Connects {
    /// Calls that another process takes from this listener, and passes on by the other end of this channel ([`KeptConnects`]).
    ///
    /// # Errors
    /// What fcntl(2) says.
    pub fn passed_on(listener: OwnedFd, channel: UnixDatagram) -> io::Result<Self> {
        channel.set_nonblocking(true)?;
        Ok(Self { listener, channel: Some(channel) })
    }

    /// The next one, if one waits; what is neither TCP nor UDP goes on at once.
    ///
    /// # Errors
    /// The program and all its children are gone.
    pub fn next(&self) -> io::Result<Option<Call>> {
        if let Some(channel) = &self.channel {
            return receive(channel);
        }
        while self.is_readable()? {
            // SAFETY: plain data for which zeros are valid, and which the kernel wants zeroed.
            let mut notice: seccomp_notif = unsafe { zeroed() };
            // SAFETY: `notice` is what this request writes, and lives through the call.
            let received = unsafe { libc::ioctl(self.listener.as_raw_fd(), RECEIVE as _, &raw mut notice) };
            match check(received) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                // It was killed meanwhile.
                Err(error) if error.raw_os_error() == Some(libc::ENOENT) => continue,
                Err(error) => return Err(error),
                Ok(_) => {}
            }
            let looked = call(&notice);
            // What was looked at is the program that asked, and not one that has got its number since.
            if self.is_valid(notice.id).is_err() {
                continue;
            }
            match looked {
                Ok(Some(call)) => return Ok(Some(call)),
                Ok(None) => self.respond(notice.id, 0, true),
                Err(error) => return Ok(Some(Call::Unseen(Unseen { id: notice.id, error }))),
            }
        }
        Ok(None)
    }

    /// The kernel does what the program has asked for.
    pub fn let_go(&self, attempt: &Attempt) {
        self.respond(attempt.id, 0, true);
    }

    /// The kernel does what nobody could look at, or the program gets the error of [`Unseen::refusal`].
    pub fn answer_unseen(&self, unseen: &Unseen, goes_on: bool) {
        self.respond(unseen.id, if goes_on { 0 } else { -unseen.refusal() }, goes_on);
    }

    /// The program gets an error: a number of errno(3).
    pub fn refuse(&self, attempt: &Attempt, error: i32) {
        self.respond(attempt.id, -error, false);
    }

    /// Connects the program's socket to somewhere else. The program waits on, until [`Connects::answer`].
    ///
    /// # Errors
    /// It cannot be connected there.
    pub fn lead(&self, attempt: &Attempt, to: SocketAddr) -> io::Result<Led> {
        // Between the fetching and now the program's number may have become somebody else's.
        self.is_valid(attempt.id)?;
        let to = match to {
            SocketAddr::V4(four) if attempt.is_six => (four.ip().to_ipv6_mapped(), four.port()).into(),
            to => to,
        };
        // One that has led it somewhere, and is gone with the other end, leaves it connected to nobody.
        if attempt.is_left && attempt.led().is_none() {
            unconnect(attempt.socket.as_fd())?;
        }
        let (address, len) = raw(to);
        // SAFETY: `address` lives through the call and `len` is the size of what it holds.
        let connected =
            unsafe { libc::connect(attempt.socket.as_raw_fd(), (&raw const address).cast(), len) };
        let result = match check(connected) {
            Ok(_) => 0,
            Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => -libc::EINPROGRESS,
            // Whoever has led it there has not come to answer.
            Err(error)
                if error.raw_os_error() == Some(libc::EISCONN)
                    && attempt.led().is_some_and(|[_, peer]| is_same(peer, to)) =>
            {
                0
            }
            Err(error) => return Err(error),
        };
        Ok(Led { local: local_address(attempt.socket.as_fd())?, result })
    }

    /// The program is told what connect(2) has said, as if it had connected itself.
    pub fn answer(&self, attempt: &Attempt, led: Led) {
        self.respond(attempt.id, led.result, false);
    }

    /// Whether a program still waits for its answer.
    fn is_valid(&self, id: u64) -> io::Result<()> {
        // SAFETY: the number lives through the call.
        check(unsafe { libc::ioctl(self.listener.as_raw_fd(), IS_VALID as _, &raw const id) }).map(|_| ())
    }

    fn is_readable(&self) -> io::Result<bool> {
        let mut poll = libc::pollfd { fd: self.listener.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one structure that lives through the call.
        let ready = check(unsafe { libc::poll(&raw mut poll, 1, 0) })?;
        if poll.revents & libc::POLLIN != 0 {
            return Ok(true);
        }
        if ready > 0 { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(false) }
    }

    fn respond(&self, id: u64, error: i32, goes_on: bool) {
        let flags = if goes_on { libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32 } else { 0 };
        let response = seccomp_notif_resp { id, val: 0, error, flags };
        // SAFETY: `response` is what this request reads, and lives through the call.
        // It fails where the program is gone, which nobody has to know.
        unsafe { libc::ioctl(self.listener.as_raw_fd(), SEND as _, &raw const response) };
    }
}

impl AsFd for Connects {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.channel.as_ref().map_or(self.listener.as_fd(), AsFd::as_fd)
    }
}

impl Connects {
    /// Who has a copy of it can answer too.
    fn listener(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

fn is_same(one: SocketAddr, other: SocketAddr) -> bool {
    (one.ip().to_canonical(), one.port()) == (other.ip().to_canonical(), other.port())
}

/// What a notice means; [`None`]: it is neither TCP nor UDP.
fn call(notice: &seccomp_notif) -> io::Result<Option<Call>> {
    let [fd, address, len, ..] = notice.data.args;
    let bytes = read_memory(notice.pid, address, (len as usize).min(LONGEST))?;
    let Some(remote) = parse(&bytes) else { return Ok(None) };
    let socket = fetch(notice.pid, fd as RawFd)?;
    let option = |option| super::get::<c_int>(socket.as_fd(), libc::SOL_SOCKET, option);
    let kind = match (option(libc::SO_TYPE)?, option(libc::SO_PROTOCOL)?) {
        // A socket of MPTCP that meets plain TCP is one of TCP (RFC 8684 §3.7).
        (libc::SOCK_STREAM, libc::IPPROTO_TCP | libc::IPPROTO_MPTCP) => Call::Tcp,
        (libc::SOCK_DGRAM, libc::IPPROTO_UDP) => Call::Udp,
        _ => return Ok(None),
    };
    let is_six = option(libc::SO_DOMAIN)? == libc::AF_INET6;
    let remote = SocketAddr::new(remote.ip().to_canonical(), remote.port());
    Ok(Some(kind(Attempt { id: notice.id, remote, socket, is_six, is_left: false })))
}

#[cfg(test)]
mod tests;
