//! What an interface is and does: netdevice(7), and what ethtool(8) sets.

use std::io;
use std::mem::zeroed;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use libc::{c_char, c_int, ifreq};

use super::check;

/// Commands of `linux/ethtool.h` that set one feature: transmit checksums, scatter-gather, TCP and generic segmentation,
/// generic receive offload. Receive checksums stay: a veth has no say in them.
const FEATURES: [u32; 5] = [0x17, 0x19, 0x1f, 0x24, 0x2c];
const GET_CHANNELS: u32 = 0x3c;
/// `linux/sockios.h`.
const SIOCETHTOOL: u32 = 0x8946;

#[repr(C)]
struct EthtoolValue {
    command: u32,
    data: u32,
}

/// `struct ethtool_channels`.
#[repr(C)]
#[derive(Default)]
struct Channels {
    command: u32,
    max: [u32; 4],
    rx: u32,
    _tx: u32,
    _other: u32,
    combined: u32,
}

/// Turns segmentation, checksum and receive offload off for an interface of the calling thread's namespace: what leaves it
/// are then the frames of a real wire, whole segments with their checksums.
///
/// # Errors
/// Where there is no such interface, or without `CAP_NET_ADMIN`.
pub fn offloads_off(interface: &str) -> io::Result<()> {
    FEATURES.iter().try_for_each(|&command| {
        let mut value = EthtoolValue { command, data: 0 };
        let mut request = named(interface)?;
        request.ifr_ifru.ifru_data = (&raw mut value).cast();
        // SAFETY: `value` is what these commands take, and lives through the call.
        unsafe { ask(interface, SIOCETHTOOL, &mut request) }
    })
}

/// Bytes of the longest IP packet that an interface of the calling thread's namespace sends.
pub(super) fn mtu(interface: &str) -> io::Result<usize> {
    let mut request = named(interface)?;
    // SAFETY: the command writes to the request alone, and this part of it.
    let mtu = unsafe {
        ask(interface, libc::SIOCGIFMTU as u32, &mut request)?;
        request.ifr_ifru.ifru_mtu
    };
    Ok(usize::try_from(mtu).unwrap_or(0))
}

/// By how many queues an interface of the calling thread's namespace receives. One whose driver does not say has one.
pub(super) fn receive_queues(interface: &str) -> io::Result<u32> {
    let mut channels = Channels { command: GET_CHANNELS, ..Channels::default() };
    let mut request = named(interface)?;
    request.ifr_ifru.ifru_data = (&raw mut channels).cast();
    // SAFETY: `channels` is what the command takes and writes to, and lives through the call.
    match unsafe { ask(interface, SIOCETHTOOL, &mut request) } {
        Err(error) if error.kind() == io::ErrorKind::Unsupported => Ok(1),
        Err(error) => Err(error),
        Ok(()) => Ok(channels.rx + channels.combined),
    }
}

fn named(interface: &str) -> io::Result<ifreq> {
    // SAFETY: plain data for which zeros are valid.
    let mut request: ifreq = unsafe { zeroed() };
    if interface.len() >= request.ifr_name.len() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("`{interface}` names no interface")));
    }
    for (to, &from) in request.ifr_name.iter_mut().zip(interface.as_bytes()) {
        *to = from as c_char;
    }
    Ok(request)
}

/// # Safety
/// What the command reads and writes beyond the request lives through the call.
unsafe fn ask(interface: &str, command: u32, request: &mut ifreq) -> io::Result<()> {
    // SAFETY: takes no pointers.
    let fd = check(unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) })?;
    // SAFETY: just opened, and nobody else's.
    let socket = unsafe { OwnedFd::from_raw_fd(fd) };
    // SAFETY: the name ends with a zero; for the rest the caller stands.
    let result: c_int =
        unsafe { libc::ioctl(socket.as_raw_fd(), libc::Ioctl::from(command), &raw mut *request) };
    check(result).map(|_| ()).map_err(|e| io::Error::new(e.kind(), format!("interface `{interface}`: {e}")))
}
