//! Buffers for frames, used again: an allocator is slow with those of full frames, of which it keeps none at hand.

use std::cell::RefCell;
use std::ops::RangeInclusive;

use bytes::Bytes;

/// Frames that have buffers of one size. Between them allocators are quick: glibc keeps freed chunks of up to 1,032 bytes at hand.
/// A long frame that is kept costs at most twice its bytes.
const SIZES: [RangeInclusive<usize>; 2] = [0..=256, 1000..=2048];
/// Free buffers of a size that are kept, 8 MiB of the larger one: a CN lets all go at once that a cache has kept since the one
/// before.
const MOST: usize = 4096;

thread_local! {
    // Memory and nothing else: what is in it is never read.
    static FREE: [RefCell<Vec<Vec<u8>>>; SIZES.len()] = const { [const { RefCell::new(Vec::new()) }; _] };
}

/// A buffer on loan, and its size by its place.
struct Lent(Vec<u8>, usize);

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
            let mut free = free[self.1].borrow_mut();
            if free.len() < MOST {
                free.push(buffer);
            }
        });
    }
}

/// A copy of a frame.
pub(super) fn copy(frame: &[u8]) -> Bytes {
    let Some(size) = SIZES.iter().position(|size| size.contains(&frame.len())) else {
        return Bytes::copy_from_slice(frame);
    };
    let free = FREE.with(|free| free[size].borrow_mut().pop());
    let mut buffer = free.unwrap_or_else(|| Vec::with_capacity(*SIZES[size].end()));
    buffer.clear();
    buffer.extend_from_slice(frame);
    Bytes::from_owner(Lent(buffer, size))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn free() -> [usize; 2] {
        FREE.with(|free| free.each_ref().map(|free| free.borrow().len()))
    }

    #[test]
    fn a_buffer_comes_back_when_the_last_part_of_its_frame_is_gone() {
        let frame: Vec<u8> = (0..1500).map(|at| at as u8).collect();
        let copied = copy(&frame);
        let part = copied.slice(20..40);
        assert_eq!(copied, frame);
        drop(copied);
        assert_eq!((&part[..], free()), (&frame[20..40], [0, 0]));
        drop(part);
        assert_eq!(free(), [0, 1]);
        assert_eq!(copy(&frame[..1200]), frame[..1200], "used again");
        let many: Vec<Bytes> = (0..2 * MOST).map(|_| copy(&frame)).collect();
        drop(many);
        assert_eq!(free(), [0, MOST], "no more are kept");
    }

    #[test]
    fn those_of_other_lengths_are_not_kept() {
        for (len, kept) in [(257, 0), (999, 0), (2049, 0), (9000, 0), (0, 1), (60, 1), (256, 1)] {
            let frame = vec![7; len];
            assert_eq!(copy(&frame), frame);
            assert_eq!(free(), [kept, 0], "{len}");
        }
    }
}
