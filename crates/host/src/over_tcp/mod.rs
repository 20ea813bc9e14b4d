//! The two ends of a [dialogue](crate::dialogue) over TCP endpoints: one asks, the other answers.

mod asking;
mod serving;
#[cfg(test)]
pub(crate) mod testing;

pub use asking::Asking;
pub use serving::Serving;
