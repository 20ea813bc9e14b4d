//! The applications at both ends of a flow.

use handfast_core::{BitRate, Bytes, Duration, Instant};
use handfast_results::meter::DeliveryMeter;
use handfast_scenario::{App, Flow};
use handfast_tcp::Endpoint;
use handfast_wire::Payload;

/// A source with much to send sees to it that at least so many bytes wait in its endpoint: more than any window opens at
/// once, little enough that a flow that is stopped is soon over.
const LOW_WATER: u64 = 1 << 16;
/// What it writes at a time, in bytes.
const WRITE_SIZE: u64 = 1 << 17;
/// What a receiving application with a read rate reads at a time, in bytes.
const READ_SIZE: usize = 4096;

/// The sending application.
#[derive(Debug)]
pub(crate) struct Source {
    /// Names its bytes: the flow's number.
    stream: u32,
    /// Position in the synthetic stream of the next byte to write.
    offset: u64,
    /// Bytes still to write whenever there is room.
    left: u64,
    /// Writes at set times: how much, how often, and when next.
    paced: Option<(u32, Duration, Instant)>,
    stop: Instant,
    closed: bool,
}

impl Source {
    /// The application of `flow`, which starts at `start`.
    pub(crate) fn new(flow: &Flow, stream: u32, start: Instant) -> Self {
        let (left, paced) = match flow.app {
            App::Bulk => (u64::MAX, None),
            App::Transfer(size) => (size.get(), None),
            App::Paced { size, interval } => (0, Some((size.get() as u32, interval, start))),
        };
        Self { stream, offset: 0, left, paced, stop: flow.stop.unwrap_or(Instant::MAX), closed: false }
    }

    /// Whether it has written its last byte.
    #[inline]
    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        let next = self.paced.map_or(Instant::MAX, |(_, _, next)| next).min(self.stop);
        (!self.closed && next < Instant::MAX).then_some(next)
    }

    /// Writes what is due, closes when it is time.
    pub(crate) fn on_timer(&mut self, now: Instant, endpoint: &mut Endpoint) {
        if self.closed {
            return;
        }
        if now >= self.stop {
            return self.close(now, endpoint);
        }
        while let Some((size, interval, next)) = self.paced.filter(|&(_, _, next)| next <= now) {
            self.write(endpoint, size);
            self.paced = Some((size, interval, next + interval));
        }
    }

    /// Tops up what waits in the endpoint, and closes after the last byte of a transfer.
    #[inline]
    pub(crate) fn fill(&mut self, now: Instant, endpoint: &mut Endpoint) {
        if self.closed || self.paced.is_some() || endpoint.unsent() >= LOW_WATER {
            return;
        }
        let size = self.left.min(WRITE_SIZE);
        if size > 0 {
            self.left -= size;
            self.write(endpoint, size as u32);
        }
        if self.left == 0 {
            self.close(now, endpoint);
        }
    }

    fn write(&mut self, endpoint: &mut Endpoint, len: u32) {
        // Synthetic payload is accepted whole.
        endpoint.write(Payload::Synthetic { stream: self.stream, offset: self.offset, len });
        self.offset += u64::from(len);
    }

    fn close(&mut self, now: Instant, endpoint: &mut Endpoint) {
        self.closed = true;
        endpoint.close(now);
    }
}

/// The receiving application: checks that what arrives is what was sent, and measures.
#[derive(Debug)]
pub(crate) struct Sink {
    stream: u32,
    rate: Option<BitRate>,
    /// With a read rate: when it may read again.
    next_read: Instant,
    pub(crate) meter: DeliveryMeter,
    /// Where the first wrong byte stood, if there was one.
    pub(crate) wrong_at: Option<u64>,
}

impl Sink {
    pub(crate) fn new(flow: &Flow, stream: u32) -> Self {
        let next_read = Instant::ZERO;
        Self { stream, rate: flow.read_rate, next_read, meter: DeliveryMeter::default(), wrong_at: None }
    }

    /// When it reads next, if anything waits.
    pub(crate) fn deadline(&self, endpoint: &Endpoint) -> Option<Instant> {
        (endpoint.readable() > 0 && self.next_read < Instant::MAX).then_some(self.next_read)
    }

    /// Reads what it may.
    #[inline]
    pub(crate) fn read(&mut self, now: Instant, endpoint: &mut Endpoint) {
        while endpoint.readable() > 0 && self.next_read <= now {
            let max = if self.rate.is_some() { READ_SIZE } else { usize::MAX };
            let Some(payload) = endpoint.read(max) else { return };
            self.take(now, &payload);
        }
    }

    fn take(&mut self, now: Instant, payload: &Payload) {
        let len = payload.len() as u64;
        if !self.is_next(payload) {
            self.wrong_at.get_or_insert(self.meter.bytes);
        }
        self.meter.add(now, len);
        if let Some(rate) = self.rate {
            // At rate zero it never reads again.
            let pause = rate.serialisation(Bytes(len)).map_or(Duration::MAX, |(time, _)| time);
            self.next_read = now + pause;
        }
    }

    /// Whether these are the bytes that the source wrote at this position.
    fn is_next(&self, payload: &Payload) -> bool {
        let expected = self.meter.bytes;
        match payload {
            Payload::Synthetic { stream, offset, .. } => *stream == self.stream && *offset == expected,
            Payload::Bytes(bytes) => {
                (expected..).zip(bytes).all(|(at, &byte)| byte == Payload::synthetic_byte(self.stream, at))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use handfast_plan::testing;

    fn sink() -> Sink {
        Sink::new(&testing::bulk(0, 1), 4)
    }

    #[test]
    fn the_sink_accepts_what_comes_next() {
        let mut sink = sink();
        let first = Payload::Synthetic { stream: 4, offset: 0, len: 100 };
        sink.take(Instant::ZERO, &first);
        let second = Payload::Synthetic { stream: 4, offset: 100, len: 50 }.to_bytes();
        sink.take(Instant::ZERO, &Payload::Bytes(second));
        assert_eq!((sink.meter.bytes, sink.wrong_at), (150, None));
    }

    #[test]
    fn the_sink_notices_a_gap_a_repeat_and_a_foreign_stream() {
        for (stream, offset) in [(4, 101), (4, 99), (5, 100)] {
            let mut sink = sink();
            sink.take(Instant::ZERO, &Payload::Synthetic { stream: 4, offset: 0, len: 100 });
            sink.take(Instant::ZERO, &Payload::Synthetic { stream, offset, len: 10 });
            assert_eq!(sink.wrong_at, Some(100), "{stream} {offset}");
        }
    }

    #[test]
    fn a_source_acts_when_it_should() {
        let mut flow = testing::bulk(0, 1);
        assert_eq!(Source::new(&flow, 0, Instant::ZERO).deadline(), None);
        flow.stop = Some(Instant::from_millis(50));
        assert_eq!(Source::new(&flow, 0, Instant::ZERO).deadline(), flow.stop);
        flow.app = App::Paced { size: Bytes(10), interval: Duration::from_millis(1) };
        assert_eq!(Source::new(&flow, 0, Instant::from_millis(3)).deadline(), Some(Instant::from_millis(3)));
    }
}
