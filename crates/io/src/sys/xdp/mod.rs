//! Frames from and to an interface by AF_XDP: memory that the kernel shares with us, and four rings of places in it (Linux,
//! `Documentation/networking/af_xdp.rst`). The kernel copies: it does so on any interface.
//!
//! What a frame's sender has left for a network card, AF_XDP does not say: checksums, 802.1Q tags. The sender has to leave nothing.

mod program;
mod ring;

use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::{null, null_mut};

use libc::{SOL_XDP, c_int, off_t, sockaddr_xdp, xdp_desc, xdp_mmap_offsets, xdp_statistics, xdp_umem_reg};

use super::mapping::Mapping;
use super::packet_socket::{Arrival, BATCH, Interface, PacketSocket, index_of};
use super::{check, set};
use program::Program;
pub use program::XdpMode;
use ring::{Consumer, Producer};

/// Bytes of a place: a page.
const PLACE: usize = 4096;
/// What the kernel leaves free before a frame (`XDP_PACKET_HEADROOM`).
const HEADROOM: usize = 256;
/// The longest frame.
const MAX_XDP_FRAME: usize = PLACE - HEADROOM;
/// Places for frames that come, and for those that leave.
const INCOMING: u32 = 4096;
const OUTGOING: u32 = 1024;

/// A socket on the only queue of an interface.
pub(crate) struct XdpSocket {
    interface: Interface,
    // Closed before the memory is given back.
    program: Program,
    socket: OwnedFd,
    received: Consumer<xdp_desc>,
    to_fill: Producer<u64>,
    to_send: Producer<xdp_desc>,
    sent: Consumer<u64>,
    memory: Mapping,
    /// Places for frames that leave, which are free.
    free: Vec<u64>,
    /// What the kernel had counted when it was asked.
    lost: u64,
    /// Keeps the interface promiscuous.
    _member: PacketSocket,
}

impl XdpSocket {
    /// On one interface of the calling thread's namespace, with a program there that gives all its frames to this socket.
    ///
    /// # Errors
    /// Where there is no such interface, it has a program already or frames too long, or without `CAP_NET_RAW`, `CAP_NET_ADMIN`,
    /// `CAP_BPF`.
    pub(crate) fn on(interface: &str, mode: XdpMode) -> io::Result<Self> {
        let index = index_of(interface)?;
        // SAFETY: takes no pointers.
        let fd = check(unsafe { libc::socket(libc::AF_XDP, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) })?;
        // SAFETY: just opened, and nobody else's.
        let socket = unsafe { OwnedFd::from_raw_fd(fd) };
        let memory = Mapping::pages((INCOMING + OUTGOING) as usize * PLACE)?;
        share(socket.as_fd(), &memory)?;
        let offsets = offsets(socket.as_fd())?;
        let fd = socket.as_fd();
        let (fill, completed) = (libc::XDP_UMEM_PGOFF_FILL_RING, libc::XDP_UMEM_PGOFF_COMPLETION_RING);
        let received = Consumer::open(fd, libc::XDP_PGOFF_RX_RING, offsets.rx, INCOMING)?;
        let to_send = Producer::open(fd, libc::XDP_PGOFF_TX_RING, offsets.tx, OUTGOING)?;
        let mut to_fill = Producer::open(fd, fill as off_t, offsets.fr, INCOMING)?;
        let sent = Consumer::open(fd, completed as off_t, offsets.cr, OUTGOING)?;
        for place in 0..INCOMING {
            to_fill.push(u64::from(place) * PLACE as u64);
        }
        to_fill.publish();
        bind(fd, index)?;
        let program = Program::attach(index, mode)?;
        program.feed(fd)?;
        let member = PacketSocket::sender()?;
        member.take_all_from(index)?;
        let free = (INCOMING..INCOMING + OUTGOING).map(|place| u64::from(place) * PLACE as u64).collect();
        Ok(Self {
            interface: index,
            program,
            socket,
            received,
            to_fill,
            to_send,
            sent,
            memory,
            free,
            lost: 0,
            _member: member,
        })
    }

