//! One direction of a link: queue, line, air and outages behind one deadline.

use handfast_core::{BitRate, Bytes, Duration, Instant, Stream};

use crate::counters::{Cause, Counters};
use crate::fifo::{Entry, Fifo, clamp};
use crate::impair::Impairments;
use crate::line::{Line, NANOBITS_PER_BYTE};
use crate::{Direction, DownMode, QueueLimit};

/// What comes out of a link. Each accepted handle leaves exactly once, as [`Exit::Delivered`] or [`Exit::Lost`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit<H> {
    /// The packet arrived, perhaps with bit errors.
    Delivered {
        /// Which.
        handle: H,
        /// Whether a checksum would fail.
        corrupted: bool,
    },
    /// A second copy of the packet arrived. The driver clones it; the handle stays with the link and follows.
    Duplicated {
        /// Which to clone.
        handle: H,
        /// Whether a checksum would fail.
        corrupted: bool,
    },
    /// The packet is gone; the driver may free it.
    Lost {
        /// Which.
        handle: H,
        /// Why: [`Cause::Loss`] or [`Cause::Outage`].
        cause: Cause,
    },
}

/// What a link's queue holds, the packet in serialisation included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Occupancy {
    /// Packets.
    pub packets: usize,
    /// Bytes of IP packets.
    pub bytes: Bytes,
}

/// One direction of a link, of packets known by a small handle `H`.
///
/// `now` must not go back from call to call. After every call the driver asks for [`Link::deadline`], and calls
/// [`Link::poll`] until it gives nothing when that moment has come. Arrivals are computed when a packet is accepted, so a
/// hop costs one event; what a change of rate or an outage shifts is computed again.
#[derive(Debug)]
pub struct Link<H> {
    line: Line,
    fifo: Fifo<H>,
    delay: Duration,
    delivered: u64,
    /// Packets the queue holds; [`u32::MAX`] where only bytes or nothing limits it.
    max_packets: u32,
    /// Whether arrivals are lost: down with [`DownMode::Drop`].
    gone: bool,
    limited_in_bytes: bool,
    impaired: bool,
    rest: Box<Rest<H>>,
}

/// What a plain hop does not touch.
#[derive(Debug)]
struct Rest<H> {
    /// The configured rate, also while held.
    rate: BitRate,
    max_bytes: u64,
    /// How many outages of each mode last: [`DownMode::Drop`], [`DownMode::Hold`].
    down: [u32; 2],
    /// Nanobits left of the packet in serialisation when the line stopped; [`None`]: all of it.
    left: Option<u64>,
    counters: Counters,
    impairments: Option<Box<Impairments<H>>>,
}

impl<H: Copy> Link<H> {
    /// An empty link. Each of its random processes gets a stream of its own, drawn from `stream`.
    pub fn new(direction: &Direction, stream: Stream) -> Self {
        let (max_packets, max_bytes) = match direction.queue {
            Some(QueueLimit::Packets(n)) => (n, None),
            Some(QueueLimit::Bytes(n)) => (u32::MAX, Some(n.get())),
            None => (u32::MAX, None),
        };
        let impairments = Impairments::new(direction, stream);
        Self {
            line: Line::new(direction.rate),
            fifo: Fifo::new(),
            delay: direction.delay,
            delivered: 0,
            max_packets,
            gone: false,
            limited_in_bytes: max_bytes.is_some(),
            impaired: impairments.is_some(),
            rest: Box::new(Rest {
                rate: direction.rate,
                max_bytes: max_bytes.unwrap_or(u64::MAX),
                down: [0; 2],
                left: None,
                counters: Counters::default(),
                impairments,
            }),
        }
    }

    /// Offers a packet of `size` bytes (more than 1 GiB counts as 1 GiB). `has_payload` says whether a
    /// [`crate::Loss::List`] counts it.
    ///
    /// # Errors
    /// [`Cause::QueueFull`] or [`Cause::Outage`]: the packet was not accepted and its handle stays with the driver.
    #[inline]
    pub fn enqueue(&mut self, now: Instant, handle: H, size: Bytes, has_payload: bool) -> Result<(), Cause> {
        let size = clamp(size);
        if self.gone {
            return Err(self.refuse(Cause::Outage));
        }
        // While everything on the link would fit the queue, there is no need to know what has left it.
        if (self.limited_in_bytes || self.fifo.len() >= self.max_packets as usize)
            && !self.has_room(now, size)
        {
            return Err(self.refuse(Cause::QueueFull));
        }
        let mut entry = Entry::new(handle, size, has_payload);
        entry.departure = self.line.serve(now, size);
        entry.arrival = entry.departure + self.delay;
        self.fifo.push(entry);
        Ok(())
    }

    fn has_room(&mut self, now: Instant, size: u32) -> bool {
        let (packets, bytes) = self.fifo.held(now);
        packets < self.max_packets as usize && bytes.saturating_add(u64::from(size)) <= self.rest.max_bytes
    }

    #[cold]
    fn refuse(&mut self, cause: Cause) -> Cause {
        self.rest.counters.count(cause);
        cause
    }

