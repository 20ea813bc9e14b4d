//! connect(2) of a program, seen before the kernel does it: seccomp's user notification (`seccomp_unotify(2)`).
//!
//! `seccompiler` makes filters, but none that notify; libseccomp is a library in C. The filter has six instructions.
//!
//! The program keeps its socket: it is fetched (`pidfd_getfd(2)`) and connected in the program's place, so options that were set
//! and an epoll(7) that waits for it stay. A socket put in its place (`SECCOMP_ADDFD_FLAG_SETFD`) would have neither.

use std::io;
use std::mem::{size_of, zeroed};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

use libc::{c_int, c_long, c_void, seccomp_notif, seccomp_notif_resp, sock_filter, sock_fprog};

use super::check;

/// `AUDIT_ARCH_…` of `linux/audit.h`; [`None`]: nobody has looked up the number.
const ARCHITECTURE: Option<u32> = if cfg!(target_arch = "x86_64") {
    Some(0xc000_003e)
} else if cfg!(target_arch = "aarch64") {
    Some(0xc000_00b7)
} else {
    None
};

/// `SECCOMP_IOCTL_NOTIF_RECV`, `_SEND` and `_ID_VALID` of `linux/seccomp.h`: `_IOWR('!', 0, …)`, `_IOWR('!', 1, …)`, `_IOW('!', 2, u64)`.
const RECEIVE: u64 = request(3, 0, size_of::<seccomp_notif>());
const SEND: u64 = request(3, 1, size_of::<seccomp_notif_resp>());
const IS_VALID: u64 = request(1, 2, size_of::<u64>());

/// As `_IOC` of `asm-generic/ioctl.h` has it.
const fn request(direction: u64, number: u64, size: usize) -> u64 {
    direction << 30 | (size as u64) << 16 | (b'!' as u64) << 8 | number
}

/// `struct seccomp_data`: the number of the system call, and the architecture.
const NUMBER_AT: u32 = 0;
const ARCHITECTURE_AT: u32 = 4;

/// The longest address that is read: `struct sockaddr_in6`.
const LONGEST: usize = size_of::<libc::sockaddr_in6>();

/// Where calls of connect(2) of a program and its children come.
#[derive(Debug)]
pub struct Connects(OwnedFd);

/// A connection of TCP that a program wants, and waits for.
#[derive(Debug)]
pub struct Attempt {
    id: u64,
    /// Where to.
    pub remote: SocketAddr,
    /// The program's own socket.
    socket: OwnedFd,
    /// The family of the socket is that of IPv6, though `remote` may be an IPv4 address in it.
    is_six: bool,
}

impl Connects {
    /// Starts a program whose connections are asked for here. It, and all that it starts, can no longer get other rights: set-user-ID
    /// programs such as sudo(8) run as the user (`PR_SET_NO_NEW_PRIVS`).
    ///
    /// # Errors
    /// What the kernel says; [`io::ErrorKind::Unsupported`] on an architecture that this does not know.
    pub fn of(command: &mut Command) -> io::Result<(Child, Self)> {
        let architecture = ARCHITECTURE.ok_or(io::ErrorKind::Unsupported)?;
        let (here, there) = std::os::unix::net::UnixStream::pair()?;
        let to = there.as_raw_fd();
        // SAFETY: between fork(2) and exec(2) it only makes system calls, and allocates nothing.
        unsafe { command.pre_exec(move || send_descriptor(to, filter(architecture)?)) };
        let child = command.spawn()?;
        drop(there);
        Ok((child, Self(receive_descriptor(here.as_raw_fd())?)))
    }

