//! How a run is watched and stopped.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use handfast_core::Duration;

/// Shared with a run by whoever waits for it.
#[derive(Debug, Default)]
pub struct Control {
    cancel: AtomicBool,
    /// The scenario's nanoseconds done.
    done: AtomicU64,
    /// The scenario's nanoseconds in all.
    total: AtomicU64,
}

impl Control {
    /// Nobody has cancelled, nothing is done.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks the run to end soon with an error that says so.
    pub fn cancel(&self) {
        self.cancel.store(true, Ordering::Relaxed);
    }

    /// Whether [`Control::cancel`] was called.
    pub fn is_cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }

    /// The part of the scenario's duration that is done, 0 to 1.
    pub fn progress(&self) -> f64 {
        let total = self.total.load(Ordering::Relaxed);
        if total == 0 { 0.0 } else { self.done.load(Ordering::Relaxed) as f64 / total as f64 }
    }

    /// So much of the scenario's time is done.
    pub fn report(&self, done: Duration, total: Duration) {
        self.done.store(done.as_nanos(), Ordering::Relaxed);
        self.total.store(total.as_nanos(), Ordering::Relaxed);
    }
}
