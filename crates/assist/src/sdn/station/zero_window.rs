//! What a station's controller does besides under [`Policy::ZeroWindow`](super::super::Policy::ZeroWindow).

use handfast_wire::openflow::{EthAddr, FlowStats, PortNo};
use handfast_wire::tcp::Segment;

use super::super::classify::{Seen, look};
use super::super::frame::Frame;
use super::super::release::Returning;
use super::super::rules::{Band, packet_out};
use super::super::zwa::{Judgement, answer};
use super::super::{ApId, ConnectionKey, Outbox};
use super::{Shared, State, Station};

impl Station {
    /// Where it is, as far as is known.
    pub(super) fn place(&self) -> Option<ApId> {
        match self.state {
            State::Present { ap, .. } | State::Returning(Returning { ap, .. }) => Some(ap),
            State::Away { .. } => None,
        }
    }

    /// A connection's handshake was seen.
    pub(crate) fn open_account(
        &mut self,
        key: ConnectionKey,
        syn: &Segment,
        shared: &mut Shared,
        out: &mut Outbox,
    ) {
        let Some(ledger) = &mut self.ledger else { return };
        if ledger.open(key, syn)
            && let State::Present { ap, .. } = self.state
        {
            count(self.id.address, &key, ap, shared, out);
        }
    }

    /// A connection of which nothing is held is forgotten. Whether it was.
    pub(crate) fn forget(&mut self, key: &ConnectionKey) -> bool {
        let forgotten = self.hold.forget(key);
        if forgotten && let Some(ledger) = &mut self.ledger {
            ledger.close(key);
        }
        forgotten
    }

    /// A connection has ended: its switch needs to count no more.
    pub(crate) fn close_account(&self, key: &ConnectionKey, shared: &mut Shared, out: &mut Outbox) {
        if self.ledger.is_some()
            && let State::Present { ap, .. } = self.state
            && let Some(at) = shared.config.fabric.access_point(ap)
        {
            let rule = shared.band().uncount(self.id.address, key);
            shared.switches.order(at.datapath_id, rule, out);
        }
    }

    /// The switch at its access point counts each connection: there all paths meet.
    pub(super) fn count_all(&self, datapath_id: u64, ap: ApId, shared: &mut Shared, out: &mut Outbox) {
        let here = shared.config.fabric.access_point(ap).is_some_and(|at| at.datapath_id == datapath_id);
        for key in self.ledger.iter().flat_map(super::Ledger::connections).filter(|_| here) {
            count(self.id.address, key, ap, shared, out);
        }
    }

    /// It has left `from`: the switch there is asked what it has counted. Whether this is that switch.
    pub(super) fn ask(
        &mut self,
        datapath_id: u64,
        from: Option<ApId>,
        shared: &mut Shared,
        out: &mut Outbox,
    ) -> bool {
        let at = from.and_then(|ap| shared.config.fabric.access_point(ap));
        let Some(ledger) =
            self.ledger.as_mut().filter(|_| at.is_some_and(|at| at.datapath_id == datapath_id))
        else {
            return false;
        };
        shared.switches.order(datapath_id, Band::statistics(self.id.address), out);
        // The answers are complete when this is passed; what diverts lies above what is asked, so they are final.
        let barrier = shared.switches.barrier(datapath_id, out);
        ledger.depart(datapath_id, barrier);
        true
    }

    /// Its access point tells how many packets it has delivered.
    pub(crate) fn delivered(&mut self, packets: u64) {
        if let Some(ledger) = &mut self.ledger {
            ledger.delivered(packets);
        }
    }

    /// What an entry on the way to it has counted.
    pub(crate) fn count(&mut self, stats: &FlowStats) {
        if let Some(ledger) = &mut self.ledger {
            ledger.count(stats);
        }
    }

