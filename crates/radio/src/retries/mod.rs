//! Bit errors, the repetitions that hide them, and what is left: packets that are lost after the last repetition, and packets with
//! an error that the frame's checksum missed.

mod bits;
mod limit;

pub use bits::{BitErrors, NOISE_FLOOR};
pub use limit::{Attempt, Outcome, Retries, UNDETECTED};
