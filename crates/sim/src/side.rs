//! One end of a flow: an application on a TCP endpoint.

use std::mem::offset_of;
use std::net::IpAddr;
use std::ops::Range;
use std::sync::Arc;

use handfast_core::{Bytes, Instant, SeqNum};
use handfast_measure::address::{address_of, node_of};
use handfast_measure::meter::WindowMeter;
use handfast_measure::topology::Goal;
use handfast_tcp::{Config, Death, Endpoint, Event, Received, State, Transmit};
use handfast_wire::tcp::Segment;
use handfast_wire::{IpFacts, Notification, Packet};

use crate::app::{Sink, Source};
use crate::entry::Key;

/// The sender of flow `f` is side `2 * f`, its receiver side `2 * f + 1`.
pub(crate) type SideId = usize;

/// A simulated host takes whatever its endpoint sends: the queue of the link it goes to says what is too much.
const NO_LIMIT: Bytes = Bytes(u64::MAX);

/// What an application is.
#[derive(Debug)]
pub(crate) enum Role {
    Sender { source: Source, window: Option<WindowMeter> },
    Receiver(Sink),
}

/// Where one end is, and where the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path {
    pub(crate) node: u32,
    /// The channel that its packets leave by.
    pub(crate) out: u32,
    /// The other end's node.
    pub(crate) goal: Goal,
    pub(crate) local_port: u16,
    pub(crate) remote_port: u16,
}

/// How a side's connection ended, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// All that was written, and the FIN after it, is acknowledged.
    Done(Instant),
    Died(Instant, Death),
}

impl Ending {
    pub(crate) fn at(self) -> Instant {
        match self {
            Self::Done(at) | Self::Died(at, _) => at,
        }
    }
}

/// In the order of the fields, so that whoever fetches it knows where it begins.
#[repr(C, align(64))]
pub(crate) struct Side {
    pub(crate) key: Key,
    pub(crate) path: Path,
    /// When its connection will be opened; [`Instant::MAX`]: it has been.
    opens: Instant,
    pub(crate) role: Role,
    /// The sender's connection has done its work, or is dead.
    pub(crate) ending: Option<Ending>,
    // There from the beginning: whether an `Option` is one would be told by a word among those that only receivers touch.
    endpoint: Endpoint,
}

impl Side {
    /// How many of its first bytes it touches while it receives.
    pub(crate) const RECEIVING: usize = offset_of!(Self, endpoint) + Endpoint::RECEIVING;

    /// Which bytes it does not touch while it sends.
    pub(crate) const NOT_SENDING: Range<usize> =
        offset_of!(Self, endpoint)..offset_of!(Self, endpoint) + Endpoint::ONLY_RECEIVING;

    /// The end that opens the connection at `start`.
    pub(crate) fn sender(
        path: Path,
        key: Key,
        source: Source,
        start: Instant,
        tcp: Arc<Config>,
        iss: SeqNum,
    ) -> Self {
        let endpoint = Endpoint::connect(tcp, path.local_port, path.remote_port, iss, start);
        let role = Role::Sender { source, window: None };
        Self { key, path, role, ending: None, opens: start, endpoint }
    }

    /// The end that waits for it.
    pub(crate) fn receiver(path: Path, key: Key, sink: Sink, tcp: Arc<Config>, iss: SeqNum) -> Self {
        let endpoint = Endpoint::listen(tcp, path.local_port, iss);
        Self { key, path, role: Role::Receiver(sink), ending: None, opens: Instant::MAX, endpoint }
    }

    /// Its connection; [`None`] before the start.
    pub(crate) fn endpoint(&self) -> Option<&Endpoint> {
        self.is_open().then_some(&self.endpoint)
    }

    fn is_open(&self) -> bool {
        self.opens == Instant::MAX
    }

    #[inline]
    fn endpoint_mut(&mut self) -> Option<&mut Endpoint> {
        self.is_open().then_some(&mut self.endpoint)
    }

    /// Whether a segment that comes from `src` is from the other end.
    pub(crate) fn expects(&self, src: IpAddr, segment: &Segment) -> bool {
        let Path { goal, local_port, remote_port, .. } = self.path;
        node_of(src) == Some(goal.node) && (segment.src_port, segment.dst_port) == (remote_port, local_port)
    }

    /// Whether it goes to the other end, as far as its ports say.
    #[inline]
    pub(crate) fn addresses(&self, segment: &Segment) -> bool {
        (segment.src_port, segment.dst_port) == (self.path.local_port, self.path.remote_port)
    }

    /// The packet in which a segment goes to the other end.
    pub(crate) fn packet(&self, segment: Segment) -> Packet {
        self.packet_with(segment, IpFacts::PLAIN)
    }

    /// The same, with what the endpoint decides of the IP header.
    pub(crate) fn packet_with(&self, segment: Segment, ip: IpFacts) -> Packet {
        let Path { node, goal, .. } = self.path;
        Packet::tcp_with(address_of(node as usize), address_of(goal.node as usize), segment, ip)
    }

