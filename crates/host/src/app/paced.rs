//! An application that writes at set times: `size` bytes every `interval`.

use handfast_core::{Bytes, Duration, Instant};

use super::Description;

pub(super) fn description(size: Bytes, interval: Duration) -> Description {
    let problem = if interval == Duration::ZERO {
        Some("writes without pause: its interval is zero".to_owned())
    } else if size.get() > u64::from(u32::MAX) {
        Some(format!("writes more than {} bytes at once", u32::MAX))
    } else {
        None
    };
    Description { writes: Some((size, interval)), problem, ..Description::default() }
}

/// How much is written when.
#[derive(Clone, Copy, Debug)]
pub(super) struct Paced {
    size: u64,
    interval: Duration,
    next: Instant,
}

impl Paced {
    /// The first write is at `start`.
    pub(super) fn new(size: Bytes, interval: Duration, start: Instant) -> Self {
        Self { size: size.get(), interval, next: start }
    }

    /// When the next write is due.
    pub(super) fn next(&self) -> Instant {
        self.next
    }

    /// The bytes of all writes that are due by `now` and before `stop`.
    pub(super) fn due(&mut self, now: Instant, stop: Instant) -> u64 {
        let mut bytes = 0;
        while self.next <= now && self.next < stop {
            bytes += self.size;
            self.next += self.interval;
        }
        bytes
    }
}
