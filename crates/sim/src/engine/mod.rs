//! When which machine acts: the event queue and what makes it fast. Nothing here knows what a packet or a connection is.

mod deadlines;
pub(crate) mod entry;
pub(crate) mod fast_path;
mod heap;
pub(crate) mod ids;
mod overflow;
pub(crate) mod queue;
mod wheel;
