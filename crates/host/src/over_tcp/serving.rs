//! The server's end of a connection, on a TCP endpoint: it answers requests one after the other.

use handfast_core::Instant;
use handfast_tcp::{Endpoint, State};

use crate::app::Source;
use crate::dialogue::request::Requests;
use crate::session::{Next, Sending};

/// One of the connections of a server.
#[derive(Debug)]
pub struct Serving {
    sending: Sending,
    requests: Requests,
}

impl Serving {
    /// The one whose answers are the bytes of `stream`.
    pub fn new(stream: u32) -> Self {
        Self { sending: Sending::new(stream, Source::of_answers()), requests: Requests::default() }
    }

    /// What it sends.
    pub fn sending(&self) -> &Sending {
        &self.sending
    }

    /// Where the first byte was that belongs to no request, if there was one.
    pub fn wrong_at(&self) -> Option<u64> {
        self.requests.wrong_at()
    }

    /// Reads what has come. A client that has closed waits for nothing more.
    pub fn read(&mut self, endpoint: &mut Endpoint) {
        while let Some(payload) = endpoint.read(usize::MAX) {
            let asked = self.requests.take(&payload.to_bytes());
            self.sending.source_mut().allow(asked);
        }
        if endpoint.state() == State::CloseWait {
            self.sending.source_mut().finish();
        }
    }

    /// Writes answers as far as there is room for them.
    pub fn fill(&mut self, now: Instant, endpoint: &mut Endpoint) {
        self.sending.fill(now, endpoint);
    }

    /// Takes note of what has changed at the endpoint.
    pub fn take_stock(&mut self, now: Instant, endpoint: &mut Endpoint) -> Next {
        self.sending.take_stock(now, endpoint)
    }
}
