//! The C interface: the table that packetdrill has filled (`packetdrill.h` of its source has the facts), and two functions of the C
//! library that it calls past that table. The one file of this crate with `unsafe`.
#![allow(unsafe_code)]

use std::env;
use std::ffi::{CStr, OsString, c_char, c_int, c_long, c_longlong, c_ulong, c_void};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::ptr;
use std::slice;
use std::sync::OnceLock;
use std::task::Poll;

use bytes::Bytes;
use handfast_core::Duration;
use libc::{iovec, msghdr, nfds_t, pollfd, size_t, sockaddr, socklen_t, ssize_t};

use crate::Settings;
use crate::stack::{Errno, FIRST_FD, Fd, Message, Polled, Stack};
use crate::tool::Tool;

/// The stack of this process: the tool runs one script a process.
static TOOL: OnceLock<Tool> = OnceLock::new();

/// The message with which `recvmsg` says what waits behind what it brings (`TCP_CM_INQ`).
const TCP_CM_INQ: c_int = 36;

/// Set in a process that has this library before all others.
const PRELOADED: &str = "HANDFAST_PACKETDRILL_PRELOADED";

/// Octets that no parser takes: version 0 of IP. The script fails instead of waiting for ever.
const NO_PACKET: [u8; 40] = [0; 40];

type User = *mut c_void;

/// The tool's table. Functions that take more arguments in C (`...`) are declared with the one that callers give: on Linux both are
/// passed alike (System V ABI for x86-64 §3.2.3, AAPCS64 §6.4).
#[repr(C)]
struct Table {
    userdata: User,
    free: extern "C" fn(User),
    socket: extern "C" fn(User, c_int, c_int, c_int) -> c_int,
    bind: unsafe extern "C" fn(User, c_int, *const sockaddr, socklen_t) -> c_int,
    listen: extern "C" fn(User, c_int, c_int) -> c_int,
    accept: unsafe extern "C" fn(User, c_int, *mut sockaddr, *mut socklen_t) -> c_int,
    connect: unsafe extern "C" fn(User, c_int, *const sockaddr, socklen_t) -> c_int,
    read: extern "C" fn(User, c_int, *mut c_void, size_t) -> ssize_t,
    readv: unsafe extern "C" fn(User, c_int, *const iovec, c_int) -> ssize_t,
    recv: extern "C" fn(User, c_int, *mut c_void, size_t, c_int) -> ssize_t,
    recvfrom:
        extern "C" fn(User, c_int, *mut c_void, size_t, c_int, *mut sockaddr, *mut socklen_t) -> ssize_t,
    recvmsg: unsafe extern "C" fn(User, c_int, *mut msghdr, c_int) -> ssize_t,
    write: extern "C" fn(User, c_int, *const c_void, size_t) -> ssize_t,
    writev: unsafe extern "C" fn(User, c_int, *const iovec, c_int) -> ssize_t,
    send: extern "C" fn(User, c_int, *const c_void, size_t, c_int) -> ssize_t,
    sendto: extern "C" fn(User, c_int, *const c_void, size_t, c_int, *const sockaddr, socklen_t) -> ssize_t,
    sendmsg: unsafe extern "C" fn(User, c_int, *const msghdr, c_int) -> ssize_t,
    fcntl: extern "C" fn(User, c_int, c_int, c_int) -> c_int,
    ioctl: unsafe extern "C" fn(User, c_int, c_ulong, *mut c_int) -> c_int,
    close: extern "C" fn(User, c_int) -> c_int,
    shutdown: extern "C" fn(User, c_int, c_int) -> c_int,
    getsockopt: unsafe extern "C" fn(User, c_int, c_int, c_int, *mut c_void, *mut socklen_t) -> c_int,
    setsockopt: unsafe extern "C" fn(User, c_int, c_int, c_int, *const c_void, socklen_t) -> c_int,
    poll: unsafe extern "C" fn(User, *mut pollfd, nfds_t, c_int) -> c_int,
    netdev_send: unsafe extern "C" fn(User, *const c_void, size_t) -> c_int,
    netdev_receive: unsafe extern "C" fn(User, *mut c_void, *mut size_t, *mut c_longlong) -> c_int,
    usleep: extern "C" fn(User, libc::useconds_t) -> c_int,
    gettimeofday: unsafe extern "C" fn(User, *mut libc::timeval, *mut libc::timezone) -> c_int,
    epoll_create: extern "C" fn(User, c_int) -> c_int,
    epoll_ctl: extern "C" fn(User, c_int, c_int, c_int, *mut c_void) -> c_int,
    epoll_wait: extern "C" fn(User, c_int, *mut c_void, c_int, c_int) -> c_int,
    pipe: extern "C" fn(User, *mut c_int) -> c_int,
    splice: extern "C" fn(User, c_int, *mut c_longlong, c_int, *mut c_longlong, size_t, u32) -> ssize_t,
}

