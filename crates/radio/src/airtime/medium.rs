//! One medium: the channel that an access point shares with its stations.
//!
//! Served one frame at a time. DCF gives every station that has something to send the same chance of the next frame, whatever
//! its rate (Heusse, Rousseau, Berger-Sabbatel and Duda 2003); the access point is one of them. So turns go round among the
//! access point and the stations, frame by frame, and the access point's own turns go round among the stations that it has
//! something for, as Linux's mac80211 has them. Collisions are not modelled: what several contenders lose to them, the shorter
//! waits of several contenders give back in part.

use std::collections::VecDeque;

use handfast_core::{Bytes, Instant, Stream};

use super::{Exchange, Physical, Rate};
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
    /// So many packets wait or are being sent at most.
    pub limit: usize,
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

#[derive(Debug)]
struct Queue<H> {
    lane: Lane,
    waiting: VecDeque<(H, Bytes)>,
}

/// The medium of one access point.
#[derive(Debug)]
pub struct Medium<H> {
    physical: Physical,
    retries: Retries,
    queues: Vec<Queue<H>>,
    /// Who has something to send, in the order of turns; [`None`]: the access point.
    turns: VecDeque<Option<LaneId>>,
    /// The lanes of the access point that have something, in the order of its turns.
    downlinks: VecDeque<LaneId>,
    on_air: Option<OnAir<H>>,
    stream: Stream,
}

/// What is on the air, repetitions included, and until when.
#[derive(Debug)]
struct OnAir<H> {
    until: Instant,
    size: Bytes,
    served: Served<H>,
}

impl<H: Copy> Medium<H> {
    /// An idle medium without lanes.
    pub const fn new(physical: Physical, retries: Retries, stream: Stream) -> Self {
        Self {
            physical,
            retries,
            queues: Vec::new(),
            turns: VecDeque::new(),
            downlinks: VecDeque::new(),
            on_air: None,
            stream,
        }
    }

    /// Adds a lane.
    pub fn add(&mut self, lane: Lane) -> LaneId {
        self.queues.push(Queue { lane, waiting: VecDeque::new() });
        self.queues.len() - 1
    }

    /// A lane has another rate or another chance of errors from its next frame on.
    pub fn adapt(&mut self, lane: LaneId, rate: Rate, attempt: Attempt) {
        if let Some(queue) = self.queues.get_mut(lane) {
            (queue.lane.rate, queue.lane.attempt) = (rate, attempt);
        }
    }

    /// The rate of a lane.
    pub fn rate(&self, lane: LaneId) -> Option<Rate> {
        self.queues.get(lane).map(|queue| queue.lane.rate)
    }

    /// A packet is to go. Where the lane is full, or there is none such, it is handed back.
    ///
    /// # Errors
    /// The packet that finds no room.
    pub fn enqueue(&mut self, now: Instant, lane: LaneId, handle: H, size: Bytes) -> Result<(), H> {
        let on_air = self.on_air.as_ref().is_some_and(|on_air| on_air.served.lane == lane);
        let Some(queue) = self.queues.get_mut(lane) else { return Err(handle) };
        if queue.waiting.len() + usize::from(on_air) >= queue.lane.limit {
            return Err(handle);
        }
        queue.waiting.push_back((handle, size));
        if queue.waiting.len() == 1 {
            self.take_turn(lane);
        }
        self.begin(now);
        Ok(())
    }

    /// How many packets of a lane wait or are on the air, and their bytes.
    pub fn held(&self, lane: LaneId) -> (usize, Bytes) {
        let waiting = self.queues.get(lane).into_iter().flat_map(|queue| &queue.waiting);
        let on_air = self.on_air.iter().filter(|on_air| on_air.served.lane == lane);
        let sizes = waiting.map(|&(_, size)| size).chain(on_air.map(|on_air| on_air.size));
        sizes.fold((0, Bytes(0)), |(packets, bytes), size| (packets + 1, bytes + size))
    }

    /// Whether no packet waits or is on the air.
    pub fn is_idle(&self) -> bool {
        self.on_air.is_none()
    }

    /// When [`Medium::poll`] is due.
    pub fn deadline(&self) -> Option<Instant> {
        self.on_air.as_ref().map(|on_air| on_air.until)
    }

