//! The rings of an `AF_XDP` socket (Linux, `Documentation/networking/af_xdp.rst`). Each has one producer and one consumer: the
//! kernel is one of them, and we are the other one.

use std::io;
use std::marker::PhantomData;
use std::mem::size_of;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU32, Ordering};

use libc::{off_t, xdp_ring_offset};

use super::super::mapping::Mapping;

/// A ring with entries `T`, which are C structures of integers.
struct Ring<T> {
    map: Mapping,
    offsets: xdp_ring_offset,
    /// A power of two.
    size: u32,
    /// How far we are. The other one has its own number.
    own: u32,
    entries: PhantomData<T>,
}

/// One into which we put.
pub(super) struct Producer<T>(Ring<T>);

/// One from which we take.
pub(super) struct Consumer<T>(Ring<T>);

impl<T: Copy> Ring<T> {
    fn open(socket: BorrowedFd<'_>, at: off_t, offsets: xdp_ring_offset, size: u32) -> io::Result<Self> {
        let len = offsets.desc as usize + size as usize * size_of::<T>();
        let map = Mapping::shared(socket, at, len)?;
        Ok(Self { map, offsets, size, own: 0, entries: PhantomData })
    }

    fn number(&self, at: u64) -> &AtomicU32 {
        // SAFETY: the kernel has said that there is such a number in the mapping, aligned as one.
        unsafe { AtomicU32::from_ptr(self.map.start().add(at as usize).cast()) }
    }

    fn entry(&self, number: u32) -> *mut T {
        let nth = (number & (self.size - 1)) as usize;
        // SAFETY: the mapping has `size` entries there, and the number is less.
        unsafe { self.map.start().add(self.offsets.desc as usize).cast::<T>().add(nth) }
    }
}

impl<T: Copy> Producer<T> {
    pub(super) fn open(
        socket: BorrowedFd<'_>,
        at: off_t,
        offsets: xdp_ring_offset,
        size: u32,
    ) -> io::Result<Self> {
        Ring::open(socket, at, offsets, size).map(Self)
    }

    /// How many entries the kernel has not taken yet.
    pub(super) fn waiting(&self) -> u32 {
        self.0.own.wrapping_sub(self.0.number(self.0.offsets.consumer).load(Ordering::Acquire))
    }

    /// Puts an entry in; false: there is no room. The kernel sees it after [`Producer::publish`].
    pub(super) fn push(&mut self, entry: T) -> bool {
        let has_room = self.waiting() < self.0.size;
        if has_room {
            // SAFETY: the kernel does not look at this entry before the number says that it is there.
            unsafe { self.0.entry(self.0.own).write(entry) };
            self.0.own = self.0.own.wrapping_add(1);
        }
        has_room
    }

    pub(super) fn publish(&self) {
        self.0.number(self.0.offsets.producer).store(self.0.own, Ordering::Release);
    }

    /// Whether the kernel looks at the ring only when it is told.
    pub(super) fn needs_wakeup(&self) -> bool {
        self.0.number(self.0.offsets.flags).load(Ordering::Relaxed) & libc::XDP_RING_NEED_WAKEUP != 0
    }
}

impl<T: Copy> Consumer<T> {
    pub(super) fn open(
        socket: BorrowedFd<'_>,
        at: off_t,
        offsets: xdp_ring_offset,
        size: u32,
    ) -> io::Result<Self> {
        Ring::open(socket, at, offsets, size).map(Self)
    }

    /// The next entry. It is given back by [`Consumer::release`].
    pub(super) fn next(&mut self) -> Option<T> {
        let is_there = self.0.own != self.0.number(self.0.offsets.producer).load(Ordering::Acquire);
        is_there.then(|| {
            // SAFETY: the kernel has put the entry there, and does not touch it before it is given back.
            let entry = unsafe { self.0.entry(self.0.own).read() };
            self.0.own = self.0.own.wrapping_add(1);
            entry
        })
    }

    pub(super) fn release(&self) {
        self.0.number(self.0.offsets.consumer).store(self.0.own, Ordering::Release);
    }
}
