//! Transports besides TCP: endpoints that run over UDP, at both ends of a flow. One transport a file. A new one, such as QUIC,
//! is a file here. (TCP is the crate `handfast-tcp`.)
//!
//! Such an endpoint is a machine like a TCP endpoint: no clock, no socket. The driver carries what it sends in UDP datagrams. The
//! registry is [`Kind`]; nothing else knows how many there are.

mod datagrams;

use std::collections::BTreeMap;

use bytes::Bytes;
use handfast_core::{BitRate, Bytes as Size, Duration, Instant};
use handfast_tcp::{Received, Transmit};
use serde::Serialize;

use crate::meter::{DeliveryMeter, FlowSample, WindowMeter};
use crate::session::Ending;

/// The registry: the transports besides TCP, each with what its application says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A datagram of `size` bytes every `interval`.
    Datagrams {
        /// Bytes a datagram.
        size: Size,
        /// Between datagrams.
        interval: Duration,
    },
    /// The same, to somebody who listens.
    Call {
        /// Bytes a datagram.
        size: Size,
        /// Between datagrams.
        interval: Duration,
        /// What comes later than this after it was sent comes too late.
        late: Duration,
    },
}

impl Kind {
    pub(crate) fn description(self) -> Description {
        match self {
            Self::Datagrams { size, interval } => datagrams::description(size, interval, None),
            Self::Call { size, interval, late } => datagrams::description(size, interval, Some(late)),
        }
    }
}

/// Makes both ends, the sender first, for an application that starts and stops at these times.
pub(crate) type MakeEnds = Box<dyn Fn(Instant, Option<Instant>) -> [Box<dyn Transport>; 2]>;

/// What is known of a transport beforehand.
pub(crate) struct Description {
    /// How much it sends at a time, and how often, if that is fixed.
    pub(crate) writes: Option<(Size, Duration)>,
    /// What makes its ends.
    pub(crate) ends: MakeEnds,
    /// Why it cannot run, as the end of a sentence that begins with the flow.
    pub(crate) problem: Option<String>,
}

/// A figure of a transport in results. Its key carries its unit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Figure {
    /// So many.
    Count(u64),
    /// A value; [`None`]: not known.
    Value(Option<f64>),
}

/// Figures by their keys in results.
pub type Figures = BTreeMap<&'static str, Figure>;

/// A way between two hosts, by its number: from one address of this one to one of the other. Where each has one address there is way 0
/// alone. Those of a host's first address come first, in the order of the peer's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way(pub usize);

/// What the sending end of a transport that repeats what is lost has counted, in packets with data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Sent, repeated ones included.
    pub data: u64,
    /// Repeated.
    pub retransmitted: u64,
    /// Timeouts.
    pub timeouts: u64,
    /// Fast recoveries.
    pub fast_retransmits: u64,
}

/// One end of a flow whose endpoint is not TCP.
pub trait Transport: Send {
    /// When [`Transport::on_timer`] must be called at the latest.
    fn deadline(&self) -> Option<Instant>;

    /// Does what is due; afterwards the deadline, if there is one, is in the future.
    fn on_timer(&mut self, now: Instant);

    /// What a datagram carried has arrived whole.
    fn on_datagram(&mut self, now: Instant, way: Way, data: &Bytes);

    /// What the next datagram to send now carries, and where it goes.
    fn poll_transmit(&mut self, now: Instant) -> Option<(Way, Bytes)>;

    /// A segment of TCP has arrived, for one that is made of connections.
    fn on_segment(&mut self, _now: Instant, _way: Way, _received: &Received<'_>) {}

    /// The next such segment to send now, and where it goes.
    fn poll_segment(&mut self, _now: Instant) -> Option<(Way, Transmit)> {
        None
    }

    /// Whether it has begun.
    fn has_begun(&self) -> bool;

    /// How and when it had done all that it has to do; [`None`]: it has not.
    fn ending(&self) -> Option<Ending>;

    /// What the application at this end got.
    fn meter(&self) -> DeliveryMeter;

    /// The same, for whoever watches it.
    fn meter_mut(&mut self) -> Option<&mut DeliveryMeter>;

    /// What this end has counted, for the result of its flow.
    fn figures(&self) -> Figures;

    /// What it has sent; [`None`]: it repeats nothing.
    fn counts(&self) -> Option<Counts> {
        None
    }

    /// Its congestion window; [`None`]: it has none.
    fn window(&self) -> Option<&WindowMeter> {
        None
    }

    /// What is seen of it while it sends; [`None`]: nothing.
    fn sample(&self, _now: Instant) -> Option<FlowSample> {
        None
    }

    /// The host's socket layer says what the radio of one of its addresses carries; [`None`]: it has gone. Addresses are counted as in
    /// [`Way`].
    fn on_radio(&mut self, _now: Instant, _address: usize, _rate: Option<BitRate>) {}

    /// How often its layer has moved it to another path; [`None`]: it has no layer.
    fn moves(&self) -> Option<u64> {
        None
    }

    /// Where the first wrong byte was, if there was one.
    fn wrong_at(&self) -> Option<u64> {
        None
    }
}
