//! How a caching node finds a connection.

use std::cmp::Ordering;

use handfast_wire::sdtp::Stream;

/// A connection in one direction, in an order that costs little: most differ in their numbers, which are compared first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key(pub(super) Stream);

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        let (one, other) = (&self.0, &other.0);
        let numbers = (one.connection, one.slice).cmp(&(other.connection, other.slice));
        numbers.then_with(|| (one.from, one.to).cmp(&(other.from, other.to)))
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
