//! What happens to packets at the end of the line: losses, reordering, duplication.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use handfast_core::{Duration, Instant, Stream};

use crate::Direction;
use crate::counters::{Cause, Counters};
use crate::exit::Exit;
use crate::fifo::Entry;
use crate::loss::{Fate, Process};
use crate::trace::Trace;

/// Present only on links that have any: a plain link neither draws a number nor looks here.
#[derive(Debug)]
pub(crate) struct Impairments<H> {
    losses: Vec<Process>,
    reorder: Option<(f64, Duration, Stream)>,
    duplicate: Option<(f64, Stream)>,
    /// Packets that are due after their turn, by due time, then by the order in which they were put aside.
    late: BinaryHeap<Reverse<Late<H>>>,
    put_aside: u64,
}

#[derive(Debug)]
struct Late<H> {
    due: Instant,
    number: u64,
    handle: H,
    corrupted: bool,
    /// Its second copy went ahead; nothing more happens to it.
    copied: bool,
    doomed: bool,
}

impl<H> PartialEq for Late<H> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<H> Eq for Late<H> {}

impl<H> PartialOrd for Late<H> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<H> Ord for Late<H> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

impl<H> Late<H> {
    fn key(&self) -> (Instant, u64) {
        (self.due, self.number)
    }
}

impl<H: Copy> Impairments<H> {
    /// The impairments of `direction`, each with a stream of its own drawn from `seed`; [`None`] where there are none.
    pub(crate) fn new(direction: &Direction, seed: u64) -> Option<Box<Self>> {
        if !direction.is_impaired() {
            return None;
        }
        let own = |label: &str| Stream::new(seed, label);
        let process = |(i, loss)| Process::new(loss, own(&format!("loss {i}")));
        let losses: Vec<_> = direction.losses.iter().enumerate().map(process).collect();
        let reorder = direction.reorder.filter(|&(p, _)| p > 0.0).map(|(p, by)| (p, by, own("reorder")));
        let duplicate = (direction.duplicate > 0.0).then(|| (direction.duplicate, own("duplicate")));
        Some(Box::new(Self { losses, reorder, duplicate, ..Self::none() }))
    }

    /// With what the trace of the link loses, by random numbers of its own.
    pub(crate) fn with_trace(impairments: Option<Box<Self>>, trace: Arc<Trace>, stream: Stream) -> Box<Self> {
        let mut this = impairments.unwrap_or_else(|| Box::new(Self::none()));
        this.losses.push(Process::traced(trace, stream));
        this
    }

    fn none() -> Self {
        Self { losses: Vec::new(), reorder: None, duplicate: None, late: BinaryHeap::new(), put_aside: 0 }
    }

    /// When the first packet put aside is due.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.late.peek().map(|Reverse(late)| late.due)
    }

    /// How many packets are put aside.
    pub(crate) fn aside(&self) -> usize {
        self.late.len()
    }

    /// What becomes of a packet that has come to the end of the line; [`None`] if it is held back.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "with each packet of a link with losses, from two places")]
    pub(crate) fn pass(&mut self, entry: &Entry<H>, counters: &mut Counters) -> Option<Exit<H>> {
        let handle = entry.handle;
        // Every process sees every packet, so that adding one does not change what another decides.
        let judge = |process: &mut Process| process.judge(entry.size(), entry.has_payload(), entry.departure);
        let fate = self.losses.iter_mut().map(judge).max().unwrap_or(Fate::Intact);
        if fate == Fate::Lost {
            counters.count(Cause::Loss);
            return Some(Exit::Lost { handle, cause: Cause::Loss });
        }
        let corrupted = fate == Fate::Corrupted;
        if let Some((p, by, stream)) = &mut self.reorder
            && stream.chance(*p)
        {
            let due = entry.arrival + *by;
            counters.reordered += 1;
            self.put_aside(due, handle, corrupted, false);
            return None;
        }
        Some(self.deliver(entry.arrival, handle, corrupted, counters))
    }

    /// The packets put aside that are due, one by one.
    pub(crate) fn pop_late(&mut self, now: Instant, counters: &mut Counters) -> Option<Exit<H>> {
        if self.next_due()? > now {
            return None;
        }
        let Reverse(late) = self.late.pop()?;
        if late.doomed {
            counters.count(Cause::Outage);
            return Some(Exit::Lost { handle: late.handle, cause: Cause::Outage });
        }
        if late.copied {
            return Some(delivered(late.handle, late.corrupted, counters));
        }
        Some(self.deliver(late.due, late.handle, late.corrupted, counters))
    }

    #[inline]
    fn deliver(&mut self, due: Instant, handle: H, corrupted: bool, counters: &mut Counters) -> Exit<H> {
        if let Some((p, stream)) = &mut self.duplicate
            && stream.chance(*p)
        {
            counters.duplicated += 1;
            self.put_aside(due, handle, corrupted, true);
            return Exit::Duplicated { handle, corrupted };
        }
        delivered(handle, corrupted, counters)
    }

    fn put_aside(&mut self, due: Instant, handle: H, corrupted: bool, copied: bool) {
        self.put_aside += 1;
        self.late.push(Reverse(Late {
            due,
            number: self.put_aside,
            handle,
            corrupted,
            copied,
            doomed: false,
        }));
    }

    /// Dooms every packet put aside that is not due yet.
    pub(crate) fn doom(&mut self, now: Instant) {
        let mut late = std::mem::take(&mut self.late).into_vec();
        for Reverse(late) in late.iter_mut().filter(|Reverse(late)| late.due > now) {
            (late.due, late.doomed) = (now, true);
        }
        self.late = late.into();
    }
}

fn delivered<H>(handle: H, corrupted: bool, counters: &mut Counters) -> Exit<H> {
    counters.delivered += 1;
    counters.corrupted += u64::from(corrupted);
    Exit::Delivered { handle, corrupted }
}
