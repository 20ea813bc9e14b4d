//! Octets that are kept, in blocks: what they take of memory follows what there is, also after much was there.

use std::collections::VecDeque;

/// Large enough that a pointer to it does not count, and small enough for thousands of sessions.
pub(super) const BLOCK: usize = 4_096;

/// A queue of octets.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    list: VecDeque<Box<[u8]>>,
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
            let end = self.start + self.len;
            if end == self.list.len() * BLOCK {
                self.list.push_back(vec![0; BLOCK].into());
            }
            let block = &mut self.list[end / BLOCK][end % BLOCK..];
            let taken = block.len().min(octets.len());
            block[..taken].copy_from_slice(&octets[..taken]);
            self.len += taken;
            octets = &octets[taken..];
        }
    }

    /// Up to `most` octets, from the `from`th on.
    pub(super) fn copy(&self, from: usize, most: usize) -> Vec<u8> {
        let len = most.min(self.len.saturating_sub(from));
        let mut octets = Vec::with_capacity(len);
        while octets.len() < len {
            let at = self.start + from + octets.len();
            let block = &self.list[at / BLOCK][at % BLOCK..];
            octets.extend_from_slice(&block[..block.len().min(len - octets.len())]);
        }
        octets
    }

    /// Up to `most` octets from the first on, in place: a piece for each block.
    pub(super) fn pieces(&self, most: usize) -> impl Iterator<Item = &[u8]> {
        let count = most.min(self.len);
        let end = if count == 0 { 0 } else { self.start + count };
        self.list
            .iter()
            .zip((0..).step_by(BLOCK))
            .filter(move |&(_, at)| at < end)
            .map(move |(block, at)| &block[self.start.saturating_sub(at)..BLOCK.min(end - at)])
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
                prop_assert_eq!(&blocks.copy(0, usize::MAX), &whole);
                let pieces: Vec<&[u8]> = blocks.pieces(count).collect();
                prop_assert!(pieces.iter().all(|piece| !piece.is_empty()));
                prop_assert_eq!(&pieces.concat()[..], &whole[..count.min(whole.len())]);
                let from = count.min(whole.len());
                prop_assert_eq!(&blocks.copy(from, 100)[..], &whole[from..whole.len().min(from + 100)]);
            }
        }
    }
}
