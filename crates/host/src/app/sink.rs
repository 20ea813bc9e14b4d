//! The receiving side of an application: it checks that what arrives is what was sent, and measures.

use handfast_core::{BitRate, Bytes, Duration, Instant};
use handfast_tcp::Endpoint;
use handfast_wire::Payload;

use crate::meter::{DeliveryMeter, SharedMeter};
use crate::probe::Probe;

/// What a receiving application with a read rate reads at a time, in bytes.
const READ_SIZE: usize = 4096;

/// What few sinks have: in a place of its own, so that the others ask once whether there is any of it.
#[derive(Debug, Default)]
struct Special {
    /// How fast it reads.
    rate: Option<BitRate>,
    /// What the application has got by all of its connections.
    all: Option<SharedMeter>,
    /// What measures its packets.
    probe: Option<Probe>,
}

/// A receiving application, or one of its connections where it has several at once.
#[derive(Debug)]
pub struct Sink {
    stream: u32,
    special: Option<Box<Special>>,
    /// With a read rate: when it may read again.
    next_read: Instant,
    /// Bytes that come again on a new connection.
    repeats: u64,
    /// What it has got.
    pub meter: DeliveryMeter,
    /// Where the first wrong byte was, if there was one.
    pub wrong_at: Option<u64>,
}

impl Sink {
    /// Expects the bytes of `stream` from its first one on. `rate`: how fast it reads; [`None`]: at once.
    pub fn new(stream: u32, rate: Option<BitRate>) -> Self {
        let special = rate.map(|rate| Box::new(Special { rate: Some(rate), ..Special::default() }));
        let next_read = Instant::ZERO;
        Self { stream, special, next_read, repeats: 0, meter: DeliveryMeter::default(), wrong_at: None }
    }

    /// The same, as one of several that feed `all`.
    #[must_use]
    pub fn sharing(mut self, all: SharedMeter) -> Self {
        self.special.get_or_insert_default().all = Some(all);
        self
    }

    /// The same, with a probe that measures its packets.
    #[must_use]
    pub fn measured_by(mut self, probe: Probe) -> Self {
        self.special.get_or_insert_default().probe = Some(probe);
        self
    }

    /// What names its bytes.
    pub fn stream(&self) -> u32 {
        self.stream
    }

    /// When it may read next; [`None`]: never.
    #[inline]
    pub fn next_read(&self) -> Option<Instant> {
        (self.next_read < Instant::MAX).then_some(self.next_read)
    }

    /// How many bytes it reads at a time.
    #[inline]
    pub fn read_size(&self) -> usize {
        if self.special.as_ref().is_some_and(|special| special.rate.is_some()) {
            READ_SIZE
        } else {
            usize::MAX
        }
    }

    /// When it reads next from a connection, if anything waits there.
    #[inline]
    pub fn deadline(&self, endpoint: &Endpoint) -> Option<Instant> {
        if endpoint.readable() > 0 { self.next_read() } else { None }
    }

    /// Its connection is gone, and the next one begins with the byte at `position`. What waits in the old one is read at once.
    pub fn go_on(&mut self, now: Instant, endpoint: &mut Endpoint, position: u64) {
        while let Some(payload) = endpoint.read(usize::MAX) {
            self.take(now, &payload);
        }
        self.begin_at(position);
    }

    /// What comes next begins with the byte at `position`.
    pub fn begin_at(&mut self, position: u64) {
        self.repeats = self.meter.bytes.saturating_sub(position);
    }

    /// The position of the next byte.
    #[inline]
    fn position(&self) -> u64 {
        self.meter.bytes - self.repeats
    }

    /// Reads what it may from a connection.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "with each segment that arrives")]
    pub fn read(&mut self, now: Instant, endpoint: &mut Endpoint) {
        while endpoint.readable() > 0 && self.next_read <= now {
            let Some(payload) = endpoint.read(self.read_size()) else { return };
            self.take(now, &payload);
        }
    }

    /// Takes what was read from a kernel's socket. What came after `end` is checked, and is no part of what is measured.
    pub fn take_bytes(&mut self, now: Instant, end: Instant, bytes: &[u8]) {
        if !self.are_next(bytes) {
            self.wrong_at.get_or_insert(self.position());
        }
        let len = bytes.len() as u64;
        let again = len.min(self.repeats);
        self.repeats -= again;
        if now <= end && len > again {
            self.meter.add(now, len - again);
        }
        self.on_read(now, len, again);
    }

    /// It will read nothing more.
    pub fn stop(&mut self) {
        self.next_read = Instant::MAX;
    }

