//! One direction of a link: queue, line, air and outages behind one deadline.
//!
//! There are two ways through it. Under drop-tail a packet's departure follows from its arrival: it is fixed when the packet
//! enters, and a hop costs one event (`fused.rs`). Any other discipline decides when the line is free: the packets wait in
//! it, and only the one in serialisation is on the line (`queued.rs`). Two things take the line's place: a trace that the link
//! follows (`traced.rs`), and a cellular radio, which makes transport blocks of what waits in the discipline (`cellular.rs`). Air,
//! impairments and outages are the same.

mod cellular;
mod fused;
mod queued;
mod traced;

use handfast_core::{BitRate, Bytes, Duration, Instant, Stream};

use crate::counters::{Cause, Counters};
use crate::exit::Exit;
use crate::fifo::{Fifo, clamp};
use crate::impair::Impairments;
use crate::line::{Line, NANOBITS_PER_BYTE};
use crate::queue::{Class, Discipline, Handle, Occupancy, Queue, QueueLimit};
use crate::trace::Served;
use crate::{Direction, DownMode};
use queued::Queued;

/// One direction of a link, of packets known by a small handle `H`.
///
/// `now` must not go back from call to call. After every call the driver asks for [`Link::deadline`], and calls
/// [`Link::poll`] until it gives nothing when that moment has come.
#[derive(Debug)]
pub struct Link<H> {
    line: Line,
    /// The packets in the air and those on the line; under drop-tail also those that wait.
    fifo: Fifo<H>,
    delay: Duration,
    /// When something comes out next; [`Instant::MAX`]: not while things stay as they are.
    next: Instant,
    delivered: u64,
    /// With fewer packets than these on the link, one more is accepted without a look at the queue.
    unchecked: u32,
    /// Whether packets may come out that have not just arrived: it has impairments, or a discipline that decides at dequeue.
    unusual: bool,
    rest: Box<Rest<H>>,
}

/// What a plain hop does not touch.
#[derive(Debug)]
struct Rest<H> {
    /// The configured rate, also while held.
    rate: BitRate,
    /// Of drop-tail.
    limit: Option<QueueLimit>,
    /// How many outages of each mode last: [`DownMode::Drop`], [`DownMode::Hold`].
    down: [u32; 2],
    /// Nanobits left of the packet in serialisation when the line stopped; [`None`]: all of it.
    left: Option<u64>,
    counters: Counters,
    impairments: Option<Box<Impairments<H>>>,
    /// The packets that wait; [`None`]: under drop-tail on a line, where `fifo` has them.
    queued: Option<Box<Queued<H>>>,
    /// The trace that it follows.
    traced: Option<Box<Served>>,
}

impl<H: Handle> Link<H> {
    /// An empty link. Each of its random processes gets a stream of its own, drawn from `stream`.
    pub fn new(direction: &Direction, mut stream: Stream) -> Self {
        if let Queue::DropTail(config) = &direction.queue
            && direction.access.is_none()
        {
            // Most links have no random process: none draws a number for nothing.
            let seed = if direction.is_impaired() { stream.bits() } else { 0 };
            return Self::made(direction, seed, config.limit, None);
        }
        let seed = stream.bits();
        let discipline = direction.queue.build(Stream::new(seed, "queue"));
        Self::made(direction, seed, None, Some(discipline))
    }

    /// As [`Link::new`] with a discipline of the caller's in place of that of `direction`: it decides at dequeue.
    pub fn with_discipline(
        direction: &Direction,
        mut stream: Stream,
        discipline: Box<dyn Discipline<H>>,
    ) -> Self {
        Self::made(direction, stream.bits(), None, Some(discipline))
    }

    fn made(
        direction: &Direction,
        seed: u64,
        limit: Option<QueueLimit>,
        discipline: Option<Box<dyn Discipline<H>>>,
    ) -> Self {
        let impairments = Impairments::new(direction, seed);
        let mut link = Self {
            line: Line::new(direction.rate),
            fifo: Fifo::new(),
            delay: direction.delay,
            next: Instant::MAX,
            delivered: 0,
            unchecked: 0,
            unusual: impairments.is_some() || discipline.is_some(),
            rest: Box::new(Rest {
                rate: direction.rate,
                limit,
                down: [0; 2],
                left: None,
                counters: Counters::default(),
                impairments,
                queued: discipline.map(|discipline| Box::new(Queued::new(discipline, direction, seed))),
                traced: None,
            }),
        };
        link.unchecked = link.unchecked();
        link
    }
}

