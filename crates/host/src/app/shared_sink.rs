//! The receiving side of an application with several connections at once: each has a sink, and all feed one meter.

use std::cell::Cell;
use std::rc::Rc;

use handfast_core::Instant;
use handfast_tcp::Endpoint;

use super::Sink;
use crate::meter::DeliveryMeter;

/// One of the sinks of a flow.
#[derive(Debug)]
pub struct SharedSink {
    sink: Sink,
    /// What the application has got by all of them.
    all: Rc<Cell<DeliveryMeter>>,
}

impl SharedSink {
    /// One that feeds `all`, besides the meter of its own.
    pub fn new(sink: Sink, all: Rc<Cell<DeliveryMeter>>) -> Self {
        Self { sink, all }
    }

    /// What has come by its connection.
    pub fn sink(&self) -> &Sink {
        &self.sink
    }

    /// As [`Sink::read`].
    // Not inline: drivers read from a sink of its own with each segment, and that way stays short.
    #[inline(never)]
    pub fn read(&mut self, now: Instant, endpoint: &mut Endpoint) {
        self.count(now, |sink| sink.read(now, endpoint));
    }

    /// As [`Sink::go_on`].
    pub fn go_on(&mut self, now: Instant, endpoint: &mut Endpoint, position: u64) {
        self.count(now, |sink| sink.go_on(now, endpoint, position));
    }

    /// Lets the sink do something, and counts what that delivers.
    fn count(&mut self, now: Instant, act: impl FnOnce(&mut Sink)) {
        let before = self.sink.meter.bytes;
        act(&mut self.sink);
        let delivered = self.sink.meter.bytes - before;
        if delivered > 0 {
            let mut meter = self.all.get();
            meter.add(now, delivered);
            self.all.set(meter);
        }
    }
}
