//! One medium: the channel that an access point shares with its stations.
//!
//! Served one frame at a time. DCF gives every station that has something to send the same chance of the next frame, whatever
//! its rate (Heusse, Rousseau, Berger-Sabbatel and Duda 2003); the access point is one of them. So turns go round among the
//! access point and the stations, frame by frame, and the access point's own turns go round among the stations that it has
//! something for, as Linux's mac80211 has them. Collisions are not modelled: what several contenders lose to them, the shorter
//! waits of several contenders give back in part.
//!
//! A turn is a frame with all its repetitions at the rates of 802.11 b and g. At those of n, ac and ax it is a PPDU with an A-MPDU,
//! whose MPDUs fail one by one and are sent again with the next turn (`aggregate.rs`).

use std::collections::VecDeque;

use handfast_core::{Bytes, Instant, Stream};
use handfast_net::Cause;
use handfast_net::queue::{Discipline, Handle, Occupancy, PacketMeta, Verdict};

use crate::aggregation::{Aggregation, Agreement, Mpdu};
use crate::airtime::{Exchange, Physical, TxRate};
use crate::rate_control::{Choice, Minstrel};
use crate::retries::{Attempt, Retries};

mod aggregate;

/// The number of a transmit queue.
pub type TxQueueId = usize;

/// What is known of a transmit queue: it serves one direction between the access point and one station.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TxQueueConfig {
    /// Whether the access point sends.
    pub downlink: bool,
    /// At which rate.
    pub rate: TxRate,
    /// What one attempt at a frame may come to.
    pub attempt: Attempt,
    /// How it aggregates at the rates of 802.11n, ac and ax.
    pub aggregation: Aggregation,
}

/// A packet that is done with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served<H> {
    /// Whose.
    pub tx_queue: TxQueueId,
    /// Which.
    pub handle: H,
    /// Whether it arrives at the other end.
    pub delivered: bool,
    /// Whether it arrives with a bit error that the frame's checksum missed.
    pub corrupted: bool,
}

/// What the driver is told of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<H> {
    /// Its frame has been acknowledged or given up.
    Served(Served<H>),
    /// The discipline of its queue has marked it "congestion experienced"; it is served later.
    Marked(H),
    /// The discipline of its queue has dropped it.
    Dropped {
        /// Whose.
        tx_queue: TxQueueId,
        /// Which.
        handle: H,
    },
}

#[derive(Debug)]
struct TxQueue<H> {
    config: TxQueueConfig,
    queue: Box<dyn Discipline<H>>,
    /// What is known of MPDUs; nothing is at the rates of 802.11 b and g.
    agreement: Agreement<H>,
    /// Who chooses the rate; [`None`]: it is given.
    control: Option<Minstrel>,
}

impl<H: Handle> TxQueue<H> {
    fn has_more(&self) -> bool {
        self.queue.occupancy().packets > 0 || !self.agreement.waiting.is_empty()
    }
}

/// The medium of one access point.
#[derive(Debug)]
pub struct Medium<H> {
    physical: Physical,
    retries: Retries,
    tx_queues: Vec<TxQueue<H>>,
    /// Who has something to send, in the order of turns; [`None`]: the access point.
    turns: VecDeque<Option<TxQueueId>>,
    /// The queues of the access point that have something, in the order of its turns.
    downlinks: VecDeque<TxQueueId>,
    on_air: Option<OnAir<H>>,
    /// The MPDUs that are on the air, by sequence number.
    mpdus: Vec<Mpdu<H>>,
    /// Drops and marks that the driver has not been told of, and when they were decided.
    decided: VecDeque<(Instant, Event<H>)>,
    stream: Stream,
}

/// What is on the air, repetitions included, and until when.
#[derive(Debug)]
struct OnAir<H> {
    until: Instant,
    tx_queue: TxQueueId,
    frame: Frame<H>,
}

#[derive(Debug)]
enum Frame<H> {
    /// A frame of 802.11 b and g, of this size.
    Single(Served<H>, Bytes),
    /// A PPDU with [`Medium::mpdus`]; the station may have gone meanwhile.
    Aggregate { choice: Choice, gone: bool },
}

/// Whose turn it is, and what is sent.
enum Turn<H> {
    Single(TxQueueId, PacketMeta<H>),
    Aggregate(TxQueueId, Choice),
}

impl<H: Handle> Medium<H> {
    /// An idle medium without queues.
    pub const fn new(physical: Physical, retries: Retries, stream: Stream) -> Self {
        Self {
            physical,
            retries,
            tx_queues: Vec::new(),
            turns: VecDeque::new(),
            downlinks: VecDeque::new(),
            on_air: None,
            mpdus: Vec::new(),
            decided: VecDeque::new(),
            stream,
        }
    }

