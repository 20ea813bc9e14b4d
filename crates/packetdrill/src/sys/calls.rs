//! The functions of the tool's table.

use std::ffi::{c_int, c_longlong, c_ulong, c_void};
use std::slice;
use std::task::Poll;

use bytes::Bytes;
use handfast_core::Duration;
use libc::{iovec, msghdr, nfds_t, pollfd, size_t, sockaddr, socklen_t, ssize_t};

use super::memory::{
    MOST_OCTETS, address, answer_int, answer_len, gather, give_address, give_control, given, piece, pieces,
    room, scatter,
};
use super::{User, tool};
use crate::stack::{Errno, Fd, Message, Polled};

/// Octets that no parser takes: version 0 of IP. The script fails instead of waiting for ever.
const NO_PACKET: [u8; 40] = [0; 40];

pub(super) extern "C" fn free(_: User) {}

pub(super) extern "C" fn socket(_: User, domain: c_int, kind: c_int, protocol: c_int) -> c_int {
    answer_int(tool().call(|stack| stack.socket(domain, kind, protocol)))
}

pub(super) unsafe extern "C" fn bind(_: User, fd: c_int, local: *const sockaddr, len: socklen_t) -> c_int {
    // SAFETY: as for every address.
    let local = unsafe { address(local, len) };
    answer_int(tool().call(|stack| {
        let local = local?.ok_or(Errno(libc::EAFNOSUPPORT))?;
        stack.bind(fd, local).map(|()| 0)
    }))
}

pub(super) extern "C" fn listen(_: User, fd: c_int, _backlog: c_int) -> c_int {
    answer_int(tool().call(|stack| stack.listen(fd)).map(|()| 0))
}

pub(super) unsafe extern "C" fn accept(_: User, fd: c_int, to: *mut sockaddr, len: *mut socklen_t) -> c_int {
    let accepted = tool().wait(|stack| stack.accept(fd));
    if let Ok((_, remote)) = accepted {
        // SAFETY: as for every address.
        unsafe { give_address(remote, to, len) };
    }
    answer_int(accepted.map(|(fd, _)| fd))
}