    /// The next packet that is done with by `now`.
    pub fn poll(&mut self, now: Instant) -> Option<Served<H>> {
        let OnAir { until, served, .. } = self.on_air.take_if(|on_air| on_air.until <= now)?;
        self.begin(until);
        Some(served)
    }

    /// A lane's station has gone: hands back what waits. What is on the air goes to its end and reaches nobody.
    pub fn clear(&mut self, lane: LaneId) -> impl Iterator<Item = H> {
        if let Some(on_air) = self.on_air.as_mut().filter(|on_air| on_air.served.lane == lane) {
            on_air.served.delivered = false;
        }
        let waiting = self.queues.get_mut(lane).map(|queue| std::mem::take(&mut queue.waiting));
        self.downlinks.retain(|&one| one != lane);
        let idle = self.downlinks.is_empty();
        self.turns.retain(|&turn| turn != Some(lane) && (turn.is_some() || !idle));
        waiting.into_iter().flatten().map(|(handle, _)| handle)
    }

    /// A lane that had nothing has something now.
    fn take_turn(&mut self, lane: LaneId) {
        if !self.queues[lane].lane.downlink {
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
        let Some((lane, handle, size)) = self.next() else { return };
        let Lane { rate, attempt, .. } = self.queues[lane].lane;
        let outcome = self.retries.draw(attempt, size, &mut self.stream);
        let exchange = Exchange::new(self.physical, rate, size);
        let time = exchange.attempts(outcome.attempts, outcome.delivered);
        let served = Served { lane, handle, delivered: outcome.delivered, corrupted: outcome.corrupted };
        self.on_air = Some(OnAir { until: now + time, size, served });
    }

    /// Whose turn it is, and the packet; who has more goes to the end of the line.
    fn next(&mut self) -> Option<(LaneId, H, Bytes)> {
        let turn = self.turns.pop_front()?;
        let lane = match turn {
            Some(lane) => lane,
            None => self.downlinks.pop_front()?,
        };
        let waiting = &mut self.queues[lane].waiting;
        let (handle, size) = waiting.pop_front()?;
        let more = !waiting.is_empty();
        if turn.is_none() && more {
            self.downlinks.push_back(lane);
        }
        if if turn.is_none() { !self.downlinks.is_empty() } else { more } {
            self.turns.push_back(turn);
        }
        Some((lane, handle, size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use handfast_core::Duration;
    use proptest::prelude::*;

    fn medium(lanes: &[(bool, Rate)]) -> Medium<u32> {
        let mut medium = Medium::new(Physical::G, Retries::default(), Stream::new(1, "medium"));
        for &(downlink, rate) in lanes {
            medium.add(Lane { downlink, rate, attempt: Attempt::Clean, limit: 50 });
        }
        medium
    }

    /// Serves all; the lanes in order, and when the last one was done.
    fn drain(medium: &mut Medium<u32>) -> (Vec<LaneId>, Instant) {
        let (mut order, mut last) = (Vec::new(), Instant::ZERO);
        while let Some(deadline) = medium.deadline() {
            assert!(deadline > last);
            last = deadline;
            order.push(medium.poll(last).unwrap().lane);
            assert_eq!(medium.poll(last), None);
        }
        (order, last)
    }

    #[test]
    fn stations_and_the_access_point_take_turns_frame_by_frame() {
        // Two stations that are sent to and one that sends.
        let mut medium = medium(&[(true, Rate::Ofdm54), (true, Rate::Ofdm54), (false, Rate::Ofdm54)]);
        for packet in 0..4 {
            for lane in 0..3 {
                medium.enqueue(Instant::ZERO, lane, packet, Bytes(1_500)).unwrap();
            }
        }
        let (order, last) = drain(&mut medium);
        // The first frame goes before anybody else has one.
        assert_eq!(order, [0, 1, 2, 0, 2, 1, 2, 0, 2, 1, 0, 1]);
        assert_eq!(last, Instant::ZERO + Duration::from_micros(393) * 12);
        assert!(medium.is_idle());
    }

    #[test]
    fn a_slow_station_slows_all_of_them() {
        // Heusse et al. 2003: turns are frames, not time.
        let mut medium = medium(&[(false, Rate::Ofdm54), (false, Rate::Ofdm6)]);
        for packet in 0..40 {
            medium.enqueue(Instant::ZERO, packet as usize % 2, packet, Bytes(1_500)).unwrap();
        }
        let (order, last) = drain(&mut medium);
        assert!(order.iter().enumerate().all(|(index, &lane)| lane == index % 2), "{order:?}");
        let slow = Exchange::new(Physical::G, Rate::Ofdm6, Bytes(1_500)).attempt(0, true);
        assert_eq!(last, Instant::ZERO + (Duration::from_micros(393) + slow) * 20);
    }

    #[test]
    fn a_full_lane_takes_nothing_and_a_cleared_one_gives_back() {
        let mut medium = medium(&[(true, Rate::Ofdm54), (false, Rate::Ofdm54)]);
        for packet in 0..50 {
            assert_eq!(medium.enqueue(Instant::ZERO, 0, packet, Bytes(1_500)), Ok(()));
        }
        assert_eq!(medium.enqueue(Instant::ZERO, 0, 50, Bytes(1_500)), Err(50));
        assert_eq!(medium.enqueue(Instant::ZERO, 7, 51, Bytes(1_500)), Err(51));
        medium.enqueue(Instant::ZERO, 1, 60, Bytes(40)).unwrap();
        assert_eq!(medium.held(0), (50, Bytes(75_000)));
        assert_eq!(medium.clear(0).collect::<Vec<_>>(), (1..50).collect::<Vec<_>>());
        let first = medium.poll(medium.deadline().unwrap()).unwrap();
        assert_eq!((first.handle, first.delivered), (0, false));
        let second = medium.poll(medium.deadline().unwrap()).unwrap();
        assert_eq!((second.handle, second.delivered), (60, true));
        assert!(medium.is_idle());
    }

    #[test]
    fn a_bad_signal_costs_time_and_packets() {
        let mut medium = medium(&[(true, Rate::Ofdm54)]);
        medium.adapt(0, Rate::Ofdm54, Attempt::Frame(1.0));
        medium.enqueue(Instant::ZERO, 0, 1, Bytes(1_500)).unwrap();
        let until = medium.deadline().unwrap();
        let exchange = Exchange::new(Physical::G, Rate::Ofdm54, Bytes(1_500));
        assert_eq!(until, Instant::ZERO + exchange.attempts(7, false));
        assert!(!medium.poll(until).unwrap().delivered);
    }

    proptest! {
        #[test]
        fn every_packet_comes_out_once_and_in_the_order_of_its_lane(
            lanes in prop::collection::vec(prop::bool::ANY, 1..6),
            steps in prop::collection::vec((0_usize..6, 0_u64..2_000, prop::bool::weighted(0.05)), 0..300),
        ) {
            let lanes: Vec<_> = lanes.into_iter().map(|downlink| (downlink, Rate::Ofdm24)).collect();
            let mut medium = medium(&lanes);
            let (mut now, mut out, mut given) = (Instant::ZERO, vec![Vec::new(); lanes.len()], vec![0; lanes.len()]);
            for (number, (lane, micros, clear)) in (0..).zip(steps) {
                let lane = lane % lanes.len();
                if clear {
                    let cleared: Vec<u32> = medium.clear(lane).collect();
                    given[lane] -= cleared.len();
                } else if medium.enqueue(now, lane, number, Bytes(1_000)).is_ok() {
                    given[lane] += 1;
                }
                now += Duration::from_micros(micros);
                while let Some(served) = medium.poll(now) {
                    out[served.lane].push(served.handle);
                }
                // No packet waits while the medium is idle.
                let waiting: usize = (0..lanes.len()).map(|lane| medium.held(lane).0).sum();
                prop_assert_eq!(medium.is_idle(), waiting == 0);
            }
            while let Some(deadline) = medium.deadline() {
                let served = medium.poll(deadline).unwrap();
                out[served.lane].push(served.handle);
            }
            for (lane, served) in out.iter().enumerate() {
                prop_assert_eq!(served.len(), given[lane], "lane {}", lane);
                prop_assert!(served.is_sorted_by(|a, b| a < b), "lane {}: {:?}", lane, served);
            }
        }
    }
}
