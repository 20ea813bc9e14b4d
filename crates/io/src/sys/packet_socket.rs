//! Frames from and to interfaces: packet(7) sockets, many frames a system call.

use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::null_mut;

use libc::{c_int, c_void, iovec, mmsghdr, sockaddr_ll};
use nix::net::if_::if_nametoindex;

use super::arrival::{BATCH, Interface};
use super::inbox::Inbox;
use super::{check, set};

/// What the kernel keeps for a socket that is not read for a while, in bytes: seconds of traffic, so that losses come from
/// links and never from here.
const RECEIVE_BUFFER: c_int = 64 << 20;

/// A packet socket. It gets what others send to its interface, never what is sent through itself or by this host.
///
/// The kernel takes an 802.1Q tag off before a packet socket looks; [`Arrival::tag`] has it.
#[derive(Debug)]
pub struct PacketSocket(OwnedFd);

/// What [`PacketSocket::send`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Frames that the interfaces took.
    pub frames: usize,
    /// Frames that they did not: interface down, or out of memory.
    pub refused: usize,
}

impl PacketSocket {
    /// On one interface of the calling thread's namespace.
    ///
    /// # Errors
    /// Where there is no such interface, or without `CAP_NET_RAW`.
    pub fn on(interface: &str) -> io::Result<Self> {
        let index = index_of(interface)?;
        Self::open(index)
    }

    /// The same, which also gets the frames that a sender has left for its card to cut ([`Arrival::uncut`]), without times. Nothing
    /// can be sent by it. Its inbox is [`Inbox::for_uncut`].
    ///
    /// # Errors
    /// As [`PacketSocket::on`].
    pub fn with_uncut(interface: &str) -> io::Result<Self> {
        let index = index_of(interface)?;
        let this = Self::unbound()?;
        this.set(libc::SOL_PACKET, libc::PACKET_VNET_HDR, &1)?;
        this.bind(index)?;
        Ok(this)
    }

    /// One that only sends.
    ///
    /// # Errors
    /// Without `CAP_NET_RAW`.
    pub fn sender() -> io::Result<Self> {
        Self::unbound()
    }

    /// One that only sends, by one interface of the calling thread's namespace.
    ///
    /// # Errors
    /// Where there is no such interface, or without `CAP_NET_RAW`.
    pub fn sender_by(interface: &str) -> io::Result<Self> {
        let (index, this) = (index_of(interface)?, Self::unbound()?);
        this.bind_for(index, 0)?;
        Ok(this)
    }

    /// On all interfaces of the calling thread's namespace, those to come included.
    ///
    /// # Errors
    /// Without `CAP_NET_RAW`.
    pub fn on_all() -> io::Result<Self> {
        Self::open(0)
    }

    fn open(interface: Interface) -> io::Result<Self> {
        let this = Self::unbound()?;
        this.set(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &1)?;
        this.bind(interface)?;
        Ok(this)
    }

    pub(super) fn unbound() -> io::Result<Self> {
        let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // Protocol 0: nothing arrives before `bind` says from where, and before the options are set.
        // SAFETY: takes no pointers.
        let fd = check(unsafe { libc::socket(libc::AF_PACKET, kind, 0) })?;
        // SAFETY: just opened, and nobody else's.
        let this = Self(unsafe { OwnedFd::from_raw_fd(fd) });
        this.set(libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, &1)?;
        this.set(libc::SOL_PACKET, libc::PACKET_AUXDATA, &1)?;
        this.set(libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, &1)?;
        // Beyond the system's limit where that is allowed (CAP_NET_ADMIN), up to it otherwise.
        this.set(libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &RECEIVE_BUFFER)
            .or_else(|_| this.set(libc::SOL_SOCKET, libc::SO_RCVBUF, &RECEIVE_BUFFER))?;
        Ok(this)
    }

    pub(super) fn set<T: Copy>(&self, level: c_int, option: c_int, value: &T) -> io::Result<()> {
        set(self.as_fd(), level, option, value)
    }

