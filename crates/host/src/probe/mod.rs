//! What is measured of a stream where its flow asks for it: how long its connection takes to be set up, and when each of its
//! packets was where. A flow that does not ask has no probe.

mod arrivals;
mod packets;
mod set_up;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use handfast_core::{Bytes, Duration, Instant};
use handfast_tcp::State;
use handfast_wire::Payload;
use handfast_wire::tcp::{Flags, Segment};

pub use packets::{PacketTime, PacketTimes};
pub use set_up::End;

use set_up::SetUp;

/// Packets of a flow that are measured. Each takes 32 bytes.
pub const MOST_PACKETS: usize = 1_000_000;

/// What a flow asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measures {
    /// How long it takes to set up its connection.
    pub connect: bool,
    /// The delays of its packets.
    pub delay: bool,
}

impl Measures {
    /// Whether it asks for anything.
    pub fn any(self) -> bool {
        self.connect || self.delay
    }
}

/// The probe of one stream. Its clones are the same probe: one is where packets pass, one at the receiving application.
#[derive(Clone, Debug)]
pub struct Probe(Arc<Mutex<Seen>>);

#[derive(Debug)]
struct Seen {
    set_up: SetUp,
    /// [`None`]: the flow does not ask.
    packets: Option<PacketTimes>,
}

impl Probe {
    /// Of one of the `connections` that a flow has at once. `writes`: what its application writes at a time and how often, from
    /// `start` on, if it does so at set times. [`None`]: the flow asks for nothing.
    pub fn new(
        measures: Measures,
        writes: Option<(Bytes, Duration)>,
        start: Instant,
        connections: u32,
    ) -> Option<Self> {
        let most = MOST_PACKETS / connections.max(1) as usize;
        let packets = measures.delay.then(|| PacketTimes::new(writes, start, most));
        let seen = Seen { set_up: SetUp::default(), packets };
        measures.any().then(|| Self(Arc::new(Mutex::new(seen))))
    }

    /// The sender's endpoint sends a segment.
    pub fn on_sent(&self, now: Instant, segment: &Segment) {
        let mut seen = self.lock();
        if segment.flags.contains(Flags::SYN) {
            seen.set_up.on_syn(now, segment.seq);
        }
        if let Some((packets, (offset, len))) = seen.packets.as_mut().zip(position(segment)) {
            packets.on_sent(now, offset, len);
        }
    }

    /// The application of a kernel's socket connects.
    pub fn on_connect(&self, now: Instant) {
        self.lock().set_up.on_connect(now);
    }

    /// A kernel's socket is open at this end.
    pub fn on_open(&self, now: Instant, end: End) {
        self.lock().set_up.on_open(now, end);
    }

    /// The application has written these bytes to a kernel's socket.
    pub fn on_written(&self, offset: u64, len: u64) {
        if let Some(packets) = &mut self.lock().packets {
            packets.on_written(offset, len);
        }
    }

    /// A segment has come to an endpoint, which is in that state now.
    pub fn on_arrival(&self, now: Instant, end: End, state: State, segment: &Segment) {
        let mut seen = self.lock();
        seen.set_up.on_state(now, end, state);
        if end == End::Client {
            return;
        }
        let position = position(segment).or_else(|| seen.set_up.position(segment));
        if let Some((packets, (offset, len))) = seen.packets.as_mut().zip(position) {
            packets.on_arrival(now, offset, len);
        }
    }

    /// The receiving application has got so many bytes in all.
    pub fn on_delivered(&self, now: Instant, bytes: u64) {
        if let Some(packets) = &mut self.lock().packets {
            packets.on_delivered(now, bytes);
        }
    }

    /// From the first SYN until both ends held their packet; [`None`]: one never did.
    pub fn connect_time(&self) -> Option<Duration> {
        self.lock().set_up.took()
    }

    /// Shows its packets; nothing where the flow does not ask for them.
    pub fn with_packets<T>(&self, show: impl FnOnce(&PacketTimes) -> T) -> Option<T> {
        self.lock().packets.as_ref().map(show)
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where its bytes are in what the application sends, and how many there are.
fn position(segment: &Segment) -> Option<(u64, u64)> {
    match segment.payload {
        Payload::Synthetic { offset, len, .. } => Some((offset, u64::from(len))),
        Payload::Bytes(_) => None,
    }
}
