//! An application that writes at set times: `size` bytes every `interval`.

use handfast_core::{Bytes, Duration, Instant};

use super::source::Allowance;

/// How much is written when.
#[derive(Clone, Copy, Debug)]
pub(super) struct Paced {
    size: u64,
    interval: Duration,
    next: Instant,
}

impl Paced {
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

pub(super) fn allowance(size: Bytes, interval: Duration, start: Instant) -> Allowance {
    let paced = Paced { size: size.get(), interval, next: start };
    Allowance { bytes: 0, is_last: false, paced: Some(paced) }
}

pub(super) fn check(size: Bytes, interval: Duration) -> Result<(), String> {
    if interval == Duration::ZERO {
        return Err("writes without pause: its interval is zero".to_owned());
    }
    if size.get() > u64::from(u32::MAX) {
        return Err(format!("writes more than {} bytes at once", u32::MAX));
    }
    Ok(())
}
