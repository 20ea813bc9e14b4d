//! Clients that ask for the page: a few at once, each for a short while.

use std::io::{self, Write};

use handfast_core::Duration;
use handfast_io::{Clock, EventLoop, Interest, ReadOutcome, SourceId, next_connection};
use tracing::warn;

use super::http::respond;
use super::page::{DOWN, page};
use super::read::read;
use super::state::{Client, Due, Metrics};

/// Clients at once, what each has from its connection to its last byte, and how long its request may get.
const MOST_CLIENTS: usize = 16;
const CLIENT_WITHIN: Duration = Duration::from_secs(5);
const LONGEST_REQUEST: usize = 8 << 10;
/// After a failed accept, how long until the next.
const ACCEPT_AGAIN: Duration = Duration::from_secs(1);

impl Metrics {
    pub(super) fn accept(&mut self, io: &mut EventLoop) {
        loop {
            let accepted = match next_connection(&self.listener) {
                Ok(None) => return,
                // One that is too much is closed at once.
                Ok(_) if self.clients.len() >= MOST_CLIENTS => continue,
                Ok(Some((mut stream, _))) => {
                    io.add(&mut stream, Interest::READABLE | Interest::WRITABLE).map(|id| {
                        let client = Client { stream, request: Vec::new(), answer: Vec::new(), sent: 0 };
                        self.clients.insert(id, client);
                        self.timers.set(Due::Client(id), Some(Clock::SYSTEM.now() + CLIENT_WITHIN));
                    })
                }
                Err(error) => Err(error),
            };
            if let Err(error) = accepted {
                warn!(%error, "no connection can be taken");
                return self.timers.set(Due::Accept, Some(Clock::SYSTEM.now() + ACCEPT_AGAIN));
            }
        }
    }

    /// Reads once from a client, and answers a request that is complete.
    pub(super) fn read_request(&mut self, io: &mut EventLoop, id: SourceId) -> ReadOutcome {
        let page = self.status.as_ref().map(|(at, status)| page(Clock::SYSTEM.now().since(*at), status));
        let Some(client) = self.clients.get_mut(&id).filter(|client| client.answer.is_empty()) else {
            return ReadOutcome::Nothing;
        };
        let outcome = read(&mut client.stream, &mut client.request, LONGEST_REQUEST);
        let complete = client.request.windows(4).any(|end| end == b"\r\n\r\n");
        match outcome {
            _ if complete => {
                client.answer = respond(&client.request, page.as_deref().unwrap_or(DOWN));
                io.write_soon(id);
            }
            Ok(outcome @ (ReadOutcome::Some | ReadOutcome::Nothing)) => return outcome,
            Ok(ReadOutcome::End) | Err(_) => self.close(id),
        }
        ReadOutcome::Nothing
    }

    pub(super) fn close(&mut self, id: SourceId) {
        self.clients.remove(&id);
        self.timers.set(Due::Client(id), None);
    }

    /// Sends answers, as far as the kernel takes them.
    pub(super) fn write_answers(&mut self, io: &mut EventLoop) {
        while let Some(id) = io.next_writable() {
            let Some(client) = self.clients.get_mut(&id) else { continue };
            while client.sent < client.answer.len() {
                match client.stream.write(&client.answer[client.sent..]) {
                    Ok(written) => client.sent += written,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    Err(_) => client.sent = client.answer.len(),
                }
            }
            if !client.answer.is_empty() && client.sent == client.answer.len() {
                self.close(id);
            }
        }
    }
}
