//! The way between a controller and a switch, in virtual time.

use handfast_core::{BitRate, Bytes, Duration, Instant};
use handfast_wire::openflow::Message;

/// What a control channel is like. It loses nothing and keeps the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Channel {
    /// One way, beside the time that a message's bytes take.
    pub delay: Duration,
    /// How fast each direction carries messages, a switch's and a controller's work on them included; [`None`]: they take no
    /// time.
    pub rate: Option<BitRate>,
}

impl From<Duration> for Channel {
    fn from(delay: Duration) -> Self {
        Self { delay, rate: None }
    }
}

/// One direction of a channel: from when it is free.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lane {
    channel: Channel,
    free: Instant,
}

impl Lane {
    pub(super) fn new(channel: Channel) -> Self {
        Self { channel, free: Instant::ZERO }
    }

    /// When a message that is sent `now` arrives.
    pub(super) fn send(&mut self, now: Instant, message: &Message, scratch: &mut Vec<u8>) -> Instant {
        let Channel { delay, rate } = self.channel;
        let took = rate.and_then(|rate| rate.serialisation(length(message, scratch)));
        self.free = self.free.max(now) + took.map_or(Duration::ZERO, |(took, _)| took);
        self.free + delay
    }
}

fn length(message: &Message, scratch: &mut Vec<u8>) -> Bytes {
    scratch.clear();
    // What cannot be emitted is not sent by anybody; here it takes no time.
    let emitted = message.emit(scratch);
    Bytes(emitted.map_or(0, |()| scratch.len() as u64))
}
