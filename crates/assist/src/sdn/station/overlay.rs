//! What a station's controller does under [`Steering::Overlay`]: entries only while it is away or its release runs, and only
//! at the switch where it was and where it is.

use handfast_core::{Duration, Instant};
use handfast_wire::openflow::Body;

use super::super::announce::layer_2_update;
use super::super::frame::{Frame, Origin};
use super::super::rules::{Band, handed_in};
use super::super::{ApId, Fabric, Outbox, Record, Steering, Unhelped};
use super::{Returning, Shared, State, Station};

/// Between repetitions that pass: a quarter of Linux's shortest timeout (`TCP_RTO_MIN`).
const REPEATS: Duration = Duration::from_millis(50);

impl Station {
    /// Whether the switches' own rules lead to it.
    pub(super) fn overlaid(shared: &Shared) -> bool {
        shared.config.steering == Steering::Overlay
    }

    /// Makes or renews what diverts at one switch.
    pub(super) fn capture(&self, datapath_id: u64, shared: &mut Shared, out: &mut Outbox) {
        if self.unhelped || !shared.config.policy.holds() {
            return;
        }
        for entry in self.entries(datapath_id, shared) {
            shared.switches.order_for(self.id, datapath_id, entry, out);
        }
    }

    /// What diverts at a switch.
    fn entries(&self, datapath_id: u64, shared: &Shared) -> Vec<Body> {
        let mut entries = shared.band().capture(self.id, self.alone, shared.config.not_tcp);
        if self.listens_at(datapath_id, shared) {
            entries.push(shared.band().listen(self.id.address));
        }
        entries
    }

    /// It has left: what is held from now on is diverted where it was.
    pub(super) fn leave_overlay(&mut self, now: Instant, shared: &mut Shared, out: &mut Outbox) {
        out.record(Record::Away { station: self.id, epoch: self.epoch });
        let why = if shared.full { Some(Unhelped::TooMany) } else { self.obstacle(shared) };
        if let Some(why) = why {
            return self.give_up(why, shared, out);
        }
        for datapath_id in self.reinstalled(shared) {
            self.capture(datapath_id, shared, out);
        }
        self.renewed(now, shared);
    }

    /// All that diverts goes, everywhere.
    pub(super) fn free(&mut self, shared: &mut Shared, out: &mut Outbox) {
        for datapath_id in std::mem::take(&mut self.installed) {
            self.free_at(datapath_id, shared, out);
            if self.listens_at(datapath_id, shared) {
                shared.switches.order(datapath_id, Band::unlisten(self.id.address), out);
            }
        }
    }

    fn free_at(&self, datapath_id: u64, shared: &mut Shared, out: &mut Outbox) {
        for removal in Band::free(self.id, self.alone) {
            shared.switches.order(datapath_id, removal, out);
        }
    }

    /// Whether another station has its address now, in another VLAN. What has no tag passes from then on: it may be for either.
    pub(crate) fn is_alone(&mut self, alone: bool, shared: &mut Shared, out: &mut Outbox) {
        if alone == self.alone {
            return;
        }
        if self.installed.is_empty() || !Self::overlaid(shared) {
            self.alone = alone;
        } else if self.id.vlan.is_none() {
            self.give_up(Unhelped::Ambiguous, shared, out);
            self.alone = alone;
        } else {
            for datapath_id in self.installed.clone() {
                self.free_at(datapath_id, shared, out);
            }
            self.alone = alone;
            for datapath_id in self.installed.clone() {
                self.capture(datapath_id, shared, out);
            }
        }
    }

    /// Whether what it says comes here from a switch: while it is away everywhere, and while its release runs where it was, as
    /// long as that is another switch than the one where it is.
    fn listens_at(&self, datapath_id: u64, shared: &Shared) -> bool {
        match &self.state {
            State::Away { .. } => true,
            State::Returning(Returning { ap, .. }) => {
                shared.config.fabric.access_point(*ap).is_some_and(|at| at.datapath_id != datapath_id)
            }
            State::Present { .. } => false,
        }
    }

    /// It is back: what it says is left alone where it is.
    pub(super) fn unlisten(&self, ap: ApId, shared: &mut Shared, out: &mut Outbox) {
        let Some(at) = shared.config.fabric.access_point(ap) else { return };
        if self.installed.contains(&at.datapath_id) && self.listens_at(at.datapath_id, shared) {
            shared.switches.order(at.datapath_id, Band::unlisten(self.id.address), out);
        }
    }

    /// When what diverts is renewed: at half of its life.
    pub(super) fn renewed(&mut self, now: Instant, shared: &Shared) {
        self.renew = Some(now + shared.config.divert_timeout / 2);
    }

    /// Renews what diverts, if that is due.
    pub(super) fn renew(&mut self, now: Instant, shared: &mut Shared, out: &mut Outbox) {
        if self.renew.is_none_or(|due| due > now) {
            return;
        }
        for datapath_id in self.installed.clone() {
            self.capture(datapath_id, shared, out);
        }
        self.renewed(now, shared);
    }