    /// The next one, if one waits; what is no connection of TCP goes on at once.
    ///
    /// # Errors
    /// The program and all its children are gone.
    pub fn next(&self) -> io::Result<Option<Attempt>> {
        while self.is_readable()? {
            // SAFETY: plain data for which zeros are valid, and which the kernel wants zeroed.
            let mut notice: seccomp_notif = unsafe { zeroed() };
            // SAFETY: `notice` is what this request writes, and lives through the call.
            let received = unsafe { libc::ioctl(self.0.as_raw_fd(), RECEIVE as _, &raw mut notice) };
            match check(received) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                // It was killed meanwhile.
                Err(error) if error.raw_os_error() == Some(libc::ENOENT) => continue,
                Err(error) => return Err(error),
                Ok(_) => {}
            }
            match self.attempt(&notice) {
                Some(attempt) => return Ok(Some(attempt)),
                None => self.respond(notice.id, 0, true),
            }
        }
        Ok(None)
    }

    /// The kernel does what the program has asked for.
    pub fn let_go(&self, attempt: &Attempt) {
        self.respond(attempt.id, 0, true);
    }

    /// The program gets an error: a number of errno(3).
    pub fn refuse(&self, attempt: &Attempt, error: i32) {
        self.respond(attempt.id, -error, false);
    }

    /// Connects the program's socket to somewhere else: the port that it has there. The program is told as if it had done so itself.
    ///
    /// # Errors
    /// It cannot be connected there; the program waits on.
    pub fn redirect(&self, attempt: &Attempt, to: SocketAddr) -> io::Result<u16> {
        // Between the fetching and now the program's number may have become somebody else's.
        // SAFETY: the number lives through the call.
        check(unsafe { libc::ioctl(self.0.as_raw_fd(), IS_VALID as _, &raw const attempt.id) })?;
        let to = match to {
            SocketAddr::V4(four) if attempt.is_six => (four.ip().to_ipv6_mapped(), four.port()).into(),
            to => to,
        };
        let (address, len) = raw(to);
        // SAFETY: `address` lives through the call and `len` is the size of what it holds.
        let connected =
            unsafe { libc::connect(attempt.socket.as_raw_fd(), (&raw const address).cast(), len) };
        let result = match check(connected) {
            Ok(_) => 0,
            Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => -libc::EINPROGRESS,
            Err(error) => return Err(error),
        };
        let port = local_port(attempt.socket.as_fd())?;
        self.respond(attempt.id, result, false);
        Ok(port)
    }

    fn is_readable(&self) -> io::Result<bool> {
        let mut poll = libc::pollfd { fd: self.0.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one structure that lives through the call.
        let ready = check(unsafe { libc::poll(&raw mut poll, 1, 0) })?;
        if poll.revents & libc::POLLIN != 0 {
            return Ok(true);
        }
        if ready > 0 { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(false) }
    }

    /// What a notice means, where it is a connection of TCP.
    fn attempt(&self, notice: &seccomp_notif) -> Option<Attempt> {
        let [fd, address, len, ..] = notice.data.args;
        let bytes = read_memory(notice.pid, address, (len as usize).min(LONGEST))?;
        let remote = parse(&bytes)?;
        let socket = fetch(notice.pid, fd as RawFd).ok()?;
        // The program that was read from is the one that asked, and not one that has got its number since.
        // SAFETY: the number lives through the call.
        check(unsafe { libc::ioctl(self.0.as_raw_fd(), IS_VALID as _, &raw const notice.id) }).ok()?;
        let option = |option| super::get::<c_int>(socket.as_fd(), libc::SOL_SOCKET, option).ok();
        let is_tcp =
            option(libc::SO_PROTOCOL)? == libc::IPPROTO_TCP && option(libc::SO_TYPE)? == libc::SOCK_STREAM;
        let is_six = option(libc::SO_DOMAIN)? == libc::AF_INET6;
        let remote = SocketAddr::new(remote.ip().to_canonical(), remote.port());
        is_tcp.then_some(Attempt { id: notice.id, remote, socket, is_six })
    }

    fn respond(&self, id: u64, error: i32, goes_on: bool) {
        let flags = if goes_on { libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32 } else { 0 };
        let response = seccomp_notif_resp { id, val: 0, error, flags };
        // SAFETY: `response` is what this request reads, and lives through the call.
        // It fails where the program is gone, which nobody has to know.
        unsafe { libc::ioctl(self.0.as_raw_fd(), SEND as _, &raw const response) };
    }
}

impl AsFd for Connects {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// In the program, before it begins: installs the filter, and returns where its notices come.
fn filter(architecture: u32) -> io::Result<RawFd> {
    let load =
        |at| sock_filter { code: (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16, jt: 0, jf: 0, k: at };
    let unless = |value, skip| sock_filter {
        code: (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16,
        jt: 0,
        jf: skip,
        k: value,
    };
    let end = |with| sock_filter { code: (libc::BPF_RET | libc::BPF_K) as u16, jt: 0, jf: 0, k: with };
    let mut program = [
        load(ARCHITECTURE_AT),
        unless(architecture, 3),
        load(NUMBER_AT),
        unless(libc::SYS_connect as u32, 1),
        end(libc::SECCOMP_RET_USER_NOTIF),
        end(libc::SECCOMP_RET_ALLOW),
    ];
    let program = sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: takes no pointers.
    check(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) })?;
    // SAFETY: `program` and what it points to live through the call.
    let fd = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            c_long::from(libc::SECCOMP_SET_MODE_FILTER),
            libc::SECCOMP_FILTER_FLAG_NEW_LISTENER as c_long,
            &raw const program,
        )
    };
    check(fd as c_int)
}

