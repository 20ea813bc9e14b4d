//! One medium: the channel that an access point shares with its stations.
//!
//! Served one frame at a time. DCF gives every station that has something to send the same chance of the next frame, whatever
//! its rate (Heusse, Rousseau, Berger-Sabbatel and Duda 2003); the access point is one of them. So turns go round among the
//! access point and the stations, frame by frame, and the access point's own turns go round among the stations that it has
//! something for, as Linux's mac80211 has them. Collisions are not modelled: what several contenders lose to them, the shorter
//! waits of several contenders give back in part.

use std::collections::VecDeque;

use handfast_core::{Bytes, Instant, Stream};
use handfast_net::Cause;
use handfast_net::queue::{Discipline, Handle, Occupancy, PacketMeta, Verdict};

use crate::airtime::{Exchange, Physical, Rate};
use crate::retries::{Attempt, Retries};

/// The number of a transmit queue.
pub type TxQueueId = usize;

/// What is known of a transmit queue: it serves one direction between the access point and one station.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TxQueueConfig {
    /// Whether the access point sends.
    pub downlink: bool,
    /// At which rate.
    pub rate: Rate,
    /// What one attempt at a frame may come to.
    pub attempt: Attempt,
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
    /// Drops and marks that the driver has not been told of, and when they were decided.
    decided: VecDeque<(Instant, Event<H>)>,
    stream: Stream,
}

/// What is on the air, repetitions included, and until when.
#[derive(Debug)]
struct OnAir<H> {
    until: Instant,
    size: Bytes,
    served: Served<H>,
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
            decided: VecDeque::new(),
            stream,
        }
    }

    /// Adds a transmit queue with its discipline.
    pub fn add(&mut self, config: TxQueueConfig, queue: Box<dyn Discipline<H>>) -> TxQueueId {
        self.tx_queues.push(TxQueue { config, queue });
        self.tx_queues.len() - 1
    }

    /// A transmit queue has another rate or another chance of errors from its next frame on.
    pub fn adapt(&mut self, tx_queue: TxQueueId, rate: Rate, attempt: Attempt) {
        if let Some(one) = self.tx_queues.get_mut(tx_queue) {
            (one.config.rate, one.config.attempt) = (rate, attempt);
        }
    }

    /// The rate of a transmit queue.
    pub fn rate(&self, tx_queue: TxQueueId) -> Option<Rate> {
        self.tx_queues.get(tx_queue).map(|one| one.config.rate)
    }

    /// A packet is to go; its time of arrival is `now`.
    ///
    /// # Errors
    /// Why it is not accepted: the queue is full, or there is no such queue.
    #[inline]
    pub fn enqueue(&mut self, now: Instant, tx_queue: TxQueueId, packet: PacketMeta<H>) -> Result<(), Cause> {
        let sending = self.sending(tx_queue);
        let Some(TxQueue { queue, .. }) = self.tx_queues.get_mut(tx_queue) else {
            return Err(Cause::QueueFull);
        };
        let had_none = queue.occupancy().packets == 0;
        queue.enqueue(now, PacketMeta { enqueued_at: now, ..packet }, sending)?;
        if had_none {
            self.take_turn(tx_queue);
        }
        self.begin(now);
        Ok(())
    }

    /// The packet of a transmit queue that is on the air, if there is one.
    fn sending(&self, tx_queue: TxQueueId) -> Occupancy {
        let on_air = self.on_air.as_ref().filter(|on_air| on_air.served.tx_queue == tx_queue);
        on_air.map_or_else(Occupancy::default, |on_air| Occupancy { packets: 1, bytes: on_air.size })
    }

    /// Packets of a transmit queue that wait or are on the air.
    pub fn held(&self, tx_queue: TxQueueId) -> Occupancy {
        let waiting = self.tx_queues.get(tx_queue).map(|one| one.queue.occupancy());
        waiting.unwrap_or_default() + self.sending(tx_queue)
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
        if self.decided.front().is_some_and(|&(at, _)| at <= now) {
            return self.decided.pop_front().map(|(_, event)| event);
        }
        if let Some(OnAir { until, served, .. }) = self.on_air.take_if(|on_air| on_air.until <= now) {
            self.begin(until);
            return Some(Event::Served(served));
        }
        if self.on_air.is_some() || self.turns.is_empty() {
            return None;
        }
        self.begin(now);
        self.decided.pop_front().map(|(_, event)| event)
    }

    /// A transmit queue's station has gone: hands back what waits. What is on the air goes to its end and reaches nobody.
    pub fn clear(&mut self, tx_queue: TxQueueId) -> Vec<H> {
        if let Some(on_air) = self.on_air.as_mut().filter(|on_air| on_air.served.tx_queue == tx_queue) {
            on_air.served.delivered = false;
        }
        let waiting = self.tx_queues.get_mut(tx_queue).map(|one| one.queue.clear());
        self.downlinks.retain(|&one| one != tx_queue);
        let idle = self.downlinks.is_empty();
        self.turns.retain(|&turn| turn != Some(tx_queue) && (turn.is_some() || !idle));
        waiting.into_iter().flatten().map(|packet| packet.handle).collect()
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
        let Some((tx_queue, PacketMeta { handle, size, .. })) = self.next(now) else { return };
        let TxQueueConfig { rate, attempt, .. } = self.tx_queues[tx_queue].config;
        let outcome = self.retries.draw(attempt, size, &mut self.stream);
        let exchange = Exchange::new(self.physical, rate, size);
        let time = exchange.attempts(outcome.attempts, outcome.delivered);
        let served = Served { tx_queue, handle, delivered: outcome.delivered, corrupted: outcome.corrupted };
        self.on_air = Some(OnAir { until: now + time, size, served });
    }

    /// Whose turn it is, and the packet; who has more goes to the end of the line. Whose queue gives none is passed over.
    fn next(&mut self, now: Instant) -> Option<(TxQueueId, PacketMeta<H>)> {
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
    fn take_downlink(&mut self, now: Instant) -> Option<(TxQueueId, PacketMeta<H>)> {
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

    /// The packet of a transmit queue that is sent next, if its discipline gives one.
    fn take(&mut self, now: Instant, tx_queue: TxQueueId) -> Option<(TxQueueId, PacketMeta<H>)> {
        loop {
            match self.tx_queues[tx_queue].queue.dequeue(now)? {
                Verdict::Send(packet) => return Some((tx_queue, packet)),
                Verdict::Mark(packet) => {
                    self.decided.push_back((now, Event::Marked(packet.handle)));
                    return Some((tx_queue, packet));
                }
                Verdict::Drop(PacketMeta { handle, .. }) => {
                    self.decided.push_back((now, Event::Dropped { tx_queue, handle }));
                }
            }
        }
    }

    fn has_more(&self, tx_queue: TxQueueId) -> bool {
        self.tx_queues[tx_queue].queue.occupancy().packets > 0
    }
}

#[cfg(test)]
mod tests;
