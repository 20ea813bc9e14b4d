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

/// The number of a lane.
pub type LaneId = usize;

/// What a lane is: one direction between the access point and one station.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lane {
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
    pub lane: LaneId,
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
        lane: LaneId,
        /// Which.
        handle: H,
    },
}

#[derive(Debug)]
struct Station<H> {
    lane: Lane,
    queue: Box<dyn Discipline<H>>,
}

/// The medium of one access point.
#[derive(Debug)]
pub struct Medium<H> {
    physical: Physical,
    retries: Retries,
    stations: Vec<Station<H>>,
    /// Who has something to send, in the order of turns; [`None`]: the access point.
    turns: VecDeque<Option<LaneId>>,
    /// The lanes of the access point that have something, in the order of its turns.
    downlinks: VecDeque<LaneId>,
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
    /// An idle medium without lanes.
    pub const fn new(physical: Physical, retries: Retries, stream: Stream) -> Self {
        Self {
            physical,
            retries,
            stations: Vec::new(),
            turns: VecDeque::new(),
            downlinks: VecDeque::new(),
            on_air: None,
            decided: VecDeque::new(),
            stream,
        }
    }

    /// Adds a lane and its queue.
    pub fn add(&mut self, lane: Lane, queue: Box<dyn Discipline<H>>) -> LaneId {
        self.stations.push(Station { lane, queue });
        self.stations.len() - 1
    }

    /// A lane has another rate or another chance of errors from its next frame on.
    pub fn adapt(&mut self, lane: LaneId, rate: Rate, attempt: Attempt) {
        if let Some(station) = self.stations.get_mut(lane) {
            (station.lane.rate, station.lane.attempt) = (rate, attempt);
        }
    }

    /// The rate of a lane.
    pub fn rate(&self, lane: LaneId) -> Option<Rate> {
        self.stations.get(lane).map(|station| station.lane.rate)
    }

    /// A packet is to go; its time of arrival is `now`.
    ///
    /// # Errors
    /// Why it is not accepted: the queue of the lane refuses it, or there is no such lane.
    #[inline]
    pub fn enqueue(&mut self, now: Instant, lane: LaneId, packet: PacketMeta<H>) -> Result<(), Cause> {
        let sending = self.sending(lane);
        let Some(Station { queue, .. }) = self.stations.get_mut(lane) else { return Err(Cause::QueueFull) };
        let had_none = queue.occupancy().packets == 0;
        queue.enqueue(now, PacketMeta { enqueued_at: now, ..packet }, sending)?;
        if had_none {
            self.take_turn(lane);
        }
        self.begin(now);
        Ok(())
    }

    /// The packet of a lane that is on the air, if there is one.
    fn sending(&self, lane: LaneId) -> Occupancy {
        let on_air = self.on_air.as_ref().filter(|on_air| on_air.served.lane == lane);
        on_air.map_or_else(Occupancy::default, |on_air| Occupancy { packets: 1, bytes: on_air.size })
    }

    /// Packets of a lane that wait or are on the air.
    pub fn held(&self, lane: LaneId) -> Occupancy {
        let waiting = self.stations.get(lane).map(|station| station.queue.occupancy());
        waiting.unwrap_or_default() + self.sending(lane)
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

    /// When the discipline of a lane gives a packet, where all that have some give none.
    fn ready(&self) -> Option<Instant> {
        if self.turns.is_empty() {
            return None;
        }
        self.stations.iter().filter_map(|station| station.queue.deadline()).min()
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

    /// A lane's station has gone: hands back what waits. What is on the air goes to its end and reaches nobody.
    pub fn clear(&mut self, lane: LaneId) -> Vec<H> {
        if let Some(on_air) = self.on_air.as_mut().filter(|on_air| on_air.served.lane == lane) {
            on_air.served.delivered = false;
        }
        let waiting = self.stations.get_mut(lane).map(|station| station.queue.clear());
        self.downlinks.retain(|&one| one != lane);
        let idle = self.downlinks.is_empty();
        self.turns.retain(|&turn| turn != Some(lane) && (turn.is_some() || !idle));
        waiting.into_iter().flatten().map(|packet| packet.handle).collect()
    }

    /// A lane that had nothing has something now.
    fn take_turn(&mut self, lane: LaneId) {
        if !self.stations[lane].lane.downlink {
            return self.turns.push_back(Some(lane));
        }
        self.downlinks.push_back(lane);
        if self.downlinks.len() == 1 {
            self.turns.push_back(None);
        }
    }

    /// Puts the next frame on the air, if the medium is idle.
    fn begin(&mut self, now: Instant) {
        if self.on_air.is_some() {
            return;
        }
        let Some((lane, PacketMeta { handle, size, .. })) = self.next(now) else { return };
        let Lane { rate, attempt, .. } = self.stations[lane].lane;
        let outcome = self.retries.draw(attempt, size, &mut self.stream);
        let exchange = Exchange::new(self.physical, rate, size);
        let time = exchange.attempts(outcome.attempts, outcome.delivered);
        let served = Served { lane, handle, delivered: outcome.delivered, corrupted: outcome.corrupted };
        self.on_air = Some(OnAir { until: now + time, size, served });
    }

    /// Whose turn it is, and the packet; who has more goes to the end of the line. Whose queue gives none is passed over.
    fn next(&mut self, now: Instant) -> Option<(LaneId, PacketMeta<H>)> {
        for _ in 0..self.turns.len() {
            let turn = self.turns.pop_front()?;
            let (taken, more) = match turn {
                Some(lane) => (self.take(now, lane), self.has_more(lane)),
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

    /// The access point's turn: the next of the lanes that it has something for.
    fn take_downlink(&mut self, now: Instant) -> Option<(LaneId, PacketMeta<H>)> {
        for _ in 0..self.downlinks.len() {
            let lane = self.downlinks.pop_front()?;
            let taken = self.take(now, lane);
            if self.has_more(lane) {
                self.downlinks.push_back(lane);
            }
            if taken.is_some() {
                return taken;
            }
        }
        None
    }

    /// The packet of a lane that is sent next, if its discipline gives one.
    fn take(&mut self, now: Instant, lane: LaneId) -> Option<(LaneId, PacketMeta<H>)> {
        loop {
            match self.stations[lane].queue.dequeue(now)? {
                Verdict::Send(packet) => return Some((lane, packet)),
                Verdict::Mark(packet) => {
                    self.decided.push_back((now, Event::Marked(packet.handle)));
                    return Some((lane, packet));
                }
                Verdict::Drop(PacketMeta { handle, .. }) => {
                    self.decided.push_back((now, Event::Dropped { lane, handle }));
                }
            }
        }
    }

    fn has_more(&self, lane: LaneId) -> bool {
        self.stations[lane].queue.occupancy().packets > 0
    }
}

#[cfg(test)]
mod tests;
