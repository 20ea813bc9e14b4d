//! One direction of a link: queue, line, air and outages behind one deadline.

use handfast_core::{BitRate, Bytes, Duration, Instant, Stream};

use crate::counters::{Cause, Counters};
use crate::fifo::{Entry, Fifo, clamp};
use crate::foreseen::Foreseen;
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
    /// When something comes out next; [`Instant::MAX`]: not while things stay as they are.
    next: Instant,
    delivered: u64,
    /// With fewer packets than these on the link, one more is accepted without a look at the queue.
    unchecked: u32,
    impaired: bool,
    rest: Box<Rest<H>>,
}

/// What a plain hop does not touch.
#[derive(Debug)]
struct Rest<H> {
    /// The configured rate, also while held.
    rate: BitRate,
    limit: Option<QueueLimit>,
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
        let impairments = Impairments::new(direction, stream);
        Self {
            line: Line::new(direction.rate),
            fifo: Fifo::new(),
            delay: direction.delay,
            next: Instant::MAX,
            delivered: 0,
            unchecked: unchecked(direction.queue),
            impaired: impairments.is_some(),
            rest: Box::new(Rest {
                rate: direction.rate,
                limit: direction.queue,
                down: [0; 2],
                left: None,
                counters: Counters::default(),
                impairments,
            }),
        }
    }

    /// Offers a packet of `size` bytes (more than 512 MiB counts as 512 MiB). `has_payload` says whether a
    /// [`crate::Loss::List`] counts it.
    ///
    /// # Errors
    /// [`Cause::QueueFull`] or [`Cause::Outage`]: the packet was not accepted and its handle stays with the driver.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a hop is so short that calls would be a fifth of it")]
    pub fn enqueue(&mut self, now: Instant, handle: H, size: Bytes, has_payload: bool) -> Result<(), Cause> {
        let size = clamp(size);
        if self.fifo.len() >= self.unchecked as usize {
            self.admit(now, size)?;
        }
        let departure = self.line.serve(now, size);
        let entry = Entry::new(handle, size, has_payload, departure, departure + self.delay);
        self.next = self.next.min(self.fifo.push(entry));
        Ok(())
    }

    /// What it does from now on, for a driver that takes all packets there instead; [`None`] where a packet's arrival does
    /// not follow from its size and time alone, or is not worth foreseeing: some are lost on the way, some are here already,
    /// it stands still, or bytes are counted.
    pub fn foreseen(&self) -> Option<Foreseen> {
        let most = match self.rest.limit {
            None => None,
            Some(QueueLimit::Packets(most @ 1..)) => Some(most),
            Some(QueueLimit::Packets(0) | QueueLimit::Bytes(_)) => return None,
        };
        let fit = !self.impaired && self.fifo.len() == 0 && !self.line.is_stopped() && !self.is_gone();
        fit.then(|| Foreseen::new(Line::new(self.rest.rate), self.delay, most))
    }

    /// Whether there is room, now that it must be known what has left the queue.
    #[inline(never)]
    fn admit(&mut self, now: Instant, size: u32) -> Result<(), Cause> {
        let (packets, bytes) = self.fifo.held(now);
        let full = match self.rest.limit {
            None => false,
            Some(QueueLimit::Packets(most)) => packets >= most as usize,
            Some(QueueLimit::Bytes(most)) => bytes.saturating_add(u64::from(size)) > most.get(),
        };
        let gone = self.rest.down[DownMode::Drop as usize] > 0;
        let cause = if gone { Some(Cause::Outage) } else { full.then_some(Cause::QueueFull) };
        cause.map_or(Ok(()), |cause| {
            self.rest.counters.count(cause);
            Err(cause)
        })
    }

    /// As [`Link::poll`], where a packet has arrived and nothing else can have become of it. Short, for a driver that asks it
    /// first; after [`None`] that asks the other.
    #[inline]
    pub fn poll_plain(&mut self, now: Instant) -> Option<H> {
        if self.impaired || now < self.next || self.fifo.front()?.is_doomed() {
            return None;
        }
        let entry = self.fifo.pop()?;
        self.next = self.fifo.next_arrival();
        self.delivered += 1;
        Some(entry.handle)
    }

    /// The next packet that has come out by `now`, in the order in which they came.
    pub fn poll(&mut self, now: Instant) -> Option<Exit<H>> {
        if now < self.next {
            return None;
        }
        if self.impaired {
            return self.poll_impaired(now);
        }
        let entry = self.fifo.pop()?;
        self.next = self.fifo.next_arrival();
        if entry.is_doomed() {
            return Some(self.lost_in_outage(entry.handle));
        }
        self.delivered += 1;
        Some(Exit::Delivered { handle: entry.handle, corrupted: false })
    }

    fn poll_impaired(&mut self, now: Instant) -> Option<Exit<H>> {
        let exit = self.pass_one(now);
        self.next = self.next_exit();
        exit
    }

    fn pass_one(&mut self, now: Instant) -> Option<Exit<H>> {
        loop {
            let Rest { impairments: Some(impairments), counters, .. } = &mut *self.rest else { return None };
            let turn = self.fifo.next_arrival();
            if impairments.next_due().is_some_and(|due| due <= turn) {
                return impairments.pop_late(now, counters);
            }
            if turn > now {
                return None;
            }
            let entry = self.fifo.pop()?;
            if entry.is_doomed() {
                return Some(self.lost_in_outage(entry.handle));
            }
            if let Some(exit) = impairments.pass(&entry, counters) {
                return Some(exit);
            }
        }
    }

    fn next_exit(&self) -> Instant {
        let late = self.rest.impairments.as_ref().and_then(|impairments| impairments.next_due());
        late.map_or(Instant::MAX, |due| due).min(self.fifo.next_arrival())
    }

    #[cold]
    fn lost_in_outage(&mut self, handle: H) -> Exit<H> {
        self.rest.counters.count(Cause::Outage);
        Exit::Lost { handle, cause: Cause::Outage }
    }

    /// The packet in front of the others, for a driver that wants to get things ready. It may yet be lost, or be overtaken.
    #[inline]
    pub fn front(&self) -> Option<&H> {
        self.fifo.front().map(|entry| &entry.handle)
    }

    /// As [`Link::deadline`], with [`Instant::MAX`] for none: a driver of many links compares without a look at what kind it is.
    #[inline]
    pub fn next(&self) -> Instant {
        self.next
    }

    /// When [`Link::poll`] has something next; [`None`]: not before the next call. In the future once `poll` has given all
    /// there was.
    #[inline]
    pub fn deadline(&self) -> Option<Instant> {
        (self.next < Instant::MAX).then_some(self.next)
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
            // From now on every arrival is looked at.
            self.unchecked = 0;
            self.fifo.doom(now);
            if let Some(impairments) = &mut self.rest.impairments {
                impairments.doom(now);
            }
        }
        self.retime(now, true);
    }

    /// The rate at which it serialises, also while it is held.
    pub fn rate(&self) -> BitRate {
        self.rest.rate
    }

    /// The propagation delay of what leaves now.
    pub fn delay(&self) -> Duration {
        self.delay
    }

    /// Whether an outage lasts in which packets are lost.
    pub fn is_gone(&self) -> bool {
        self.rest.down[DownMode::Drop as usize] > 0
    }

    /// An outage of that mode ends. Without one it means nothing.
    pub fn up(&mut self, now: Instant, mode: DownMode) {
        let count = &mut self.rest.down[mode as usize];
        *count = count.saturating_sub(1);
        if self.rest.down[DownMode::Drop as usize] == 0 {
            self.unchecked = unchecked(self.rest.limit);
        }
        self.retime(now, false);
    }

    /// Computes the departures and arrivals of all that is in the queue again.
    fn retime(&mut self, now: Instant, start_over: bool) {
        let left = if start_over { None } else { self.left_of_first(now) };
        let held = self.rest.down[DownMode::Hold as usize] > 0;
        self.line.restart(now, if held { BitRate::default() } else { self.rest.rate });
        self.rest.left = left.filter(|_| self.line.is_stopped());
        let (line, mut left) = (&mut self.line, left);
        self.fifo.retime(now, self.delay, |entry| match left.take() {
            Some(work) => line.resume(now, work),
            None => line.serve(now, entry.size()),
        });
        self.next = self.next_exit();
    }

    /// Nanobits left of the packet in serialisation; [`None`]: all of it, or there is none.
    fn left_of_first(&mut self, now: Instant) -> Option<u64> {
        if self.line.is_stopped() {
            return self.rest.left;
        }
        let behind: u64 = self.fifo.queue(now).skip(1).map(|entry| u64::from(entry.size())).sum();
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

/// How many packets on the link can be there without a look at the queue: as many as the queue holds.
fn unchecked(limit: Option<QueueLimit>) -> u32 {
    match limit {
        None => u32::MAX,
        Some(QueueLimit::Packets(most)) => most,
        Some(QueueLimit::Bytes(_)) => 0,
    }
}
