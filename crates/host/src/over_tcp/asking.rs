//! The client's end of a connection, on a TCP endpoint.

use bytes::Bytes;
use handfast_core::Instant;
use handfast_tcp::{Endpoint, Event, State};
use handfast_wire::Payload;

use crate::app::Sink;
use crate::dialogue::SharedAsker;
use crate::session::Next;

/// One of the connections of a client.
#[derive(Debug)]
pub struct Asking {
    sink: Sink,
    asker: SharedAsker,
    connection: usize,
    /// What the endpoint had no room for.
    unwritten: Bytes,
    closed: bool,
    /// How many connections the client wanted, and when it wanted to be woken, when this one last looked.
    seen: (usize, Option<Instant>),
}

impl Asking {
    /// Connection number `connection` of `asker`; `sink` checks and measures the answers.
    pub fn new(sink: Sink, asker: SharedAsker, connection: usize) -> Self {
        Self { sink, asker, connection, unwritten: Bytes::new(), closed: false, seen: (0, None) }
    }

    /// What has come.
    pub fn sink(&self) -> &Sink {
        &self.sink
    }

    /// The same, to change it.
    pub fn sink_mut(&mut self) -> &mut Sink {
        &mut self.sink
    }

    /// Whether the client wants this connection to be open.
    pub fn is_wanted(&self) -> bool {
        self.connection < self.asker.lock().wants()
    }

    /// When its client has something to do: the first of its connections says it for all.
    pub fn deadline(&self) -> Option<Instant> {
        if self.connection == 0 { self.asker.lock().deadline() } else { None }
    }

    /// The client does what is due.
    pub fn on_timer(&mut self, now: Instant) {
        self.asker.lock().on_timer(now);
    }

    /// Reads what has come.
    pub fn read(&mut self, now: Instant, endpoint: &mut Endpoint) {
        let before = self.sink.meter.bytes;
        self.sink.read(now, endpoint);
        let bytes = self.sink.meter.bytes - before;
        if bytes > 0 {
            self.asker.lock().on_bytes(now, self.connection, bytes);
        }
    }

    /// Writes what the client asks, and closes after its stop.
    pub fn fill(&mut self, now: Instant, endpoint: &mut Endpoint) {
        let mut asker = self.asker.lock();
        loop {
            if self.unwritten.is_empty() {
                let Some(request) = asker.ask(now, self.connection) else { break };
                self.unwritten = request;
            }
            let written = endpoint.write(Payload::Bytes(self.unwritten.clone()));
            self.unwritten = self.unwritten.slice(written..);
            if !self.unwritten.is_empty() {
                return;
            }
        }
        if asker.is_stopped() && !std::mem::replace(&mut self.closed, true) {
            endpoint.close(now);
        }
    }

    /// Takes note of what has changed at the endpoint.
    pub fn take_stock(&mut self, now: Instant, endpoint: &mut Endpoint) -> Next {
        let mut next = Next::Wait;
        while let Some(event) = endpoint.poll_event() {
            match event {
                Event::Connected => {
                    self.asker.lock().on_open(now, self.connection);
                    next = Next::Send;
                }
                Event::PeerClosed | Event::Closed | Event::Died(_) => {
                    self.asker.lock().on_over(self.connection);
                    if endpoint.state() == State::CloseWait {
                        endpoint.close(now);
                        next = Next::Send;
                    }
                }
                _ => {}
            }
        }
        if next == Next::Wait && self.has_changed() {
            return Next::Siblings;
        }
        next
    }

    /// Whether its other connections have to look at what the client wants now.
    fn has_changed(&mut self) -> bool {
        let asker = self.asker.lock();
        let now = (asker.wants(), asker.deadline());
        std::mem::replace(&mut self.seen, now) != now && asker.has_several()
    }
}
