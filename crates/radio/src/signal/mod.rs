//! From transmitted power to received signal, and from signal to range.

mod channel;
mod propagation;
mod transmitter;

pub use channel::Channel;
pub use propagation::Propagation;
pub use transmitter::Transmitter;
