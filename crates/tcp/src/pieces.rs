//! Payload beyond a hole, until that is filled.

use std::collections::BTreeMap;

use bytes::BytesMut;
use handfast_wire::Payload;

/// Pieces of payload by position, disjoint. The lowest stands in place: where there is one only, as nearly always, no other
/// memory is touched.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pieces {
    first: Option<(u64, Payload)>,
    /// All of these come after it.
    rest: BTreeMap<u64, Payload>,
}

impl Pieces {
    pub(crate) fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.rest.len()
    }

    /// Stores a piece. It merges with the pieces before and after it, so that long runs of synthetic data or of small real
    /// segments stay few pieces, in whatever order they come.
    pub(crate) fn store(&mut self, start: u64, payload: Payload) {
        let Some((lowest, first)) = &mut self.first else {
            self.first = Some((start, payload));
            return;
        };
        let end = start + payload.len() as u64;
        if start < *lowest {
            let mut payload = payload;
            if end != *lowest || !extend(&mut payload, first) {
                self.rest.insert(*lowest, std::mem::replace(first, payload));
            } else {
                *first = payload;
            }
            *lowest = start;
        } else if *lowest + first.len() as u64 == start && extend(first, &payload) {
            if self.rest.get(&end).is_some_and(|after| extend(first, after)) {
                self.rest.remove(&end);
            }
        } else {
            self.store_behind(start, end, payload);
        }
    }

    /// [`Pieces::store`] where the first piece stays as it is.
    fn store_behind(&mut self, start: u64, end: u64, payload: Payload) {
        let mut key = start;
        if let Some((&before, last)) = self.rest.range_mut(..start).next_back()
            && before + last.len() as u64 == start
            && extend(last, &payload)
        {
            key = before;
        } else {
            self.rest.insert(start, payload);
        }
        if let Some(after) = self.rest.get(&end).cloned()
            && self.rest.get_mut(&key).is_some_and(|piece| extend(piece, &after))
        {
            self.rest.remove(&end);
        }
    }

    /// Takes the lowest piece out, if there is one and its position is such.
    pub(crate) fn pop_first_if(&mut self, such: impl FnOnce(u64) -> bool) -> Option<(u64, Payload)> {
        let piece = self.first.take_if(|piece| such(piece.0))?;
        self.first = self.rest.pop_first();
        Some(piece)
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
