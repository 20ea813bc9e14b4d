//! Acknowledgments that connections have sent, once more: what a receiver says before its link goes and after (`[iosl]` VI.A).

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd};

use handfast_bpf::LastSegment;
use handfast_wire::complete_checksum;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrStorage, sendto, setsockopt, socket,
    sockopt::BindToDevice,
};

/// Ethernet's header, which the checksum is found by, and does not leave.
const ETHERNET: usize = 14;
const ACK: u8 = 0x10;

/// Where segments are sent that are whole, IP's header included (raw(7)).
pub(super) struct Repeater {
    four: OwnedFd,
    /// [`None`]: this machine has no IPv6.
    six: Option<OwnedFd>,
}

impl Repeater {
    /// All leaves by this interface, as the segments did: a route may lead elsewhere meanwhile.
    pub(super) fn open(interface: &str) -> io::Result<Self> {
        let open = |family| -> io::Result<OwnedFd> {
            let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
            let opened = socket(family, SockType::Raw, flags, SockProtocol::Raw)?;
            setsockopt(&opened, BindToDevice, &interface.into())?;
            Ok(opened)
        };
        Ok(Self { four: open(AddressFamily::Inet)?, six: open(AddressFamily::Inet6).ok() })
    }

    /// Sends the acknowledgment of a connection's last segment.
    pub(super) fn send(&self, last: &LastSegment, window: Window) -> io::Result<()> {
        let packet = acknowledgment(last, window).ok_or(io::ErrorKind::InvalidData)?;
        let by = match last.remote {
            IpAddr::V4(_) => Some(&self.four),
            IpAddr::V6(_) => self.six.as_ref(),
        };
        let by = by.ok_or(io::ErrorKind::Unsupported)?;
        let to = SockaddrStorage::from(SocketAddr::new(last.remote, 0));
        sendto(by.as_raw_fd(), &packet, &to, MsgFlags::empty())?;
        Ok(())
    }
}

/// The window that it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Window {
    Zero,
    AsItWas,
}

/// A segment's acknowledgment alone, from IP's header on. [`None`]: the headers make no sense.
fn acknowledgment(last: &LastSegment, window: Window) -> Option<Vec<u8>> {
    let is_four = last.remote.is_ipv4();
    let (ether_type, ip): ([u8; 2], usize) = if is_four { ([0x08, 0x00], 20) } else { ([0x86, 0xdd], 40) };
    let mut frame = vec![0; ETHERNET];
    frame[12..].copy_from_slice(&ether_type);
    frame.extend_from_slice(&last.headers);
    let packet = frame.get_mut(ETHERNET..)?;
    let len = packet.len();
    let tcp = packet.get_mut(ip..).filter(|tcp| tcp.len() >= 20)?;
    let seq = u32::from_be_bytes(*tcp[4..].first_chunk()?).wrapping_add(u32::from(last.payload));
    tcp[4..8].copy_from_slice(&seq.to_be_bytes());
    tcp[13] = ACK;
    if window == Window::Zero {
        tcp[14..16].fill(0);
    }
    if is_four {
        packet[2..4].copy_from_slice(&(len as u16).to_be_bytes());
        // Of the header's own checksum the kernel takes care (raw(7)).
    } else {
        packet[4..6].copy_from_slice(&((len - ip) as u16).to_be_bytes());
    }
    complete_checksum(&mut frame).then(|| frame.split_off(ETHERNET))
}

#[cfg(test)]
mod tests {
    use super::*;

    const V4: &str = "4518003c1234400040060000c0000207c6336409\
                      01bb1388 00000064 000000c8 a019 0200 beef 0000 0101 080a 00000001 00000002";

    fn last() -> LastSegment {
        let hex: String = V4.split_whitespace().collect();
        let headers = (0..hex.len()).step_by(2).map(|n| u8::from_str_radix(&hex[n..n + 2], 16).unwrap());
        LastSegment { remote: [198, 51, 100, 9].into(), headers: headers.collect(), payload: 8 }
    }

    #[test]
    fn it_acknowledges_and_carries_nothing() {
        for (window, is) in [(Window::Zero, 0), (Window::AsItWas, 0x200)] {
            let packet = acknowledgment(&last(), window).unwrap();
            assert_eq!(u16::from_be_bytes([packet[2], packet[3]]), 52);
            let tcp = &packet[20..];
            assert_eq!((&tcp[4..8], &tcp[8..12], tcp[13]), (&[0, 0, 0, 108][..], &[0, 0, 0, 200][..], ACK));
            assert_eq!(u16::from_be_bytes([tcp[14], tcp[15]]), is);
            assert_eq!(tcp[20..], last().headers[40..], "the options stay");
        }
    }

    #[test]
    fn what_makes_no_sense_is_not_sent() {
        for len in [0, 19, 20, 39] {
            let mut cut = last();
            cut.headers.truncate(len);
            assert_eq!(acknowledgment(&cut, Window::Zero), None, "{len}");
        }
        let mut six = last();
        six.remote = std::net::Ipv6Addr::LOCALHOST.into();
        assert_eq!(acknowledgment(&six, Window::Zero), None);
    }
}
