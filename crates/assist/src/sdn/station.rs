//! One station: where it is, what is held for it, and what follows from either.

mod datagrams;
mod overlay;
mod path;
mod zero_window;

use std::collections::BTreeSet;

use bytes::Bytes;
use handfast_core::{Duration, Instant};
use handfast_wire::Solicitation;
use handfast_wire::openflow::PortNo;
use handfast_wire::tcp::Segment;

use super::classify::Class;
use super::datagrams::Datagrams;
use super::frame::{Frame, Origin};
use super::hold::Hold;
use super::passage::Passage;
use super::queue::{self, Put};
use super::release::{Passed, Returning};
use super::rules::{Band, packet_out};
use super::shared::Shared;
use super::zwa::Ledger;
use super::{ApId, ConnectionKey, Outbox, Policy, Record, StationId, Steering};

#[derive(Debug)]
enum State {
    /// It is associated; the path bypasses the controller. Rules are renewed then, or the station is forgotten.
    Present { ap: ApId, renew: Instant },
    /// It is away (from T1 on). Until then something is held for it.
    Away { since: Instant, expires: Instant },
    /// It is associated again (T3), and what is held leaves.
    Returning(Returning),
}

#[derive(Debug)]
pub(crate) struct Station {
    id: StationId,
    epoch: u64,
    state: State,
    hold: Hold,
    /// Where it was last, as far as is known.
    last: Option<ApId>,
    /// Under [`Steering::Overlay`]: whether no other station has its address. What has no tag may otherwise be for either.
    alone: bool,
    /// When what diverts is to be renewed.
    renew: Option<Instant>,
    /// When a repetition may pass again.
    repeats: Instant,
    /// Whether nothing can be done for it in this absence.
    unhelped: bool,
    /// The switches of whom it has to do with; [`None`]: they may be anywhere.
    sources: Option<BTreeSet<u64>>,
    /// The switches that have rules for it.
    installed: BTreeSet<u64>,
    /// Under [`Steering::Overlay`]: how what is held reaches it.
    passage: Passage,
    /// Under [`Policy::ZeroWindow`]: how far its receivers have got.
    ledger: Option<Ledger>,
}

/// What a station's controller has to see to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Nothing.
    Stays,
    /// It is to be forgotten.
    Gone,
}

impl Station {
    /// A station that is heard of for the first time, as associated.
    pub(crate) fn associated(
        now: Instant,
        id: StationId,
        ap: ApId,
        epoch: u64,
        shared: &mut Shared,
        out: &mut Outbox,
    ) -> Self {
        let state = State::Present { ap, renew: now };
        let mut this = Self::new(id, epoch, state, shared);
        this.open_path(now, ap, shared, out);
        out.record(Record::Associated { station: id, ap, epoch });
        this
    }

    /// A station that is heard of for the first time, as gone from `ap`.
    pub(crate) fn away(
        now: Instant,
        id: StationId,
        ap: ApId,
        epoch: u64,
        shared: &mut Shared,
        out: &mut Outbox,
    ) -> Self {
        let state = State::Away { since: now, expires: now };
        let mut this = Self::new(id, epoch, state, shared);
        // It is not known which way packets for it take.
        this.sources = None;
        if Self::overlaid(shared) {
            this.last = Some(ap);
        }
        this.leave(now, epoch, shared, out);
        this
    }

    fn new(id: StationId, epoch: u64, state: State, shared: &Shared) -> Self {
        let ledger = (shared.config.policy == Policy::ZeroWindow).then(Ledger::default);
        let sources = (!shared.config.fabric.hosts.is_empty()).then(BTreeSet::new);
        let (hold, installed, passage) = (Hold::default(), BTreeSet::new(), Passage::default());
        let (last, alone, renew, repeats, unhelped) = (None, shared.alone, None, Instant::ZERO, false);
        Self {
            id,
            epoch,
            state,
            hold,
            last,
            alone,
            renew,
            repeats,
            unhelped,
            sources,
            installed,
            passage,
            ledger,
        }
    }