/// Fills the tool's table.
#[unsafe(no_mangle)]
unsafe extern "C" fn packetdrill_interface_init(flags: *const c_char, table: *mut Table) {
    come_first();
    if !flags.is_null() {
        // SAFETY: the tool passes what it was told by `--so_flags`, ended by a zero.
        heed(&unsafe { CStr::from_ptr(flags) }.to_string_lossy());
    }
    // SAFETY: the tool passes memory for its table.
    unsafe { table.write(TABLE) };
}

/// `--so_flags`: `mtu=` octets that the link carries.
fn heed(flags: &str) {
    for flag in flags.split(',').filter(|flag| !flag.is_empty()) {
        match flag.strip_prefix("mtu=").and_then(|mtu| mtu.parse().ok()) {
            Some(mtu) => tool().call(|stack| stack.set_mtu(mtu)),
            None => eprintln!("handfast: --so_flags={flag}: expected mtu=OCTETS, as mtu=1500"),
        }
    }
}

const TABLE: Table = Table {
    userdata: ptr::null_mut(),
    free,
    socket,
    bind,
    listen,
    accept,
    connect,
    read,
    readv,
    recv,
    recvfrom,
    recvmsg,
    write,
    writev,
    send,
    sendto,
    sendmsg,
    fcntl,
    ioctl,
    close: table_close,
    shutdown,
    getsockopt: table_getsockopt,
    setsockopt,
    poll,
    netdev_send,
    netdev_receive,
    usleep,
    gettimeofday,
    epoll_create,
    epoll_ctl,
    epoll_wait,
    pipe,
    splice,
};

/// The tool reads `TCP_INFO` for a script's assertions by the C library's `getsockopt`, not by the table's, and closes at the end by
/// its `close`. So that it finds ours it begins anew with this library before all others; the commands of the script begin without.
fn come_first() {
    if env::var_os(PRELOADED).is_some() {
        // SAFETY: no other thread of the tool reads the environment while it loads the library.
        unsafe {
            env::remove_var(PRELOADED);
            env::remove_var("LD_PRELOAD");
        }
        return;
    }
    let Some(library) = own_path() else { return };
    let mut arguments = env::args_os();
    let mut command = Command::new("/proc/self/exe");
    if let Some(name) = arguments.next() {
        command.arg0(name);
    }
    let error = command.args(arguments).env(PRELOADED, "1").env("LD_PRELOAD", library).exec();
    eprintln!("handfast: the tool does not begin anew, so scripts fail at their end: {error}");
}

/// Where this library is.
fn own_path() -> Option<OsString> {
    let here = packetdrill_interface_init as *const c_void;
    let mut found = libc::Dl_info {
        dli_fname: ptr::null(),
        dli_fbase: ptr::null_mut(),
        dli_sname: ptr::null(),
        dli_saddr: ptr::null_mut(),
    };
    // SAFETY: `found` is written where the answer is not zero; the name lives as long as the library.
    unsafe {
        if libc::dladdr(here, &raw mut found) == 0 || found.dli_fname.is_null() {
            return None;
        }
        let name = CStr::from_ptr(found.dli_fname).to_bytes().to_vec();
        std::fs::canonicalize(OsString::from_vec(name)).ok().map(Into::into)
    }
}

