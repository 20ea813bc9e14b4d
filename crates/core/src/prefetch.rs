//! The prefetch instruction, for ranges of cache lines. It changes nothing but speed.

use std::ops::Range;

use prefetch_index::prefetch_index;

/// Bytes of a cache line, on nearly every machine.
pub const CACHE_LINE: usize = 64;

/// Fetches cache lines, counted from where the first field of something stands.
#[inline(always)]
#[expect(clippy::inline_always, reason = "where the lines are known it is one instruction for each")]
pub fn prefetch<T>(first: Option<&T>, lines: Range<usize>) {
    let Some(first) = first else { return };
    for line in lines {
        prefetch_index(std::slice::from_ref(first), line * CACHE_LINE / size_of::<T>());
    }
}