    pub(crate) fn epoch(&self) -> u64 {
        self.epoch
    }

    pub(crate) fn hold(&mut self) -> &mut Hold {
        &mut self.hold
    }

    /// What is held of TCP counts so much.
    pub(crate) fn held(&self) -> u64 {
        self.hold.cost()
    }

    /// Since when it is away, while segments are held.
    pub(crate) fn away_since(&self) -> Option<Instant> {
        match self.state {
            State::Present { .. } => None,
            State::Away { since, .. } | State::Returning(Returning { since, .. }) => Some(since),
        }
        .filter(|_| self.hold.segments() > 0)
    }

    /// Whether it is associated with `ap`, as far as is known.
    pub(crate) fn is_at(&self, ap: ApId) -> bool {
        match self.state {
            State::Present { ap: at, .. } | State::Returning(Returning { ap: at, .. }) => at == ap,
            State::Away { .. } => false,
        }
    }

    pub(crate) fn is_away(&self) -> bool {
        matches!(self.state, State::Away { .. })
    }

    /// Whether it is where switches find it.
    pub(crate) fn is_present(&self) -> bool {
        matches!(self.state, State::Present { .. })
    }

    /// Whether something diverts for it.
    pub(crate) fn diverts(&self) -> bool {
        !self.is_present() && !self.unhelped
    }

    /// Its rules at one switch, which has none of them.
    pub(crate) fn install(&self, datapath_id: u64, shared: &mut Shared, out: &mut Outbox) {
        match self.state {
            _ if !self.concerns(datapath_id, shared) => {}
            State::Present { ap, .. } => self.lead(datapath_id, ap, shared, out),
            State::Away { .. } => self.divert(datapath_id, shared, out),
            State::Returning(Returning { ap, .. }) => {
                if Self::overlaid(shared) {
                    // It was not there to hear it.
                    self.announce(ap, shared, out);
                }
                self.divert(datapath_id, shared, out);
            }
        }
    }

    /// A barrier is lost with its connection: what waits for one asks again.
    pub(crate) fn resume(&mut self, now: Instant, shared: &mut Shared, out: &mut Outbox) {
        if let State::Returning(returning) = &mut self.state {
            returning.forget_barrier();
        }
        self.never_told(shared);
        if Self::overlaid(shared)
            && self.diverts()
            && let Some(why) = self.obstacle(shared)
        {
            return self.give_up(why, shared, out);
        }
        self.release(now, shared, out);
    }

    fn lead(&self, datapath_id: u64, ap: ApId, shared: &mut Shared, out: &mut Outbox) {
        if Self::overlaid(shared) {
            return;
        }
        let Some(port) = shared.config.fabric.port_towards(datapath_id, ap) else { return };
        let watch = shared.config.policy.holds() && shared.switches.watches(datapath_id);
        for rule in shared.band().path(self.id.address, port, watch) {
            shared.switches.order(datapath_id, rule, out);
        }
        self.count_all(datapath_id, ap, shared, out);
    }

    fn divert(&self, datapath_id: u64, shared: &mut Shared, out: &mut Outbox) {
        if Self::overlaid(shared) {
            return self.capture(datapath_id, shared, out);
        }
        let rule = shared.band().divert(self.id.address, shared.config.policy.holds());
        shared.switches.order(datapath_id, rule, out);
    }

    /// The path leads to `ap`, past the controller. The new path comes first: what diverts lies above it.
    fn open_path(&mut self, now: Instant, ap: ApId, shared: &mut Shared, out: &mut Outbox) {
        if Self::overlaid(shared) {
            self.free(shared, out);
            self.last = Some(ap);
            return self.settle_down(now, shared);
        }
        self.last = Some(ap);
        let path = self.path(shared);
        for &datapath_id in &path {
            self.lead(datapath_id, ap, shared, out);
            if !matches!(self.state, State::Present { .. }) {
                let rule = shared.band().undivert(self.id.address);
                shared.switches.order(datapath_id, rule, out);
            }
        }
        // [sdn] §3.4: the flows of a station are deleted where its path does not lead any more.
        for &datapath_id in self.installed.difference(&path) {
            shared.switches.order(datapath_id, Band::forget(self.id.address), out);
        }
        self.installed = path;
        self.state = State::Present { ap, renew: now + shared.config.path_timeout / 2 };
    }