    /// All counters are told: what is held until then is judged, and the path to where it was goes.
    pub(super) fn close_books(&mut self, shared: &mut Shared, out: &mut Outbox) {
        let Some(ledger) = &mut self.ledger else { return };
        shared.counters.given_up += ledger.close_books();
        if let Some(at) = ledger.stand() {
            shared.switches.order(at, Band::unlead(self.id.address), out);
        }
        for key in self.hold.holding().copied().collect::<Vec<_>>() {
            let frames: Vec<Frame> = self.hold.frames(&key).cloned().collect();
            shared.held -= self.hold.cost_of(&key);
            self.hold.clear_one(&key);
            for frame in frames {
                if let Seen::Tcp(key, segment) = look(&frame) {
                    shared.counters.held -= 1;
                    self.stand_in(key, &segment, &frame, shared, out);
                }
            }
        }
    }

    /// A segment has come for it while it is away: the controller is the receiver (`[sdn]` §3.1).
    pub(super) fn stand_in(
        &mut self,
        key: ConnectionKey,
        segment: &Segment,
        frame: &Frame,
        shared: &mut Shared,
        out: &mut Outbox,
    ) {
        let Some(ledger) = &mut self.ledger else { return };
        let was_lost = ledger.is_lost(&key);
        let judgement = ledger.judge(&key, segment, frame.len());
        shared.counters.given_up += u64::from(!was_lost && ledger.is_lost(&key));
        match judgement {
            Judgement::Hold => drop(self.keep(key, segment, frame, shared)),
            Judgement::Drop => shared.counters.unaccounted += 1,
            Judgement::Answer(ack) => self.answer(frame, ack, shared, out),
            Judgement::HoldAndAnswer(ack) if self.keep(key, segment, frame, shared) => {
                self.answer(frame, ack, shared, out);
            }
            Judgement::HoldAndAnswer(_) => {
                if let Some(ledger) = &mut self.ledger {
                    ledger.refuse(&key, segment);
                }
            }
        }
    }

    fn answer(&self, frame: &Frame, ack: handfast_core::SeqNum, shared: &mut Shared, out: &mut Outbox) {
        let at = self.ledger.as_ref().and_then(super::Ledger::stand);
        if let (Some(at), Some(reply)) = (at, answer(frame, ack)) {
            shared.counters.answered += 1;
            shared.switches.order(at, packet_out(PortNo::NORMAL, reply), out);
        }
    }

    /// The switch that was asked has connected anew: it has no answer.
    pub(super) fn never_told(&mut self, shared: &mut Shared) {
        if let Some(ledger) = self.ledger.as_mut().filter(|ledger| ledger.barrier().is_some()) {
            shared.counters.given_up += ledger.lose_all();
            shared.counters.unaccounted += self.hold.segments();
            self.drop_hold(shared);
        }
    }

    /// It is associated again; `away`: that it was not is known. What was held goes to it, and counting begins anew.
    pub(super) fn take_over(&mut self, away: bool, shared: &mut Shared, out: &mut Outbox) {
        let from = self.place();
        let Some(ledger) = &mut self.ledger else { return };
        shared.counters.given_up += ledger.arrive();
        if !away && let Some(at) = from.and_then(|ap| shared.config.fabric.access_point(ap)) {
            // What counts there leads to where it was, and lies above the path.
            shared.switches.order(at.datapath_id, Band::unlead(self.id.address), out);
        }
    }

    /// A segment went or will go to it by way of the controller, in so many frames that are not counted otherwise.
    pub(super) fn passed(&mut self, key: &ConnectionKey, segment: &Segment, frames: u64) {
        if let Some(ledger) = &mut self.ledger {
            ledger.passed(key, segment);
            ledger.sent(frames);
        }
    }

    /// Frames went to it by way of the controller.
    pub(super) fn sent(&mut self, frames: u64) {
        if let Some(ledger) = &mut self.ledger {
            ledger.sent(frames);
        }
    }
}

/// The switch at an access point is to count a connection.
fn count(station: EthAddr, key: &ConnectionKey, ap: ApId, shared: &mut Shared, out: &mut Outbox) {
    let Some(at) = shared.config.fabric.access_point(ap) else { return };
    // Without matches on flags it would count what is watched as well.
    if shared.switches.watches(at.datapath_id) {
        let rule = shared.band().count(station, at.port, key);
        shared.switches.order(at.datapath_id, rule, out);
    }
}
