//! Turns with A-MPDUs: what an A-MPDU is made of, and what becomes of it.

use handfast_core::{Instant, Stream};
use handfast_net::queue::{Handle, Occupancy, PacketMeta};

use super::{Event, Frame, Medium, OnAir, Served, TxQueueConfig, TxQueueId};
use crate::aggregation::{AggregateExchange, Mpdu, bits};
use crate::airtime::{Mcs, TxRate};
use crate::rate_control::Choice;
use crate::retries::{Attempt, Retries};

impl<H: Handle> Medium<H> {
    /// With what a transmit queue sends next, if it has been given `mcs`.
    pub(super) fn choose(&mut self, now: Instant, tx_queue: TxQueueId, mcs: Mcs) -> Choice {
        let one = &mut self.tx_queues[tx_queue];
        let failures = one.agreement.failures;
        one.control.as_mut().map_or(Choice { mcs, probe: false }, |control| control.choose(now, failures))
    }

    /// Fills [`Medium::mpdus`] with what a transmit queue sends next: what has failed before first, and then new packets, as far as
    /// the window and the limits of an A-MPDU go. Whether there is something.
    pub(super) fn gather(&mut self, now: Instant, tx_queue: TxQueueId, choice: Choice) -> bool {
        let how = self.tx_queues[tx_queue].config.aggregation;
        let mut psdu = how.psdu(choice.mcs);
        let most = if choice.probe { 1 } else { usize::from(how.mpdus) };
        while self.mpdus.len() < most {
            let Some(mpdu) = self.next_mpdu(now, tx_queue, how.mpdus) else { break };
            if !psdu.push(mpdu.packet.size) {
                self.tx_queues[tx_queue].agreement.waiting.push_front(mpdu);
                break;
            }
            self.mpdus.push(mpdu);
        }
        !self.mpdus.is_empty()
    }

    fn next_mpdu(&mut self, now: Instant, tx_queue: TxQueueId, window: u16) -> Option<Mpdu<H>> {
        let agreement = &mut self.tx_queues[tx_queue].agreement;
        if let Some(mpdu) = agreement.waiting.pop_front() {
            return Some(mpdu);
        }
        if !agreement.has_room(self.mpdus.first().map(|mpdu| mpdu.sequence), window) {
            return None;
        }
        let packet = self.dequeue(now, tx_queue)?;
        Some(self.tx_queues[tx_queue].agreement.number(packet))
    }

    /// Puts [`Medium::mpdus`] on the air.
    pub(super) fn begin_aggregate(&mut self, now: Instant, tx_queue: TxQueueId, choice: Choice) {
        let one = &mut self.tx_queues[tx_queue];
        let TxQueueConfig { attempt, aggregation, .. } = one.config;
        let mut psdu = aggregation.psdu(choice.mcs);
        let (mut answered, mut gives_up) = (false, false);
        let mut chance = Chance::new(attempt, choice.mcs);
        for mpdu in &mut self.mpdus {
            psdu.push(mpdu.packet.size);
            chance.draw(mpdu, &self.retries, &mut self.stream);
            answered |= mpdu.arrives;
            gives_up |= is_given_up(mpdu, &self.retries);
        }
        // Without a block acknowledgment agreement nobody asks for one.
        gives_up &= aggregation.mpdus > 1;
        let failures = one.agreement.failures;
        one.agreement.failures = if answered { 0 } else { failures + 1 };
        let took =
            AggregateExchange::new(aggregation, choice.mcs, &psdu).duration(failures, answered, gives_up);
        self.on_air =
            Some(OnAir { until: now + took, tx_queue, frame: Frame::Aggregate { choice, gone: false } });
    }

    /// The exchange has ended: the recipient hands up what is in order, the originator keeps what has failed.
    pub(super) fn finish(&mut self, at: Instant, tx_queue: TxQueueId, choice: Choice, gone: bool) {
        let one = &mut self.tx_queues[tx_queue];
        if let Some(control) = one.control.as_mut().filter(|_| !gone) {
            let acknowledged = self.mpdus.iter().filter(|mpdu| mpdu.arrives).count();
            control.on_result(choice, self.mpdus.len() as u32, acknowledged as u32);
        }
        let had_none = !one.has_more();
        let mut served = |handle, delivered, corrupted| {
            let served = Served { tx_queue, handle, delivered, corrupted };
            self.decided.push_back((at, Event::Served(served)));
        };
        // From the last to the first: what has failed comes before all that waits.
        for mpdu in self.mpdus.drain(..).rev() {
            let handle = mpdu.packet.handle;
            if gone || is_given_up(&mpdu, &self.retries) {
                served(handle, false, false);
            } else if mpdu.arrives {
                one.agreement.recipient.receive(mpdu.sequence, (handle, mpdu.corrupted));
            } else {
                one.agreement.waiting.push_front(mpdu);
            }
        }
        let start = one.agreement.start();
        one.agreement.recipient.request(start, |(handle, corrupted)| served(handle, true, corrupted));
        if had_none && one.has_more() {
            self.take_turn(tx_queue);
        }
    }

    /// MPDUs of a transmit queue that are on the air or are to be sent again.
    pub(super) fn held_mpdus(&self, tx_queue: TxQueueId) -> Occupancy {
        let sum = |packets: &mut dyn Iterator<Item = &PacketMeta<H>>| {
            packets
                .fold(Occupancy::default(), |sum, packet| sum + Occupancy { packets: 1, bytes: packet.size })
        };
        let Some(one) = self.tx_queues.get(tx_queue) else { return Occupancy::default() };
        let again = sum(&mut one.agreement.waiting.iter().map(|mpdu| &mpdu.packet));
        let sent = self.on_air.as_ref().is_some_and(|on_air| on_air.tx_queue == tx_queue);
        if sent { again + sum(&mut self.mpdus.iter().map(|mpdu| &mpdu.packet)) } else { again }
    }
}

/// Whether the attempt on the air is an MPDU's last, and fails.
fn is_given_up<H>(mpdu: &Mpdu<H>, retries: &Retries) -> bool {
    !mpdu.arrives && mpdu.attempts >= retries.limit.max(1)
}

/// The chance that an MPDU fails; most are as long as the one before.
struct Chance {
    attempt: Attempt,
    known: Option<(u64, f64)>,
}

impl Chance {
    fn new(attempt: Attempt, mcs: Mcs) -> Self {
        Self { attempt: attempt.at(TxRate::Mcs(mcs)), known: None }
    }

    fn error(&mut self, bits: u64) -> f64 {
        match self.known {
            Some((at, error)) if at == bits => error,
            _ => self.known.insert((bits, self.attempt.error_in(bits))).1,
        }
    }

    /// Decides about one more attempt at an MPDU.
    fn draw<H>(&mut self, mpdu: &mut Mpdu<H>, retries: &Retries, stream: &mut Stream) {
        mpdu.attempts += 1;
        let wrong = stream.chance(self.error(bits(mpdu.packet.size)));
        mpdu.corrupted = wrong && stream.chance(retries.undetected);
        mpdu.arrives = !wrong || mpdu.corrupted;
    }
}

#[cfg(test)]
mod tests;
