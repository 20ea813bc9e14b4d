//! What whoever uses associations calls.

use std::net::IpAddr;

use bytes::Bytes;
use handfast_core::Instant;
use handfast_sctp::{Association, PathState};

use super::super::agenda::SHORT;
use super::carried::Carried;
use super::{AssociationId, Associations, Stands};

impl Associations {
    /// How an association stands; one that is not there is over.
    pub fn stands(&self, id: AssociationId) -> Stands {
        self.all.get(&id).map_or(Stands::Over(None), Carried::stands)
    }

    /// An association, to look at.
    pub fn association(&self, id: AssociationId) -> Option<&Association> {
        self.all.get(&id).map(|carried| &carried.association)
    }

    /// Up to `most` octets that have come.
    pub fn read(&mut self, now: Instant, id: AssociationId, most: usize) -> Option<Bytes> {
        let read = self.all.get_mut(&id)?.read(now, most);
        // The window may have opened, or the peer has moved.
        self.agenda.sends(id);
        read
    }

    /// Whether the peer has finished, and all of it was read.
    pub fn is_at_end(&self, id: AssociationId) -> bool {
        self.all.get(&id).is_none_or(Carried::is_at_end)
    }

    /// It carries datagrams, which are not to wait behind many others.
    pub fn keep_short(&mut self, id: AssociationId) {
        if let Some(carried) = self.all.get_mut(&id) {
            carried.is_short = true;
        }
    }

    /// Takes what there is room for: how much.
    pub fn write(&mut self, id: AssociationId, octets: &[u8]) -> usize {
        let Some(carried) = self.all.get_mut(&id) else { return 0 };
        let most = if carried.is_short { SHORT } else { self.config.unsent };
        self.agenda.sends(id);
        carried.write(octets, most)
    }

    /// The window of the path that carries data, as it is or was before timeouts: for an association that takes its place. [`None`]:
    /// nothing was measured.
    pub fn window(&self, id: AssociationId) -> Option<PathState> {
        self.all.get(&id).and_then(Carried::window)
    }

    /// An association takes the place of one that had this window, as soon as it is established. What the window lets go is spread over
    /// a round trip ([iosl] §IV.B).
    pub fn take_over(&mut self, now: Instant, id: AssociationId, window: PathState) {
        self.with(now, id, |carried| carried.take_over(now, window));
    }

    /// By which address of ours data leaves.
    pub fn local(&self, id: AssociationId) -> Option<IpAddr> {
        self.all.get(&id).and_then(Carried::local)
    }

    /// Some addresses of ours are gone, or there again: whether data has a way. It takes the next one at once, with the window of the
    /// one before ([iosl] §VI.A), and the peer is told.
    pub fn on_addresses(
        &mut self,
        now: Instant,
        id: AssociationId,
        is_there: impl Fn(IpAddr) -> bool,
    ) -> bool {
        self.with(now, id, |carried| carried.on_addresses(now, is_there)).unwrap_or(false)
    }

    /// Data leaves by this address of ours from now on, and the peer is told; whether it can.
    pub fn prefer(&mut self, now: Instant, id: AssociationId, local: IpAddr) -> bool {
        self.with(now, id, |carried| carried.prefer(now, local)).unwrap_or(false)
    }

    /// Nothing more is written, in either direction: SCTP has no half-closed state (RFC 9260 §9).
    pub fn finish(&mut self, now: Instant, id: AssociationId) {
        // No news for whoever says it: it would be told without end.
        if let Some(carried) = self.all.get_mut(&id) {
            carried.association.shutdown(now);
            self.agenda.sends(id);
        }
    }

    /// Nobody wants an association any more. One that does not end already is aborted.
    pub fn release(&mut self, now: Instant, id: AssociationId) {
        self.with(now, id, |carried| {
            carried.is_released = true;
            if !carried.is_ending() {
                carried.association.abort();
            }
        });
        self.agenda.untouched(id);
    }

    /// How many associations there are.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
}