fn tool() -> &'static Tool {
    TOOL.get_or_init(|| Tool::new(Stack::new(Settings::of_this_namespace)))
}

/// What C expects of a call.
fn answer<T: Into<i64>>(result: Result<T, Errno>) -> i64 {
    match result {
        Ok(value) => value.into(),
        Err(Errno(errno)) => {
            // SAFETY: `errno` of this thread.
            unsafe { *libc::__errno_location() = errno };
            -1
        }
    }
}

fn answer_int(result: Result<i32, Errno>) -> c_int {
    answer(result) as c_int
}

fn answer_len(result: Result<usize, Errno>) -> ssize_t {
    answer(result.map(|len| len as i64)) as ssize_t
}

/// The octets that a caller gives.
unsafe fn given<'a>(data: *const c_void, len: size_t) -> &'a [u8] {
    if data.is_null() || len == 0 {
        return &[];
    }
    // SAFETY: the caller says that there are `len` octets.
    unsafe { slice::from_raw_parts(data.cast(), len) }
}

/// The room that a caller gives.
unsafe fn room<'a>(data: *mut c_void, len: size_t) -> &'a mut [u8] {
    if data.is_null() || len == 0 {
        return &mut [];
    }
    // SAFETY: the caller says that there is room for `len` octets, and nobody else uses it meanwhile.
    unsafe { slice::from_raw_parts_mut(data.cast(), len) }
}

unsafe fn pieces<'a>(pieces: *const iovec, count: usize) -> &'a [iovec] {
    if pieces.is_null() || count == 0 {
        return &[];
    }
    // SAFETY: the caller says that there are so many.
    unsafe { slice::from_raw_parts(pieces, count) }
}

/// Octets at most that a call writes or reads.
const MOST_OCTETS: usize = 1 << 26;

/// What pieces hold, one after the other. Scripts pass addresses where nothing is, to see that refused: the kernel copies.
fn gather(parts: &[iovec]) -> Result<Bytes, Errno> {
    let len = parts.iter().map(|part| part.iov_len).fold(0, usize::saturating_add);
    let mut data = vec![0; len.min(MOST_OCTETS)];
    let own = iovec { iov_base: data.as_mut_ptr().cast(), iov_len: data.len() };
    // SAFETY: `own` is memory of ours; the kernel checks the others.
    let copied = unsafe {
        let count = parts.len() as c_ulong;
        libc::process_vm_readv(libc::getpid(), &raw const own, 1, parts.as_ptr(), count, 0)
    };
    if data.is_empty() || usize::try_from(copied) == Ok(data.len()) {
        Ok(data.into())
    } else {
        Err(Errno(libc::EFAULT))
    }
}

/// Fills pieces, one after the other, as [`gather`] reads them.
fn scatter(data: &[u8], parts: &[iovec]) -> Result<(), Errno> {
    let own = iovec { iov_base: data.as_ptr().cast_mut().cast(), iov_len: data.len() };
    // SAFETY: `own` is read; the kernel checks the others.
    let copied = unsafe {
        let count = parts.len() as c_ulong;
        libc::process_vm_writev(libc::getpid(), &raw const own, 1, parts.as_ptr(), count, 0)
    };
    if data.is_empty() || usize::try_from(copied) == Ok(data.len()) {
        Ok(())
    } else {
        Err(Errno(libc::EFAULT))
    }
}

fn piece(data: *const c_void, len: size_t) -> [iovec; 1] {
    [iovec { iov_base: data.cast_mut(), iov_len: len }]
}

