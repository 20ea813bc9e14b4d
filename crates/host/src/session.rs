//! The session: a machine between an application and the connections that carry its bytes.
//!
//! Today's session passes everything through: it writes what the application has into the connection, and notes how that ends.
//! Where the application opens a new connection after an error, it knows at which byte that one begins. A session that survives
//! a change of network, or one over several connections at once, takes its place here.

use handfast_core::Instant;
use handfast_tcp::{Death, Endpoint, Event, State};
use handfast_wire::Payload;

use crate::app::Source;
use crate::meter::{FlowSample, WindowMeter};

/// An application that always has data keeps at least so many bytes waiting in its endpoint: more than any window opens at
/// once, and so few that a flow that is stopped soon ends.
pub const LOW_WATER: u64 = 1 << 16;
/// What it writes at a time, in bytes.
const WRITE_SIZE: u64 = 1 << 17;

/// How a sender's connection ended, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// All that was written, and the FIN after it, is acknowledged.
    Done(Instant),
    /// Why it died.
    Died(Instant, Death),
}

impl Ending {
    /// When.
    pub fn at(self) -> Instant {
        match self {
            Self::Done(at) | Self::Died(at, _) => at,
        }
    }

    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Done(_) => "closed",
            Self::Died(_, death) => death.name(),
        }
    }
}

/// Whether an endpoint in this state has sent its FIN and got it acknowledged, or is gone: from FIN-WAIT-1 the acknowledgement
/// of our FIN leads to one of these (RFC 9293 §3.3.2).
#[inline]
pub fn is_fin_acknowledged(state: State) -> bool {
    matches!(state, State::FinWait2 | State::TimeWait | State::Closed)
}

/// What a driver does after an endpoint has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Nothing.
    Wait,
    /// The endpoint may have something new to send.
    Send,
    /// The connection is dead, and the application wants another one.
    Reconnect,
}

/// A sending application on a TCP connection.
#[derive(Debug)]
pub struct Sending {
    /// Names its bytes.
    stream: u32,
    source: Source,
    /// The application has closed the connection.
    closed: bool,
    /// The congestion window since the handshake.
    window: Option<WindowMeter>,
    ending: Option<Ending>,
    /// The position of the first byte of the connection in what the application sends.
    begins: u64,
}

impl Sending {
    /// `stream` names the bytes that `source` sends.
    pub fn new(stream: u32, source: Source) -> Self {
        Self { stream, source, closed: false, window: None, ending: None, begins: 0 }
    }

    /// What names its bytes.
    pub fn stream(&self) -> u32 {
        self.stream
    }

    /// What is seen of the flow; `delivered`: what its receiver has got.
    pub fn sample(&self, endpoint: &Endpoint, now: Instant, delivered: u64) -> FlowSample {
        let sample = FlowSample::of(endpoint, now, delivered);
        let from_begin = |bytes: Option<u64>| bytes.map(|bytes| bytes + self.begins);
        FlowSample { sent: from_begin(sample.sent), acknowledged: from_begin(sample.acknowledged), ..sample }
    }

    /// The connection is dead, and the application goes on by a new one: the position of its first byte.
    pub fn go_on(&mut self, endpoint: &Endpoint, now: Instant) -> u64 {
        self.begins += endpoint.snapshot(now).acknowledged;
        self.source.go_back_to(self.begins);
        self.closed = false;
        self.ending = None;
        self.begins
    }

    /// The connection has done its work, or is dead.
    #[inline]
    pub fn ending(&self) -> Option<Ending> {
        self.ending
    }

    /// The congestion window since the handshake; [`None`] before.
    pub fn window(&self) -> Option<&WindowMeter> {
        self.window.as_ref()
    }

    /// When the application wants to do something next.
    #[inline]
    pub fn deadline(&self) -> Option<Instant> {
        let next = self.source.deadline();
        (!self.closed && next < Instant::MAX).then_some(next)
    }

    /// The application does what is due.
    pub fn on_timer(&mut self, now: Instant) {
        if !self.closed {
            self.source.on_timer(now);
        }
    }

    /// Writes what the application has and there is room for, and closes after its last byte.
    #[inline]
    pub fn fill(&mut self, now: Instant, endpoint: &mut Endpoint) {
        if !self.closed && (endpoint.unsent() < LOW_WATER || !self.source.is_greedy()) {
            self.write(now, endpoint);
        }
    }

    #[inline(never)]
    fn write(&mut self, now: Instant, endpoint: &mut Endpoint) {
        loop {
            let (offset, left) = self.source.next();
            if left == 0 || (self.source.is_greedy() && endpoint.unsent() >= LOW_WATER) {
                break;
            }
            let len = left.min(WRITE_SIZE);
            // Synthetic payload is accepted whole.
            endpoint.write(Payload::Synthetic { stream: self.stream, offset, len: len as u32 });
            self.source.on_written(len);
        }
        if self.source.is_done() {
            self.closed = true;
            endpoint.close(now);
        }
    }

    /// Takes note of what has changed at the endpoint.
    #[inline]
    pub fn take_stock(&mut self, now: Instant, endpoint: &mut Endpoint) -> Next {
        if self.ending.is_none() {
            if let Some(window) = &mut self.window {
                window.set(now, endpoint.cwnd());
            }
            if self.closed && is_fin_acknowledged(endpoint.state()) {
                self.ending = Some(Ending::Done(now));
            }
        }
        let mut next = Next::Wait;
        while let Some(event) = endpoint.poll_event() {
            self.on_event(now, event, endpoint, &mut next);
        }
        next
    }

    #[cold]
    fn on_event(&mut self, now: Instant, event: Event, endpoint: &mut Endpoint, next: &mut Next) {
        match event {
            Event::Connected => {
                let cwnd = endpoint.cwnd();
                self.window.get_or_insert_with(|| WindowMeter::new(now, cwnd)).set(now, cwnd);
            }
            Event::PeerClosed => {
                endpoint.close(now);
                *next = Next::Send;
            }
            Event::Died(death) => {
                self.ending = Some(Ending::Died(now, death));
                if self.source.reconnects(death) {
                    *next = Next::Reconnect;
                }
            }
            _ => {}
        }
    }
}

/// A receiver's endpoint has changed: it closes as soon as its peer has.
#[inline]
pub fn close_after_peer(now: Instant, endpoint: &mut Endpoint) -> Next {
    let mut next = Next::Wait;
    while let Some(event) = endpoint.poll_event() {
        if event == Event::PeerClosed {
            endpoint.close(now);
            next = Next::Send;
        }
    }
    next
}
