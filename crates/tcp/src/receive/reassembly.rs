//! The reassembly queue: payload that arrived beyond a hole, until the hole is filled.

use std::collections::BTreeMap;

use bytes::BytesMut;
use handfast_wire::Payload;
use smallvec::SmallVec;

/// How many pieces are stored inline.
const INLINE: usize = 2;

/// Pieces of payload by position, disjoint. The lowest are stored inline: there are hardly ever more of them, and then no other
/// memory is touched.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReassemblyQueue {
    inline: SmallVec<[(u64, Payload); INLINE]>,
    /// Comes after all of `inline`, and is empty while there is room inline.
    overflow: BTreeMap<u64, Payload>,
}

impl ReassemblyQueue {
    pub(crate) fn len(&self) -> usize {
        self.inline.len() + self.overflow.len()
    }

    /// Stores a piece. It merges with the pieces before and after it, so that long runs of synthetic data or of small real
    /// segments stay few pieces, in whatever order they come.
    pub(crate) fn store(&mut self, start: u64, payload: Payload) {
        let index = self.inline.iter().take_while(|piece| piece.0 < start).count();
        let before = index.checked_sub(1).and_then(|before| self.inline.get_mut(before));
        if let Some((at, piece)) = before
            && *at + piece.len() as u64 == start
            && extend(piece, &payload)
        {
            return self.join(index - 1);
        }
        if index == INLINE {
            return self.store_in_overflow(start, payload);
        }
        if self.inline.len() == INLINE {
            self.overflow.extend(self.inline.pop());
        }
        self.inline.insert(index, (start, payload));
        self.join(index);
    }

    /// Merges the piece with that index with the one after it, if that follows at once.
    fn join(&mut self, index: usize) {
        let (this, rest) = self.inline[index..].split_at_mut(1);
        let Some((start, piece)) = this.first_mut() else { return };
        let end = *start + piece.len() as u64;
        match rest.first() {
            Some((after, next)) => {
                if *after == end && extend(piece, next) {
                    self.inline.remove(index + 1);
                    self.fill_up();
                }
            }
            None => {
                if !self.overflow.is_empty()
                    && self.overflow.get(&end).is_some_and(|next| extend(piece, next))
                {
                    self.overflow.remove(&end);
                }
            }
        }
    }

    /// [`ReassemblyQueue::store`] behind the inline ones.
    fn store_in_overflow(&mut self, start: u64, payload: Payload) {
        let mut key = start;
        let end = start + payload.len() as u64;
        if let Some((&before, last)) = self.overflow.range_mut(..start).next_back()
            && before + last.len() as u64 == start
            && extend(last, &payload)
        {
            key = before;
        } else {
            self.overflow.insert(start, payload);
        }
        if let Some(after) = self.overflow.get(&end).cloned()
            && self.overflow.get_mut(&key).is_some_and(|piece| extend(piece, &after))
        {
            self.overflow.remove(&end);
        }
    }

    /// Takes the lowest piece out, if there is one and its position is such.
    pub(crate) fn pop_first_if(&mut self, such: impl FnOnce(u64) -> bool) -> Option<(u64, Payload)> {
        if !such(self.inline.first()?.0) {
            return None;
        }
        let piece = self.inline.remove(0);
        self.fill_up();
        Some(piece)
    }

    /// Forgets all from a position on.
    pub(crate) fn forget(&mut self, from: u64) {
        self.inline.retain(|piece| piece.0 < from);
        drop(self.overflow.split_off(&from));
        let inline = self.inline.iter_mut().map(|(start, piece)| (*start, piece));
        for (start, piece) in inline.chain(self.overflow.iter_mut().map(|(&start, piece)| (start, piece))) {
            if start + piece.len() as u64 > from {
                *piece = piece.slice(0, (from - start) as usize);
            }
        }
    }

    /// Moves the lowest piece of the overflow, if there is one, into a free inline place.
    #[inline]
    fn fill_up(&mut self) {
        // Checked first: an empty map may keep a node, and `pop_first` would read it.
        if !self.overflow.is_empty() {
            self.inline.extend(self.overflow.pop_first());
        }
    }
}

/// Real pieces are copied together up to this size: otherwise a run of one-byte segments would cost a map entry each.
pub(crate) const GATHER: usize = 2048;