/// Room for the control message with one descriptor (unix(7)), aligned as it must be.
#[repr(C, align(8))]
struct Control([u8; 32]);

fn message(octet: &mut libc::iovec, control: &mut Control) -> libc::msghdr {
    // SAFETY: plain data for which zeros are valid.
    let mut message: libc::msghdr = unsafe { zeroed() };
    message.msg_iov = &raw mut *octet;
    message.msg_iovlen = 1;
    message.msg_control = (&raw mut *control).cast();
    // SAFETY: takes no pointers.
    message.msg_controllen = unsafe { libc::CMSG_SPACE(size_of::<RawFd>() as u32) } as _;
    message
}

/// `SCM_RIGHTS` of unix(7).
fn send_descriptor(to: RawFd, fd: RawFd) -> io::Result<()> {
    let (mut byte, mut control) = (0u8, Control([0; 32]));
    let mut octet = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
    let message = message(&mut octet, &mut control);
    // SAFETY: the header is in `control`, which has room for it and a descriptor.
    unsafe {
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        (*header).cmsg_level = libc::SOL_SOCKET;
        (*header).cmsg_type = libc::SCM_RIGHTS;
        (*header).cmsg_len = libc::CMSG_LEN(size_of::<RawFd>() as u32) as _;
        libc::CMSG_DATA(header).cast::<RawFd>().write_unaligned(fd);
    }
    // SAFETY: the message and all that it points to live through the call.
    check(unsafe { libc::sendmsg(to, &raw const message, 0) } as c_int).map(|_| ())
}

fn receive_descriptor(from: RawFd) -> io::Result<OwnedFd> {
    let (mut byte, mut control) = (0u8, Control([0; 32]));
    let mut octet = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
    let mut message = message(&mut octet, &mut control);
    // SAFETY: the message and all that it points to live through the call.
    check(unsafe { libc::recvmsg(from, &raw mut message, libc::MSG_CMSG_CLOEXEC) } as c_int)?;
    // SAFETY: the kernel has written headers that are whole, or none.
    let header = unsafe { libc::CMSG_FIRSTHDR(&raw const message).as_ref() };
    let is_one = |header: &&libc::cmsghdr| {
        (header.cmsg_level, header.cmsg_type) == (libc::SOL_SOCKET, libc::SCM_RIGHTS)
    };
    let header = header.filter(is_one).ok_or(io::ErrorKind::UnexpectedEof)?;
    // SAFETY: such a message holds a descriptor, which is new and nobody else's.
    Ok(unsafe { OwnedFd::from_raw_fd(libc::CMSG_DATA(header).cast::<RawFd>().read_unaligned()) })
}

/// The memory of a process (`process_vm_readv(2)`).
fn read_memory(pid: u32, at: u64, len: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0; len];
    let local = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: len };
    let remote = libc::iovec { iov_base: at as *mut c_void, iov_len: len };
    // SAFETY: `local` has room for `len` bytes; the other address is another process's.
    let read =
        unsafe { libc::process_vm_readv(pid as libc::pid_t, &raw const local, 1, &raw const remote, 1, 0) };
    (usize::try_from(read) == Ok(len)).then_some(bytes)
}

/// A process's own descriptor: the same open file.
fn fetch(pid: u32, fd: RawFd) -> io::Result<OwnedFd> {
    // A thread may have asked; a pidfd is of its process.
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let group = status
        .lines()
        .find_map(|line| line.strip_prefix("Tgid:"))
        .and_then(|id| id.trim().parse::<c_int>().ok());
    let group = group.ok_or(io::ErrorKind::NotFound)?;
    // SAFETY: takes no pointers.
    let process = check(unsafe { libc::syscall(libc::SYS_pidfd_open, group, 0) } as c_int)?;
    // SAFETY: just opened, and nobody else's.
    let process = unsafe { OwnedFd::from_raw_fd(process) };
    // SAFETY: takes no pointers.
    let fetched =
        check(unsafe { libc::syscall(libc::SYS_pidfd_getfd, process.as_raw_fd(), fd, 0) } as c_int)?;
    // SAFETY: as above.
    Ok(unsafe { OwnedFd::from_raw_fd(fetched) })
}