    /// Shows what has come in, [`BATCH`] frames at most; true if there may be more. Never waits.
    pub(crate) fn receive(&mut self, mut show: impl FnMut(Arrival<'_>)) -> bool {
        let mut count = 0;
        while count < BATCH
            && let Some(xdp_desc { addr, len, .. }) = self.received.next()
        {
            count += 1;
            let place = self.memory.place(addr as usize, len as usize);
            // SAFETY: within our memory, and the kernel does not write there before it gets the place back.
            let frame = place.map(|at| unsafe { std::slice::from_raw_parts(at.cast_const(), len as usize) });
            show(Arrival {
                interface: self.interface,
                at: None,
                frame,
                checksum_missing: false,
                tag: None,
                uncut: None,
            });
            self.to_fill.push(addr & !(PLACE as u64 - 1));
        }
        self.received.release();
        self.to_fill.publish();
        if self.to_fill.needs_wakeup() {
            // SAFETY: takes no memory.
            unsafe {
                let (nothing, nobody) = (null_mut(), null_mut());
                libc::recvfrom(self.socket.as_raw_fd(), nothing, 0, libc::MSG_DONTWAIT, nobody, null_mut());
            }
        }
        count == BATCH
    }

    /// Sends frames; what is not taken is noted by its number.
    pub(crate) fn send(&mut self, frames: &[&[u8]], refused: &mut Vec<(usize, io::Error)>) {
        while let Some(place) = self.sent.next() {
            self.free.push(place);
        }
        self.sent.release();
        // By their order in the ring.
        let mut numbers = [0; BATCH];
        let mut waiting = 0;
        for (number, frame) in frames.iter().enumerate().take(BATCH) {
            match self.put(frame) {
                Ok(()) => {
                    numbers[waiting] = number;
                    waiting += 1;
                }
                Err(error) => refused.push((number, error)),
            }
        }
        self.to_send.publish();
        self.push_out(&numbers[..waiting], refused);
    }

    fn put(&mut self, frame: &[u8]) -> io::Result<()> {
        if frame.len() > PLACE {
            return Err(io::Error::from_raw_os_error(libc::EMSGSIZE));
        }
        let no_room = || io::Error::from_raw_os_error(libc::ENOBUFS);
        let place = self.free.pop().ok_or_else(no_room)?;
        let Some(at) = self.memory.place(place as usize, PLACE) else { return Err(no_room()) };
        // SAFETY: the place is ours until the kernel is told of it, and long enough.
        unsafe { std::ptr::copy_nonoverlapping(frame.as_ptr(), at, frame.len()) };
        if !self.to_send.push(xdp_desc { addr: place, len: frame.len() as u32, options: 0 }) {
            self.free.push(place);
            return Err(no_room());
        }
        Ok(())
    }

    /// Has the kernel send what waits. `numbers`: the last ones of those.
    fn push_out(&mut self, numbers: &[usize], refused: &mut Vec<(usize, io::Error)>) {
        loop {
            let before = self.to_send.waiting();
            if before == 0 {
                return;
            }
            // SAFETY: takes no memory.
            let done =
                unsafe { libc::sendto(self.socket.as_raw_fd(), null(), 0, libc::MSG_DONTWAIT, null(), 0) };
            let result = check(done as c_int);
            let after = self.to_send.waiting() as usize;
            let Err(error) = result else { continue };
            match error.raw_os_error() {
                // A part was sent; the rest is for the next call.
                Some(libc::EAGAIN) if after < before as usize => {}
                // The kernel has taken the frame and dropped it.
                Some(libc::EBUSY) if after < before as usize => {
                    let nth = numbers.len().checked_sub(after + 1).and_then(|at| numbers.get(at));
                    refused.extend(nth.map(|&number| (number, error)));
                }
                // What waits is sent with what comes next.
                _ => return,
            }
        }
    }

    /// Frames for which there was no room, since the last call.
    ///
    /// # Errors
    /// What getsockopt(2) says.
    pub(crate) fn dropped(&mut self) -> io::Result<u64> {
        // SAFETY: plain data for which zeros are valid.
        let mut statistics: xdp_statistics = unsafe { zeroed() };
        get(self.socket.as_fd(), libc::XDP_STATISTICS, &mut statistics)?;
        // Those without a place are in the first figure too.
        let lost = statistics.rx_dropped + statistics.rx_ring_full;
        Ok(lost - std::mem::replace(&mut self.lost, lost))
    }
}

impl AsFd for XdpSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Makes memory and rings known.
fn share(socket: BorrowedFd<'_>, memory: &Mapping) -> io::Result<()> {
    let region = xdp_umem_reg {
        addr: memory.start() as u64,
        len: u64::from(INCOMING + OUTGOING) * PLACE as u64,
        chunk_size: PLACE as u32,
        headroom: 0,
        flags: 0,
        tx_metadata_len: 0,
    };
    set(socket, SOL_XDP, libc::XDP_UMEM_REG, &region)?;
    let incoming = [libc::XDP_UMEM_FILL_RING, libc::XDP_RX_RING];
    incoming.into_iter().try_for_each(|ring| set(socket, SOL_XDP, ring, &INCOMING))?;
    let outgoing = [libc::XDP_UMEM_COMPLETION_RING, libc::XDP_TX_RING];
    outgoing.into_iter().try_for_each(|ring| set(socket, SOL_XDP, ring, &OUTGOING))
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
