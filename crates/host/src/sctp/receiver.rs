//! The end that waits for the association and receives.

use std::collections::VecDeque;

use bytes::Bytes;
use handfast_core::{BitRate, Instant, Stream};
use handfast_sctp::{Answer, Association, Config, Listener, Transmit};
use handfast_wire::Payload;

use super::carrier::Ways;
use super::key;
use super::layer::{LAYER, Layer};
use super::sender::{DATA, NO_LIMIT};
use crate::app::Sink;
use crate::meter::DeliveryMeter;
use crate::session::Ending;
use crate::transport::{Figures, Transport, Way};

/// An application that receives, on an association.
pub(super) struct Receiver {
    sink: Sink,
    ways: Ways,
    listener: Listener,
    association: Option<Box<Association>>,
    layer: Option<Layer>,
    /// What the listener has answered.
    replies: VecDeque<Transmit>,
}

impl Receiver {
    pub(super) fn new(
        sink: Sink,
        config: Config,
        mut random: Stream,
        ways: Ways,
        layer: Option<Layer>,
    ) -> Self {
        let (key, local) = (key(&mut random), &ways.local);
        let listener = Listener::new(config, local.port, &local.addresses, key, random);
        Self { sink, ways, listener, layer, association: None, replies: VecDeque::new() }
    }

    /// The application reads at once.
    fn read(&mut self, now: Instant) {
        let Some(association) = &mut self.association else { return };
        while let Some(message) = association.read() {
            match (message.stream, &mut self.layer) {
                (DATA, _) => self.sink.take(now, &Payload::Bytes(message.data)),
                (LAYER, Some(layer)) => layer.on_message(now, &message.data, association),
                _ => {}
            }
        }
    }
}

impl Transport for Receiver {
    fn deadline(&self) -> Option<Instant> {
        self.association.as_ref()?.deadline()
    }

    fn on_timer(&mut self, now: Instant) {
        if let Some(association) = &mut self.association {
            association.on_timer(now);
        }
    }

    fn on_datagram(&mut self, now: Instant, way: Way, data: &Bytes) {
        let Some(arrived) = self.ways.parse(way, data) else { return };
        match &mut self.association {
            Some(association) => association.on_packet(now, &arrived.received()),
            None => match self.listener.on_packet(now, &arrived.received()) {
                Answer::Open(association) => self.association = Some(association),
                // One peer: what it asks again replaces what waits.
                Answer::Reply(reply) => self.replies = VecDeque::from([reply]),
                Answer::Nothing => {}
            },
        }
        self.read(now);
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<(Way, Bytes)> {
        if let (Some(layer), Some(association)) = (&mut self.layer, &mut self.association) {
            layer.write_news(association);
        }
        let reply = self.replies.pop_front().and_then(|reply| self.ways.emit(&reply));
        let association = &mut self.association;
        reply.or_else(|| {
            let association = association.as_mut()?;
            std::iter::from_fn(|| association.poll_transmit(now, NO_LIMIT))
                .find_map(|transmit| self.ways.emit(&transmit))
        })
    }

    fn has_begun(&self) -> bool {
        self.association.is_some()
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

    fn on_radio(&mut self, now: Instant, address: usize, rate: Option<BitRate>) {
        if let (Some(layer), Some(&address)) = (&mut self.layer, self.ways.local.addresses.get(address)) {
            layer.on_radio(now, address, rate, self.association.as_deref_mut());
        }
    }

    fn moves(&self) -> Option<u64> {
        self.layer.as_ref().map(|layer| layer.moves)
    }

    fn wrong_at(&self) -> Option<u64> {
        self.sink.wrong_at
    }

    fn figures(&self) -> Figures {
        Figures::new()
    }
}