    #[inline]
    pub(crate) fn on_segment(&mut self, now: Instant, received: &Received<'_>) {
        if !self.is_open() {
            return;
        }
        self.endpoint.on_segment(now, received);
        if let Role::Receiver(sink) = &mut self.role {
            sink.read(now, &mut self.endpoint);
        }
    }

    /// The other end's station has told of its access link.
    pub(crate) fn on_notification(&mut self, now: Instant, told: &Notification) {
        if let Some(endpoint) = self.endpoint_mut() {
            endpoint.on_notification(now, told);
        }
    }

    /// Its node is a station, and at another base station now.
    pub(crate) fn on_handover(&mut self) {
        if let Some(endpoint) = self.endpoint_mut() {
            endpoint.on_handover();
        }
    }

    #[inline]
    pub(crate) fn deadline(&self) -> Option<Instant> {
        if !self.is_open() {
            return Some(self.opens);
        }
        let endpoint = &self.endpoint;
        let app = match &self.role {
            Role::Sender { source, .. } => source.deadline(),
            Role::Receiver(sink) => sink.deadline(endpoint),
        };
        match (endpoint.deadline(), app) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    pub(crate) fn on_timer(&mut self, now: Instant) {
        if self.opens <= now {
            self.opens = Instant::MAX;
        }
        if !self.is_open() {
            return;
        }
        let endpoint = &mut self.endpoint;
        if endpoint.deadline().is_some_and(|due| due <= now) {
            endpoint.on_timer(now);
        }
        match &mut self.role {
            Role::Sender { source, .. } => source.on_timer(now, endpoint),
            Role::Receiver(sink) => sink.read(now, endpoint),
        }
    }

    /// The next segment to send now.
    #[inline]
    pub(crate) fn poll_transmit(&mut self, now: Instant) -> Option<Transmit> {
        if !self.is_open() {
            return None;
        }
        if let Role::Sender { source, .. } = &mut self.role {
            source.fill(now, &mut self.endpoint);
        }
        self.endpoint.poll_transmit(now, NO_LIMIT)
    }

    /// Takes note of what has changed. True where the endpoint may have something new to send.
    #[inline]
    pub(crate) fn take_stock(&mut self, now: Instant) -> bool {
        if !self.is_open() {
            return false;
        }
        let endpoint = &mut self.endpoint;
        if let (Role::Sender { source, window }, None) = (&mut self.role, self.ending) {
            if let Some(window) = window {
                window.set(now, endpoint.cwnd());
            }
            // From FIN-WAIT-1 the acknowledgement of our FIN leads to one of these (RFC 9293 §3.3.2).
            let acknowledged = matches!(endpoint.state(), State::FinWait2 | State::TimeWait | State::Closed);
            if source.is_closed() && acknowledged {
                self.ending = Some(Ending::Done(now));
            }
        }
        let mut again = false;
        while let Some(event) = self.endpoint.poll_event() {
            again |= self.on_event(now, event);
        }
        again
    }

    fn on_event(&mut self, now: Instant, event: Event) -> bool {
        let endpoint = &mut self.endpoint;
        match (event, &mut self.role) {
            (Event::Connected, Role::Sender { window, .. }) => {
                *window = Some(WindowMeter::new(now, endpoint.cwnd()));
            }
            (Event::PeerClosed, _) => {
                endpoint.close(now);
                return true;
            }
            (Event::Died(death), _) => self.ending = Some(Ending::Died(now, death)),
            _ => {}
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::Machine;
    use handfast_measure::testing;

    /// The receiver on node 1, port 80, of what port 5001 of node 7 sends.
    fn receiver() -> Side {
        let mut goal = Goal::nowhere();
        goal.node = 7;
        let path = Path { node: 1, out: 0, goal, local_port: 80, remote_port: 5001 };
        let sink = Sink::new(&testing::bulk(7, 1), 0);
        Side::receiver(path, Key::new(0, Machine::Side(1)), sink, Arc::default(), SeqNum(1))
    }

    fn segment(src_port: u16, dst_port: u16) -> Segment {
        Segment { src_port, dst_port, ..Segment::EMPTY }
    }

    #[test]
    fn it_takes_what_the_other_end_sends_and_nothing_else() {
        let side = receiver();
        assert!(side.expects(address_of(7), &segment(5001, 80)));
        for (node, src_port, dst_port) in [(6, 5001, 80), (7, 5002, 80), (7, 5001, 81)] {
            assert!(
                !side.expects(address_of(node), &segment(src_port, dst_port)),
                "{node} {src_port} {dst_port}"
            );
        }
    }

    #[test]
    fn its_own_ports_are_those_of_what_it_sends() {
        let side = receiver();
        assert!(side.addresses(&segment(80, 5001)));
        assert!(!side.addresses(&segment(5001, 80)) && !side.addresses(&segment(80, 5002)));
    }
}
