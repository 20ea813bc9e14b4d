//! A link to which nothing happens: when a packet arrives follows from when it enters.

use std::collections::VecDeque;

use handfast_core::{Bytes, Duration, Instant};

use crate::counters::Cause;
use crate::fifo::clamp;
use crate::line::Line;

/// What a [`crate::Link`] does to packets while it loses none on the way and nothing is done to it, for a driver that keeps
/// them itself: it says of each when it arrives.
///
/// What each packet touches comes first; the rest only those that find others before them.
#[derive(Debug)]
#[repr(C)]
pub struct Foreseen {
    line: Line,
    delay: Duration,
    /// How many packets it holds at most: that in serialisation, and those that wait. Not 0.
    most: u32,
    /// When those left, or will leave, that were accepted before the last one: all that it still holds, and perhaps more.
    departures: VecDeque<Instant>,
}

impl Foreseen {
    /// `most` packets, at least one, or any number.
    pub(crate) fn new(line: Line, delay: Duration, most: Option<u32>) -> Self {
        Self { line, delay, most: most.unwrap_or(u32::MAX), departures: VecDeque::new() }
    }

    /// Takes a packet in, and says when it arrives. `now` must not go back from call to call.
    ///
    /// # Errors
    /// [`Cause::QueueFull`]: it was not accepted.
    #[inline]
    pub fn enter(&mut self, now: Instant, size: Bytes) -> Result<Instant, Cause> {
        if self.line.is_busy(now) {
            self.wait(now)?;
        }
        Ok(self.line.serve(now, clamp(size)) + self.delay)
    }

    /// Makes room for one more behind the last, or says that there is none.
    #[inline]
    fn wait(&mut self, now: Instant) -> Result<(), Cause> {
        // With the last one, which the line is busy with or will be.
        let held = self.departures.len() + 1;
        if held >= self.most as usize || held > self.departures.capacity() {
            // A packet whose last bit leaves at this very moment has left.
            while self.departures.front().is_some_and(|&departure| departure <= now) {
                self.departures.pop_front();
            }
            if self.departures.len() + 1 >= self.most as usize {
                return Err(Cause::QueueFull);
            }
        }
        self.departures.push_back(self.line.free_at());
        Ok(())
    }
}
