//! Shortcuts that change no result: packets whose arrival is known when they enter a link, and memory that is fetched before it is
//! needed.

pub(crate) mod flight;
pub(crate) mod lanes;
pub(crate) mod ready;
mod tandem;