pub(super) unsafe extern "C" fn connect(
    _: User,
    fd: c_int,
    remote: *const sockaddr,
    len: socklen_t,
) -> c_int {
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

pub(super) fn receive(fd: Fd, len: usize, flags: c_int) -> Result<Message, Errno> {
    tool().wait(|stack| stack.read(fd, len, flags))
}

pub(super) fn receive_into(fd: Fd, parts: &[iovec], flags: c_int) -> ssize_t {
    let received = receive(fd, len_of(parts), flags);
    answer_len(received.and_then(|message| scatter(&message.data, parts).map(|()| message.len)))
}

pub(super) fn len_of(parts: &[iovec]) -> usize {
    parts.iter().map(|part| part.iov_len).fold(0, usize::saturating_add).min(MOST_OCTETS)
}

pub(super) extern "C" fn read(_: User, fd: c_int, data: *mut c_void, len: size_t) -> ssize_t {
    receive_into(fd, &piece(data, len), 0)
}

pub(super) unsafe extern "C" fn readv(_: User, fd: c_int, parts: *const iovec, count: c_int) -> ssize_t {
    // SAFETY: as for every array.
    receive_into(fd, unsafe { pieces(parts, usize::try_from(count).unwrap_or(0)) }, 0)
}

pub(super) extern "C" fn recv(_: User, fd: c_int, data: *mut c_void, len: size_t, flags: c_int) -> ssize_t {
    receive_into(fd, &piece(data, len), flags)
}

pub(super) extern "C" fn recvfrom(
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

pub(super) unsafe extern "C" fn recvmsg(_: User, fd: c_int, message: *mut msghdr, flags: c_int) -> ssize_t {
    // SAFETY: the tool passes a message header and the memory that it names.
    unsafe {
        let header = &mut *message;
        let parts = pieces(header.msg_iov, header.msg_iovlen);
        answer_len(receive(fd, len_of(parts), flags).and_then(|brought| {
            scatter(&brought.data, parts)?;
            header.msg_flags = brought.flags;
            give_control(header, &brought.control);
            Ok(brought.len)
        }))
    }
}

pub(super) fn transmit(fd: Fd, parts: &[iovec], flags: c_int) -> ssize_t {
    let data = gather(parts);
    answer_len(data.and_then(|data| transmit_data(fd, &data, flags)))
}

pub(super) fn transmit_data(fd: Fd, data: &Bytes, flags: c_int) -> Result<usize, Errno> {
    let mut waited = None;
    tool().wait(|stack| stack.write(fd, data, &mut waited, flags))
}

pub(super) extern "C" fn write(_: User, fd: c_int, data: *const c_void, len: size_t) -> ssize_t {
    transmit(fd, &piece(data, len), 0)
}

pub(super) unsafe extern "C" fn writev(_: User, fd: c_int, parts: *const iovec, count: c_int) -> ssize_t {
    // SAFETY: as for every array.
    transmit(fd, unsafe { pieces(parts, usize::try_from(count).unwrap_or(0)) }, 0)
}

pub(super) extern "C" fn send(_: User, fd: c_int, data: *const c_void, len: size_t, flags: c_int) -> ssize_t {
    transmit(fd, &piece(data, len), flags)
}

pub(super) extern "C" fn sendto(
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

pub(super) unsafe extern "C" fn sendmsg(_: User, fd: c_int, message: *const msghdr, flags: c_int) -> ssize_t {
    // SAFETY: the tool passes a message header and the memory that it names.
    let parts = unsafe { pieces((*message).msg_iov, (*message).msg_iovlen) };
    transmit(fd, parts, flags)
}

pub(super) extern "C" fn fcntl(_: User, fd: c_int, command: c_int, argument: c_int) -> c_int {
    answer_int(tool().call(|stack| stack.fcntl(fd, command, argument)))
}

pub(super) unsafe extern "C" fn ioctl(_: User, fd: c_int, request: c_ulong, value: *mut c_int) -> c_int {
    const SIOCINQ: c_ulong = libc::FIONREAD as c_ulong;
    const SIOCOUTQ: c_ulong = libc::TIOCOUTQ as c_ulong;
    const SIOCOUTQNSD: c_ulong = 0x894b;
    const SIOCATMARK: c_ulong = 0x8905;
    let octets = tool().call(|stack| match request {
        SIOCINQ => stack.inq(fd),
        SIOCOUTQ => stack.outq(fd, false),
        SIOCOUTQNSD => stack.outq(fd, true),
        SIOCATMARK => stack.at_mark(fd),
        _ => Err(Errno(libc::ENOTTY)),
    });
    answer_int(octets.map(|octets| {
        // SAFETY: each of these requests comes with an integer to fill.
        unsafe { value.write(octets) };
        0
    }))
}

pub(super) extern "C" fn table_close(_: User, fd: c_int) -> c_int {
    answer_int(tool().call(|stack| stack.close(fd)).map(|()| 0))
}

pub(super) extern "C" fn shutdown(_: User, fd: c_int, how: c_int) -> c_int {
    answer_int(tool().call(|stack| stack.shutdown(fd, how)).map(|()| 0))
}

pub(super) unsafe extern "C" fn table_getsockopt(
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

pub(super) unsafe extern "C" fn setsockopt(
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

pub(super) unsafe extern "C" fn poll(_: User, fds: *mut pollfd, count: nfds_t, timeout_ms: c_int) -> c_int {
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

pub(super) unsafe extern "C" fn netdev_send(_: User, data: *const c_void, len: size_t) -> c_int {
    // SAFETY: as for all data given.
    let packet = unsafe { given(data, len) };
    tool().call(|stack| stack.arrive(packet));
    0
}

pub(super) unsafe extern "C" fn netdev_receive(
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

pub(super) extern "C" fn usleep(_: User, us: libc::useconds_t) -> c_int {
    tool().sleep(Duration::from_micros(us.into()));
    0
}

pub(super) unsafe extern "C" fn gettimeofday(
    _: User,
    time: *mut libc::timeval,
    _: *mut libc::timezone,
) -> c_int {
    let us = tool().time().as_nanos() / 1000;
    // SAFETY: the tool passes memory for the time.
    unsafe {
        time.write(libc::timeval { tv_sec: (us / 1_000_000) as _, tv_usec: (us % 1_000_000) as _ });
    }
    0
}

/// What is not built.
pub(super) fn unknown() -> Result<i32, Errno> {
    Err(Errno(libc::ENOSYS))
}

pub(super) extern "C" fn epoll_create(_: User, _: c_int) -> c_int {
    answer_int(unknown())
}

pub(super) extern "C" fn epoll_ctl(_: User, _: c_int, _: c_int, _: c_int, _: *mut c_void) -> c_int {
    answer_int(unknown())
}

pub(super) extern "C" fn epoll_wait(_: User, _: c_int, _: *mut c_void, _: c_int, _: c_int) -> c_int {
    answer_int(unknown())
}
