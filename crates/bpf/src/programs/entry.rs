//! What libbpf-rs does not offer: entries of a map of which there is a descriptor only.
#![expect(unsafe_code, reason = "calls of libbpf; each has a SAFETY comment")]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;

/// What a map has for a key, of `N` bytes as all its values.
///
/// # Errors
/// What bpf(2) says.
pub(crate) fn lookup<const N: usize>(map: BorrowedFd<'_>, key: &[u8]) -> Result<Option<[u8; N]>, String> {
    let mut value = [0_u8; N];
    let (fd, key) = (map.as_raw_fd(), key.as_ptr().cast());
    // SAFETY: key and value live through the call, and have the lengths that the map has.
    let found = unsafe { libbpf_sys::bpf_map_lookup_elem(fd, key, value.as_mut_ptr().cast()) };
    Ok(is_there(found)?.then_some(value))
}

/// The same, taken out.
///
/// # Errors
/// What bpf(2) says.
pub(crate) fn take<const N: usize>(map: BorrowedFd<'_>, key: &[u8]) -> Result<Option<[u8; N]>, String> {
    let found = lookup(map, key)?;
    if found.is_some() {
        delete(map, key)?;
    }
    Ok(found)
}

/// Takes out what a map has for a key, if it has something.
///
/// # Errors
/// What bpf(2) says.
pub(crate) fn delete(map: BorrowedFd<'_>, key: &[u8]) -> Result<(), String> {
    // SAFETY: the key lives through the call, and has the length that the map has.
    let deleted = unsafe { libbpf_sys::bpf_map_delete_elem(map.as_raw_fd(), key.as_ptr().cast()) };
    is_there(deleted).map(drop)
}

/// Puts it there.
///
/// # Errors
/// What bpf(2) says, as where the map is full.
pub(crate) fn insert(map: BorrowedFd<'_>, key: &[u8], value: &[u8]) -> Result<(), String> {
    let (fd, key, value) = (map.as_raw_fd(), key.as_ptr().cast(), value.as_ptr().cast());
    // SAFETY: key and value live through the call, and have the lengths that the map has.
    let updated = unsafe { libbpf_sys::bpf_map_update_elem(fd, key, value, 0) };
    is_there(updated).map(drop)
}

/// The first key of a map, of `N` bytes as all its keys; [`None`]: it has none.
///
/// # Errors
/// What bpf(2) says.
pub(crate) fn first_key<const N: usize>(map: BorrowedFd<'_>) -> Result<Option<[u8; N]>, String> {
    let mut key = [0_u8; N];
    // SAFETY: without a key the first one is meant; where it is written to lives through the call, and has the length that the map has.
    let found =
        unsafe { libbpf_sys::bpf_map_get_next_key(map.as_raw_fd(), ptr::null(), key.as_mut_ptr().cast()) };
    Ok(is_there(found)?.then_some(key))
}

fn is_there(returned: i32) -> Result<bool, String> {
    if returned == 0 {
        return Ok(true);
    }
    match io::Error::last_os_error() {
        error if error.kind() == io::ErrorKind::NotFound => Ok(false),
        error => Err(format!("eBPF: {error}")),
    }
}
