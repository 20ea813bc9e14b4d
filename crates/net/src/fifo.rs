//! The packets of one direction in order, and which of them still wait.

use std::num::NonZeroU32;

use handfast_core::{Bytes, Instant, ShortQueue};

/// The largest size the FIFO accounts for: 29 bits.
const SIZE_MASK: u32 = (1 << 29) - 1;
/// In every entry, so that the absence of one takes no memory.
const PRESENT: NonZeroU32 = NonZeroU32::new(1 << 29).unwrap();
const PAYLOAD: u32 = 1 << 30;
const DOOMED: u32 = 1 << 31;

/// A packet on the link: 20 bytes and the handle.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry<H> {
    /// When its last bit leaves; [`Instant::MAX`]: not while things stay as they are.
    pub(crate) departure: Instant,
    /// When its last bit arrives at the far end.
    pub(crate) arrival: Instant,
    pub(crate) handle: H,
    /// Size and three marks.
    meta: NonZeroU32,
}

impl<H> Entry<H> {
    #[inline]
    pub(crate) fn new(handle: H, size: u32, has_payload: bool, departure: Instant, arrival: Instant) -> Self {
        let meta = PRESENT | size | if has_payload { PAYLOAD } else { 0 };
        Self { departure, arrival, handle, meta }
    }

    /// The same, taken by an outage.
    pub(crate) fn doomed(self) -> Self {
        Self { meta: self.meta | DOOMED, ..self }
    }

    #[inline]
    pub(crate) fn size(&self) -> u32 {
        self.meta.get() & SIZE_MASK
    }

    pub(crate) fn has_payload(&self) -> bool {
        self.meta.get() & PAYLOAD != 0
    }

    /// Whether an outage took it.
    #[inline]
    pub(crate) fn is_doomed(&self) -> bool {
        self.meta.get() & DOOMED != 0
    }
}

/// `size` as an [`Entry`] holds it: a packet of more than 512 MiB counts as one of 512 MiB.
pub(crate) fn clamp(size: Bytes) -> u32 {
    u32::try_from(size.get()).unwrap_or(u32::MAX).min(SIZE_MASK)
}

/// Packets in the order of both departure and arrival. Those in the air come first, those in the queue after them; the
/// border moves with time and is looked up only when somebody asks.
#[derive(Debug)]
pub(crate) struct Fifo<H> {
    entries: ShortQueue<Entry<H>>,
    /// When the last packet that was ever appended arrives.
    last_arrival: Instant,
    /// Bytes of the packets behind the border.
    held_bytes: u64,
    /// How many packets were in front of the border when it was last looked up.
    departed: u32,
}

impl<H: Copy> Fifo<H> {
    pub(crate) fn new() -> Self {
        Self { entries: ShortQueue::new(), last_arrival: Instant::ZERO, held_bytes: 0, departed: 0 }
    }

    /// Packets on the link: in the queue or in the air.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The first packet.
    #[inline]
    pub(crate) fn front(&self) -> Option<&Entry<H>> {
        self.entries.front()
    }

    /// When the first packet arrives; [`Instant::MAX`]: never.
    #[inline]
    pub(crate) fn next_arrival(&self) -> Instant {
        self.entries.front().map_or(Instant::MAX, |entry| entry.arrival)
    }

    /// Appends a packet and says when it arrives: no earlier than the one before it, whatever became of the delay meanwhile.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "the entry is made where it is to stand, not copied there")]
    pub(crate) fn push(&mut self, mut entry: Entry<H>) -> Instant {
        entry.arrival = entry.arrival.max(self.last_arrival);
        self.last_arrival = entry.arrival;
        self.held_bytes += u64::from(entry.size());
        self.entries.push_back(entry);
        entry.arrival
    }

    /// Removes the first packet, which must have arrived.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Entry<H>> {
        let entry = self.entries.pop_front()?;
        match self.departed.checked_sub(1) {
            Some(left) => self.departed = left,
            None => self.held_bytes -= u64::from(entry.size()),
        }
        Some(entry)
    }

    /// Packets and bytes in the queue, the one in serialisation included. A packet whose last bit leaves at this very
    /// moment has left.
    pub(crate) fn held(&mut self, now: Instant) -> (usize, u64) {
        while let Some(entry) =
            self.entries.get(self.departed as usize).filter(|entry| entry.departure <= now)
        {
            self.held_bytes -= u64::from(entry.size());
            self.departed += 1;
        }
        (self.entries.len() - self.departed as usize, self.held_bytes)
    }

    /// The packets in the queue, first the one in serialisation.
    pub(crate) fn queue(&mut self, now: Instant) -> impl Iterator<Item = &Entry<H>> {
        self.held(now);
        self.entries.iter().skip(self.departed as usize)
    }

    /// Gives each packet in the queue, in order, the departure and the arrival that `times` computes; none arrives before the
    /// one before it.
    pub(crate) fn retime(&mut self, now: Instant, mut times: impl FnMut(&Entry<H>) -> (Instant, Instant)) {
        self.held(now);
        let departed = self.departed as usize;
        // What has left the link arrived by now: that is no bound any more.
        self.last_arrival = departed
            .checked_sub(1)
            .and_then(|last| self.entries.get(last))
            .map_or(Instant::ZERO, |last| last.arrival);
        for entry in self.entries.iter_mut().skip(departed) {
            let (departure, arrival) = times(entry);
            entry.departure = departure;
            entry.arrival = self.last_arrival.max(arrival);
            self.last_arrival = entry.arrival;
        }
    }

    /// Dooms every packet that has not arrived: it leaves the link now, for nowhere.
    pub(crate) fn doom(&mut self, now: Instant) {
        for entry in self.entries.iter_mut().rev().take_while(|entry| entry.arrival > now) {
            entry.departure = entry.departure.min(now);
            entry.arrival = now;
            entry.meta |= DOOMED;
        }
        self.last_arrival = self.last_arrival.min(now);
        self.held(now);
    }
}
