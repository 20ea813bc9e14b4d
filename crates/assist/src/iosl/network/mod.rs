//! The network state monitoring system (NSMS, `[iosl]` IV.A.2): what the radio says of itself, and what follows from it.

mod measured;
mod monitor;
mod predictor;
mod signal;

pub use measured::{Measured, rate_of_cqi};
pub use monitor::{Config, Counters, Monitor, Notice};
pub use predictor::{Predictor, Thresholds};
pub use signal::{Change, Signal};
