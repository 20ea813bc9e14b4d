//! Frames from an interface by a ring that the kernel shares with us: no system call a frame, and one copy less (Linux,
//! `Documentation/networking/packet_mmap.rst`).
//!
//! Its slots are those of `TPACKET_V2`: each frame can be read as soon as it is there. `TPACKET_V3` hands over blocks, and one that
//! is not full waits for a timer of at least a millisecond: too long for what has to go on.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicU32, Ordering};

use libc::{c_int, tpacket_req, tpacket2_hdr};

use super::arrival::{Arrival, BATCH, Interface};
use super::inbox::{Inbox, OFFLOAD_HEADER, Tagged, uncut};
use super::mapping::Mapping;
use super::packet_socket::{PacketSocket, index_of};

/// Bytes of a slot: the kernel's header and a frame of up to 1,900 bytes. A longer one comes whole by the socket's queue
/// (`PACKET_COPY_THRESH`).
const SLOT: usize = 2048;
/// Slots: 8 MiB, and 14 ms of frames at 300,000 a second.
const SLOTS: usize = 4096;
const BLOCK: usize = 64 << 10;

/// A ring of received frames. What is said of [`PacketSocket::with_uncut`] is true of it.
pub(crate) struct PacketRing {
    socket: PacketSocket,
    slots: Mapping,
    next: usize,
    interface: Interface,
    /// For frames that are too long for a slot.
    whole: Inbox,
    /// Frames that were too long for a slot, while the socket's queue was full.
    cut_off: u64,
}

impl PacketRing {
    /// On one interface of the calling thread's namespace.
    ///
    /// # Errors
    /// Where there is no such interface, without `CAP_NET_RAW`, or without memory for the ring.
    pub(crate) fn on(interface: &str) -> io::Result<Self> {
        let index = index_of(interface)?;
        let socket = PacketSocket::unbound()?;
        socket.set(libc::SOL_PACKET, libc::PACKET_VNET_HDR, &1)?;
        let version = libc::tpacket_versions::TPACKET_V2 as c_int;
        socket.set(libc::SOL_PACKET, libc::PACKET_VERSION, &version)?;
        socket.set(libc::SOL_PACKET, libc::PACKET_COPY_THRESH, &1)?;
        let request = tpacket_req {
            tp_block_size: BLOCK as u32,
            tp_block_nr: (SLOTS * SLOT / BLOCK) as u32,
            tp_frame_size: SLOT as u32,
            tp_frame_nr: SLOTS as u32,
        };
        socket.set(libc::SOL_PACKET, libc::PACKET_RX_RING, &request)?;
        let slots = Mapping::shared(socket.as_fd(), 0, SLOTS * SLOT)?;
        // Nothing arrives before: the ring holds no frame from elsewhere.
        socket.bind(index)?;
        Ok(Self { socket, slots, next: 0, interface: index, whole: Inbox::for_uncut(), cut_off: 0 })
    }

    /// The socket of the ring, for what is not about frames.
    pub(crate) fn socket(&self) -> &PacketSocket {
        &self.socket
    }

    /// Frames for which there was no room, since the last call.
    ///
    /// # Errors
    /// What getsockopt(2) says.
    pub(crate) fn dropped(&mut self) -> io::Result<u64> {
        Ok(self.socket.dropped()? + std::mem::take(&mut self.cut_off))
    }

    /// Shows what has come in, [`BATCH`] frames at most; true if there may be more. Never waits.
    pub(crate) fn receive(&mut self, mut show: impl FnMut(Arrival<'_>)) -> bool {
        for _ in 0..BATCH {
            let Some(slot) = self.slots.place(self.next * SLOT, SLOT) else { return false };
            // SAFETY: each slot begins with the status (`struct tpacket2_hdr`), aligned as pages are; the kernel too reads and
            // writes it as a whole.
            let status = unsafe { AtomicU32::from_ptr(slot.cast()) };
            if status.load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
                return false;
            }
            // SAFETY: the kernel has handed the slot over, and does not write to it before we give it back.
            let (header, slot) = unsafe {
                (
                    slot.cast::<tpacket2_hdr>().read_unaligned(),
                    std::slice::from_raw_parts(slot.cast_const(), SLOT),
                )
            };
            if header.tp_len == header.tp_snaplen {
                self.show(&header, slot, &mut show);
            } else {
                self.show_whole(&header, &mut show);
            }
            status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
            self.next = (self.next + 1) % SLOTS;
        }
        true
    }

    fn show(&self, header: &tpacket2_hdr, slot: &[u8], show: &mut impl FnMut(Arrival<'_>)) {
        let at = usize::from(header.tp_mac);
        let frame = slot.get(at..at + header.tp_snaplen as usize);
        let offload = at.checked_sub(OFFLOAD_HEADER).and_then(|before| slot.get(before..)?.first_chunk());
        show(Arrival {
            interface: self.interface,
            at: Some(u64::from(header.tp_sec) * 1_000_000_000 + u64::from(header.tp_nsec)),
            frame,
            checksum_missing: header.tp_status & libc::TP_STATUS_CSUMNOTREADY != 0,
            tag: Tagged::from(header).tag(),
            uncut: offload.and_then(uncut),
        });
    }

    /// A frame of which the slot holds only the beginning. The socket's queue has it, if it had room.
    fn show_whole(&mut self, header: &tpacket2_hdr, show: &mut impl FnMut(Arrival<'_>)) {
        let is_queued = header.tp_status & libc::TP_STATUS_COPY != 0;
        // An error that waits, of an interface that went down, is said instead of the frame, once.
        let mut read = || self.socket.receive_some(&mut self.whole, 1);
        let was_read = is_queued && read().or_else(|_| read()).is_ok();
        match self.whole.arrivals().next().filter(|_| was_read) {
            Some(arrival) => show(arrival),
            None => self.cut_off += 1,
        }
    }
}

impl AsFd for PacketRing {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
