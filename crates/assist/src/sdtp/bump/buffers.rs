//! Buffers for frames, used again: an allocator is slow with those of full frames, of which it keeps none at hand.

use std::cell::RefCell;

use bytes::Bytes;

/// Up to here allocators are quick: glibc keeps freed chunks of up to 1,032 bytes at hand.
const SHORT: usize = 1000;
/// A longer frame has a buffer of this size, so that one which is kept costs at most twice its bytes.
const LEN: usize = 2048;
/// Free buffers that are kept.
const MOST: usize = 64;

thread_local! {
    // Memory and nothing else: what is in it is never read.
    static FREE: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// A buffer on loan.
struct Lent(Vec<u8>);

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let buffer = std::mem::take(&mut self.0);
        // At the end of a thread there is no list any more.
        let _ = FREE.try_with(|free| {
            let mut free = free.borrow_mut();
            if free.len() < MOST {
                free.push(buffer);
            }
        });
    }
}

/// A copy of a frame.
pub(super) fn copy(frame: &[u8]) -> Bytes {
    if !(SHORT..=LEN).contains(&frame.len()) {
        return Bytes::copy_from_slice(frame);
    }
    let mut buffer = FREE.with_borrow_mut(Vec::pop).unwrap_or_else(|| Vec::with_capacity(LEN));
    buffer.clear();
    buffer.extend_from_slice(frame);
    Bytes::from_owner(Lent(buffer))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn free() -> usize {
        FREE.with_borrow(Vec::len)
    }

    #[test]
    fn a_buffer_comes_back_when_the_last_part_of_its_frame_is_gone() {
        let frame: Vec<u8> = (0..1500).map(|at| at as u8).collect();
        let copied = copy(&frame);
        let part = copied.slice(20..40);
        assert_eq!(copied, frame);
        drop(copied);
        assert_eq!((&part[..], free()), (&frame[20..40], 0));
        drop(part);
        assert_eq!(free(), 1);
        assert_eq!(copy(&frame[..1200]), frame[..1200], "used again");
        let many: Vec<Bytes> = (0..2 * MOST).map(|_| copy(&frame)).collect();
        drop(many);
        assert_eq!(free(), MOST, "no more are kept");
    }

    #[test]
    fn short_and_very_long_ones_are_not_kept() {
        for len in [0, 60, SHORT - 1, LEN + 1, 9000] {
            let frame = vec![7; len];
            assert_eq!(copy(&frame), frame);
            assert_eq!(free(), 0, "{len}");
        }
    }
}
