//! The end that waits for the connection and receives.

use bytes::Bytes;
use handfast_core::{BitRate, Instant, Stream};
use handfast_mptcp::{Config, Connection, Event, Received, token_of_join};
use handfast_tcp::{Received as TcpReceived, Transmit};
use handfast_wire::tcp::Flags;

use super::layer::Layer;
use super::paths::Paths;
use super::sender::NO_LIMIT;
use crate::app::Sink;
use crate::meter::DeliveryMeter;
use crate::session::Ending;
use crate::transport::{Figures, Transport, Way};

/// An application that receives, on a connection.
pub(super) struct Receiver {
    sink: Sink,
    paths: Paths,
    layer: Option<Layer>,
    /// What the connection is made of once the peer opens it.
    seed: Option<(Config, Stream)>,
    connection: Option<Connection>,
}

impl Receiver {
    pub(super) fn new(
        sink: Sink,
        config: Config,
        random: Stream,
        paths: Paths,
        layer: Option<Layer>,
    ) -> Self {
        Self { sink, paths, layer, seed: Some((config, random)), connection: None }
    }

    /// The application reads at once, and closes when its peer has.
    fn read(&mut self, now: Instant) {
        let Some(connection) = &mut self.connection else { return };
        while let Some(payload) = connection.read(usize::MAX) {
            self.sink.take(now, &payload);
        }
        while let Some(event) = connection.poll_event() {
            self.paths.on_event(event);
            if event == Event::PeerClosed {
                connection.close(now);
            }
        }
        self.paths.tell(connection);
    }
}

impl Transport for Receiver {
    fn deadline(&self) -> Option<Instant> {
        self.connection.as_ref()?.deadline()
    }

    fn on_timer(&mut self, now: Instant) {
        if let Some(connection) = &mut self.connection {
            connection.on_timer(now);
        }
        self.read(now);
    }

    fn on_datagram(&mut self, _now: Instant, _way: Way, _data: &Bytes) {}

    fn poll_transmit(&mut self, _now: Instant) -> Option<(Way, Bytes)> {
        None
    }

    fn on_segment(&mut self, now: Instant, way: Way, tcp: &TcpReceived<'_>) {
        let Some(flow) = self.paths.flow(way) else { return };
        let received = Received { flow, tcp: *tcp };
        let joins = token_of_join(tcp.segment).is_some();
        match &mut self.connection {
            Some(connection) => {
                let known = connection.on_segment(now, &received);
                if !known && joins {
                    connection.accept_join(now, &received);
                }
            }
            None if tcp.segment.flags.contains(Flags::SYN) && !joins => {
                let Some((config, random)) = self.seed.take() else { return };
                self.connection = Some(Connection::accept(config, random, now, &received));
            }
            None => {}
        }
        self.read(now);
    }

    fn poll_segment(&mut self, now: Instant) -> Option<(Way, Transmit)> {
        let connection = self.connection.as_mut()?;
        let paths = &self.paths;
        std::iter::from_fn(|| connection.poll_transmit(now, NO_LIMIT))
            .find_map(|transmit| Some((paths.way(transmit.flow)?, transmit.tcp)))
    }

    fn on_radio(&mut self, now: Instant, address: usize, rate: Option<BitRate>) {
        if let Some(layer) = &mut self.layer {
            layer.on_radio(now, address, rate, &mut self.paths, self.connection.as_mut(), false);
        }
    }

    fn moves(&self) -> Option<u64> {
        self.layer.as_ref().map(|layer| layer.moves)
    }

    fn has_begun(&self) -> bool {
        self.connection.is_some()
    }

    fn ending(&self) -> Option<Ending> {
        None
    }

    fn meter(&self) -> DeliveryMeter {
        self.sink.meter
    }

    fn meter_mut(&mut self) -> Option<&mut DeliveryMeter> {
        Some(&mut self.sink.meter)
    }

    fn wrong_at(&self) -> Option<u64> {
        self.sink.wrong_at
    }

    fn figures(&self) -> Figures {
        Figures::new()
    }
}