/// An address; `Ok(None)`: of no family, which disconnects.
unsafe fn address(address: *const sockaddr, len: socklen_t) -> Result<Option<SocketAddr>, Errno> {
    // SAFETY: the caller says that there are `len` octets.
    let bytes = unsafe { given(address.cast(), len as usize) };
    let family = bytes.first_chunk::<2>().map(|family| i32::from(u16::from_ne_bytes(*family)));
    let port = |bytes: &[u8]| bytes.get(2..4).map(|port| u16::from_be_bytes([port[0], port[1]]));
    let invalid = Errno(libc::EINVAL);
    match family.ok_or(invalid)? {
        libc::AF_UNSPEC => Ok(None),
        libc::AF_INET => {
            let ip = bytes.get(4..8).and_then(|ip| ip.first_chunk::<4>()).ok_or(invalid)?;
            Ok(Some(SocketAddr::new(Ipv4Addr::from(*ip).into(), port(bytes).ok_or(invalid)?)))
        }
        libc::AF_INET6 => {
            let ip = bytes.get(8..24).and_then(|ip| ip.first_chunk::<16>()).ok_or(invalid)?;
            Ok(Some(SocketAddr::new(Ipv6Addr::from(*ip).into(), port(bytes).ok_or(invalid)?)))
        }
        _ => Err(Errno(libc::EAFNOSUPPORT)),
    }
}

/// Writes an address as `struct sockaddr_in` or `sockaddr_in6`, as far as there is room.
unsafe fn give_address(from: SocketAddr, to: *mut sockaddr, len: *mut socklen_t) {
    if to.is_null() || len.is_null() {
        return;
    }
    let port = from.port().to_be_bytes();
    let mut bytes = Vec::new();
    match from.ip() {
        IpAddr::V4(ip) => {
            bytes.extend((libc::AF_INET as u16).to_ne_bytes());
            bytes.extend(port);
            bytes.extend(ip.octets());
            bytes.resize(16, 0);
        }
        IpAddr::V6(ip) => {
            bytes.extend((libc::AF_INET6 as u16).to_ne_bytes());
            bytes.extend(port);
            bytes.extend([0; 4]);
            bytes.extend(ip.octets());
            bytes.resize(28, 0);
        }
    }
    // SAFETY: the caller says that there is room for `*len` octets.
    unsafe {
        let space = room(to.cast(), *len as usize);
        let fits = space.len().min(bytes.len());
        space[..fits].copy_from_slice(&bytes[..fits]);
        *len = bytes.len() as socklen_t;
    }
}

extern "C" fn free(_: User) {}

extern "C" fn socket(_: User, domain: c_int, kind: c_int, protocol: c_int) -> c_int {
    answer_int(tool().call(|stack| stack.socket(domain, kind, protocol)))
}

unsafe extern "C" fn bind(_: User, fd: c_int, local: *const sockaddr, len: socklen_t) -> c_int {
    // SAFETY: as for every address.
    let local = unsafe { address(local, len) };
    answer_int(tool().call(|stack| {
        let local = local?.ok_or(Errno(libc::EAFNOSUPPORT))?;
        stack.bind(fd, local).map(|()| 0)
    }))
}

extern "C" fn listen(_: User, fd: c_int, _backlog: c_int) -> c_int {
    answer_int(tool().call(|stack| stack.listen(fd)).map(|()| 0))
}

unsafe extern "C" fn accept(_: User, fd: c_int, to: *mut sockaddr, len: *mut socklen_t) -> c_int {
    let accepted = tool().wait(|stack| stack.accept(fd));
    if let Ok((_, remote)) = accepted {
        // SAFETY: as for every address.
        unsafe { give_address(remote, to, len) };
    }
    answer_int(accepted.map(|(fd, _)| fd))
}

unsafe extern "C" fn connect(_: User, fd: c_int, remote: *const sockaddr, len: socklen_t) -> c_int {
    // SAFETY: as for every address.
    let remote = unsafe { address(remote, len) };
    let mut waits = false;
    answer_int(tool().wait(|stack| {
        let step = match remote {
            Ok(remote) => stack.connect(fd, remote, waits),
            Err(error) => return Poll::Ready(Err(error)),
        };
        waits = true;
        step.map_ok(|()| 0)
    }))
}

