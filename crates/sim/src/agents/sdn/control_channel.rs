//! The control channel between a controller and a switch, in virtual time.

use handfast_core::{BitRate, Bytes, Duration, Instant};
use handfast_wire::openflow::Message;

/// A control channel. It loses nothing and keeps the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControlChannel {
    /// One way, beside the time that a message's bytes take.
    pub delay: Duration,
    /// How fast each direction carries messages, a switch's and a controller's work on them included; [`None`]: they take no
    /// time.
    pub rate: Option<BitRate>,
}

impl From<Duration> for ControlChannel {
    fn from(delay: Duration) -> Self {
        Self { delay, rate: None }
    }
}

/// One direction of a channel, and when it is free.
#[derive(Clone, Copy, Debug)]
pub(super) struct Direction {
    channel: ControlChannel,
    free: Instant,
}

impl Direction {
    pub(super) fn new(channel: ControlChannel) -> Self {
        Self { channel, free: Instant::ZERO }
    }

    /// When a message that is sent `now` arrives.
    pub(super) fn send(&mut self, now: Instant, message: &Message, scratch: &mut Vec<u8>) -> Instant {
        let ControlChannel { delay, rate } = self.channel;
        let took = rate.and_then(|rate| rate.serialisation(length(message, scratch)));
        self.free = self.free.max(now) + took.map_or(Duration::ZERO, |(took, _)| took);
        self.free + delay
    }
}

fn length(message: &Message, scratch: &mut Vec<u8>) -> Bytes {
    scratch.clear();
    // No controller and no switch sends what cannot be emitted; here it takes no time.
    let emitted = message.emit(scratch);
    Bytes(emitted.map_or(0, |()| scratch.len() as u64))
}
