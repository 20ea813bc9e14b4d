//! One connection that is split: an endpoint towards each host, and what passes between the two.

use std::sync::Arc;

use handfast_core::{Bytes, Instant, SeqNum};
use handfast_tcp::{DEFAULT_MSS, Endpoint, Event, MIN_MSS, Received, State, Transmit};
use handfast_wire::tcp::Segment;

use super::Config;

/// A host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// Who has sent the SYN.
    Client,
    /// Who is to answer it.
    Server,
}

/// The endpoint towards one host.
struct End {
    endpoint: Endpoint,
    /// Bytes that were given to it.
    written: u64,
    /// Its host has sent all that it will.
    finished: bool,
    /// The other host's end was passed on.
    closed: bool,
    /// It ended otherwise than by both sides' closing.
    died: bool,
}

impl End {
    fn new(endpoint: Endpoint) -> Self {
        Self { endpoint, written: 0, finished: false, closed: false, died: false }
    }

    fn take_stock(&mut self) {
        while let Some(event) = self.endpoint.poll_event() {
            match event {
                Event::PeerClosed => self.finished = true,
                Event::Died(_) => self.died = true,
                _ => {}
            }
        }
    }

    /// Bytes that it may still be given.
    fn room(&self, buffer: Bytes) -> usize {
        // The first octet of the stream is the SYN.
        let acknowledged = self.endpoint.send_positions().0.saturating_sub(1);
        let waiting = self.written.saturating_sub(acknowledged);
        usize::try_from(buffer.get().saturating_sub(waiting)).unwrap_or(usize::MAX)
    }

    /// Whether nothing of what it was given waits for its host any more.
    fn is_spent(&self) -> bool {
        matches!(self.endpoint.state(), State::Closed | State::TimeWait)
    }
}

/// Both endpoints of a connection.
pub(super) struct Split {
    /// It stands for the server.
    client: End,
    /// It stands for the client.
    server: End,
    buffer: Bytes,
}

impl Split {
    /// Of the connection that this SYN opens; `iss` numbers what the client gets.
    pub(super) fn new(now: Instant, config: &Config, syn: &Segment, iss: SeqNum) -> Self {
        let [towards_client, towards_server] = [&config.client_side, &config.server_side].map(|tcp| {
            // The server's segments are to be no longer than without a proxy.
            let mss = tcp.mss.min(syn.mss.unwrap_or(DEFAULT_MSS)).max(MIN_MSS);
            if mss == tcp.mss {
                Arc::clone(tcp)
            } else {
                Arc::new(handfast_tcp::Config { mss, ..handfast_tcp::Config::clone(tcp) })
            }
        });
        let client = Endpoint::listen(towards_client, syn.dst_port, iss);
        // The client's own number: it has chosen one that is new to the server (RFC 6528 §3).
        let server = Endpoint::connect(towards_server, syn.src_port, syn.dst_port, syn.seq, now);
        Self { client: End::new(client), server: End::new(server), buffer: config.buffer }
    }

    /// A host has sent a segment.
    pub(super) fn on_segment(&mut self, now: Instant, from: Side, received: &Received<'_>) {
        self.end(from).endpoint.on_segment(now, received);
    }

    fn end(&mut self, side: Side) -> &mut End {
        match side {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        }
    }

    /// Passes on what hosts have sent and how they have ended; the bytes.
    pub(super) fn relay(&mut self, now: Instant) -> u64 {
        self.client.take_stock();
        self.server.take_stock();
        // A client that resets the answer to its SYN has this end listen again (RFC 9293 §3.10.7.4), and nobody will come.
        self.client.died |= self.client.endpoint.state() == State::Listen;
        if self.client.died || self.server.died {
            // What was acknowledged can no longer be delivered: neither host may take the connection for whole.
            self.client.endpoint.abort();
            self.server.endpoint.abort();
            return 0;
        }
        let Self { client, server, buffer } = self;
        pass_on(now, client, server, *buffer) + pass_on(now, server, client, *buffer)
    }

    /// The next segment that is to leave, and to whom.
    pub(super) fn poll_transmit(&mut self, now: Instant) -> Option<(Side, Transmit)> {
        [Side::Client, Side::Server].into_iter().find_map(|side| {
            let transmit = self.end(side).endpoint.poll_transmit(now, Bytes(u64::MAX))?;
            Some((side, transmit))
        })
    }

    pub(super) fn on_timer(&mut self, now: Instant) {
        for End { endpoint, .. } in [&mut self.client, &mut self.server] {
            if endpoint.deadline().is_some_and(|due| due <= now) {
                endpoint.on_timer(now);
            }
        }
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        [&self.client, &self.server].into_iter().filter_map(|end| end.endpoint.deadline()).min()
    }

    /// Both ends are closed and forgotten.
    pub(super) fn is_over(&self) -> bool {
        [&self.client, &self.server].into_iter().all(|end| end.endpoint.state() == State::Closed)
    }

    /// The client may use its ports again, and the server has all that it is to get.
    pub(super) fn is_spent(&self) -> bool {
        self.client.endpoint.state() == State::Closed && self.server.is_spent()
    }

    /// The client may use its ports again, but the server does not have all yet.
    pub(super) fn is_half_over(&self) -> bool {
        self.client.endpoint.state() == State::Closed && !self.server.is_spent()
    }

    /// Segments that its endpoints have sent again, and their timeouts.
    pub(super) fn repairs(&self) -> [u64; 2] {
        let [client, server] = [&self.client, &self.server].map(|end| end.endpoint.counters());
        [client.retransmitted_segments + server.retransmitted_segments, client.timeouts + server.timeouts]
    }
}

/// Gives `to` what `from` has received, as far as there is room: what stays closes the receive window (back-pressure).
fn pass_on(now: Instant, from: &mut End, to: &mut End, buffer: Bytes) -> u64 {
    let mut passed = 0;
    while let room @ 1.. = to.room(buffer)
        && let Some(payload) = from.endpoint.read(room)
    {
        passed += payload.len() as u64;
        to.written += payload.len() as u64;
        to.endpoint.write(payload);
    }
    // Half-closed as its host is. An endpoint that closes before its SYN is answered would be forgotten (RFC 9293 §3.10.4).
    let is_open = !matches!(to.endpoint.state(), State::Listen | State::SynSent);
    if from.finished && from.endpoint.readable() == 0 && is_open && !to.closed {
        to.endpoint.close(now);
        to.closed = true;
    }
    passed
}