    /// Takes the next bytes.
    #[inline]
    pub fn take(&mut self, now: Instant, payload: &Payload) {
        let len = payload.len() as u64;
        if !self.is_next(payload) {
            self.wrong_at.get_or_insert(self.position());
        }
        let again = len.min(self.repeats);
        self.repeats -= again;
        if len > again {
            self.meter.add(now, len - again);
        }
        self.on_read(now, len, again);
    }

    /// It has read so many bytes, of which some have come before.
    #[inline]
    fn on_read(&mut self, now: Instant, len: u64, again: u64) {
        if self.special.is_some() {
            self.on_special_read(now, len, again);
        }
    }

    #[inline(never)]
    fn on_special_read(&mut self, now: Instant, len: u64, again: u64) {
        let Some(special) = &self.special else { return };
        if let Some(all) = special.all.as_ref().filter(|_| len > again) {
            all.add(now, len - again);
        }
        if let Some(probe) = &special.probe {
            probe.on_delivered(now, self.meter.bytes);
        }
        if let Some(rate) = special.rate {
            // At rate zero it never reads again.
            let pause = rate.serialisation(Bytes(len)).map_or(Duration::MAX, |(time, _)| time);
            self.next_read = now + pause;
        }
    }

    /// Whether these are the bytes that the source wrote at this position.
    #[inline]
    fn is_next(&self, payload: &Payload) -> bool {
        match payload {
            Payload::Synthetic { stream, offset, .. } => *stream == self.stream && *offset == self.position(),
            Payload::Bytes(bytes) => self.are_next(bytes),
        }
    }

    #[inline(never)]
    fn are_next(&self, bytes: &[u8]) -> bool {
        let (stream, offset, len) = (self.stream, self.position(), bytes.len() as u32);
        Payload::Synthetic { stream, offset, len }.to_bytes() == bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use handfast_core::SeqNum;
    use std::sync::Arc;

    #[test]
    fn the_sink_accepts_what_comes_next() {
        let mut sink = Sink::new(4, None);
        let first = Payload::Synthetic { stream: 4, offset: 0, len: 100 };
        sink.take(Instant::ZERO, &first);
        let second = Payload::Synthetic { stream: 4, offset: 100, len: 50 }.to_bytes();
        sink.take(Instant::ZERO, &Payload::Bytes(second));
        assert_eq!((sink.meter.bytes, sink.wrong_at), (150, None));
    }

    #[test]
    fn sinks_of_one_flow_feed_one_meter() {
        let all = SharedMeter::default();
        let mut sinks = [4, 5].map(|stream| Sink::new(stream, None).sharing(all.clone()));
        let mut take = |index: usize, ms, offset, len| {
            let piece = Payload::Synthetic { stream: 4 + index as u32, offset, len };
            sinks[index].take(Instant::from_millis(ms), &piece);
        };
        take(0, 10, 0, 100);
        all.watch();
        take(1, 30, 0, 50);
        take(0, 40, 100, 10);
        let (meter, at) = (all.get(), Instant::from_millis);
        assert_eq!((meter.bytes, meter.span, meter.resumed()), (160, Some((at(10), at(40))), Some(at(30))));
        assert_eq!(meter.idle(at(41)), Some(Duration::from_millis(20)));
        assert_eq!(sinks.map(|sink| (sink.meter.bytes, sink.wrong_at)), [(110, None), (50, None)]);
    }

    #[test]
    fn bytes_that_come_again_are_checked_and_not_counted() {
        let mut sink = Sink::new(4, None);
        let piece = |offset, len| Payload::Synthetic { stream: 4, offset, len };
        sink.take(Instant::ZERO, &piece(0, 100));
        let mut gone = Endpoint::listen(Arc::default(), 80, SeqNum(1));
        // Twice: nothing came by the connection in between.
        sink.go_on(Instant::ZERO, &mut gone, 70);
        sink.go_on(Instant::ZERO, &mut gone, 70);
        sink.take(Instant::ZERO, &piece(70, 20));
        assert_eq!((sink.meter.bytes, sink.wrong_at), (100, None));
        sink.take(Instant::ZERO, &piece(90, 50));
        assert_eq!((sink.meter.bytes, sink.wrong_at), (140, None));
        sink.go_on(Instant::ZERO, &mut gone, 140);
        sink.take(Instant::ZERO, &piece(0, 10));
        assert_eq!(sink.wrong_at, Some(140));
    }

    #[test]
    fn the_sink_notices_a_gap_a_repeat_and_a_foreign_stream() {
        for (stream, offset) in [(4, 101), (4, 99), (5, 100)] {
            let mut sink = Sink::new(4, None);
            sink.take(Instant::ZERO, &Payload::Synthetic { stream: 4, offset: 0, len: 100 });
            sink.take(Instant::ZERO, &Payload::Synthetic { stream, offset, len: 10 });
            assert_eq!(sink.wrong_at, Some(100), "{stream} {offset}");
        }
    }
}
