//! The C interface: the table that packetdrill has filled (`packetdrill.h` of its source has the facts), and two functions of the C
//! library that it calls past that table. All `unsafe` code of this crate is here.
#![allow(unsafe_code)]

mod calls;
mod commands;
mod files;
mod memory;

use std::env;
use std::ffi::{CStr, OsString, c_char, c_int, c_long, c_longlong, c_ulong, c_void};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::ptr;
use std::sync::OnceLock;

use libc::{iovec, msghdr, nfds_t, pollfd, size_t, sockaddr, socklen_t, ssize_t};

use crate::stack::{FIRST_FD, Fd, Stack};
use crate::tool::Tool;
use crate::{Route, Settings};

/// The tool's link.
const LINK: &[u8] = b"tun0";

/// The stack of this process: the tool runs one script a process.
static TOOL: OnceLock<Tool> = OnceLock::new();

/// Set in a process that has this library before all others.
const PRELOADED: &str = "HANDFAST_PACKETDRILL_PRELOADED";

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
    pipe: unsafe extern "C" fn(User, *mut c_int) -> c_int,
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

/// `--so_flags`: `mtu=` octets that the link carries; `mss=` octets of each of the segments that the tool hands joined (its `--mss`, which
/// it does not pass on).
fn heed(flags: &str) {
    for flag in flags.split(',').filter(|flag| !flag.is_empty()) {
        match flag_of(flag) {
            Some(Flag::Mtu(mtu)) => tool().call(|stack| stack.set_mtu(mtu)),
            Some(Flag::Joined(mss)) => tool().call(|stack| stack.set_joined(mss.into())),
            None => eprintln!(
                "handfast: --so_flags={flag}: expected mtu=OCTETS, {LEAST_MTU} at least, or mss=OCTETS, as mtu=1500"
            ),
        }
    }
}

/// RFC 791 §3.2: what every link carries (`ETH_MIN_MTU`).
const LEAST_MTU: u16 = 68;

/// One of `--so_flags`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flag {
    Mtu(u16),
    Joined(u16),
}

fn flag_of(flag: &str) -> Option<Flag> {
    let (key, value) = flag.split_once('=')?;
    let value = value.parse().ok()?;
    match key {
        "mtu" if value >= LEAST_MTU => Some(Flag::Mtu(value)),
        "mss" => Some(Flag::Joined(value)),
        _ => None,
    }
}

const TABLE: Table = Table {
    userdata: ptr::null_mut(),
    free: calls::free,
    socket: calls::socket,
    bind: calls::bind,
    listen: calls::listen,
    accept: calls::accept,
    connect: calls::connect,
    read: calls::read,
    readv: calls::readv,
    recv: calls::recv,
    recvfrom: calls::recvfrom,
    recvmsg: calls::recvmsg,
    write: calls::write,
    writev: calls::writev,
    send: calls::send,
    sendto: calls::sendto,
    sendmsg: calls::sendmsg,
    fcntl: calls::fcntl,
    ioctl: calls::ioctl,
    close: calls::table_close,
    shutdown: calls::shutdown,
    getsockopt: calls::table_getsockopt,
    setsockopt: calls::setsockopt,
    poll: calls::poll,
    netdev_send: calls::netdev_send,
    netdev_receive: calls::netdev_receive,
    usleep: calls::usleep,
    gettimeofday: calls::gettimeofday,
    epoll_create: calls::epoll_create,
    epoll_ctl: calls::epoll_ctl,
    epoll_wait: calls::epoll_wait,
    pipe: files::pipe,
    splice: files::splice,
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
    let settings = || Settings { link_mtu: link_mtu(), ..Settings::of_this_namespace() };
    TOOL.get_or_init(|| Tool::new(Stack::new(settings).with_routes(Route::of_this_namespace)))
}

/// The MTU of the tool's link (netdevice(7)); [`None`]: there is no such link, or none that the kernel tells of.
fn link_mtu() -> Option<u16> {
    // SAFETY: an `ifreq` of zeros is one with an empty name; `SIOCGIFMTU` reads the name and writes the MTU. The descriptor is closed.
    unsafe {
        let mut request: libc::ifreq = std::mem::zeroed();
        for (to, from) in request.ifr_name.iter_mut().zip(LINK) {
            *to = *from as c_char;
        }
        let socket = libc::socket(libc::AF_INET, libc::SOCK_DGRAM, 0);
        let found = socket >= 0 && libc::ioctl(socket, libc::SIOCGIFMTU, &raw mut request) == 0;
        if socket >= 0 {
            libc::syscall(libc::SYS_close, c_long::from(socket));
        }
        u16::try_from(request.ifr_ifru.ifru_mtu).ok().filter(|_| found)
    }
}

/// The C library's, as [`getsockopt`]: at the end of a script the tool closes descriptors past its table.
#[unsafe(no_mangle)]
extern "C" fn close(fd: c_int) -> c_int {
    if is_ours(fd) {
        return calls::table_close(ptr::null_mut(), fd);
    }
    // SAFETY: the caller's argument is passed on as it is.
    unsafe { libc::syscall(libc::SYS_close, c_long::from(fd)) as c_int }
}

fn is_ours(fd: Fd) -> bool {
    fd >= FIRST_FD && TOOL.get().is_some_and(|tool| tool.knows(fd))
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
            return calls::table_getsockopt(ptr::null_mut(), fd, level, name, value, len);
        }
        let [fd, level, name] = [fd, level, name].map(c_long::from);
        libc::syscall(libc::SYS_getsockopt, fd, level, name, value, len) as c_int
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_that_carries_no_segment_is_refused() {
        assert_eq!(flag_of("mtu=1500"), Some(Flag::Mtu(1500)));
        assert_eq!(flag_of("mtu=68"), Some(Flag::Mtu(68)));
        assert_eq!(flag_of("mss=1000"), Some(Flag::Joined(1000)));
        for flag in ["mtu=67", "mtu=40", "mtu=0", "mtu=65536", "mtu", "mss=", "mtus=1500"] {
            assert_eq!(flag_of(flag), None, "{flag}");
        }
    }
}
