//! What whoever uses connections calls.

use std::net::IpAddr;

use bytes::Bytes;
use handfast_core::Instant;
use handfast_sctp::Association;
use handfast_tcp::Endpoint;

use super::carried::Carried;
use super::one::One;
use super::{Connections, InsideId, Stands, Window};

impl Connections {
    /// How a connection stands; one that is not there is over.
    pub fn stands(&self, id: InsideId) -> Stands {
        self.all.get(&id).map_or(Stands::Over(None), One::stands)
    }

    /// Whether a connection is there still, be it to say its last.
    pub fn has(&self, id: InsideId) -> bool {
        self.all.contains_key(&id)
    }

    /// The endpoint of a connection of TCP, to look at.
    pub fn endpoint(&self, id: InsideId) -> Option<&Endpoint> {
        self.stream(id).map(|stream| &stream.endpoint)
    }

    /// An association, to look at.
    pub fn association(&self, id: InsideId) -> Option<&Association> {
        self.all.get(&id)?.carried().map(|carried| &carried.association)
    }

    /// Up to `most` octets that have come.
    pub fn read(&mut self, now: Instant, id: InsideId, most: usize) -> Option<Bytes> {
        let read = self.all.get_mut(&id)?.read(now, most);
        // The window may have opened, or the peer has moved.
        self.agenda.sends(id);
        read
    }

    /// Whether the peer has finished, and all of it was read.
    pub fn is_at_end(&self, id: InsideId) -> bool {
        self.all.get(&id).is_none_or(One::is_at_end)
    }

    /// It carries datagrams, which are not to wait behind many others.
    pub fn keep_short(&mut self, id: InsideId) {
        if let Some(one) = self.all.get_mut(&id) {
            one.is_short = true;
        }
    }

    /// Takes what there is room for: how much.
    pub fn write(&mut self, id: InsideId, octets: &[u8]) -> usize {
        let Some(one) = self.all.get_mut(&id) else { return 0 };
        self.agenda.sends(id);
        one.write(octets, self.config.unsent)
    }

    /// The window of the path that carries data, as it is or was before timeouts: for a connection that takes its place. [`None`]:
    /// nothing was measured.
    pub fn window(&self, now: Instant, id: InsideId) -> Option<Window> {
        self.all.get(&id)?.window(now)
    }

    /// A connection takes the place of one that had this window, as soon as it is established; whether that was one of its kind. What
    /// the window lets go is spread over a round trip ([iosl] §IV.B).
    pub fn take_over(&mut self, now: Instant, id: InsideId, window: Window) -> bool {
        self.with(now, id, |one| one.take_over(now, window)).unwrap_or(false)
    }

    /// By which address of ours data leaves.
    pub fn local(&self, id: InsideId) -> Option<IpAddr> {
        self.all.get(&id).and_then(One::local)
    }

    /// Some addresses of ours are gone, or there again: whether data has a way by another one than before. An association takes the
    /// next one at once, with the window of the one before ([iosl] §VI.A), and the peer is told. TCP has one address and keeps it.
    pub fn on_addresses(&mut self, now: Instant, id: InsideId, is_there: impl Fn(IpAddr) -> bool) -> bool {
        self.with_association(now, id, |carried| carried.on_addresses(now, is_there))
    }

    /// Data leaves by this address of ours from now on, and the peer is told; whether it can.
    pub fn prefer(&mut self, now: Instant, id: InsideId, local: IpAddr) -> bool {
        self.with_association(now, id, |carried| carried.prefer(now, local))
    }

    fn with_association(
        &mut self,
        now: Instant,
        id: InsideId,
        act: impl FnOnce(&mut Carried) -> bool,
    ) -> bool {
        if self.association(id).is_none() {
            return false;
        }
        self.with(now, id, |one| one.carried_mut().is_some_and(act)).unwrap_or(false)
    }

    /// Nothing more is written; of an association nothing more comes either, since SCTP has no half-closed state (RFC 9260 §9).
    pub fn finish(&mut self, now: Instant, id: InsideId) {
        // No news for whoever says it: it would be told without end.
        if let Some(one) = self.all.get_mut(&id) {
            one.finish(now);
            self.agenda.sends(id);
        }
    }

    /// Nobody wants a connection any more. One that does not end already is reset.
    pub fn release(&mut self, now: Instant, id: InsideId) {
        self.with(now, id, |one| one.release(now));
        self.agenda.untouched(id);
    }

    /// How many connections there are.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
}
