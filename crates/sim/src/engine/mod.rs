//! When which machine acts: the event queue and what makes it fast. Nothing here knows what a packet or a connection is.

pub(crate) mod deadlines;
pub(crate) mod entry;
pub(crate) mod fast_path;
mod heap;
mod overflow;
pub(crate) mod pages;
pub(crate) mod prefetch;
pub(crate) mod queue;
mod wheel;
