//! What a program does with its session.

use bytes::Bytes;
use handfast_core::Instant;

use super::events::Event;
use super::{Pool, Session};
use crate::iosl::frame::{Frame, MOST_DATAGRAM, Reason, Windows};

/// What a program gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Read {
    /// The next octets.
    Octets(Vec<u8>),
    /// Nothing yet.
    Nothing,
    /// There will be none any more.
    End,
}

/// Why a datagram does not go out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsent {
    /// The peer takes none.
    NotSpoken,
    /// Longer than a record.
    TooLong,
    /// There is no path now, and a datagram waits for none.
    Away,
    /// The session is over.
    Over(Reason),
}

impl Session {
    /// Takes octets of the program, and keeps them until the peer has them. Fewer than there were: the program waits for
    /// [`Event::Writable`].
    ///
    /// # Errors
    /// Why the session is over; [`Reason::Aborted`] also where the program has finished.
    pub fn write(&mut self, octets: &[u8], pool: &mut Pool) -> Result<usize, Reason> {
        match self.failed() {
            Some(reason) => Err(reason),
            None if self.outgoing.is_finished() => Err(Reason::Aborted),
            None => Ok(self.outgoing.write(octets, self.config.send_buffer, pool)),
        }
    }

    /// How many octets [`Session::write`] would take.
    pub fn room(&self, pool: &Pool) -> usize {
        match self.failed() {
            None if !self.outgoing.is_finished() => self.outgoing.room(self.config.send_buffer, pool),
            _ => 0,
        }
    }

    /// The program writes no more, and reads on.
    pub fn finish(&mut self) {
        self.outgoing.finish();
    }

    /// What [`Session::read`] would give, in place.
    pub fn pieces(&self, most: usize) -> impl Iterator<Item = &[u8]> {
        self.incoming.pieces(if self.unread.is_some() { 0 } else { most })
    }

    /// Up to `most` octets for the program. What has come before the session was over is read first.
    ///
    /// # Errors
    /// Why the session is over.
    pub fn read(&mut self, now: Instant, most: usize, pool: &mut Pool) -> Result<Read, Reason> {
        let octets = self.pieces(most).collect::<Vec<_>>().concat();
        Ok(match self.skip(now, most, pool)? {
            Some(0) => Read::Nothing,
            Some(_) => Read::Octets(octets),
            None => Read::End,
        })
    }

    /// The same for who has them from [`Session::pieces`]: how many it is; [`None`]: there will be none any more.
    ///
    /// # Errors
    /// Why the session is over.
    pub fn skip(&mut self, now: Instant, most: usize, pool: &mut Pool) -> Result<Option<usize>, Reason> {
        if let Some(reason) = self.unread {
            return Err(reason);
        }
        let count = self.incoming.skip(most, pool);
        if let Some(reason) = self.failed() {
            if count == 0 && (most > 0 || self.incoming.ready() == 0) {
                return Err(reason);
            }
            if self.incoming.ready() == 0 {
                self.events.push(Event::Failed(reason));
            }
            return Ok(Some(count));
        }
        self.incoming.widen(now, count, self.paths.span(), self.config.receive_buffer);
        self.incoming.grant(self.config.receive_buffer, pool);
        let is_end = count == 0 && self.incoming.has_end() && self.incoming.ready() == 0;
        if is_end {
            self.is_end_read = true;
            self.taken(now);
            self.changed(now, pool);
        } else if count > 0 {
            self.taken(now);
        }
        Ok((!is_end).then_some(count))
    }

    /// The program has taken something, which is acknowledged from now on where it was not before.
    fn taken(&mut self, now: Instant) {
        if self.config.keeps {
            self.acknowledge_at.get_or_insert(now + self.config.acknowledge);
        }
    }

    /// Up to where the peer has got what the program has written, and up to where it has written: its end is not counted.
    pub fn written(&self) -> [u64; 2] {
        [self.outgoing.acked(), self.outgoing.written()]
    }

    /// The program aborts, or its socket has an error: the peer's program is told this reason. What this end's has not read by now it
    /// will not.
    pub fn reset(&mut self, now: Instant, reason: Reason, pool: &mut Pool) {
        let is_unread = self.incoming.ready() > 0;
        self.incoming.clear(pool);
        match self.failed() {
            Some(reason) if is_unread => self.events.push(Event::Failed(reason)),
            Some(_) => {}
            // All has come: the peer's program is not concerned.
            None if self.is_done() => self.stop_reading(reason),
            None => {
                self.farewell = Some(Frame::Reset(reason));
                self.fail(now, reason, pool);
            }
        }
    }

    /// The program takes nothing more of what has come.
    fn stop_reading(&mut self, reason: Reason) {
        if !std::mem::replace(&mut self.is_end_read, true) {
            self.unread = Some(reason);
            self.events.push(Event::Failed(reason));
        }
    }

    /// Sends a datagram, which may get lost.
    ///
    /// # Errors
    /// Why it does not go out at all.
    pub fn send_datagram(&mut self, datagram: &[u8]) -> Result<(), Unsent> {
        if let Some(reason) = self.failed() {
            return Err(Unsent::Over(reason));
        }
        if !self.peer.is_some_and(|(capabilities, _)| capabilities.datagrams) {
            return Err(Unsent::NotSpoken);
        }
        if datagram.len() > MOST_DATAGRAM {
            return Err(Unsent::TooLong);
        }
        if !self.is_connected() {
            return Err(Unsent::Away);
        }
        self.datagrams_out.push(datagram);
        Ok(())
    }

    /// The next datagram that has come.
    pub fn receive_datagram(&mut self) -> Option<Bytes> {
        self.datagrams_in.pop()
    }

    /// Datagrams that gave way to later ones, or were lost with a path: to the peer, and from it.
    pub fn dropped_datagrams(&self) -> [u64; 2] {
        [self.datagrams_out.dropped, self.datagrams_in.dropped]
    }

    /// What has happened.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop()
    }

    /// What this end knows of the path in use: the peer is told, if it wants to know.
    pub fn set_windows(&mut self, windows: Windows) {
        if self.windows != Some(windows) {
            self.windows = Some(windows);
            for epoch in self.paths.epochs() {
                if let Some(path) = self.paths.get_mut(epoch) {
                    path.has_windows = false;
                }
            }
        }
    }

    /// What the peer says of its side, by the path in use. A hint and no more: it may make a window smaller, by which the peer gets
    /// less, and never larger, since nothing shows that it is true.
    pub fn hints(&self) -> Option<Windows> {
        self.paths.in_use().and_then(|path| path.hints)
    }

    /// Octets that the program has written and that the peer has not acknowledged.
    pub fn unacknowledged(&self) -> u64 {
        self.outgoing.written() - self.outgoing.acked()
    }

    /// Why it is over before its time.
    pub fn failed(&self) -> Option<Reason> {
        self.failed.map(|(reason, _)| reason)
    }

    /// Whether the peer has all that the program has written, with its end.
    pub fn is_heard(&self) -> bool {
        self.outgoing.is_over()
    }

    /// Whether the end of what the peer's program writes has come.
    pub fn has_heard_end(&self) -> bool {
        self.incoming.has_end()
    }

    /// Whether all has come, in both directions.
    pub fn is_done(&self) -> bool {
        self.done_since.is_some()
    }
}
