//! The end that opens the association and sends.

use bytes::Bytes;
use handfast_core::{BitRate, Bytes as Size, Instant, Stream};
use handfast_sctp::{Association, Config, Endpoints, Event, Failure, Message};
use handfast_tcp::Death;

use super::carrier::Ways;
use super::key;
use super::layer::{LAYER, Layer};
use crate::meter::{DeliveryMeter, FlowSample, WindowMeter};
use crate::session::{Ending, LOW_WATER, Sending};
use crate::transport::{Counts, Figures, Transport, Way};

/// A host takes whatever its association sends.
pub(super) const NO_LIMIT: Size = Size(u64::MAX);

/// The data of an application goes by this stream of the association.
pub(super) const DATA: u16 = 0;

/// An application that sends, on an association.
pub(super) struct Sender {
    sending: Sending,
    opens: Instant,
    /// What the association is made of once the application opens it.
    seed: Option<(Config, Stream)>,
    ways: Ways,
    association: Option<Association>,
    layer: Option<Layer>,
    /// The window of the path that data takes, since the handshake.
    window: Option<WindowMeter>,
}

impl Sender {
    pub(super) fn new(
        sending: Sending,
        opens: Instant,
        config: Config,
        random: Stream,
        ways: Ways,
        layer: Option<Layer>,
    ) -> Self {
        let seed = Some((config, random));
        Self { sending, opens, seed, ways, layer, association: None, window: None }
    }

    fn open(&mut self, now: Instant) {
        let Some((config, mut random)) = self.seed.take() else { return };
        let key = key(&mut random);
        let endpoints = Endpoints {
            local_port: self.ways.local.port,
            remote_port: self.ways.remote.port,
            local: &self.ways.local.addresses,
            // Its server's others come with INIT ACK.
            remote: &self.ways.remote.addresses[..1],
        };
        self.association = Some(Association::connect(now, config, key, random, &endpoints));
    }

    /// Writes what the application has and there is room for, and closes after its last byte.
    fn fill(&mut self, now: Instant) {
        let Some(association) = &mut self.association else { return };
        if let Some(layer) = &mut self.layer {
            layer.write_news(association);
        }
        let mut done = false;
        loop {
            // A message fills a packet: an association hands over whole ones.
            let most = association.fragment().min(association.writable());
            let payload = self.sending.next(most);
            if payload.is_empty() || association.unsent() >= LOW_WATER {
                break;
            }
            let message = Message { stream: DATA, data: payload.to_bytes(), ..Message::default() };
            if association.write(message).is_err() {
                break;
            }
            done |= self.sending.on_taken(payload.len() as u64);
        }
        if done || self.sending.on_taken(0) {
            association.shutdown(now);
        }
    }

    /// The layers of both ends talk to each other.
    fn hear(&mut self, now: Instant) {
        let Some(association) = &mut self.association else { return };
        while let Some(message) = association.read() {
            if let Some(layer) = self.layer.as_mut().filter(|_| message.stream == LAYER) {
                layer.on_message(now, &message.data, association);
            }
        }
    }

    /// Takes note of what has happened to the association.
    fn take_stock(&mut self, now: Instant) {
        let Some(association) = &mut self.association else { return };
        while let Some(event) = association.poll_event() {
            match event {
                Event::Closed => self.sending.end(Ending::Done(now)),
                Event::Failed(failure) => self.sending.end(Ending::Died(now, death(failure))),
                _ => {}
            }
        }
        if let Some(cwnd) = cwnd(association).filter(|_| self.sending.ending().is_none()) {
            self.window.get_or_insert_with(|| WindowMeter::new(now, cwnd)).set(now, cwnd);
        }
    }
}

/// The window of the path that data takes; [`None`] before the handshake is done.
fn cwnd(association: &Association) -> Option<u64> {
    let path = association.path(association.data_path()?)?;
    Some(path.state.cwnd)
}

/// How a connection of TCP would be said to have died.
fn death(failure: Failure) -> Death {
    match failure {
        Failure::Handshake => Death::HandshakeTimeout,
        Failure::Unreachable | Failure::ShutdownGuard => Death::Timeout,
        Failure::Aborted { .. } => Death::Reset,
        Failure::LocalAbort | Failure::Refused { .. } => Death::Aborted,
    }
}

impl Transport for Sender {
    fn deadline(&self) -> Option<Instant> {
        let Some(association) = &self.association else { return Some(self.opens) };
        let application = self.sending.deadline().filter(|_| self.sending.ending().is_none());
        association.deadline().into_iter().chain(application).min()
    }

    fn on_timer(&mut self, now: Instant) {
        if self.opens <= now {
            self.open(now);
        }
        self.sending.on_timer(now);
        if let Some(association) = &mut self.association
            && association.deadline().is_some_and(|due| due <= now)
        {
            association.on_timer(now);
        }
    }

    fn on_datagram(&mut self, now: Instant, way: Way, data: &Bytes) {
        let Some(arrived) = self.ways.parse(way, data) else { return };
        if let Some(association) = &mut self.association {
            association.on_packet(now, &arrived.received());
        }
        self.hear(now);
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<(Way, Bytes)> {
        self.fill(now);
        let association = self.association.as_mut()?;
        let sent = std::iter::from_fn(|| association.poll_transmit(now, NO_LIMIT))
            .find_map(|transmit| self.ways.emit(&transmit));
        self.take_stock(now);
        sent
    }

    fn has_begun(&self) -> bool {
        self.association.is_some()
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
        let counters = self.association.as_ref().map(Association::counters).unwrap_or_default();
        Some(Counts {
            data: counters.data_chunks_sent,
            retransmitted: counters.retransmitted_chunks,
            timeouts: counters.timeouts,
            fast_retransmits: counters.fast_recoveries,
        })
    }

    fn on_radio(&mut self, now: Instant, address: usize, rate: Option<BitRate>) {
        if let (Some(layer), Some(&address)) = (&mut self.layer, self.ways.local.addresses.get(address)) {
            layer.on_radio(now, address, rate, self.association.as_mut());
        }
    }

    fn moves(&self) -> Option<u64> {
        self.layer.as_ref().map(|layer| layer.moves)
    }

    fn window(&self) -> Option<&WindowMeter> {
        self.window.as_ref()
    }

    fn sample(&self, _now: Instant) -> Option<FlowSample> {
        let association = self.association.as_ref()?;
        let path = association.path(association.data_path()?)?;
        let written = self.sending.written();
        Some(FlowSample {
            cwnd: path.state.cwnd,
            ssthresh: Some(path.state.ssthresh).filter(|&ssthresh| ssthresh < u64::MAX),
            srtt: path.state.srtt.map(|(srtt, _)| srtt),
            rto: path.rto,
            delivered: 0,
            // What the layer says waits there, too: a few bytes, and before the application's first ones.
            sent: Some(written.saturating_sub(association.unsent())),
            acknowledged: Some(written.saturating_sub(association.buffered())),
        })
    }
}