    /// It has left its access point.
    pub(crate) fn leave(&mut self, now: Instant, epoch: u64, shared: &mut Shared, out: &mut Outbox) {
        self.epoch = epoch;
        let led = matches!(self.state, State::Present { .. });
        let from = self.place();
        self.state = State::Away { since: now, expires: now + shared.config.hold_expiry };
        self.unhelped = false;
        if Self::overlaid(shared) {
            return self.leave_overlay(now, shared, out);
        }
        for datapath_id in self.reinstalled(shared) {
            self.divert(datapath_id, shared, out);
            // What still counts there is asked first.
            if led && !self.ask(datapath_id, from, shared, out) {
                // If the controller dies, what diverts ends first: then the switch is to find the station as it would
                // without us, and not to follow a path to where it was.
                shared.switches.order(datapath_id, Band::unlead(self.id.address), out);
            }
        }
        out.record(Record::Away { station: self.id, epoch });
    }

    /// It is associated with an access point: again, or with another one.
    pub(crate) fn arrive(
        &mut self,
        now: Instant,
        ap: ApId,
        epoch: u64,
        shared: &mut Shared,
        out: &mut Outbox,
    ) {
        self.epoch = epoch;
        out.record(Record::Associated { station: self.id, ap, epoch });
        let away = !matches!(self.state, State::Present { .. });
        self.take_over(away, shared, out);
        if Self::overlaid(shared) {
            self.passage = Passage::default();
            self.unlisten(ap, shared, out);
            self.announce(ap, shared, out);
            self.last = Some(ap);
            let elsewhere = self.path(shared).is_disjoint(&self.installed);
            if let Some(why) = self.obstacle(shared).filter(|_| away && elsewhere) {
                self.give_up(why, shared, out);
            }
            if self.unhelped {
                return self.open_path(now, ap, shared, out);
            }
            self.renewed(now, shared);
        }
        if !away || shared.config.policy == Policy::Bare {
            return self.open_path(now, ap, shared, out);
        }
        let returning = Returning::new(now, ap, &self.hold, shared);
        self.state = State::Returning(returning);
        // Its timeout begins again: if it ended during the release, what goes straight would overtake what is held.
        self.last = Some(ap);
        for datapath_id in self.reinstalled(shared) {
            self.divert(datapath_id, shared, out);
        }
        self.release(now, shared, out);
    }

    /// A TCP segment for it has come from a switch.
    pub(crate) fn on_segment(
        &mut self,
        now: Instant,
        key: ConnectionKey,
        segment: &Segment,
        frame: &Frame,
        shared: &mut Shared,
        out: &mut Outbox,
    ) {
        let repeated = Self::overlaid(shared) && self.hold.has(&key, segment);
        match &mut self.state {
            State::Present { ap, .. } => {
                // It was on its way here when the path was opened.
                shared.counters.late += 1;
                shared.emit(*ap, frame, &self.passage, out);
                self.passed(&key, segment, 1);
            }
            State::Away { .. } if self.ledger.is_some() => self.stand_in(key, segment, frame, shared, out),
            // Whoever says that it is away may be wrong: then its sender's repetitions reach it, and it answers.
            State::Away { .. } if repeated => {
                shared.counters.duplicates += 1;
                self.pass_repetition(now, frame, shared, out);
            }
            State::Away { .. } => drop(self.keep(key, segment, frame, shared)),
            State::Returning(returning) => {
                returning.disturb();
                // Through the hold even if that is empty: so it keeps its place in the order and the pace.
                if self.keep(key, segment, frame, shared) {
                    self.passed(&key, segment, 0);
                }
                self.release(now, shared, out);
            }
        }
    }

