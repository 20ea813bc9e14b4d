//! Addresses as connect(2) has them.

use std::io;
use std::mem::{size_of, zeroed};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsRawFd, BorrowedFd};

use libc::c_int;

use super::super::check;

/// `struct sockaddr_in` or `struct sockaddr_in6`.
pub(super) fn parse(bytes: &[u8]) -> Option<SocketAddr> {
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

pub(super) fn raw(address: SocketAddr) -> (libc::sockaddr_storage, u32) {
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

/// Where a socket is.
pub(super) fn local_address(socket: BorrowedFd<'_>) -> io::Result<SocketAddr> {
    // SAFETY: as `asked` wants it.
    asked(|to, len| unsafe { libc::getsockname(socket.as_raw_fd(), to, len) })
}

/// Where it is connected to.
pub(super) fn peer_address(socket: BorrowedFd<'_>) -> io::Result<SocketAddr> {
    // SAFETY: as `asked` wants it.
    asked(|to, len| unsafe { libc::getpeername(socket.as_raw_fd(), to, len) })
}

/// What a call says that writes an address, at most as long as it is told there is room.
fn asked(call: impl FnOnce(*mut libc::sockaddr, *mut u32) -> c_int) -> io::Result<SocketAddr> {
    let mut bytes = [0; size_of::<libc::sockaddr_storage>()];
    let mut len = bytes.len() as u32;
    check(call(bytes.as_mut_ptr().cast(), &raw mut len))?;
    let address = parse(&bytes).ok_or(io::ErrorKind::InvalidData)?;
    Ok(SocketAddr::new(address.ip().to_canonical(), address.port()))
}
