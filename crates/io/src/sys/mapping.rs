//! Memory that is mapped: shared with the kernel, or whole pages of our own.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::{NonNull, null_mut};

/// Mapped memory, until it is dropped.
#[derive(Debug)]
pub(super) struct Mapping {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: it is the only owner of the mapping, which is not bound to a thread.
unsafe impl Send for Mapping {}

impl Mapping {
    /// What a descriptor shares at an offset.
    pub(super) fn shared(of: BorrowedFd<'_>, offset: libc::off_t, len: usize) -> io::Result<Self> {
        Self::map(len, libc::MAP_SHARED | libc::MAP_POPULATE, of.as_raw_fd(), offset)
    }

    /// Pages of our own, all zeros.
    pub(super) fn pages(len: usize) -> io::Result<Self> {
        Self::map(len, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE, -1, 0)
    }

    fn map(len: usize, flags: libc::c_int, fd: libc::c_int, offset: libc::off_t) -> io::Result<Self> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping where the kernel wants it touches no memory that is in use.
        let start = unsafe { libc::mmap(null_mut(), len, access, flags, fd, offset) };
        match NonNull::new(start.cast::<u8>()) {
            Some(start) if start.as_ptr().cast() != libc::MAP_FAILED => Ok(Self { start, len }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Where it begins. It is aligned to a page.
    pub(super) fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// The place of `len` bytes from `at` on; [`None`]: it does not reach so far.
    pub(super) fn place(&self, at: usize, len: usize) -> Option<*mut u8> {
        let fits = at.checked_add(len).is_some_and(|end| end <= self.len);
        // SAFETY: within the mapping.
        fits.then(|| unsafe { self.start().add(at) })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: our own mapping; what was borrowed from it is gone.
        unsafe { libc::munmap(self.start().cast(), self.len) };
    }
}