    /// Adds a transmit queue with its discipline.
    pub fn add(&mut self, config: TxQueueConfig, queue: Box<dyn Discipline<H>>) -> TxQueueId {
        self.tx_queues.push(TxQueue { config, queue, agreement: Agreement::default(), control: None });
        self.tx_queues.len() - 1
    }

    /// A transmit queue's rate is chosen by what is acknowledged from now on.
    pub fn control(&mut self, tx_queue: TxQueueId, control: Minstrel) {
        if let Some(one) = self.tx_queues.get_mut(tx_queue) {
            one.control = Some(control);
        }
    }

    /// A transmit queue has another rate or another chance of errors from its next frame on.
    pub fn adapt(&mut self, tx_queue: TxQueueId, rate: TxRate, attempt: Attempt) {
        if let Some(one) = self.tx_queues.get_mut(tx_queue) {
            (one.config.rate, one.config.attempt) = (rate, attempt);
        }
    }

    /// The rate that a transmit queue has been given.
    pub fn rate(&self, tx_queue: TxQueueId) -> Option<TxRate> {
        self.tx_queues.get(tx_queue).map(|one| one.config.rate)
    }

    /// A packet is to go; its time of arrival is `now`.
    ///
    /// # Errors
    /// Why it is not accepted: the queue is full, or there is no such queue.
    #[inline]
    pub fn enqueue(&mut self, now: Instant, tx_queue: TxQueueId, packet: PacketMeta<H>) -> Result<(), Cause> {
        let sending = self.sending(tx_queue);
        let Some(one) = self.tx_queues.get_mut(tx_queue) else {
            return Err(Cause::QueueFull);
        };
        let had_none = !one.has_more();
        one.queue.enqueue(now, PacketMeta { enqueued_at: now, ..packet }, sending)?;
        if had_none {
            self.take_turn(tx_queue);
        }
        self.begin(now);
        Ok(())
    }

    /// What a transmit queue counts beside what waits in its discipline: a frame that is on the air. An A-MPDU is with the hardware,
    /// and no longer counts.
    fn sending(&self, tx_queue: TxQueueId) -> Occupancy {
        match self.on_air {
            Some(OnAir { tx_queue: at, frame: Frame::Single(_, bytes), .. }) if at == tx_queue => {
                Occupancy { packets: 1, bytes }
            }
            _ => Occupancy::default(),
        }
    }

    /// Packets of a transmit queue that wait or are on the air.
    pub fn held(&self, tx_queue: TxQueueId) -> Occupancy {
        let waiting = self.tx_queues.get(tx_queue).map(|one| one.queue.occupancy());
        waiting.unwrap_or_default() + self.sending(tx_queue) + self.held_mpdus(tx_queue)
    }

    /// Whether no packet is on the air.
    pub fn is_idle(&self) -> bool {
        self.on_air.is_none()
    }

    /// When [`Medium::poll`] is due.
    #[inline]
    pub fn deadline(&self) -> Option<Instant> {
        if let Some(&(at, _)) = self.decided.front() {
            return Some(at);
        }
        self.on_air.as_ref().map_or_else(|| self.ready(), |on_air| Some(on_air.until))
    }

    /// When the discipline of a transmit queue gives a packet, where all that have some give none.
    fn ready(&self) -> Option<Instant> {
        if self.turns.is_empty() {
            return None;
        }
        self.tx_queues.iter().filter_map(|one| one.queue.deadline()).min()
    }

    /// What has become of a packet by `now`, one by one.
    #[inline]
    pub fn poll(&mut self, now: Instant) -> Option<Event<H>> {
        loop {
            if self.decided.front().is_some_and(|&(at, _)| at <= now) {
                return self.decided.pop_front().map(|(_, event)| event);
            }
            let Some(OnAir { until, tx_queue, frame }) = self.on_air.take_if(|on_air| on_air.until <= now)
            else {
                break;
            };
            if let Frame::Aggregate { choice, gone } = frame {
                self.finish(until, tx_queue, choice, gone);
            }
            self.begin(until);
            if let Frame::Single(served, _) = frame {
                return Some(Event::Served(served));
            }
        }
        if self.on_air.is_some() || self.turns.is_empty() {
            return None;
        }
        self.begin(now);
        self.decided.pop_front().map(|(_, event)| event)
    }

