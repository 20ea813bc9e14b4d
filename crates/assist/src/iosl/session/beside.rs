//! Datagrams that travel beside the octets of a path: each sealed by itself, so that none waits for another one.
//!
//! Where a path has nothing but a stream they go as frames (`transmit.rs`). The driver says which it is, by what it asks.

use bytes::Bytes;
use handfast_core::Instant;

use super::{Event, Pool, Session};

impl Session {
    /// The next datagram for a path, of at most `most` octets. It is out of here with that. [`None`]: there is none now, or the first one
    /// is longer, and goes as a frame.
    pub fn poll_datagram(&mut self, now: Instant, epoch: u64, most: usize) -> Option<Bytes> {
        let may = self.failed.is_none() && !self.is_suspended && self.paths.sending() == Some(epoch);
        let path = self.paths.get_mut(epoch).filter(|path| may && !path.is_suspended_by_peer)?;
        self.datagrams_out.first_len().filter(|len| *len <= most)?;
        path.has_sent = true;
        self.on_sent(now, epoch);
        self.datagrams_out.pop()
    }

    /// Whether one waits to go out.
    pub fn has_datagram(&self) -> bool {
        self.datagrams_out.first_len().is_some()
    }

    /// A datagram has come beside a path, with the path's keys. By one that is no path of this session any more it changes nothing.
    pub fn on_datagram(&mut self, now: Instant, epoch: u64, datagram: &[u8], pool: &mut Pool) {
        self.confirm(now, epoch, pool);
        self.on_heard(now, epoch);
        let is_open = self.failed.is_none() && self.paths.get_mut(epoch).is_some();
        if is_open && self.config.capabilities.datagrams {
            self.datagrams_in.push(datagram);
            self.events.push(Event::Datagram);
        }
        self.changed(now, pool);
    }
}
