//! Frames that come by `AF_XDP`.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::null_mut;

use libc::{off_t, xdp_desc, xdp_mmap_offsets};

use super::ring::{Consumer, Producer};
use super::{INCOMING, PLACE};
use crate::sys::arrival::{Arrival, BATCH, Interface};
use crate::sys::mapping::Mapping;

/// The rings of received frames and of places for those to come.
pub(super) struct Incoming {
    received: Consumer<xdp_desc>,
    to_fill: Producer<u64>,
}

impl Incoming {
    /// All places are free.
    pub(super) fn open(socket: BorrowedFd<'_>, offsets: &xdp_mmap_offsets) -> io::Result<Self> {
        let fill = libc::XDP_UMEM_PGOFF_FILL_RING as off_t;
        let received = Consumer::open(socket, libc::XDP_PGOFF_RX_RING, offsets.rx, INCOMING)?;
        let mut to_fill = Producer::open(socket, fill, offsets.fr, INCOMING)?;
        for place in 0..INCOMING {
            to_fill.push(u64::from(place) * PLACE as u64);
        }
        to_fill.publish();
        Ok(Self { received, to_fill })
    }

    /// Shows what has come in, [`BATCH`] frames at most; true if there may be more.
    pub(super) fn receive(
        &mut self,
        socket: BorrowedFd<'_>,
        memory: &Mapping,
        interface: Interface,
        mut show: impl FnMut(Arrival<'_>),
    ) -> bool {
        let mut count = 0;
        while count < BATCH
            && let Some(xdp_desc { addr, len, .. }) = self.received.next()
        {
            count += 1;
            let place = memory.place(addr as usize, len as usize);
            // SAFETY: within our memory, and the kernel does not write there before it gets the place back.
            let frame = place.map(|at| unsafe { std::slice::from_raw_parts(at.cast_const(), len as usize) });
            let (at, checksum_missing, tag, uncut) = (None, false, None, None);
            show(Arrival { interface, at, frame, checksum_missing, tag, uncut });
            self.to_fill.push(addr & !(PLACE as u64 - 1));
        }
        self.received.release();
        self.to_fill.publish();
        if self.to_fill.needs_wakeup() {
            let (nothing, flags, nobody) = (null_mut(), libc::MSG_DONTWAIT, null_mut());
            // SAFETY: takes no memory.
            unsafe { libc::recvfrom(socket.as_raw_fd(), nothing, 0, flags, nobody, null_mut()) };
        }
        count == BATCH
    }
}
