//! Asking for memory before it is needed.

use prefetch_index::prefetch_index;

/// Bytes of a cache line, on nearly every machine.
pub(crate) const CACHE_LINE: usize = 64;

/// Fetches so many cache lines from where the first field of something stands.
#[inline]
pub(crate) fn prefetch<const LINES: usize, T>(first: Option<&T>) {
    let Some(first) = first else { return };
    for line in 0..LINES {
        prefetch_index(std::slice::from_ref(first), line * CACHE_LINE / size_of::<T>());
    }
}
