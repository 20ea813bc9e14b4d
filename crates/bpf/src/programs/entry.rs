//! What libbpf-rs does not offer: an entry of a map of which there is a descriptor only.
#![expect(unsafe_code, reason = "calls of libbpf; each has a SAFETY comment")]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// What a map has for a key, of `N` bytes as all its values, which is taken out.
///
/// # Errors
/// What bpf(2) says.
pub(crate) fn take<const N: usize>(map: BorrowedFd<'_>, key: &[u8]) -> Result<Option<[u8; N]>, String> {
    let mut value = [0_u8; N];
    let (fd, key) = (map.as_raw_fd(), key.as_ptr().cast());
    // SAFETY: key and value live through the call, and have the lengths that the map has.
    let found = unsafe { libbpf_sys::bpf_map_lookup_elem(fd, key, value.as_mut_ptr().cast()) };
    if found == 0 {
        // SAFETY: as above. It fails where the kernel has taken it out meanwhile.
        unsafe { libbpf_sys::bpf_map_delete_elem(fd, key) };
        return Ok(Some(value));
    }
    match io::Error::last_os_error() {
        error if error.kind() == io::ErrorKind::NotFound => Ok(None),
        error => Err(format!("eBPF: {error}")),
    }
}
