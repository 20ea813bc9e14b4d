//! Which connections at a socket want what: to send, to be looked at, to be woken.

use std::collections::BTreeSet;

use handfast_core::Instant;

/// What waits unsent at most on a connection that carries datagrams: they would be old.
pub(super) const SHORT: u64 = 16 << 10;

/// What each of many connections wants.
#[derive(Debug)]
pub(super) struct Agenda<Id> {
    deadlines: BTreeSet<(Instant, Id)>,
    /// That may have something to send.
    sending: BTreeSet<Id>,
    /// To which something has happened.
    touched: BTreeSet<Id>,
}

impl<Id> Default for Agenda<Id> {
    fn default() -> Self {
        Self { deadlines: BTreeSet::new(), sending: BTreeSet::new(), touched: BTreeSet::new() }
    }
}

impl<Id: Ord + Copy> Agenda<Id> {
    /// It may have something to send.
    pub(super) fn sends(&mut self, id: Id) {
        self.sending.insert(id);
    }

    /// Something has happened to it.
    pub(super) fn touches(&mut self, id: Id) {
        self.touched.insert(id);
    }

    /// Nobody wants to know any more what happens to it.
    pub(super) fn untouched(&mut self, id: Id) {
        self.touched.remove(&id);
    }

    /// One that may have something to send, among those that have room.
    pub(super) fn next_sending(&self, has_room: impl Fn(Id) -> bool) -> Option<Id> {
        self.sending.iter().copied().find(|id| has_room(*id))
    }

    /// One to which something has happened.
    pub(super) fn next_touched(&mut self) -> Option<Id> {
        self.touched.pop_first()
    }

    /// It has sent all it has. `entered`: the deadline that stands here.
    pub(super) fn waits(&mut self, id: Id, entered: &mut Option<Instant>, deadline: Option<Instant>) {
        self.sending.remove(&id);
        if *entered != deadline {
            let old = std::mem::replace(entered, deadline);
            old.map(|at| self.deadlines.remove(&(at, id)));
            deadline.map(|at| self.deadlines.insert((at, id)));
        }
    }

    /// It is no more.
    pub(super) fn forget(&mut self, id: Id, entered: Option<Instant>) {
        self.sending.remove(&id);
        self.touched.remove(&id);
        entered.map(|at| self.deadlines.remove(&(at, id)));
    }

    /// When the first one is to be woken.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.deadlines.first().map(|&(at, _)| at)
    }

    /// One that is to be woken now; its deadline is entered no more.
    pub(super) fn next_due(&mut self, now: Instant) -> Option<Id> {
        let &(at, id) = self.deadlines.first().filter(|&&(at, _)| at <= now)?;
        self.deadlines.remove(&(at, id));
        Some(id)
    }
}
