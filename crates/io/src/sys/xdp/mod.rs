//! Frames from and to an interface by `AF_XDP`: memory that the kernel shares with us, and four rings of places in it (Linux,
//! `Documentation/networking/af_xdp.rst`). The kernel copies: it does so on any interface.
//!
//! What a frame's sender has left for a network card, `AF_XDP` does not say: checksums, 802.1Q tags. The sender has to leave nothing.

mod incoming;
mod outgoing;
mod program;
mod ring;

use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use libc::{SOL_XDP, c_int, sockaddr_xdp, xdp_mmap_offsets, xdp_statistics, xdp_umem_reg};

use super::arrival::{Arrival, Interface};
use super::ethtool::{mtu, receive_queues};
use super::mapping::Mapping;
use super::packet_socket::{PacketSocket, index_of};
use super::{check, set};
use incoming::Incoming;
use outgoing::Outgoing;
use program::Program;
pub use program::XdpMode;

/// Bytes of a place: a page. What is longer cannot be sent.
pub(crate) const PLACE: usize = 4096;
/// The largest MTU of an interface whose frames fit: the kernel leaves 256 bytes free before a frame (`XDP_PACKET_HEADROOM`), and
/// Ethernet with two tags has 22.
const MAX_MTU: usize = PLACE - 256 - 22;
/// Places for frames that come, and for those that leave.
const INCOMING: u32 = 4096;
const OUTGOING: u32 = 512;

/// A socket on the first queue of an interface.
pub(crate) struct XdpSocket {
    incoming: Option<Received>,
    outgoing: Outgoing,
    socket: OwnedFd,
    memory: Mapping,
    interface: Interface,
}

/// What one has that receives.
struct Received {
    frames: Incoming,
    _program: Program,
    /// What the kernel had counted when it was asked.
    lost: u64,
    /// Keeps the interface promiscuous.
    _member: PacketSocket,
}

impl XdpSocket {
    /// One that only sends, by an interface of the calling thread's namespace.
    ///
    /// # Errors
    /// Where there is no such interface, it has such a socket already, or without `CAP_NET_RAW`.
    pub(crate) fn sender_by(interface: &str) -> io::Result<Self> {
        // The kernel wants a ring to fill of each.
        Self::open(index_of(interface)?, 1)
    }

    /// On an interface of the calling thread's namespace, with a program there that gives all its frames to this socket.
    ///
    /// # Errors
    /// As [`XdpSocket::sender_by`], where the interface has a program already or frames too long, or without `CAP_NET_ADMIN` and
    /// `CAP_BPF`.
    pub(crate) fn on(interface: &str, mode: XdpMode) -> io::Result<Self> {
        let index = index_of(interface)?;
        let (mtu, queues) = (mtu(interface)?, receive_queues(interface)?);
        if mtu > MAX_MTU {
            return Err(io::Error::other(format!("its MTU of {mtu} is more than {MAX_MTU}")));
        }
        if queues > 1 {
            return Err(io::Error::other(format!(
                "it receives by {queues} queues, and may by one (ethtool -L)"
            )));
        }
        let mut this = Self::open(index, INCOMING)?;
        let program = Program::attach(index, mode)?;
        program.feed(this.socket.as_fd())?;
        let member = PacketSocket::sender()?;
        member.take_all_from(index)?;
        let frames = Incoming::open(this.socket.as_fd(), &offsets(this.socket.as_fd())?)?;
        this.incoming = Some(Received { frames, _program: program, lost: 0, _member: member });
        Ok(this)
    }

