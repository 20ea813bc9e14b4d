//! Queues that a burst has made long, and that are empty again.

use std::collections::VecDeque;

/// Places that an empty queue keeps.
pub(crate) const KEPT: usize = 256;

/// Gives back the memory of a queue that is empty, beyond a few places: a burst would hold it for the rest of the connection.
#[inline]
pub(crate) fn trim<T>(queue: &mut VecDeque<T>) {
    if queue.is_empty() && queue.capacity() > KEPT {
        give_back(queue);
    }
}

#[cold]
fn give_back<T>(queue: &mut VecDeque<T>) {
    queue.shrink_to(KEPT);
}
