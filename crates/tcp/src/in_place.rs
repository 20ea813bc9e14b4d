//! Lists whose first elements stand in place.

use smallvec::{Array, SmallVec};

/// A list that has become empty begins in place again: one that was long once would be in memory of its own for ever, and
/// with thousands of connections that has to come from far.
#[inline]
pub(crate) fn return_home<A: Array>(list: &mut SmallVec<A>) {
    if list.spilled() && list.is_empty() {
        *list = SmallVec::new();
    }
}
