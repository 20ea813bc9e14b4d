//! Lists whose first elements are stored inline.

use smallvec::{Array, SmallVec};

/// Puts a list that has become empty back to inline storage. One that was long once would otherwise keep memory of its own for
/// ever, and with thousands of connections that memory is seldom in the cache.
#[inline]
pub(crate) fn reset_to_inline<A: Array>(list: &mut SmallVec<A>) {
    if list.spilled() && list.is_empty() {
        *list = SmallVec::new();
    }
}