    /// Takes frames for all addresses from an interface, as a bridge does, for as long as the socket is open.
    ///
    /// # Errors
    /// Where there is no such interface.
    pub fn take_all_from(&self, interface: Interface) -> io::Result<()> {
        // SAFETY: plain data for which zeros are valid.
        let mut membership: libc::packet_mreq = unsafe { zeroed() };
        membership.mr_ifindex = interface as c_int;
        membership.mr_type = libc::PACKET_MR_PROMISC as u16;
        self.set(libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &membership)
    }

    /// The Ethernet address of its interface; [`None`]: it is on all interfaces, or on one of another kind.
    ///
    /// # Errors
    /// What getsockname(2) says.
    pub fn mac(&self) -> io::Result<Option<[u8; 6]>> {
        let mut address = address(0);
        let mut len = size_of::<sockaddr_ll>() as u32;
        // SAFETY: `address` lives through the call and `len` is its size.
        check(unsafe { libc::getsockname(self.0.as_raw_fd(), (&raw mut address).cast(), &raw mut len) })?;
        let [mac @ .., _, _] = address.sll_addr;
        Ok((address.sll_halen == 6).then_some(mac))
    }

    /// Frames that the kernel had no room to keep for us, since the last call.
    ///
    /// # Errors
    /// What getsockopt(2) says.
    pub fn dropped(&self) -> io::Result<u64> {
        let mut statistics = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
        let mut len = size_of::<libc::tpacket_stats>() as u32;
        let pointer = (&raw mut statistics).cast::<c_void>();
        let (fd, option) = (self.0.as_raw_fd(), libc::PACKET_STATISTICS);
        // SAFETY: `statistics` is what this option writes, and `len` its size.
        check(unsafe { libc::getsockopt(fd, libc::SOL_PACKET, option, pointer, &raw mut len) })?;
        Ok(u64::from(statistics.tp_drops))
    }

