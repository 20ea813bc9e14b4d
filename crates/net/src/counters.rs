//! What became of a link's packets, in numbers.

/// Why a packet did not get through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The queue was full.
    QueueFull,
    /// The queue discipline dropped it from the queue: active queue management.
    Aqm,
    /// A loss process took it.
    Loss,
    /// The link was down ([`crate::DownMode::Drop`]) when it came, or went down while it was on its way.
    Outage,
}

/// Packets since the link was made. `offered = delivered + lost() +` what is on the link now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Handed to [`crate::Link::enqueue`].
    pub offered: u64,
    /// Arrived at the far end, corrupted ones included, second copies not.
    pub delivered: u64,
    /// Arrived with bit errors; second copies not counted.
    pub corrupted: u64,
    /// Second copies that arrived.
    pub duplicated: u64,
    /// Held back so that later ones may overtake.
    pub reordered: u64,
    /// Not accepted: [`Cause::QueueFull`].
    pub queue_full: u64,
    /// Dropped from the queue by its discipline: [`Cause::Aqm`].
    pub aqm: u64,
    /// Marked "congestion experienced" by the queue discipline.
    pub marked: u64,
    /// Taken by a loss process: [`Cause::Loss`].
    pub loss: u64,
    /// Not accepted, or gone from the link: [`Cause::Outage`].
    pub outage: u64,
}

impl Counters {
    /// Packets that will never arrive, whatever the cause.
    pub const fn lost(&self) -> u64 {
        self.queue_full + self.aqm + self.loss + self.outage
    }

    pub(crate) fn count(&mut self, cause: Cause) {
        match cause {
            Cause::QueueFull => self.queue_full += 1,
            Cause::Aqm => self.aqm += 1,
            Cause::Loss => self.loss += 1,
            Cause::Outage => self.outage += 1,
        }
    }
}