impl<H: Copy> Link<H> {
    /// Offers a packet of `size` bytes (more than 512 MiB counts as 512 MiB). `has_payload` says whether a
    /// [`crate::Loss::List`] counts it.
    ///
    /// # Errors
    /// [`Cause::QueueFull`] or [`Cause::Outage`]: the packet was not accepted and its handle stays with the driver.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a hop is so short that calls would be a fifth of it")]
    pub fn enqueue(&mut self, now: Instant, handle: H, size: Bytes, has_payload: bool) -> Result<(), Cause> {
        self.enqueue_classed(now, handle, size, has_payload, Class::default)
    }

    /// As [`Link::enqueue`], for a driver that knows more of the packet. `class` is asked only where a discipline decides.
    ///
    /// # Errors
    /// As [`Link::enqueue`].
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a hop is so short that calls would be a fifth of it")]
    pub fn enqueue_classed(
        &mut self,
        now: Instant,
        handle: H,
        size: Bytes,
        has_payload: bool,
        class: impl FnOnce() -> Class,
    ) -> Result<(), Cause> {
        let size = clamp(size);
        if self.fifo.len() >= self.unchecked as usize {
            return self.enqueue_checked(now, handle, size, has_payload, class);
        }
        self.enter(now, handle, size, has_payload);
        Ok(())
    }

    /// Takes a packet in after a look at the queue.
    #[inline(never)]
    fn enqueue_checked(
        &mut self,
        now: Instant,
        handle: H,
        size: u32,
        has_payload: bool,
        class: impl FnOnce() -> Class,
    ) -> Result<(), Cause> {
        let accepted = if self.is_gone() {
            Err(Cause::Outage)
        } else if self.rest.queued.is_some() {
            self.wait(now, handle, size, has_payload, class())
        } else {
            self.admit(now, size).map(|()| self.enter_any(now, handle, size, has_payload))
        };
        accepted.inspect_err(|&cause| self.rest.counters.count(cause))
    }

    /// As [`Link::poll`], where a packet has arrived and nothing else can have become of it. Short, for a driver that asks it
    /// first; after [`None`] that asks the other.
    #[inline]
    pub fn poll_plain(&mut self, now: Instant) -> Option<H> {
        if self.unusual || now < self.next || self.fifo.front()?.is_doomed() {
            return None;
        }
        let entry = self.fifo.pop()?;
        self.next = self.fifo.next_arrival();
        self.delivered += 1;
        Some(entry.handle)
    }

    /// The next packet that has come out by `now`, in the order in which they came.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "each packet on a lossy link; the exit would go through memory")]
    pub fn poll(&mut self, now: Instant) -> Option<Exit<H>> {
        if now < self.next {
            return None;
        }
        if self.rest.queued.is_some() {
            return self.poll_queued(now);
        }
        let exit = self.pass_one(now);
        self.next = self.next_on_the_way();
        exit
    }

    /// What has come to the end of the line, or was held back there.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a part of the loop over what comes out of a link with losses")]
    fn pass_one(&mut self, now: Instant) -> Option<Exit<H>> {
        loop {
            let turn = self.fifo.next_arrival();
            let Rest { impairments, counters, .. } = &mut *self.rest;
            if let Some(impairments) = impairments
                && impairments.next_due().is_some_and(|due| due <= turn)
            {
                return impairments.pop_late(now, counters);
            }
            if turn > now {
                return None;
            }
            let entry = self.fifo.pop()?;
            if entry.is_doomed() {
                counters.count(Cause::Outage);
                return Some(Exit::Lost { handle: entry.handle, cause: Cause::Outage });
            }
            let Some(impairments) = impairments else {
                self.delivered += 1;
                return Some(Exit::Delivered { handle: entry.handle, corrupted: false });
            };
            if let Some(exit) = impairments.pass(&entry, counters) {
                return Some(exit);
            }
        }
    }

