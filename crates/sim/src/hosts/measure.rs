//! What measures the connections of flows that ask for it. Their segments travel as whole packets, so that those of other flows
//! need no look at where they end.

use handfast_core::Instant;
use handfast_host::probe::{End, Probe};
use handfast_wire::tcp::Segment;

use crate::engine::ids::ConnectionId;
use crate::hosts::Hosts;
use crate::hosts::connection::Role;

impl Hosts {
    /// Whether the flow of a connection is measured.
    pub(crate) fn is_measured(&self, id: ConnectionId) -> bool {
        self.probe(id).is_some()
    }

    /// A connection sends a segment: whether its flow is measured.
    pub(crate) fn note_departure(&self, now: Instant, id: ConnectionId, segment: &Segment) -> bool {
        let probe = self.probe(id);
        if let Some((End::Client, probe)) = probe {
            probe.on_sent(now, segment);
        }
        probe.is_some()
    }

    /// A connection has taken a segment in.
    pub(crate) fn note_arrival(&self, now: Instant, id: ConnectionId, segment: &Segment) {
        let Some((end, probe)) = self.probe(id) else { return };
        if let Some(endpoint) = self.connections[id].endpoint() {
            probe.on_arrival(now, end, endpoint.state(), segment);
        }
    }

    /// Which end a connection is, and what measures its stream.
    fn probe(&self, id: ConnectionId) -> Option<(End, &Probe)> {
        if self.probes.is_empty() {
            return None;
        }
        let (end, stream) = match &self.connections.get(id)?.role {
            Role::Sender(sending) => (End::Client, sending.stream()),
            Role::Receiver(sink) => (End::Server, sink.stream()),
            // Records are no writes of the application, and those of a dialogue go both ways.
            Role::Client(_) | Role::Server(_) | Role::Path(_) | Role::Left => return None,
        };
        Some((end, self.probes.get(&stream)?))
    }
}