fn receive(fd: Fd, len: usize, flags: c_int) -> Result<Message, Errno> {
    tool().wait(|stack| stack.read(fd, len, flags))
}

fn receive_into(fd: Fd, parts: &[iovec], flags: c_int) -> ssize_t {
    let received = receive(fd, len_of(parts), flags);
    answer_len(received.and_then(|message| scatter(&message.data, parts).map(|()| message.len)))
}

fn len_of(parts: &[iovec]) -> usize {
    parts.iter().map(|part| part.iov_len).fold(0, usize::saturating_add).min(MOST_OCTETS)
}

extern "C" fn read(_: User, fd: c_int, data: *mut c_void, len: size_t) -> ssize_t {
    receive_into(fd, &piece(data, len), 0)
}

unsafe extern "C" fn readv(_: User, fd: c_int, parts: *const iovec, count: c_int) -> ssize_t {
    // SAFETY: as for every array.
    receive_into(fd, unsafe { pieces(parts, usize::try_from(count).unwrap_or(0)) }, 0)
}

extern "C" fn recv(_: User, fd: c_int, data: *mut c_void, len: size_t, flags: c_int) -> ssize_t {
    receive_into(fd, &piece(data, len), flags)
}

extern "C" fn recvfrom(
    user: User,
    fd: c_int,
    data: *mut c_void,
    len: size_t,
    flags: c_int,
    _from: *mut sockaddr,
    _from_len: *mut socklen_t,
) -> ssize_t {
    // A stream has no address a message.
    recv(user, fd, data, len, flags)
}

unsafe extern "C" fn recvmsg(_: User, fd: c_int, message: *mut msghdr, flags: c_int) -> ssize_t {
    // SAFETY: the tool passes a message header and the memory that it names.
    unsafe {
        let header = &mut *message;
        let parts = pieces(header.msg_iov, header.msg_iovlen);
        answer_len(receive(fd, len_of(parts), flags).and_then(|brought| {
            scatter(&brought.data, parts)?;
            header.msg_flags = 0;
            give_inq(header, brought.inq);
            Ok(brought.len)
        }))
    }
}

/// The one control message there is.
unsafe fn give_inq(header: &mut msghdr, inq: Option<i32>) {
    let size = size_of::<c_int>() as u32;
    // SAFETY: `CMSG_FIRSTHDR` is null where the caller's room holds no header, and the sizes are compared before anything is written.
    unsafe {
        let room = header.msg_controllen;
        let first = libc::CMSG_FIRSTHDR(header);
        let Some(inq) = inq.filter(|_| !first.is_null() && room >= libc::CMSG_SPACE(size) as usize) else {
            header.msg_controllen = 0;
            return;
        };
        (*first).cmsg_level = libc::IPPROTO_TCP;
        (*first).cmsg_type = TCP_CM_INQ;
        (*first).cmsg_len = libc::CMSG_LEN(size) as _;
        libc::CMSG_DATA(first).cast::<c_int>().write_unaligned(inq);
        header.msg_controllen = libc::CMSG_SPACE(size) as _;
    }
}

fn transmit(fd: Fd, parts: &[iovec], flags: c_int) -> ssize_t {
    let (data, mut taken) = (gather(parts), 0);
    answer_len(tool().wait(|stack| match &data {
        Ok(data) => stack.write(fd, data, &mut taken, flags),
        Err(error) => Poll::Ready(Err(*error)),
    }))
}

extern "C" fn write(_: User, fd: c_int, data: *const c_void, len: size_t) -> ssize_t {
    transmit(fd, &piece(data, len), 0)
}

unsafe extern "C" fn writev(_: User, fd: c_int, parts: *const iovec, count: c_int) -> ssize_t {
    // SAFETY: as for every array.
    transmit(fd, unsafe { pieces(parts, usize::try_from(count).unwrap_or(0)) }, 0)
}

extern "C" fn send(_: User, fd: c_int, data: *const c_void, len: size_t, flags: c_int) -> ssize_t {
    transmit(fd, &piece(data, len), flags)
}

