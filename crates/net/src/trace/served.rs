//! A link's place in its trace.

use std::sync::Arc;

use handfast_core::{Duration, Instant};

use super::{Trace, opportunities, rate};

/// A trace, and how far its packets have used it.
#[derive(Debug)]
pub(crate) struct Served {
    trace: Arc<Trace>,
    server: Server,
}

#[derive(Debug)]
enum Server {
    Opportunities(opportunities::Server),
    Rate(rate::Server),
    /// The link's own rate serves.
    Line,
}

impl Served {
    pub(crate) fn new(trace: Arc<Trace>) -> Self {
        let server = match &*trace {
            Trace::Opportunities(_) => Server::Opportunities(opportunities::Server::new()),
            Trace::Steps(steps) if steps.has_rate => Server::Rate(rate::Server::new()),
            Trace::Steps(_) => Server::Line,
        };
        Self { trace, server }
    }

    /// Whether it says when packets leave.
    pub(crate) fn has_rate(&self) -> bool {
        !matches!(self.server, Server::Line)
    }

    /// The delay of what leaves at `at`, or `otherwise`.
    pub(crate) fn delay(&self, at: Instant, otherwise: Duration) -> Duration {
        self.trace.delay(at).unwrap_or(otherwise)
    }

    /// When a packet that is there since `since` may begin to leave. Only with a rate.
    pub(crate) fn ready(&self, since: Instant) -> Instant {
        match (&self.server, &*self.trace) {
            (Server::Opportunities(server), Trace::Opportunities(trace)) => server.ready(trace, since),
            (Server::Rate(server), Trace::Steps(steps)) => server.ready(steps, since),
            _ => since,
        }
    }

    /// When a packet that comes at `now` has left: it goes behind all that came before.
    pub(crate) fn enter(&mut self, now: Instant, size: u32) -> Instant {
        let free_at = match &self.server {
            Server::Opportunities(server) => server.free_at(),
            Server::Rate(server) => server.free_at(),
            Server::Line => now,
        };
        self.serve(now.max(free_at), now < free_at, size)
    }

    /// When a packet has left that begins at `begin`; `waited`: it was there before.
    pub(crate) fn serve(&mut self, begin: Instant, waited: bool, size: u32) -> Instant {
        match (&mut self.server, &*self.trace) {
            (Server::Opportunities(server), Trace::Opportunities(trace)) => {
                server.serve(trace, begin, waited, size)
            }
            (Server::Rate(server), Trace::Steps(steps)) => server.serve(steps, begin, waited, size),
            _ => begin,
        }
    }

    /// Nothing is being served at `now`: what was on the line starts over, or is gone.
    pub(crate) fn restart(&mut self, now: Instant) {
        match (&mut self.server, &*self.trace) {
            (Server::Opportunities(server), Trace::Opportunities(trace)) => server.restart(trace, now),
            (Server::Rate(server), Trace::Steps(_)) => server.restart(now),
            _ => {}
        }
    }
}