    /// The next packet that has come out by `now`, in the order in which they came.
    #[inline]
    pub fn poll(&mut self, now: Instant) -> Option<Exit<H>> {
        if self.impaired {
            return self.poll_impaired(now);
        }
        let entry = self.fifo.pop(now)?;
        if entry.is_doomed() {
            return Some(self.lost_in_outage(entry.handle));
        }
        self.delivered += 1;
        Some(Exit::Delivered { handle: entry.handle, corrupted: false })
    }

    fn poll_impaired(&mut self, now: Instant) -> Option<Exit<H>> {
        loop {
            let Rest { impairments: Some(impairments), counters, .. } = &mut *self.rest else { return None };
            let turn = self.fifo.front().map_or(Instant::MAX, |entry| entry.arrival);
            if impairments.next_due().is_some_and(|due| due <= turn) {
                return impairments.pop_late(now, counters);
            }
            let entry = self.fifo.pop(now)?;
            if entry.is_doomed() {
                return Some(self.lost_in_outage(entry.handle));
            }
            if let Some(exit) = impairments.pass(&entry, counters) {
                return Some(exit);
            }
        }
    }

    #[cold]
    fn lost_in_outage(&mut self, handle: H) -> Exit<H> {
        self.rest.counters.count(Cause::Outage);
        Exit::Lost { handle, cause: Cause::Outage }
    }

    /// When [`Link::poll`] has something next; [`None`]: not before the next call. In the future once `poll` has given all
    /// there was.
    #[inline]
    pub fn deadline(&self) -> Option<Instant> {
        let turn = self.fifo.front().map(|entry| entry.arrival).filter(|&arrival| arrival < Instant::MAX);
        if !self.impaired {
            return turn;
        }
        let late = self.rest.impairments.as_ref().and_then(|impairments| impairments.next_due());
        turn.into_iter().chain(late).min()
    }

    /// The serialisation rate from now on. What is left of the packet in serialisation goes on at the new rate; at rate
    /// zero it waits.
    pub fn set_rate(&mut self, now: Instant, rate: BitRate) {
        self.rest.rate = rate;
        self.retime(now, false);
    }

    /// The propagation delay of all that leaves from now on. Packets in the air keep theirs, and none overtakes them: after
    /// a decrease a packet arrives at the earliest with the one before it.
    pub fn set_delay(&mut self, now: Instant, delay: Duration) {
        self.delay = delay;
        self.retime(now, false);
    }

    /// The link goes down. Outages may overlap: the link is up again after one [`Link::up`] for each.
    ///
    /// With [`DownMode::Drop`] what has not arrived comes out as lost at the next [`Link::poll`], and arrivals are refused.
    /// With [`DownMode::Hold`] what is in the air arrives; the queue waits, and the packet in serialisation starts over.
    pub fn down(&mut self, now: Instant, mode: DownMode) {
        let count = &mut self.rest.down[mode as usize];
        *count = count.saturating_add(1);
        if mode == DownMode::Drop {
            self.gone = true;
            self.fifo.doom(now);
            if let Some(impairments) = &mut self.rest.impairments {
                impairments.doom(now);
            }
        }
        self.retime(now, true);
    }

    /// An outage of that mode ends. Without one it means nothing.
    pub fn up(&mut self, now: Instant, mode: DownMode) {
        let count = &mut self.rest.down[mode as usize];
        *count = count.saturating_sub(1);
        self.gone = self.rest.down[DownMode::Drop as usize] > 0;
        self.retime(now, false);
    }

    /// Computes the departures and arrivals of all that is in the queue again.
    fn retime(&mut self, now: Instant, start_over: bool) {
        let left = if start_over { None } else { self.left_of_first(now) };
        let held = self.rest.down[DownMode::Hold as usize] > 0;
        self.line.restart(now, if held { BitRate::default() } else { self.rest.rate });
        self.rest.left = left.filter(|_| self.line.is_stopped());
        let (mut last_arrival, queue) = self.fifo.queue_mut(now);
        let mut left = left;
        for entry in queue {
            entry.departure = match left.take() {
                Some(work) => self.line.resume(now, work),
                None => self.line.serve(now, entry.size()),
            };
            entry.arrival = last_arrival.max(entry.departure + self.delay);
            last_arrival = entry.arrival;
        }
    }

    /// Nanobits left of the packet in serialisation; [`None`]: all of it, or there is none.
    fn left_of_first(&mut self, now: Instant) -> Option<u64> {
        if self.line.is_stopped() {
            return self.rest.left;
        }
        let (_, queue) = self.fifo.queue_mut(now);
        let behind: u64 = queue.skip(1).map(|entry| u64::from(entry.size())).sum();
        let behind = u128::from(behind) * u128::from(NANOBITS_PER_BYTE);
        let left = self.line.backlog(now).checked_sub(behind)?;
        u64::try_from(left).ok().filter(|&left| left > 0)
    }

    /// What the queue holds now.
    pub fn queue(&mut self, now: Instant) -> Occupancy {
        let (packets, bytes) = self.fifo.held(now);
        Occupancy { packets, bytes: Bytes(bytes) }
    }

    /// What became of all packets so far.
    pub fn counters(&self) -> Counters {
        let rest = &self.rest.counters;
        let aside = self.rest.impairments.as_ref().map_or(0, |impairments| impairments.aside());
        let delivered = rest.delivered + self.delivered;
        let on_the_link = (self.fifo.len() + aside) as u64;
        Counters { offered: delivered + rest.lost() + on_the_link, delivered, ..*rest }
    }
}