    /// When something comes out next, whatever waits.
    #[inline]
    fn next_on_the_way(&self) -> Instant {
        let late = self.rest.impairments.as_ref().and_then(|impairments| impairments.next_due());
        late.map_or(Instant::MAX, |due| due).min(self.fifo.next_arrival())
    }

    fn next_exit(&self) -> Instant {
        let Rest { queued, traced, .. } = &*self.rest;
        let queued =
            queued.as_ref().map_or(Instant::MAX, |queued| queued.next(&self.line, traced.as_deref()));
        queued.min(self.next_on_the_way())
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
    /// zero it waits. Where a trace gives the rate, that goes on.
    pub fn set_rate(&mut self, now: Instant, rate: BitRate) {
        if self.has_traced_rate() {
            return;
        }
        self.pull(now);
        self.rest.rate = rate;
        self.retime(now, false);
    }

    /// The propagation delay of all that leaves from now on. Packets in the air keep theirs, and none overtakes them: after
    /// a decrease a packet arrives at the earliest with the one before it.
    pub fn set_delay(&mut self, now: Instant, delay: Duration) {
        self.pull(now);
        self.delay = delay;
        self.retime(now, false);
    }

    /// The link goes down. Outages may overlap: the link is up again after one [`Link::up`] for each.
    ///
    /// With [`DownMode::Drop`] what has not arrived comes out as lost at the next [`Link::poll`], and arrivals are refused.
    /// With [`DownMode::Hold`] what is in the air arrives; the queue waits, and the packet in serialisation starts over, on a
    /// cellular radio all that has not come up.
    pub fn down(&mut self, now: Instant, mode: DownMode) {
        self.pull(now);
        let count = &mut self.rest.down[mode as usize];
        *count = count.saturating_add(1);
        if mode == DownMode::Drop {
            // From now on every arrival is looked at.
            self.unchecked = 0;
            self.fifo.doom(now);
            self.doom_waiting(now);
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

    /// The rate at which new packets are carried in the mean: of a cellular radio without what that repeats.
    pub fn mean_rate(&self) -> BitRate {
        let rate = self.rate();
        let cell = self.rest.queued.as_ref().and_then(|queued| queued.cell.as_ref());
        cell.map_or(rate, |cell| cell.carries(rate))
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
        self.pull(now);
        let count = &mut self.rest.down[mode as usize];
        *count = count.saturating_sub(1);
        if !self.is_gone() {
            self.unchecked = self.unchecked();
        }
        self.retime(now, false);
    }

    /// Computes the departures and arrivals of all that has not left again: rate, delay or outages are others.
    fn retime(&mut self, now: Instant, start_over: bool) {
        if self.has_traced_rate() {
            return self.retime_traced(now, start_over);
        }
        let left = if start_over { None } else { self.left_of_first(now) };
        let held = self.rest.down[DownMode::Hold as usize] > 0;
        self.line.restart(now, if held { BitRate::default() } else { self.rest.rate });
        self.rest.left = left.filter(|_| self.line.is_stopped());
        let (line, traced, mut left) = (&mut self.line, self.rest.traced.as_deref(), left);
        self.fifo.retime(now, |entry| {
            let departure = match left.take() {
                Some(work) => line.resume(now, work),
                None => line.serve(now, entry.size()),
            };
            (departure, departure + traced.map_or(self.delay, |traced| traced.delay(departure, self.delay)))
        });
        self.resume(now, start_over);
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

    /// What the queue holds now, the packet in serialisation included.
    pub fn queue(&mut self, now: Instant) -> Occupancy {
        self.pull(now);
        self.on_line(now) + self.waiting()
    }

    /// Packets of `fifo` that have not left.
    fn on_line(&mut self, now: Instant) -> Occupancy {
        let (packets, bytes) = self.fifo.held(now);
        Occupancy { packets, bytes: Bytes(bytes) }
    }

    /// What became of all packets so far.
    pub fn counters(&self) -> Counters {
        let rest = &self.rest.counters;
        let aside = self.rest.impairments.as_ref().map_or(0, |impairments| impairments.aside());
        let delivered = rest.delivered + self.delivered;
        let inside = self.waiting().packets + self.in_blocks();
        let on_the_link = (self.fifo.len() + aside + inside) as u64;
        Counters { offered: delivered + rest.lost() + on_the_link, delivered, ..*rest }
    }
}