/// Appends `next` to `last`, which ends where it begins, if they make one piece.
pub(crate) fn extend(last: &mut Payload, next: &Payload) -> bool {
    match (last, next) {
        (
            Payload::Synthetic { stream, offset, len },
            Payload::Synthetic { stream: next_stream, offset: next_offset, len: next_len },
        ) if *stream == *next_stream && *offset + u64::from(*len) == *next_offset => {
            len.checked_add(*next_len).map(|sum| *len = sum).is_some()
        }
        (Payload::Bytes(last), Payload::Bytes(next)) if last.len() + next.len() <= GATHER => {
            let mut joined = BytesMut::with_capacity(last.len() + next.len());
            joined.extend_from_slice(last);
            joined.extend_from_slice(next);
            *last = joined.freeze();
            true
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn drain(pieces: &mut ReassemblyQueue) -> Vec<(u64, Payload)> {
        std::iter::from_fn(|| pieces.pop_first_if(|_| true)).collect()
    }

    #[test]
    fn the_lowest_comes_out_first_and_only_if_it_is_asked_for() {
        let piece = |at: u64| Payload::Synthetic { stream: 1, offset: 10 * at, len: 5 };
        for order in [[1, 3, 5], [5, 3, 1], [3, 1, 5], [3, 5, 1]] {
            let mut pieces = ReassemblyQueue::default();
            for at in order {
                pieces.store(10 * at, piece(at));
            }
            assert_eq!(pieces.len(), 3);
            assert_eq!(pieces.pop_first_if(|start| start < 10), None);
            assert_eq!(drain(&mut pieces), [1, 3, 5].map(|at| (10 * at, piece(at))), "{order:?}");
        }
    }

    /// Otherwise an application would be given another stream's octets, or every piece be copied as often as one joins it.
    #[test]
    fn only_what_continues_a_piece_and_has_room_in_it_joins_it() {
        let synthetic = |stream, offset, len| Payload::Synthetic { stream, offset, len };
        let bytes = |len| Payload::Bytes(vec![7; len].into());
        for (mut last, next, joins) in [
            (synthetic(1, 0, 10), synthetic(1, 10, 5), true),
            (synthetic(1, 0, 10), synthetic(1, 11, 5), false),
            (synthetic(1, 0, 10), synthetic(2, 10, 5), false),
            (synthetic(1, 0, u32::MAX), synthetic(1, u64::from(u32::MAX), 1), false),
            (bytes(1), bytes(GATHER - 1), true),
            (bytes(1), bytes(GATHER), false),
            (bytes(10), synthetic(1, 10, 5), false),
        ] {
            let (before, sum) = (last.clone(), last.len() + next.len());
            assert_eq!(extend(&mut last, &next), joins, "{before:?} and {next:?}");
            assert_eq!(last.len(), if joins { sum } else { before.len() }, "{before:?} and {next:?}");
        }
    }

    proptest! {
        /// Units of ten octets in any order: synthetic data of one stream merges into as few pieces as there are runs, and real
        /// data comes out as it went in.
        #[test]
        fn neighbours_merge_in_whatever_order_they_come(
            units in Just((0_u64..24).collect::<Vec<_>>()).prop_shuffle(),
            n in 1_usize..24,
            real: bool,
        ) {
            let content = |at: u64| -> Vec<u8> { (0..10).map(|i| (10 * at + i) as u8).collect() };
            let (mut pieces, mut present) = (ReassemblyQueue::default(), [false; 25]);
            for &at in &units[..n] {
                let synthetic = Payload::Synthetic { stream: 1, offset: 10 * at, len: 10 };
                pieces.store(10 * at, if real { Payload::Bytes(content(at).into()) } else { synthetic });
                present[at as usize] = true;
                let runs = present.windows(2).filter(|pair| pair[0] && !pair[1]).count();
                prop_assert_eq!(pieces.len(), runs);
            }
            let mut octets = Vec::new();
            for (start, payload) in drain(&mut pieces) {
                let (len, bytes) = (payload.len() as u64, payload.to_bytes());
                prop_assert!(!real || bytes.iter().copied().eq((start..start + len).map(|i| i as u8)));
                octets.extend(start..start + len);
            }
            let expected = (0..240_u64).filter(|&i| present[i as usize / 10]);
            prop_assert!(octets.into_iter().eq(expected));
        }
    }
}
