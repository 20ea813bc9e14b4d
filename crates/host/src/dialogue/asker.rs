//! A client with its connections: which requests wait for which bytes.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use handfast_core::Instant;

use super::Client;
use crate::transport::Figures;

/// A client with what it has asked by each of its connections.
#[derive(Debug)]
pub struct Asker {
    client: Box<dyn Client>,
    start: Instant,
    stop: Instant,
    connections: Vec<Asked>,
    started: bool,
    stopped: bool,
}

/// What was asked by a connection.
#[derive(Clone, Debug, Default)]
struct Asked {
    open: bool,
    over: bool,
    requests: u32,
    /// Of each request without a whole answer the bytes of it that are to come.
    waiting: VecDeque<u64>,
}

impl Asker {
    /// A client that begins at `start` and asks nothing more from `stop` on.
    pub fn new(client: Box<dyn Client>, connections: usize, start: Instant, stop: Option<Instant>) -> Self {
        let stop = stop.unwrap_or(Instant::MAX);
        let connections = vec![Asked::default(); connections];
        Self { client, start, stop, connections, started: false, stopped: false }
    }

    /// When [`Self::on_timer`] has something to do; [`None`]: nothing before something else happens.
    pub fn deadline(&self) -> Option<Instant> {
        let next = match (self.started, self.stopped) {
            (_, true) => return None,
            (false, _) => self.start,
            (true, _) => self.client.deadline().unwrap_or(Instant::MAX).min(self.stop),
        };
        (next < Instant::MAX).then_some(next)
    }

    /// Does what is due.
    pub fn on_timer(&mut self, now: Instant) {
        if !self.started && self.start <= now {
            self.started = true;
            self.client.on_start(now);
        }
        if self.started
            && !self.stopped
            && self.client.deadline().is_some_and(|due| due <= now.min(self.stop))
        {
            // A driver may be late; what is due after the stop is not asked.
            self.client.on_timer(now.min(self.stop));
        }
        self.stopped |= self.stop <= now;
    }

    /// A connection is open.
    pub fn on_open(&mut self, now: Instant, connection: usize) {
        self.connections[connection].open = true;
        self.client.on_open(now, connection);
    }

    /// A connection is open no longer: nothing is asked by it any more.
    pub fn on_over(&mut self, connection: usize) {
        let asked = &mut self.connections[connection];
        (asked.open, asked.over) = (false, true);
    }

    /// Whether a person waits for something that may still come. Between two questions an outage costs a person nothing.
    pub fn is_waiting(&self) -> bool {
        let may_come = self.connections.iter().any(|asked| !asked.over);
        self.started && !self.stopped && may_come && self.client.is_waiting()
    }

    /// What is to be written to a connection next; [`None`]: nothing now.
    pub fn ask(&mut self, now: Instant, connection: usize) -> Option<Bytes> {
        let asked = self.connections.get_mut(connection).filter(|asked| asked.open && !self.stopped)?;
        let request = self.client.ask(now, connection)?;
        asked.waiting.push_back(request.answer);
        asked.requests += 1;
        Some(request.encode(asked.requests - 1))
    }

    /// So many bytes of answers have come by a connection. What comes after the stop is no answer any more.
    pub fn on_bytes(&mut self, now: Instant, connection: usize, mut bytes: u64) {
        while let Some(first) = self.connections[connection].waiting.front_mut() {
            let part = bytes.min(*first);
            (*first, bytes) = (*first - part, bytes - part);
            if *first > 0 {
                return;
            }
            self.connections[connection].waiting.pop_front();
            if !self.stopped && now < self.stop {
                self.client.on_answer(now, connection);
            }
        }
    }

    /// How many connections it wants to have open, the first ones.
    pub fn wants(&self) -> usize {
        if self.started && !self.stopped { self.client.wants().min(self.connections.len()) } else { 0 }
    }

    /// Whether it may have several connections.
    pub(crate) fn has_several(&self) -> bool {
        self.connections.len() > 1
    }

    /// Whether its stop has come.
    pub fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// What a person felt up to `end`.
    pub fn figures(&self, end: Instant) -> Figures {
        self.client.figures(end.min(self.stop))
    }
}

/// One that all connections of its flow have. Its clones are the same.
#[derive(Clone, Debug)]
pub struct SharedAsker(Arc<Mutex<Asker>>);

impl SharedAsker {
    /// Shares it.
    pub fn new(asker: Asker) -> Self {
        Self(Arc::new(Mutex::new(asker)))
    }

    /// The asker itself.
    pub fn lock(&self) -> MutexGuard<'_, Asker> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