    /// A transmit queue's station has gone: hands back what waits, at the other end too. What is on the air goes to its end and
    /// reaches nobody.
    pub fn clear(&mut self, tx_queue: TxQueueId) -> Vec<H> {
        if let Some(on_air) = self.on_air.as_mut().filter(|on_air| on_air.tx_queue == tx_queue) {
            match &mut on_air.frame {
                Frame::Single(served, _) => served.delivered = false,
                Frame::Aggregate { gone, .. } => *gone = true,
            }
        }
        let mut lost = Vec::new();
        if let Some(one) = self.tx_queues.get_mut(tx_queue) {
            lost.extend(one.agreement.clear());
            if let Some(control) = &mut one.control {
                control.reset();
            }
            lost.extend(one.queue.clear().into_iter().map(|packet| packet.handle));
        }
        self.downlinks.retain(|&one| one != tx_queue);
        let idle = self.downlinks.is_empty();
        self.turns.retain(|&turn| turn != Some(tx_queue) && (turn.is_some() || !idle));
        lost
    }

    /// A transmit queue that had nothing has something now.
    fn take_turn(&mut self, tx_queue: TxQueueId) {
        if !self.tx_queues[tx_queue].config.downlink {
            return self.turns.push_back(Some(tx_queue));
        }
        self.downlinks.push_back(tx_queue);
        if self.downlinks.len() == 1 {
            self.turns.push_back(None);
        }
    }

    /// Puts the next frame on the air, if the medium is idle.
    fn begin(&mut self, now: Instant) {
        if self.on_air.is_some() {
            return;
        }
        match self.next(now) {
            None => (),
            Some(Turn::Single(tx_queue, packet)) => self.begin_single(now, tx_queue, packet),
            Some(Turn::Aggregate(tx_queue, choice)) => self.begin_aggregate(now, tx_queue, choice),
        }
    }

    /// A frame of 802.11 b and g, until it is acknowledged or given up.
    fn begin_single(&mut self, now: Instant, tx_queue: TxQueueId, packet: PacketMeta<H>) {
        let PacketMeta { handle, size, .. } = packet;
        let TxQueueConfig { rate: TxRate::Legacy(rate), attempt, .. } = self.tx_queues[tx_queue].config
        else {
            return;
        };
        let outcome = self.retries.draw(attempt.at(TxRate::Legacy(rate)), size, &mut self.stream);
        let exchange = Exchange::new(self.physical, rate, size);
        let time = exchange.attempts(outcome.attempts, outcome.delivered);
        let served = Served { tx_queue, handle, delivered: outcome.delivered, corrupted: outcome.corrupted };
        self.on_air = Some(OnAir { until: now + time, tx_queue, frame: Frame::Single(served, size) });
    }

    /// Whose turn it is, and what is sent; who has more goes to the end of the line. Whose queue gives none is passed over.
    fn next(&mut self, now: Instant) -> Option<Turn<H>> {
        for _ in 0..self.turns.len() {
            let turn = self.turns.pop_front()?;
            let (taken, more) = match turn {
                Some(tx_queue) => (self.take(now, tx_queue), self.has_more(tx_queue)),
                None => (self.take_downlink(now), !self.downlinks.is_empty()),
            };
            if more {
                self.turns.push_back(turn);
            }
            if taken.is_some() {
                return taken;
            }
        }
        None
    }

    /// The access point's turn: the next of the queues that it has something for.
    fn take_downlink(&mut self, now: Instant) -> Option<Turn<H>> {
        for _ in 0..self.downlinks.len() {
            let tx_queue = self.downlinks.pop_front()?;
            let taken = self.take(now, tx_queue);
            if self.has_more(tx_queue) {
                self.downlinks.push_back(tx_queue);
            }
            if taken.is_some() {
                return taken;
            }
        }
        None
    }

    /// What a transmit queue sends next, if its discipline gives something.
    fn take(&mut self, now: Instant, tx_queue: TxQueueId) -> Option<Turn<H>> {
        match self.tx_queues[tx_queue].config.rate {
            TxRate::Legacy(_) => Some(Turn::Single(tx_queue, self.dequeue(now, tx_queue)?)),
            TxRate::Mcs(mcs) => {
                let choice = self.choose(now, tx_queue, mcs);
                self.gather(now, tx_queue, choice).then_some(Turn::Aggregate(tx_queue, choice))
            }
        }
    }

    /// The packet that a transmit queue's discipline gives.
    fn dequeue(&mut self, now: Instant, tx_queue: TxQueueId) -> Option<PacketMeta<H>> {
        loop {
            match self.tx_queues[tx_queue].queue.dequeue(now)? {
                Verdict::Send(packet) => return Some(packet),
                Verdict::Mark(packet) => {
                    self.decided.push_back((now, Event::Marked(packet.handle)));
                    return Some(packet);
                }
                Verdict::Drop(PacketMeta { handle, .. }) => {
                    self.decided.push_back((now, Event::Dropped { tx_queue, handle }));
                }
            }
        }
    }

    fn has_more(&self, tx_queue: TxQueueId) -> bool {
        self.tx_queues[tx_queue].has_more()
    }
}

#[cfg(test)]
mod tests;
