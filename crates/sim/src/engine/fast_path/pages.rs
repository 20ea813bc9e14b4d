//! Huge pages for the large tables.
//!
//! With ten thousand flows the ends of connections and the links fill tens of megabytes, of which each packet touches
//! places that were not touched for a long time. In pages of 4 KiB nearly every one of these misses the TLB as well.
#![cfg_attr(target_os = "linux", expect(unsafe_code, reason = "madvise; the call has a SAFETY comment"))]

/// An empty vector with room for `capacity` elements, in huge pages where it is large and the system has them.
pub(crate) fn large_vec<T>(capacity: usize) -> Vec<T> {
    let mut values = Vec::with_capacity(capacity);
    advise(values.spare_capacity_mut());
    values
}

/// Says that huge pages would serve this memory well. It changes nothing but speed, so a refusal does not matter.
#[cfg(target_os = "linux")]
fn advise<T>(memory: &mut [T]) {
    /// A huge page of x86-64, and of most others.
    const HUGE: usize = 2 << 20;
    let (start, len) = (memory.as_mut_ptr().addr(), size_of_val(memory));
    if len < HUGE {
        return;
    }
    // The pages at both ends as well: a table of five megabytes may hold but one that is all its own.
    let first = start / HUGE * HUGE;
    let end = (start + len).next_multiple_of(HUGE);
    let around = memory.as_mut_ptr().cast::<libc::c_void>().wrapping_byte_sub(start - first);
    // The second for memory that the allocator hands out again: there are small pages already.
    for advice in [libc::MADV_HUGEPAGE, libc::MADV_COLLAPSE] {
        // SAFETY: neither changes what any memory holds or whether it is there, that of others around this one included.
        let _ = unsafe { libc::madvise(around, end - first, advice) };
    }
}

#[cfg(not(target_os = "linux"))]
fn advise<T>(_: &mut [T]) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vector_is_like_any_other() {
        for capacity in [0, 1, 100_000, 5 << 20] {
            let mut values = large_vec::<u8>(capacity);
            assert!(values.is_empty() && values.capacity() >= capacity);
            values.extend((0..capacity).map(|i| i as u8));
            assert!(values.iter().enumerate().all(|(i, &value)| value == i as u8));
        }
    }
}