/// `struct sockaddr_in` or `struct sockaddr_in6`.
fn parse(bytes: &[u8]) -> Option<SocketAddr> {
    let family = u16::from_ne_bytes(*bytes.first_chunk()?);
    let port = u16::from_be_bytes(*bytes.get(2..)?.first_chunk()?);
    match c_int::from(family) {
        libc::AF_INET => {
            let octets: [u8; 4] = *bytes.get(4..)?.first_chunk()?;
            Some(SocketAddrV4::new(Ipv4Addr::from(octets), port).into())
        }
        libc::AF_INET6 => {
            let octets: [u8; 16] = *bytes.get(8..)?.first_chunk()?;
            let scope = u32::from_ne_bytes(*bytes.get(24..)?.first_chunk()?);
            Some(SocketAddrV6::new(Ipv6Addr::from(octets), port, 0, scope).into())
        }
        _ => None,
    }
}

fn raw(address: SocketAddr) -> (libc::sockaddr_storage, u32) {
    // SAFETY: plain data for which zeros are valid.
    let mut storage: libc::sockaddr_storage = unsafe { zeroed() };
    let len = match address {
        SocketAddr::V4(four) => {
            // SAFETY: plain data for which zeros are valid.
            let mut of: libc::sockaddr_in = unsafe { zeroed() };
            of.sin_family = libc::AF_INET as u16;
            of.sin_port = four.port().to_be();
            of.sin_addr.s_addr = u32::from_ne_bytes(four.ip().octets());
            // SAFETY: a storage has room for any address, and is aligned for it.
            unsafe { (&raw mut storage).cast::<libc::sockaddr_in>().write(of) };
            size_of::<libc::sockaddr_in>()
        }
        SocketAddr::V6(six) => {
            // SAFETY: plain data for which zeros are valid.
            let mut of: libc::sockaddr_in6 = unsafe { zeroed() };
            of.sin6_family = libc::AF_INET6 as u16;
            of.sin6_port = six.port().to_be();
            of.sin6_addr.s6_addr = six.ip().octets();
            // SAFETY: as above.
            unsafe { (&raw mut storage).cast::<libc::sockaddr_in6>().write(of) };
            size_of::<libc::sockaddr_in6>()
        }
    };
    (storage, len as u32)
}

fn local_port(socket: BorrowedFd<'_>) -> io::Result<u16> {
    let mut bytes = [0; size_of::<libc::sockaddr_storage>()];
    let mut len = bytes.len() as u32;
    // SAFETY: `bytes` has room for any address, and `len` is its size.
    check(unsafe { libc::getsockname(socket.as_raw_fd(), bytes.as_mut_ptr().cast(), &raw mut len) })?;
    parse(&bytes).map(|address| address.port()).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::process::Stdio;

    use super::*;

    /// The program `text` of bash, and what it wants first.
    fn first_of(text: &str) -> (Child, Connects, Attempt) {
        let mut command = Command::new("bash");
        let (child, connects) = Connects::of(command.args(["-c", text]).stdout(Stdio::piped())).unwrap();
        loop {
            if let Some(attempt) = connects.next().unwrap() {
                return (child, connects, attempt);
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }

    fn said(mut child: Child) -> String {
        let mut text = String::new();
        child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
        child.wait().unwrap();
        text
    }

    #[test]
    fn a_program_is_led_elsewhere_without_knowing() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let text = "(exec 3<>/dev/tcp/192.0.2.1/9; read -u 3 line; echo $line)";
        let (child, connects, attempt) = first_of(text);
        assert_eq!(attempt.remote, "192.0.2.1:9".parse().unwrap());
        let port = connects.redirect(&attempt, listener.local_addr().unwrap()).unwrap();
        let (mut stream, from) = listener.accept().unwrap();
        assert_eq!(from.port(), port);
        stream.write_all(b"hello\n").unwrap();
        assert_eq!(said(child), "hello\n");
        let end = connects.next().unwrap_err();
        assert_eq!(end.kind(), io::ErrorKind::UnexpectedEof, "nobody is left");
    }

    #[test]
    fn a_program_gets_an_error_or_goes_on() {
        let text = "exec 3<>/dev/tcp/192.0.2.1/9 || echo refused";
        let (child, connects, attempt) = first_of(text);
        connects.refuse(&attempt, libc::ECONNREFUSED);
        assert_eq!(said(child), "refused\n");
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let text = format!("exec 3<>/dev/tcp/127.0.0.1/{port} && echo there");
        let (child, connects, attempt) = first_of(&text);
        connects.let_go(&attempt);
        listener.accept().unwrap();
        assert_eq!(said(child), "there\n");
    }
}
