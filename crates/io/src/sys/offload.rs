//! What an interface would leave for a network card to do.

use std::io;
use std::mem::zeroed;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use libc::{c_char, c_int};

use super::check;

/// Commands of `linux/ethtool.h` that set one feature: transmit checksums, scatter-gather, TCP and generic segmentation,
/// generic receive offload. Receive checksums stay: a veth has no say in them.
const FEATURES: [u32; 5] = [0x17, 0x19, 0x1f, 0x24, 0x2c];
/// `linux/sockios.h`.
const SIOCETHTOOL: u32 = 0x8946;

#[repr(C)]
struct EthtoolValue {
    command: u32,
    data: u32,
}

/// Turns segmentation, checksum and receive offload off for an interface of the calling thread's namespace: what leaves it
/// are then the frames of a real wire, whole segments with their checksums.
///
/// # Errors
/// Where there is no such interface, or without `CAP_NET_ADMIN`.
pub fn offloads_off(interface: &str) -> io::Result<()> {
    // SAFETY: takes no pointers.
    let fd = check(unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) })?;
    // SAFETY: just opened, and nobody else's.
    let socket = unsafe { OwnedFd::from_raw_fd(fd) };
    FEATURES.iter().try_for_each(|&command| turn_off(&socket, interface, command))
}

fn turn_off(socket: &OwnedFd, interface: &str, command: u32) -> io::Result<()> {
    let mut value = EthtoolValue { command, data: 0 };
    // SAFETY: plain data for which zeros are valid.
    let mut request: libc::ifreq = unsafe { zeroed() };
    if interface.len() >= request.ifr_name.len() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("`{interface}` names no interface")));
    }
    for (to, &from) in request.ifr_name.iter_mut().zip(interface.as_bytes()) {
        *to = from as c_char;
    }
    request.ifr_ifru.ifru_data = (&raw mut value).cast();
    // SAFETY: the name ends with a zero, and `value`, which is what these commands take, lives through the call.
    let result: c_int =
        unsafe { libc::ioctl(socket.as_raw_fd(), libc::Ioctl::from(SIOCETHTOOL), &raw mut request) };
    check(result).map(|_| ()).map_err(|e| io::Error::new(e.kind(), format!("interface `{interface}`: {e}")))
}
