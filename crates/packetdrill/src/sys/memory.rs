//! Memory that the tool names, and what C expects of a call.

use std::ffi::{c_int, c_ulong, c_void};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::slice;

use bytes::Bytes;
use libc::{iovec, msghdr, size_t, sockaddr, socklen_t, ssize_t};

use crate::stack::{Control, Errno};

/// What C expects of a call.
pub(super) fn answer<T: Into<i64>>(result: Result<T, Errno>) -> i64 {
    match result {
        Ok(value) => value.into(),
        Err(Errno(errno)) => {
            // SAFETY: `errno` of this thread.
            unsafe { *libc::__errno_location() = errno };
            -1
        }
    }
}

pub(super) fn answer_int(result: Result<i32, Errno>) -> c_int {
    answer(result) as c_int
}

pub(super) fn answer_len(result: Result<usize, Errno>) -> ssize_t {
    answer(result.map(|len| len as i64)) as ssize_t
}

/// The octets that a caller gives.
pub(super) unsafe fn given<'a>(data: *const c_void, len: size_t) -> &'a [u8] {
    if data.is_null() || len == 0 {
        return &[];
    }
    // SAFETY: the caller says that there are `len` octets.
    unsafe { slice::from_raw_parts(data.cast(), len) }
}

/// The room that a caller gives.
pub(super) unsafe fn room<'a>(data: *mut c_void, len: size_t) -> &'a mut [u8] {
    if data.is_null() || len == 0 {
        return &mut [];
    }
    // SAFETY: the caller says that there is room for `len` octets, and nobody else uses it meanwhile.
    unsafe { slice::from_raw_parts_mut(data.cast(), len) }
}

pub(super) unsafe fn pieces<'a>(pieces: *const iovec, count: usize) -> &'a [iovec] {
    if pieces.is_null() || count == 0 {
        return &[];
    }
    // SAFETY: the caller says that there are so many.
    unsafe { slice::from_raw_parts(pieces, count) }
}

/// Octets at most that a call writes or reads.
pub(super) const MOST_OCTETS: usize = 1 << 26;

/// What pieces hold, one after the other. Scripts pass addresses where nothing is, to see that refused: the kernel copies.
pub(super) fn gather(parts: &[iovec]) -> Result<Bytes, Errno> {
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
pub(super) fn scatter(data: &[u8], parts: &[iovec]) -> Result<(), Errno> {
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

pub(super) fn piece(data: *const c_void, len: size_t) -> [iovec; 1] {
    [iovec { iov_base: data.cast_mut(), iov_len: len }]
}

/// An address; `Ok(None)`: of no family, which disconnects.
pub(super) unsafe fn address(address: *const sockaddr, len: socklen_t) -> Result<Option<SocketAddr>, Errno> {
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
pub(super) unsafe fn give_address(from: SocketAddr, to: *mut sockaddr, len: *mut socklen_t) {
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

/// Gives what comes beside a message, as far as there is room; who has less is told (`MSG_CTRUNC`).
pub(super) unsafe fn give_control(header: &mut msghdr, control: &[Control]) {
    let (mut used, room) = (0, header.msg_controllen);
    // SAFETY: the headers are those of the caller's room: `CMSG_FIRSTHDR` is null where it holds none, and each message is compared with
    // what is left before it is written. The room is as aligned as `CMSG_SPACE` keeps it.
    unsafe {
        let mut at = libc::CMSG_FIRSTHDR(header);
        for Control { level, kind, data } in control {
            let len = data.len() as u32;
            if at.is_null() || room - used < libc::CMSG_SPACE(len) as usize {
                header.msg_flags |= libc::MSG_CTRUNC;
                break;
            }
            (*at).cmsg_level = *level;
            (*at).cmsg_type = *kind;
            (*at).cmsg_len = libc::CMSG_LEN(len) as _;
            libc::CMSG_DATA(at).copy_from_nonoverlapping(data.as_ptr(), data.len());
            used += libc::CMSG_SPACE(len) as usize;
            at = at.byte_add(libc::CMSG_SPACE(len) as usize);
        }
    }
    header.msg_controllen = used as _;
}