    /// `[sdn]` Algorithm 1, lines 3 to 5. Whether it was not held before and is now.
    fn keep(&mut self, key: ConnectionKey, segment: &Segment, frame: &Frame, shared: &mut Shared) -> bool {
        if self.hold.has(&key, segment) {
            shared.counters.duplicates += 1;
            return false;
        }
        let (limits, cost) = (shared.config.limits, queue::cost(frame));
        // Without a queue: there are as many connections as there may be, and all of them hold something.
        let fits = self.hold.knows(&key)
            && self.hold.cost_of(&key) + cost <= limits.per_connection.0
            && self.hold.cost() + cost <= limits.per_station.0
            && cost <= limits.total.0;
        if !fits {
            shared.counters.refused += 1;
            return false;
        }
        match self.hold.put(key, segment, frame.copied()) {
            Put::Held(added) => {
                shared.held += added;
                shared.counters.held += 1;
            }
            Put::Replaced(added, removed) => {
                shared.held = shared.held + added - removed;
                shared.counters.acks_replaced += 1;
            }
            Put::Duplicate => {
                shared.counters.duplicates += 1;
                return false;
            }
        }
        true
    }

    /// A packet for it that is neither TCP nor a datagram has come.
    pub(crate) fn on_other(
        &mut self,
        now: Instant,
        class: Class,
        frame: &Frame,
        shared: &mut Shared,
        out: &mut Outbox,
    ) {
        if self.is_away()
            && let Some(answer) = self.answer_neighbour(frame)
        {
            let Origin { datapath_id, in_port } = frame.origin;
            shared.counters.neighbours += 1;
            shared.switches.order(datapath_id, packet_out(in_port, answer), out);
            return;
        }
        self.treat(now, class, frame, shared, out);
    }

    /// A packet goes on at once.
    fn pass(&mut self, class: Class, ap: ApId, frame: &Frame, shared: &mut Shared, out: &mut Outbox) {
        shared.counters.passed_other[class as usize] += 1;
        shared.emit(ap, frame, &self.passage, out);
        self.sent(1);
    }

    /// The answer that it would give to a neighbour who asks it whether it is still there (RFC 1122 §2.3.2.1 (2), RFC 4861
    /// §7.3.3). Without one the neighbour forgets where it is, and then what it sends cannot be held. Who asks in private
    /// has known the answer; addresses to which no connection was seen are not answered for.
    fn answer_neighbour(&self, frame: &Bytes) -> Option<Bytes> {
        let asked = Solicitation::parse(frame)?;
        self.hold.leads_to(asked.target).then(|| asked.answer(self.id.address).into())
    }

    /// Sends what is held, as far as its pace allows.
    fn release(&mut self, now: Instant, shared: &mut Shared, out: &mut Outbox) {
        self.expire_datagrams(now, shared, out);
        if let State::Returning(returning) = &mut self.state {
            let before = returning.segments + self.hold.datagrams.counts().released;
            returning.send(now, &mut self.hold, &self.passage, shared, out);
            let sent = returning.segments + self.hold.datagrams.counts().released - before;
            self.sent(sent);
        }
    }

    /// The barrier that it waits for.
    pub(crate) fn barrier(&self) -> Option<u32> {
        match &self.state {
            State::Returning(returning) => returning.barrier(),
            State::Away { .. } => self.ledger.as_ref().and_then(Ledger::barrier),
            State::Present { .. } => None,
        }
    }

    /// The barrier that it waits for is passed.
    pub(crate) fn on_barrier(&mut self, now: Instant, shared: &mut Shared, out: &mut Outbox) {
        let State::Returning(returning) = &mut self.state else { return self.close_books(shared, out) };
        let Passed::Done { segments, bytes } =
            returning.on_barrier(now, (&mut self.hold, &self.passage), shared, out)
        else {
            return;
        };
        let (ap, took) = (returning.ap, now.since(returning.since));
        self.open_path(now, ap, shared, out);
        let datagrams = self.hold.datagrams.take_counts();
        out.record(Record::Released { station: self.id, segments, bytes, took, datagrams });
    }

