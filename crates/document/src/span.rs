//! Where something stands in a text.

use std::ops::Range;

/// A range of bytes in a [`crate::Source`].
pub type Span = Range<usize>;