    /// With `incoming` places for frames that come; with one it receives nothing.
    fn open(interface: Interface, incoming: u32) -> io::Result<Self> {
        // SAFETY: takes no pointers.
        let fd = check(unsafe { libc::socket(libc::AF_XDP, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) })?;
        // SAFETY: just opened, and nobody else's.
        let socket = unsafe { OwnedFd::from_raw_fd(fd) };
        let fd = socket.as_fd();
        let len = (incoming + OUTGOING) as usize * PLACE;
        let memory = Mapping::pages(len)?;
        share(fd, memory.start() as u64, len as u64)?;
        set(fd, SOL_XDP, libc::XDP_UMEM_FILL_RING, &incoming)?;
        if incoming > 1 {
            set(fd, SOL_XDP, libc::XDP_RX_RING, &incoming)?;
        }
        for ring in [libc::XDP_UMEM_COMPLETION_RING, libc::XDP_TX_RING] {
            set(fd, SOL_XDP, ring, &OUTGOING)?;
        }
        let outgoing = Outgoing::open(fd, &offsets(fd)?, incoming..incoming + OUTGOING)?;
        bind(fd, interface)?;
        Ok(Self { incoming: None, outgoing, socket, memory, interface })
    }

    /// Shows what has come in, [`super::arrival::BATCH`] frames at most; true if there may be more. Never waits.
    pub(crate) fn receive(&mut self, show: impl FnMut(Arrival<'_>)) -> bool {
        let Some(received) = &mut self.incoming else { return false };
        received.frames.receive(self.socket.as_fd(), &self.memory, self.interface, show)
    }

    /// Sends at most [`super::arrival::BATCH`] frames; what is not taken is noted by its number.
    pub(crate) fn send(&mut self, frames: &[&[u8]], refused: &mut Vec<(usize, io::Error)>) {
        self.outgoing.send(self.socket.as_fd(), &self.memory, frames, refused);
    }

    /// Has the kernel send what waits; whether something still does.
    pub(crate) fn flush(&mut self) -> bool {
        self.outgoing.flush(self.socket.as_fd())
    }

    /// Frames for which there was no room, since the last call.
    ///
    /// # Errors
    /// What getsockopt(2) says.
    pub(crate) fn dropped(&mut self) -> io::Result<u64> {
        let Some(received) = &mut self.incoming else { return Ok(0) };
        // SAFETY: plain data for which zeros are valid.
        let mut statistics: xdp_statistics = unsafe { zeroed() };
        get(self.socket.as_fd(), libc::XDP_STATISTICS, &mut statistics)?;
        let lost = statistics.rx_dropped + statistics.rx_ring_full;
        Ok(lost - std::mem::replace(&mut received.lost, lost))
    }
}

impl AsFd for XdpSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Makes memory known.
fn share(socket: BorrowedFd<'_>, addr: u64, len: u64) -> io::Result<()> {
    let (chunk_size, headroom, flags, tx_metadata_len) = (PLACE as u32, 0, 0, 0);
    let region = xdp_umem_reg { addr, len, chunk_size, headroom, flags, tx_metadata_len };
    set(socket, SOL_XDP, libc::XDP_UMEM_REG, &region)
}

fn offsets(socket: BorrowedFd<'_>) -> io::Result<xdp_mmap_offsets> {
    // SAFETY: plain data for which zeros are valid.
    let mut offsets = unsafe { zeroed() };
    get(socket, libc::XDP_MMAP_OFFSETS, &mut offsets)?;
    Ok(offsets)
}

fn get<T: Copy>(socket: BorrowedFd<'_>, option: c_int, value: &mut T) -> io::Result<()> {
    let mut len = size_of::<T>() as u32;
    let pointer = (&raw mut *value).cast();
    // SAFETY: `value` is what this option writes, and `len` its size.
    check(unsafe { libc::getsockopt(socket.as_raw_fd(), SOL_XDP, option, pointer, &raw mut len) }).map(|_| ())
}

fn bind(socket: BorrowedFd<'_>, interface: Interface) -> io::Result<()> {
    let address = sockaddr_xdp {
        sxdp_family: libc::AF_XDP as u16,
        sxdp_flags: libc::XDP_COPY | libc::XDP_USE_NEED_WAKEUP,
        sxdp_ifindex: interface,
        sxdp_queue_id: 0,
        sxdp_shared_umem_fd: 0,
    };
    let len = size_of::<sockaddr_xdp>() as u32;
    // SAFETY: `address` lives through the call and `len` is its size.
    check(unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), len) }).map(|_| ())
}