    /// Why it cannot be helped while it is away, if so.
    pub(super) fn obstacle(&self, shared: &Shared) -> Option<Unhelped> {
        let at = self.last.and_then(|ap| shared.config.fabric.access_point(ap))?;
        if !self.alone && self.id.vlan.is_none() {
            Some(Unhelped::Ambiguous)
        } else if !shared.switches.is_ready(at.datapath_id) {
            // What diverts is made when it comes.
            None
        } else if !shared.switches.hands_back(at.datapath_id) {
            Some(Unhelped::NoHandBack)
        } else if !shared.switches.has_port(at.datapath_id, at.port) {
            Some(Unhelped::NoPort)
        } else if !shared.switches.has_room(at.datapath_id, self.entries(at.datapath_id, shared).len()) {
            Some(Unhelped::NoRoom)
        } else {
            None
        }
    }

    /// It has no help in this absence: what is held goes on, and nothing diverts any more.
    pub(crate) fn give_up(&mut self, why: Unhelped, shared: &mut Shared, out: &mut Outbox) {
        if self.unhelped || matches!(self.state, State::Present { .. }) {
            return;
        }
        self.unhelped = true;
        self.free(shared, out);
        self.hand_back_all(shared, out);
        shared.counters.unhelped += 1;
        out.record(Record::Unhelped { station: self.id, why });
    }

    /// Access points have other numbers from now on. Whether those that it has to do with are still there.
    pub(crate) fn renumber(&mut self, moved: &[Option<ApId>], fabric: &Fabric) -> bool {
        let vlan = self.id.vlan;
        let same_vlan = |ap: &ApId| fabric.access_point(*ap).is_some_and(|at| at.vlan == vlan);
        let new = |ap: ApId| moved.get(ap.0 as usize).copied().flatten().filter(same_vlan);
        let here = match &mut self.state {
            State::Present { ap, .. } | State::Returning(Returning { ap, .. }) => Some(ap),
            State::Away { .. } => None,
        };
        for ap in here.into_iter().chain(&mut self.last) {
            match new(*ap) {
                Some(there) => *ap = there,
                None => return false,
            }
        }
        true
    }

    /// It is to be forgotten: what is held goes on, and nothing diverts any more.
    pub(crate) fn let_go(&mut self, shared: &mut Shared, out: &mut Outbox) {
        self.free(shared, out);
        self.hand_back_all(shared, out);
    }

    /// What is held goes on at once, wherever the switches send it.
    fn hand_back_all(&mut self, shared: &mut Shared, out: &mut Outbox) {
        while let Some(frame) = self.hold.take() {
            shared.released(&frame);
            shared.hand_back(&frame, out);
        }
        while let Some(frame) = shared.datagrams(&mut self.hold.datagrams, super::Datagrams::take) {
            shared.hand_back(&frame, out);
        }
    }

    /// The switches learn where it is, as an access point tells them of a station that associates (IEEE 802.11F §6.5).
    pub(super) fn announce(&self, ap: ApId, shared: &mut Shared, out: &mut Outbox) {
        let Some(at) = shared.config.fabric.access_point(ap) else { return };
        if shared.switches.has_port(at.datapath_id, at.port) {
            let update = layer_2_update(self.id.address, at.vlan);
            shared.switches.order(at.datapath_id, handed_in(at.port, update), out);
        }
    }

    /// A repetition of what is held goes on. Not each of a flood of them: a sender repeats no more often than it has a timeout.
    pub(super) fn pass_repetition(
        &mut self,
        now: Instant,
        frame: &Frame,
        shared: &mut Shared,
        out: &mut Outbox,
    ) {
        if now >= self.repeats {
            self.repeats = now + REPEATS;
            shared.hand_back(frame, out);
        }
    }

    /// It has said something, by way of the controller.
    pub(crate) fn is_heard(&mut self, now: Instant, from: Origin, shared: &mut Shared, out: &mut Outbox) {
        let at = shared.config.fabric.at_port(from.datapath_id, from.in_port);
        let since = match self.state {
            State::Away { since, .. } => since,
            // Its announcement, or something later. From an access point's port it would be old.
            State::Returning(_) if at.is_none() => {
                self.passage.seen(from);
                return self.release(now, shared, out);
            }
            State::Returning(_) | State::Present { .. } => return,
        };
        // What it said before it left may still be on its way.
        if now < since + shared.config.settle {
            return;
        }
        shared.counters.false_alarms += 1;
        out.record(Record::Heard { station: self.id });
        if let Some(ap) = at {
            return self.arrive(now, ap, self.epoch, shared, out);
        }
        // It is behind another switch, where no access point is known: there is nothing to wait for.
        self.free(shared, out);
        self.hand_back_all(shared, out);
        self.settle_down(now, shared);
    }

    /// It is where switches find it: nothing is to be done until the next event.
    pub(super) fn settle_down(&mut self, now: Instant, shared: &Shared) {
        let ap = self.last.unwrap_or(ApId(u32::MAX));
        self.unhelped = false;
        self.renew = None;
        self.state = State::Present { ap, renew: now + shared.config.idle };
    }
}