    /// Drops what is held of TCP; how many frames that were.
    pub(crate) fn drop_hold(&mut self, shared: &mut Shared) -> u64 {
        shared.held -= self.hold.cost();
        self.hold.clear()
    }

    /// When something is due. `age`: how old a datagram may get.
    pub(crate) fn deadline(&self, age: Duration) -> Instant {
        let of_state = match &self.state {
            State::Present { renew, .. } => *renew,
            State::Away { expires, .. } => *expires,
            State::Returning(returning) => returning.deadline(&self.hold),
        };
        [self.hold.datagrams.deadline(age), self.renew].into_iter().flatten().fold(of_state, Instant::min)
    }

    /// Does what is due.
    pub(crate) fn on_timer(&mut self, now: Instant, shared: &mut Shared, out: &mut Outbox) -> Fate {
        self.expire_datagrams(now, shared, out);
        self.renew(now, shared, out);
        match &self.state {
            State::Present { renew, .. } if *renew <= now && Self::overlaid(shared) => Fate::Gone,
            State::Present { ap, renew } if *renew <= now => {
                let ap = *ap;
                self.open_path(now, ap, shared, out);
                Fate::Stays
            }
            State::Returning(Returning { expires, ap, .. }) if *expires <= now => {
                let ap = *ap;
                let segments = self.flush(shared, out);
                if shared.reaches(ap) {
                    shared.counters.unsettled += 1;
                } else {
                    let datagrams = self.hold.datagrams.take_counts();
                    out.record(Record::Undelivered { station: self.id, segments, datagrams });
                }
                // It is associated: its path is made where switches are, and at the others when they come.
                self.open_path(now, ap, shared, out);
                Fate::Stays
            }
            State::Away { expires, .. } if *expires <= now => {
                self.expire(shared, out);
                Fate::Gone
            }
            _ => {
                self.release(now, shared, out);
                Fate::Stays
            }
        }
    }

    fn expire(&mut self, shared: &mut Shared, out: &mut Outbox) {
        let segments = self.flush(shared, out);
        if Self::overlaid(shared) {
            self.free(shared, out);
        } else {
            for datapath_id in self.reinstalled(shared) {
                shared.switches.order(datapath_id, Band::forget(self.id.address), out);
            }
        }
        let datagrams = self.hold.datagrams.take_counts();
        out.record(Record::Expired { station: self.id, segments, datagrams });
    }

    /// Sends all that is held to where the station is, whatever its pace, or drops it where that is not possible; how many
    /// segments were dropped.
    pub(crate) fn flush(&mut self, shared: &mut Shared, out: &mut Outbox) -> u64 {
        if let State::Returning(Returning { ap, .. }) = self.state
            && shared.reaches(ap)
        {
            while let Some(frame) = self.hold.take() {
                shared.released(&frame);
                shared.emit(ap, &frame, &self.passage, out);
            }
            while let Some(frame) = shared.datagrams(&mut self.hold.datagrams, Datagrams::take) {
                shared.emit(ap, &frame, &self.passage, out);
            }
        }
        shared.datagrams(&mut self.hold.datagrams, Datagrams::clear);
        let dropped = self.drop_hold(shared);
        shared.counters.expired += dropped;
        dropped
    }
}

/// A packet that came by our rules for a station that is not known: it goes where the switch would send it.
pub(crate) fn stray(frame: &Frame, shared: &mut Shared, out: &mut Outbox) {
    shared.counters.strays += 1;
    if shared.config.steering == Steering::Overlay {
        shared.hand_back(frame, out);
    } else {
        let order = packet_out(PortNo::NORMAL, frame.bytes.clone());
        shared.switches.order(frame.origin.datapath_id, order, out);
    }
}
