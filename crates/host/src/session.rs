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

    /// That of a flow with several streams, from those of each: when the last one ended, and the first death if one died.
    /// [`None`]: one has not ended.
    pub fn of_all(all: &[Option<Self>]) -> Option<Self> {
        let all: Vec<Self> = all.iter().copied().collect::<Option<_>>()?;
        let at = all.iter().map(|ending| ending.at()).max()?;
        let died = |ending: &Self| match *ending {
            Self::Died(at, death) => Some((at, death)),
            Self::Done(_) => None,
        };
        let first = all.iter().filter_map(died).min_by_key(|&(at, _)| at);
        Some(first.map_or(Self::Done(at), |(_, death)| Self::Died(at, death)))
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
    /// The application has something to do at its other connections.
    Siblings,
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

    /// What it writes, to be told more.
    pub(crate) fn source_mut(&mut self) -> &mut Source {
        &mut self.source
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

    /// It goes on by a new connection with the byte at `position`, whatever the old one has got across.
    pub fn go_on_at(&mut self, position: u64) {
        self.begins = position;
        self.source.go_back_to(position);
        self.closed = false;
        self.ending = None;
    }

    /// The next bytes of the application, at most so many; the caller says by [`Self::on_taken`] how many of them it has taken.
    pub fn next(&self, most: u64) -> Payload {
        let (offset, left) = self.source.next();
        Payload::Synthetic { stream: self.stream, offset, len: left.min(most).min(WRITE_SIZE) as u32 }
    }

    /// What has been written of the application's bytes.
    pub fn written(&self) -> u64 {
        self.source.next().0
    }

    /// A session has taken so many bytes. Whether they were the last ones: said once.
    pub fn on_taken(&mut self, bytes: u64) -> bool {
        self.source.on_written(bytes);
        self.source.is_done() && !std::mem::replace(&mut self.closed, true)
    }

    /// The congestion window of the connection that carries a session.
    pub fn note_window(&mut self, now: Instant, endpoint: &Endpoint) {
        if self.ending.is_none() && endpoint.state() != State::Closed {
            let cwnd = endpoint.cwnd();
            self.window.get_or_insert_with(|| WindowMeter::new(now, cwnd)).set(now, cwnd);
        }
    }

    /// The session that carries its bytes is over.
    pub fn end(&mut self, ending: Ending) {
        self.ending.get_or_insert(ending);
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
        let wants = |endpoint: &mut Endpoint| endpoint.unsent() < LOW_WATER && endpoint.is_writable(now);
        if !self.closed && (wants(endpoint) || !self.source.is_greedy()) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::App;
    use crate::app::Reconnect;
    use handfast_core::{Bytes, Duration, SeqNum};
    use handfast_tcp::{Config, Received};
    use std::sync::Arc;

    fn at(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    /// A sender and the peer of its connection.
    struct World {
        sending: Sending,
        sender: Endpoint,
        peer: Endpoint,
    }

    impl World {
        fn new(app: App) -> Self {
            let sending = Sending::new(7, Source::new(app, at(0), None));
            let (sender, peer) = Self::connection();
            Self { sending, sender, peer }
        }

        fn connection() -> (Endpoint, Endpoint) {
            let config = Arc::new(Config { user_timeout: Some(Duration::from_secs(3)), ..Config::default() });
            let sender = Endpoint::connect(Arc::clone(&config), 5001, 80, SeqNum(1), at(0));
            (sender, Endpoint::listen(config, 80, SeqNum(2)))
        }

        /// Carries segments to and fro until nothing moves, those of the sender only as far as `deliver` says.
        fn run(&mut self, now: Instant, deliver: bool) -> Next {
            let limit = Bytes(u64::MAX);
            let mut next = Next::Wait;
            for _ in 0..100 {
                self.sending.fill(now, &mut self.sender);
                while let Some(transmit) = self.sender.poll_transmit(now, limit) {
                    if deliver {
                        self.peer.on_segment(now, &Received::plain(&transmit.segment));
                    }
                }
                while let Some(transmit) = self.peer.poll_transmit(now, limit) {
                    self.sender.on_segment(now, &Received::plain(&transmit.segment));
                }
                close_after_peer(now, &mut self.peer);
                if let last @ (Next::Send | Next::Reconnect) = self.sending.take_stock(now, &mut self.sender)
                {
                    next = last;
                }
            }
            next
        }

        fn read(&mut self) -> Vec<(u64, u64)> {
            let payloads = std::iter::from_fn(|| self.peer.read(usize::MAX));
            let range = |payload: Payload| match payload {
                Payload::Synthetic { stream: 7, offset, len } => (offset, offset + u64::from(len)),
                other => panic!("{other:?}"),
            };
            payloads.map(range).collect()
        }
    }

    #[test]
    fn a_flow_ends_with_the_last_of_its_streams() {
        let (done, open) = (Some(Ending::Done(at(5))), None);
        let died = |ms, death| Some(Ending::Died(at(ms), death));
        assert_eq!(Ending::of_all(&[done, open]), None);
        assert_eq!(Ending::of_all(&[Some(Ending::Done(at(3))), done]), done);
        let all = [died(4, Death::Reset), died(2, Death::UserTimeout), done];
        assert_eq!(Ending::of_all(&all), died(5, Death::UserTimeout));
    }

    #[test]
    fn a_transfer_is_done_when_its_fin_is_acknowledged() {
        let mut world = World::new(App::Transfer(Bytes(3000)));
        assert_eq!(world.run(at(5), false), Next::Wait);
        assert_eq!((world.sending.ending(), world.sending.window().is_some()), (None, false));
        let (sender, peer) = World::connection();
        (world.sender, world.peer) = (sender, peer);
        world.sending.go_on(&world.sender, at(5));
        world.run(at(6), true);
        assert_eq!(world.sending.ending(), Some(Ending::Done(at(6))));
        assert_eq!(world.read(), [(0, 3000)]);
    }

    #[test]
    fn a_new_connection_goes_on_with_what_was_not_acknowledged() {
        let app = App::Bulk.reconnecting(Reconnect::after(Duration::from_secs(1))).unwrap();
        let mut world = World::new(app);
        world.run(at(1), true);
        let before = world.sending.sample(&world.sender, at(1), 0).acknowledged.unwrap();
        assert_eq!(world.read(), [(0, before)]);
        // Nothing arrives any more.
        world.run(at(2), false);
        let mut next = Next::Wait;
        while next != Next::Reconnect {
            let due = world.sender.deadline().expect("it waits for an acknowledgement");
            world.sender.on_timer(due);
            next = world.run(due, false);
        }
        assert_eq!(world.sending.ending().map(Ending::name), Some("user-timeout"));
        assert_eq!(world.sending.go_on(&world.sender, at(9)), before);
        assert_eq!(world.sending.ending(), None);
        (world.sender, world.peer) = World::connection();
        world.run(at(10), true);
        assert_eq!(world.read().first().map(|piece| piece.0), Some(before));
        assert!(world.sending.sample(&world.sender, at(10), 0).acknowledged.unwrap() > before);
    }

    #[test]
    fn an_application_that_does_not_reconnect_ends_with_its_connection() {
        let mut world = World::new(App::Bulk);
        world.run(at(1), true);
        world.sender.abort();
        assert_eq!(world.run(at(2), true), Next::Wait);
        assert_eq!(world.sending.ending().map(Ending::name), Some("aborted"));
    }
}
