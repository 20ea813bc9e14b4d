//! Frames that leave by `AF_XDP`.

use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::null;

use libc::{c_int, off_t, xdp_desc, xdp_mmap_offsets};

use super::ring::{Consumer, Producer};
use super::{OUTGOING, PLACE};
use crate::sys::arrival::BATCH;
use crate::sys::check;
use crate::sys::mapping::Mapping;

/// The rings of frames to send and of those that were sent.
pub(super) struct Outgoing {
    to_send: Producer<xdp_desc>,
    sent: Consumer<u64>,
    /// Free places.
    free: Vec<u64>,
}

impl Outgoing {
    /// With these places, which are free.
    pub(super) fn open(
        socket: BorrowedFd<'_>,
        offsets: &xdp_mmap_offsets,
        places: Range<u32>,
    ) -> io::Result<Self> {
        let completed = libc::XDP_UMEM_PGOFF_COMPLETION_RING as off_t;
        Ok(Self {
            to_send: Producer::open(socket, libc::XDP_PGOFF_TX_RING, offsets.tx, OUTGOING)?,
            sent: Consumer::open(socket, completed, offsets.cr, OUTGOING)?,
            free: places.map(|place| u64::from(place) * PLACE as u64).collect(),
        })
    }

    /// Sends at most [`BATCH`] frames; what is not taken is noted by its number. What the interface's queue has no room for waits,
    /// as far as there are places.
    pub(super) fn send(
        &mut self,
        socket: BorrowedFd<'_>,
        memory: &Mapping,
        frames: &[&[u8]],
        refused: &mut Vec<(usize, io::Error)>,
    ) {
        self.reclaim();
        // Those that were put into the ring, in this order.
        let mut numbers = [0; BATCH];
        let mut count = 0;
        for (number, frame) in frames.iter().enumerate().take(BATCH) {
            match self.put(memory, frame) {
                Ok(()) => {
                    numbers[count] = number;
                    count += 1;
                }
                Err(error) => refused.push((number, error)),
            }
        }
        self.to_send.publish();
        self.push_out(socket, &numbers[..count], refused);
    }

    /// Has the kernel send what waits; whether something still does.
    pub(super) fn flush(&mut self, socket: BorrowedFd<'_>) -> bool {
        // They were taken when they came.
        self.push_out(socket, &[], &mut Vec::new());
        self.to_send.waiting() > 0
    }

    fn reclaim(&mut self) {
        while let Some(place) = self.sent.next() {
            self.free.push(place);
        }
        self.sent.release();
    }

    fn put(&mut self, memory: &Mapping, frame: &[u8]) -> io::Result<()> {
        if frame.len() > PLACE {
            return Err(io::Error::from_raw_os_error(libc::EMSGSIZE));
        }
        let no_room = || io::Error::from_raw_os_error(libc::ENOBUFS);
        let place = self.free.pop().ok_or_else(no_room)?;
        let at = memory.place(place as usize, frame.len()).ok_or_else(no_room)?;
        // SAFETY: the place is ours until the kernel is told of it, and long enough.
        unsafe { std::ptr::copy_nonoverlapping(frame.as_ptr(), at, frame.len()) };
        // There is room: no more places are free than the ring has entries.
        self.to_send.push(xdp_desc { addr: place, len: frame.len() as u32, options: 0 });
        Ok(())
    }

    /// Has the kernel send what waits. `numbers`: the last ones of those.
    fn push_out(&mut self, socket: BorrowedFd<'_>, numbers: &[usize], refused: &mut Vec<(usize, io::Error)>) {
        loop {
            let before = self.to_send.waiting();
            if before == 0 {
                return;
            }
            // SAFETY: takes no memory.
            let done = unsafe { libc::sendto(socket.as_raw_fd(), null(), 0, libc::MSG_DONTWAIT, null(), 0) };
            let result = check(done as c_int);
            let after = self.to_send.waiting();
            let has_moved = after < before;
            // What waits leaves with what comes next.
            if !has_moved {
                return;
            }
            // `EAGAIN`: a part was sent. These: the kernel has taken the last frame, and the interface has dropped it.
            if let Err(error) = result
                && [libc::EBUSY, libc::ENOBUFS].map(Some).contains(&error.raw_os_error())
            {
                let nth = numbers.len().checked_sub(after as usize + 1).and_then(|at| numbers.get(at));
                refused.extend(nth.map(|&number| (number, error)));
            }
        }
    }
}