    /// What has happened to its interface since the last call, such as that it went down.
    ///
    /// # Errors
    /// That.
    pub fn take_error(&self) -> io::Result<()> {
        let mut error: c_int = 0;
        let mut len = size_of::<c_int>() as u32;
        let pointer = (&raw mut error).cast::<c_void>();
        let (fd, option) = (self.0.as_raw_fd(), libc::SO_ERROR);
        // SAFETY: `error` is what this option writes, and `len` its size.
        check(unsafe { libc::getsockopt(fd, libc::SOL_SOCKET, option, pointer, &raw mut len) })?;
        if error == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(error)) }
    }

    pub(super) fn bind(&self, interface: Interface) -> io::Result<()> {
        self.bind_for(interface, libc::ETH_P_ALL as u16)
    }

    /// Gets frames of one protocol; of 0 none.
    fn bind_for(&self, interface: Interface, protocol: u16) -> io::Result<()> {
        let address = sockaddr_ll { sll_protocol: protocol.to_be(), ..address(interface) };
        let len = size_of::<sockaddr_ll>() as u32;
        // SAFETY: `address` lives through the call and `len` is its size.
        check(unsafe { libc::bind(self.0.as_raw_fd(), (&raw const address).cast(), len) }).map(|_| ())
    }

    /// Takes what has come in, [`BATCH`] frames at most, into `inbox`; true if there may be more. Never waits.
    ///
    /// # Errors
    /// What recvmmsg(2) says, such as an interface that went down (once).
    pub fn receive(&self, inbox: &mut Inbox) -> io::Result<bool> {
        self.receive_some(inbox, BATCH)
    }

    /// The same with `most` frames at most.
    pub(super) fn receive_some(&self, inbox: &mut Inbox, most: usize) -> io::Result<bool> {
        inbox.received = 0;
        let mut headers = inbox.headers();
        let (pointer, len) = (headers.as_mut_ptr(), headers.len().min(most) as u32);
        let flags = libc::MSG_DONTWAIT | libc::MSG_TRUNC;
        // SAFETY: every header points into `inbox`, which is borrowed for as long as `headers` is used.
        let result = unsafe { libc::recvmmsg(self.0.as_raw_fd(), pointer, len, flags, null_mut()) };
        match check(result) {
            Ok(received) => inbox.note(&headers[..received as usize]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        Ok(inbox.received == most)
    }

    /// Sends at most [`BATCH`] frames, each by its interface; what is beyond is not looked at. Never waits.
    pub fn send(&self, frames: &[(Interface, &[u8])]) -> Sent {
        let frames = &frames[..frames.len().min(BATCH)];
        // SAFETY: all three are plain data for which zeros are valid.
        let (mut addresses, mut vectors, mut headers): (
            [sockaddr_ll; BATCH],
            [iovec; BATCH],
            [mmsghdr; BATCH],
        ) = unsafe { zeroed() };
        for (slot, &(interface, frame)) in frames.iter().enumerate() {
            addresses[slot] = address(interface);
            vectors[slot] = iovec { iov_base: frame.as_ptr().cast_mut().cast(), iov_len: frame.len() };
            let header = &mut headers[slot].msg_hdr;
            header.msg_name = (&raw mut addresses[slot]).cast();
            header.msg_namelen = size_of::<sockaddr_ll>() as u32;
            header.msg_iov = &raw mut vectors[slot];
            header.msg_iovlen = 1;
        }
        self.send_all(&mut headers[..frames.len()], |_, _| ())
    }

    /// Sends at most [`BATCH`] frames by the interface of a [`PacketSocket::sender_by`]; what is not taken is noted by its number.
    /// Never waits.
    pub fn send_by_its_own(&self, frames: &[&[u8]], refused: &mut Vec<(usize, io::Error)>) {
        let frames = &frames[..frames.len().min(BATCH)];
        // SAFETY: both are plain data for which zeros are valid.
        let (mut vectors, mut headers): ([iovec; BATCH], [mmsghdr; BATCH]) = unsafe { zeroed() };
        for (slot, frame) in frames.iter().enumerate() {
            vectors[slot] = iovec { iov_base: frame.as_ptr().cast_mut().cast(), iov_len: frame.len() };
            headers[slot].msg_hdr.msg_iov = &raw mut vectors[slot];
            headers[slot].msg_hdr.msg_iovlen = 1;
        }
        self.send_all(&mut headers[..frames.len()], |number, error| refused.push((number, error)));
    }

    fn send_all(&self, headers: &mut [mmsghdr], mut refuse: impl FnMut(usize, io::Error)) -> Sent {
        let mut sent = Sent::default();
        while let Some(rest) = headers.get_mut(sent.frames + sent.refused..).filter(|rest| !rest.is_empty()) {
            let (pointer, len) = (rest.as_mut_ptr(), rest.len() as u32);
            // SAFETY: every header points to an address, a vector and a frame that outlive the call; sending writes to none
            // of them.
            let result = unsafe { libc::sendmmsg(self.0.as_raw_fd(), pointer, len, libc::MSG_DONTWAIT) };
            match check(result) {
                Ok(frames) if frames > 0 => sent.frames += frames as usize,
                // sendmmsg(2): an error means that the first one failed; the others still get their chance.
                Err(error) => {
                    refuse(sent.frames + sent.refused, error);
                    sent.refused += 1;
                }
                // Nothing that it says: an error is left.
                Ok(_) => sent.refused += 1,
            }
        }
        sent
    }
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// The index of an interface in the calling thread's namespace.
///
/// # Errors
/// Where there is no such interface.
pub fn index_of(interface: &str) -> io::Result<Interface> {
    if_nametoindex(interface).map_err(|errno| {
        let error = io::Error::from(errno);
        io::Error::new(error.kind(), format!("interface `{interface}`: {error}"))
    })
}

fn address(interface: Interface) -> sockaddr_ll {
    // SAFETY: plain data for which zeros are valid.
    let mut address: sockaddr_ll = unsafe { zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    address.sll_ifindex = interface as c_int;
    address
}