extern "C" fn sendto(
    user: User,
    fd: c_int,
    data: *const c_void,
    len: size_t,
    flags: c_int,
    _to: *const sockaddr,
    _to_len: socklen_t,
) -> ssize_t {
    // A stream heeds no address.
    send(user, fd, data, len, flags)
}

unsafe extern "C" fn sendmsg(_: User, fd: c_int, message: *const msghdr, flags: c_int) -> ssize_t {
    // SAFETY: the tool passes a message header and the memory that it names.
    let parts = unsafe { pieces((*message).msg_iov, (*message).msg_iovlen) };
    transmit(fd, parts, flags)
}

extern "C" fn fcntl(_: User, fd: c_int, command: c_int, argument: c_int) -> c_int {
    answer_int(tool().call(|stack| stack.fcntl(fd, command, argument)))
}

unsafe extern "C" fn ioctl(_: User, fd: c_int, request: c_ulong, value: *mut c_int) -> c_int {
    const SIOCINQ: c_ulong = libc::FIONREAD as c_ulong;
    const SIOCOUTQ: c_ulong = libc::TIOCOUTQ as c_ulong;
    const SIOCOUTQNSD: c_ulong = 0x894b;
    let octets = tool().call(|stack| match request {
        SIOCINQ => stack.inq(fd),
        SIOCOUTQ => stack.outq(fd, false),
        SIOCOUTQNSD => stack.outq(fd, true),
        _ => Err(Errno(libc::ENOTTY)),
    });
    answer_int(octets.map(|octets| {
        // SAFETY: each of these requests comes with an integer to fill.
        unsafe { value.write(octets) };
        0
    }))
}

extern "C" fn table_close(_: User, fd: c_int) -> c_int {
    answer_int(tool().call(|stack| stack.close(fd)).map(|()| 0))
}

/// The C library's, as [`getsockopt`]: at the end of a script the tool closes descriptors past its table.
#[unsafe(no_mangle)]
extern "C" fn close(fd: c_int) -> c_int {
    if is_ours(fd) {
        return table_close(ptr::null_mut(), fd);
    }
    // SAFETY: the caller's argument is passed on as it is.
    unsafe { libc::syscall(libc::SYS_close, c_long::from(fd)) as c_int }
}

fn is_ours(fd: Fd) -> bool {
    fd >= FIRST_FD && TOOL.get().is_some_and(|tool| tool.knows(fd))
}

extern "C" fn shutdown(_: User, fd: c_int, how: c_int) -> c_int {
    answer_int(tool().call(|stack| stack.shutdown(fd, how)).map(|()| 0))
}

unsafe extern "C" fn table_getsockopt(
    _: User,
    fd: c_int,
    level: c_int,
    name: c_int,
    value: *mut c_void,
    len: *mut socklen_t,
) -> c_int {
    // SAFETY: the caller says how much room there is.
    let space = unsafe { room(value, *len as usize) };
    let found = tool().call(|stack| stack.option(fd, level, name, space.len()));
    answer_int(found.map(|bytes| {
        let fits = bytes.len().min(space.len());
        space[..fits].copy_from_slice(&bytes[..fits]);
        // SAFETY: as above.
        unsafe { *len = fits as socklen_t };
        0
    }))
}

/// The C library's, for everybody in this process: of the stack's descriptors what the stack says, else what the kernel says.
#[unsafe(no_mangle)]
unsafe extern "C" fn getsockopt(
    fd: c_int,
    level: c_int,
    name: c_int,
    value: *mut c_void,
    len: *mut socklen_t,
) -> c_int {
    // SAFETY: the caller's arguments are passed on as they are.
    unsafe {
        if is_ours(fd) {
            return table_getsockopt(ptr::null_mut(), fd, level, name, value, len);
        }
        let [fd, level, name] = [fd, level, name].map(c_long::from);
        libc::syscall(libc::SYS_getsockopt, fd, level, name, value, len) as c_int
    }
}

