//! The end that opens the connection and sends.

use bytes::Bytes;
use handfast_core::{BitRate, Bytes as Size, Duration, Instant, Stream};
use handfast_mptcp::{Config, Connection, Event, Failure, Received, SubflowStatus};
use handfast_tcp::{Death, Received as TcpReceived, Transmit};

use super::layer::Layer;
use super::paths::Paths;
use crate::meter::{DeliveryMeter, FlowSample, WindowMeter};
use crate::session::{Ending, LOW_WATER, Sending};
use crate::transport::{Counts, Figures, Transport, Way};

/// A host takes whatever its connection sends.
pub(super) const NO_LIMIT: Size = Size(u64::MAX);

/// An application that sends, on a connection.
pub(super) struct Sender {
    sending: Sending,
    opens: Instant,
    /// What the connection is made of once the application opens it.
    seed: Option<(Config, Stream)>,
    paths: Paths,
    layer: Option<Layer>,
    connection: Option<Connection>,
    /// The windows of all sub-flows together, since the handshake.
    window: Option<WindowMeter>,
}

impl Sender {
    pub(super) fn new(
        sending: Sending,
        opens: Instant,
        config: Config,
        random: Stream,
        paths: Paths,
        layer: Option<Layer>,
    ) -> Self {
        Self { sending, opens, seed: Some((config, random)), paths, layer, connection: None, window: None }
    }

    fn open(&mut self, now: Instant) {
        if let Some((config, random)) = self.seed.take()
            && let Some(flow) = self.paths.open()
        {
            self.connection = Some(Connection::connect(config, flow, random, now));
        }
    }

    /// Writes what the application has, as far as the connection sends it soon, and closes after its last byte.
    fn fill(&mut self, now: Instant) {
        let Some(connection) = &mut self.connection else { return };
        let mut done = false;
        while connection.unsent() < LOW_WATER {
            let payload = self.sending.next(LOW_WATER);
            let taken = if payload.is_empty() { 0 } else { connection.write(payload) };
            if taken == 0 {
                break;
            }
            done |= self.sending.on_taken(taken as u64);
        }
        if done || self.sending.on_taken(0) {
            connection.close(now);
        }
    }

    /// Takes note of what has happened to the connection.
    fn take_stock(&mut self, now: Instant) {
        let Some(connection) = &mut self.connection else { return };
        while let Some(event) = connection.poll_event() {
            self.paths.on_event(event);
            if let Some(layer) = &mut self.layer {
                layer.on_event(now, event, &self.paths, connection);
            }
            match event {
                Event::Closed => self.sending.end(Ending::Done(now)),
                Event::Failed(failure) => self.sending.end(Ending::Died(now, death(failure))),
                _ => {}
            }
        }
        self.paths.join(now, connection);
        if let Some(layer) = &mut self.layer {
            layer.watch(now, connection);
        }
        let cwnd: u64 = carrying(connection, now).map(|status| status.tcp.cwnd).sum();
        if cwnd > 0 && self.sending.ending().is_none() {
            self.window.get_or_insert_with(|| WindowMeter::new(now, cwnd)).set(now, cwnd);
        }
    }
}

/// The sub-flows that may carry data, as the measures see them.
fn carrying(connection: &Connection, now: Instant) -> impl Iterator<Item = SubflowStatus> + '_ {
    connection.subflows(now).filter(|status| status.established)
}

/// How a connection of TCP would be said to have died.
fn death(failure: Failure) -> Death {
    match failure {
        Failure::Tcp(death) => death,
        Failure::NoPath => Death::Timeout,
        Failure::FastClose => Death::Reset,
        Failure::Aborted => Death::Aborted,
    }
}

impl Transport for Sender {
    fn deadline(&self) -> Option<Instant> {
        let Some(connection) = &self.connection else {
            return self.seed.is_some().then_some(self.opens);
        };
        let application = self.sending.deadline().filter(|_| self.sending.ending().is_none());
        connection.deadline().into_iter().chain(application).min()
    }

    fn on_timer(&mut self, now: Instant) {
        if self.opens <= now {
            self.open(now);
        }
        self.sending.on_timer(now);
        if let Some(connection) = &mut self.connection
            && connection.deadline().is_some_and(|due| due <= now)
        {
            connection.on_timer(now);
        }
    }

    fn on_datagram(&mut self, _now: Instant, _way: Way, _data: &Bytes) {}

    fn poll_transmit(&mut self, _now: Instant) -> Option<(Way, Bytes)> {
        None
    }

    fn on_segment(&mut self, now: Instant, way: Way, tcp: &TcpReceived<'_>) {
        if let Some(connection) = &mut self.connection
            && let Some(flow) = self.paths.flow(way)
        {
            connection.on_segment(now, &Received { flow, tcp: *tcp });
        }
        self.take_stock(now);
    }

    fn poll_segment(&mut self, now: Instant) -> Option<(Way, Transmit)> {
        self.fill(now);
        self.take_stock(now);
        let connection = self.connection.as_mut()?;
        let paths = &self.paths;
        let sent = std::iter::from_fn(|| connection.poll_transmit(now, NO_LIMIT))
            .find_map(|transmit| Some((paths.way(transmit.flow)?, transmit.tcp)));
        self.take_stock(now);
        sent
    }

    fn on_radio(&mut self, now: Instant, address: usize, rate: Option<BitRate>) {
        if let Some(layer) = &mut self.layer {
            layer.on_radio(now, address, rate, &mut self.paths, self.connection.as_mut(), true);
        }
    }

    fn moves(&self) -> Option<u64> {
        self.layer.as_ref().map(|layer| layer.moves)
    }

    fn has_begun(&self) -> bool {
        self.connection.is_some()
    }

    fn ending(&self) -> Option<Ending> {
        self.sending.ending()
    }

    fn meter(&self) -> DeliveryMeter {
        DeliveryMeter::default()
    }

    fn meter_mut(&mut self) -> Option<&mut DeliveryMeter> {
        None
    }

    fn figures(&self) -> Figures {
        Figures::new()
    }

    fn counts(&self) -> Option<Counts> {
        let counters = self.connection.as_ref().map(Connection::tcp_counters).unwrap_or_default();
        Some(Counts {
            data: counters.data_segments_sent,
            retransmitted: counters.retransmitted_segments,
            timeouts: counters.timeouts,
            fast_retransmits: counters.fast_retransmits,
        })
    }

    fn window(&self) -> Option<&WindowMeter> {
        self.window.as_ref()
    }

    /// Of all sub-flows: windows add up, and the least round-trip time is that by which the scheduler goes.
    fn sample(&self, now: Instant) -> Option<FlowSample> {
        let connection = self.connection.as_ref()?;
        let carrying: Vec<_> = carrying(connection, now).collect();
        let written = self.sending.written();
        let srtt = carrying.iter().map(|status| status.srtt).filter(|&srtt| srtt > Duration::ZERO).min();
        Some(FlowSample {
            cwnd: carrying.iter().map(|status| status.tcp.cwnd).sum(),
            // There is none of a connection.
            ssthresh: None,
            srtt,
            rto: carrying.iter().map(|status| status.tcp.rto).min()?,
            delivered: 0,
            sent: Some(written - connection.unsent()),
            acknowledged: Some(written - connection.unacknowledged()),
        })
    }
}
