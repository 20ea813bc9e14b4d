//! Octets that are kept, in blocks: what they take of memory follows what there is, also after much was there.

use std::collections::VecDeque;

/// Large enough that a pointer to it does not count, and small enough for thousands of sessions.
pub(super) const BLOCK: usize = 4_096;

/// A queue of octets.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    /// Each but the last one is full.
    list: VecDeque<Vec<u8>>,
    /// Where in the first block the first octet is.
    start: usize,
    len: usize,
}

impl Blocks {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// What it takes of memory, the list of blocks aside.
    pub(super) fn memory(&self) -> usize {
        self.list.len() * BLOCK
    }

    pub(super) fn push(&mut self, mut octets: &[u8]) {
        while !octets.is_empty() {
            if self.start + self.len == self.list.len() * BLOCK {
                self.list.push_back(Vec::with_capacity(BLOCK));
            }
            let Some(block) = self.list.back_mut() else { return };
            let (taken, rest) = octets.split_at(octets.len().min(BLOCK - block.len()));
            block.extend_from_slice(taken);
            self.len += taken.len();
            octets = rest;
        }
    }

    /// Up to `most` octets, from the `from`th on, in place: a piece for each block.
    pub(super) fn pieces(&self, from: usize, most: usize) -> impl Iterator<Item = &[u8]> {
        let count = most.min(self.len.saturating_sub(from));
        let start = self.start + from;
        let end = if count == 0 { start } else { start + count };
        self.list
            .iter()
            .zip((0..).step_by(BLOCK))
            .skip(start / BLOCK)
            .take_while(move |&(_, at)| at < end)
            .map(move |(block, at)| &block[start.saturating_sub(at)..BLOCK.min(end - at)])
            .filter(|piece| !piece.is_empty())
    }

    /// Forgets the first `count` octets.
    pub(super) fn forget(&mut self, count: usize) {
        let count = count.min(self.len);
        self.start += count;
        self.len -= count;
        while self.start >= BLOCK || self.len == 0 && !self.list.is_empty() {
            self.list.pop_front();
            self.start = self.start.saturating_sub(BLOCK);
        }
        if self.list.is_empty() {
            *self = Self::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_a_queue(steps in prop::collection::vec((any::<bool>(), 0usize..9_000, any::<u8>()), 0..60)) {
            let (mut blocks, mut model) = (Blocks::default(), VecDeque::new());
            for (is_push, count, fill) in steps {
                if is_push {
                    let octets: Vec<u8> = (0..count).map(|at| fill.wrapping_add(at as u8)).collect();
                    blocks.push(&octets);
                    model.extend(octets);
                } else {
                    blocks.forget(count);
                    model.drain(..count.min(model.len()));
                }
                prop_assert_eq!(blocks.len(), model.len());
                prop_assert!(blocks.memory() <= (model.len() + 2 * BLOCK) * usize::from(!model.is_empty()));
                let whole: Vec<u8> = model.iter().copied().collect();
                let pieces: Vec<&[u8]> = blocks.pieces(0, count).collect();
                prop_assert!(pieces.iter().all(|piece| !piece.is_empty()));
                prop_assert_eq!(&pieces.concat()[..], &whole[..count.min(whole.len())]);
                let from = count.min(whole.len());
                prop_assert_eq!(blocks.pieces(from, 100).collect::<Vec<_>>().concat(), &whole[from..whole.len().min(from + 100)]);
                prop_assert_eq!(blocks.pieces(0, usize::MAX).collect::<Vec<_>>().concat(), whole);
            }
        }
    }
}
