//! The forwarding table of a bridge, by rtnetlink(7).

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, connect, recv, send, socket,
};

use crate::Interface;

/// `linux/rtnetlink.h`.
const RTM_NEWNEIGH: u16 = 28;
/// `linux/netlink.h`: a request with an answer, that makes the entry or changes the one that is there.
const FLAGS: u16 = 0x1 | 0x4 | 0x100 | 0x400;
const NLMSG_ERROR: u16 = 2;
/// `linux/neighbour.h`: a static entry of the bridge that the port belongs to.
const NUD_REACHABLE_NOARP: u16 = 0x02 | 0x40;
const NTF_MASTER: u8 = 0x04;
const NDA_LLADDR: u16 = 2;
/// `struct nlmsghdr`, `struct ndmsg`, and an attribute with an Ethernet address, padded to four bytes.
const LEN: usize = 16 + 12 + 4 + 8;

/// A way to the tables of the bridges of one namespace.
#[derive(Debug)]
pub struct ForwardingTables(OwnedFd);

impl ForwardingTables {
    /// Those of the calling thread's namespace; they are reached from everywhere then.
    ///
    /// # Errors
    /// Where the kernel gives no netlink socket.
    pub fn open() -> io::Result<Self> {
        let (family, protocol) = (AddressFamily::Netlink, SockProtocol::NetlinkRoute);
        let fd = socket(family, SockType::Raw, SockFlag::SOCK_CLOEXEC, protocol)?;
        connect(fd.as_raw_fd(), &NetlinkAddr::new(0, 0))?;
        Ok(Self(fd))
    }

    /// From now on the bridge of port `port` sends what is for `mac` there. Done when this returns.
    ///
    /// # Errors
    /// What the kernel says: the port is in no bridge, or without `CAP_NET_ADMIN`.
    pub fn point(&self, mac: [u8; 6], port: Interface) -> io::Result<()> {
        send(self.0.as_raw_fd(), &request(mac, port), MsgFlags::empty())?;
        let mut answer = [0; 256];
        let len = recv(self.0.as_raw_fd(), &mut answer, MsgFlags::empty())?;
        verdict(&answer[..len])
    }
}

fn request(mac: [u8; 6], port: Interface) -> [u8; LEN] {
    let mut message = [0; LEN];
    let mut at = 0;
    let mut put = |bytes: &[u8]| {
        message[at..at + bytes.len()].copy_from_slice(bytes);
        at += bytes.len();
    };
    put(&(LEN as u32).to_ne_bytes());
    put(&RTM_NEWNEIGH.to_ne_bytes());
    put(&FLAGS.to_ne_bytes());
    // Sequence number and port of the sender: a socket with one request at a time needs neither.
    put(&[0; 8]);
    put(&[libc::AF_BRIDGE as u8, 0, 0, 0]);
    put(&port.to_ne_bytes());
    put(&NUD_REACHABLE_NOARP.to_ne_bytes());
    put(&[NTF_MASTER, 0]);
    put(&10_u16.to_ne_bytes());
    put(&NDA_LLADDR.to_ne_bytes());
    put(&mac);
    message
}

/// What an answer says: `struct nlmsghdr`, then `struct nlmsgerr`, which begins with a negated error number.
fn verdict(answer: &[u8]) -> io::Result<()> {
    let strange = || io::Error::new(io::ErrorKind::InvalidData, "not an answer to a netlink request");
    let kind = answer.get(4..6).and_then(|bytes| bytes.try_into().ok()).map(u16::from_ne_bytes);
    let code = answer.get(16..20).and_then(|bytes| bytes.try_into().ok()).map(i32::from_ne_bytes);
    match (kind, code) {
        (Some(NLMSG_ERROR), Some(0)) => Ok(()),
        (Some(NLMSG_ERROR), Some(code)) => Err(io::Error::from_raw_os_error(code.saturating_neg())),
        _ => Err(strange()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_as_they_come() {
        let answer = |kind: u16, code: i32| {
            let mut bytes = vec![0; 36];
            bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
            bytes[16..20].copy_from_slice(&code.to_ne_bytes());
            bytes
        };
        assert!(verdict(&answer(NLMSG_ERROR, 0)).is_ok());
        let refused = verdict(&answer(NLMSG_ERROR, -libc::EPERM)).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied);
        for strange in [&answer(3, 0)[..], &answer(NLMSG_ERROR, 0)[..18], &[]] {
            assert_eq!(verdict(strange).unwrap_err().kind(), io::ErrorKind::InvalidData);
        }
    }

    #[test]
    fn a_request_is_as_long_as_it_says() {
        let message = request([2, 0, 10, 0, 0, 5], 7);
        assert_eq!(message.len(), LEN);
        assert_eq!(message[..4], 40_u32.to_ne_bytes());
        assert_eq!(message[20..24], 7_u32.to_ne_bytes());
        assert_eq!(message[32..38], [2, 0, 10, 0, 0, 5]);
    }
}