unsafe extern "C" fn setsockopt(
    _: User,
    fd: c_int,
    level: c_int,
    name: c_int,
    value: *const c_void,
    len: socklen_t,
) -> c_int {
    // SAFETY: as for all data given.
    let value = unsafe { given(value, len as usize) };
    answer_int(tool().call(|stack| stack.set_option(fd, level, name, value)).map(|()| 0))
}

unsafe extern "C" fn poll(_: User, fds: *mut pollfd, count: nfds_t, timeout_ms: c_int) -> c_int {
    // SAFETY: the caller says how many there are.
    let fds =
        unsafe { if fds.is_null() { &mut [][..] } else { slice::from_raw_parts_mut(fds, count as usize) } };
    let asked = |fd: &pollfd| Polled { fd: fd.fd, events: fd.events, found: 0 };
    let mut polled = fds.iter().map(asked).collect::<Vec<_>>();
    let mut alarm = None;
    let found = tool().wait(|stack| {
        let found = stack.poll(&mut polled);
        if found > 0 || timeout_ms == 0 {
            return Poll::Ready(Ok(found as i32));
        }
        if let Ok(timeout) = u64::try_from(timeout_ms) {
            let at = *alarm.get_or_insert_with(|| stack.set_alarm(Duration::from_millis(timeout)));
            if stack.now() >= at {
                return Poll::Ready(Ok(0));
            }
        }
        Poll::Pending
    });
    for (fd, polled) in fds.iter_mut().zip(&polled) {
        fd.revents = polled.found;
    }
    answer_int(found)
}

unsafe extern "C" fn netdev_send(_: User, data: *const c_void, len: size_t) -> c_int {
    // SAFETY: as for all data given.
    let packet = unsafe { given(data, len) };
    tool().call(|stack| stack.arrive(packet));
    0
}

unsafe extern "C" fn netdev_receive(
    _: User,
    data: *mut c_void,
    len: *mut size_t,
    time_us: *mut c_longlong,
) -> c_int {
    let departure = tool().receive();
    let at = departure.as_ref().map_or_else(|| tool().time(), |&(at, _)| at);
    let packet = departure.as_ref().map_or(&NO_PACKET[..], |(_, packet)| packet);
    // SAFETY: the tool says how much room there is; the rest are integers of its.
    unsafe {
        let space = room(data, *len);
        let fits = space.len().min(packet.len());
        space[..fits].copy_from_slice(&packet[..fits]);
        *len = fits;
        *time_us = (at.as_nanos() / 1000) as c_longlong;
    }
    0
}

extern "C" fn usleep(_: User, us: libc::useconds_t) -> c_int {
    tool().sleep(Duration::from_micros(us.into()));
    0
}

unsafe extern "C" fn gettimeofday(_: User, time: *mut libc::timeval, _: *mut libc::timezone) -> c_int {
    let us = tool().time().as_nanos() / 1000;
    // SAFETY: the tool passes memory for the time.
    unsafe {
        time.write(libc::timeval { tv_sec: (us / 1_000_000) as _, tv_usec: (us % 1_000_000) as _ });
    }
    0
}

/// What is not built.
fn unknown() -> Result<i32, Errno> {
    Err(Errno(libc::ENOSYS))
}

extern "C" fn epoll_create(_: User, _: c_int) -> c_int {
    answer_int(unknown())
}

extern "C" fn epoll_ctl(_: User, _: c_int, _: c_int, _: c_int, _: *mut c_void) -> c_int {
    answer_int(unknown())
}

extern "C" fn epoll_wait(_: User, _: c_int, _: *mut c_void, _: c_int, _: c_int) -> c_int {
    answer_int(unknown())
}

extern "C" fn pipe(_: User, _: *mut c_int) -> c_int {
    answer_int(unknown())
}

extern "C" fn splice(
    _: User,
    _: c_int,
    _: *mut c_longlong,
    _: c_int,
    _: *mut c_longlong,
    _: size_t,
    _: u32,
) -> ssize_t {
    answer(unknown()) as ssize_t
}
