//! What a queue of this node had no room for (`congestion = "cache"`): it waits here, in the order of its stream, until there is
//! room. A delay in place of a loss; the sender is told.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound::{Excluded, Unbounded};

use handfast_core::{Duration, Instant, SeqNum};
use handfast_wire::Packet;
use handfast_wire::sdtp::{Congestion, Expected, Sdtp, Stream};

use super::caching::{Accounts, Keeper, Quotas};

/// So often the queue is tried: a node hears when it is full, and not when it is no longer.
const RETRY: Duration = Duration::from_millis(1);

/// Packets that one try sends at most.
const MOST_BURST: usize = 64;

/// While a stream waits its sender is told so often at most; its edge heeds it once a round trip.
const TELL_AGAIN: Duration = Duration::from_millis(20);

/// Numbers farther from those that wait are of another stream.
const FAR: u32 = 1 << 30;

/// What a packet that waits costs besides its bytes: more than in a cache, which keeps the data alone.
pub const HELD_COST: u64 = 512;

// The packet has its SDTP header in a box.
const _: () = assert!(size_of::<(Instant, Held)>() + size_of::<Sdtp>() <= HELD_COST as usize);

/// A packet that waits.
#[derive(Clone, Debug)]
pub(super) struct Held {
    pub(super) seq: SeqNum,
    pub(super) len: u32,
    pub(super) packet: Packet,
    /// Who has sent it, by the number that its edge gives.
    pub(super) host: u16,
    /// A queue has refused it: it does not wait behind another one only.
    pub(super) refused: bool,
}

impl Held {
    fn cost(&self) -> u64 {
        self.packet.ip_len() as u64 + HELD_COST
    }
}

#[derive(Debug, Default)]
struct Waiting {
    /// In the order of their numbers, each with since when it waits, or one behind it: the first one's time is up first.
    packets: VecDeque<(Instant, Held)>,
    cost: u64,
    /// What the last try has sent, and since when it had waited: the queue may refuse it again.
    tried: Vec<(SeqNum, Instant)>,
    /// When the sender was told.
    told: Option<Instant>,
}

impl Waiting {
    /// From when on its sender may be told again.
    fn tell_again(&self) -> Option<Instant> {
        self.told.map(|told| told + TELL_AGAIN)
    }

    /// One comes in at its place.
    fn insert(&mut self, place: usize, since: Instant, held: Held) {
        let since = self.packets.get(place).map_or(since, |&(behind, _)| since.min(behind));
        for (of_one, _) in self.packets.range_mut(..place).rev().take_while(|(of_one, _)| *of_one > since) {
            *of_one = since;
        }
        self.cost += held.cost();
        self.packets.insert(place, (since, held));
    }
}

/// What waits at a node.
#[derive(Debug)]
pub(super) struct Holding {
    /// A stream stays until the try after its last packet, for the queue may refuse that one again, and until its sender may be told
    /// again.
    waiting: BTreeMap<Stream, Waiting>,
    quotas: Quotas,
    /// A host's timer would find out about one that waits longer.
    patience: Duration,
    accounts: Accounts,
    most: u64,
    /// The next try.
    due: Option<Instant>,
    /// Packets of the next try; it doubles while none is refused.
    burst: usize,
    /// One was refused since the last try.
    refused: bool,
    /// Whose packet left last: the next one's comes next.
    last: Option<Stream>,
    /// Whose senders are to be told, and up to where their data has met congestion.
    untold: BTreeMap<Stream, SeqNum>,
}

impl Holding {
    pub(super) fn new(quotas: Quotas, patience: Duration) -> Self {
        Self {
            waiting: BTreeMap::new(),
            quotas,
            patience,
            accounts: Accounts::default(),
            most: 0,
            due: None,
            burst: 1,
            refused: false,
            last: None,
            untold: BTreeMap::new(),
        }
    }

    /// What all packets cost that wait.
    pub(super) fn cost(&self) -> u64 {
        self.accounts.total()
    }

    /// What they have cost at most.
    pub(super) fn most(&self) -> u64 {
        self.most
    }

    /// Whether no packet waits at all.
    pub(super) fn is_idle(&self) -> bool {
        self.cost() == 0
    }

    /// There is a try soon.
    fn try_soon(&mut self, now: Instant) {
        let soon = now + RETRY;
        self.due = Some(self.due.map_or(soon, |due| due.min(soon)));
    }

    /// Whether packets of a stream wait: those that come wait behind them.
    pub(super) fn holds(&self, stream: &Stream) -> bool {
        self.waiting.get(stream).is_some_and(|one| !one.packets.is_empty())
    }

    /// A packet is to wait, and whether it did not before. It comes back where it cannot. `tells`: its sender learns of it by a CM.
    pub(super) fn push(
        &mut self,
        now: Instant,
        stream: &Stream,
        held: Held,
        tells: bool,
    ) -> Result<bool, Box<Held>> {
        // Whatever becomes of it, there is a try, which forgets a stream of which nothing waits.
        self.try_soon(now);
        let (cost, seq, end, refused) = (held.cost(), held.seq, held.seq + held.len, held.refused);
        let waiting = self.waiting.entry(*stream).or_default();
        let is_far = |one: &(Instant, Held)| one.1.seq.distance(seq).unsigned_abs() > FAR;
        if waiting.packets.front().is_some_and(is_far) {
            return Err(Box::new(held));
        }
        let again = waiting.tried.iter().find(|(tried, _)| *tried == seq).map(|&(_, since)| since);
        let place = waiting.packets.partition_point(|one| one.1.seq.before(seq));
        let is_new = waiting.packets.get(place).is_none_or(|one| one.1.seq != seq);
        if is_new {
            let keeper = Keeper::of(stream, held.host);
            if waiting.cost + cost > self.quotas.per_connection.get()
                || !self.accounts.admit(&keeper, cost, &self.quotas)
            {
                return Err(Box::new(held));
            }
            waiting.insert(place, again.unwrap_or(now), held);
            self.most = self.most.max(self.accounts.total());
        }
        self.refused |= refused;
        if tells {
            self.tell(now, stream, end);
        }
        Ok(is_new && again.is_none())
    }

    /// Data of a stream up to here has met congestion: its sender is to be told, unless it was just now.
    pub(super) fn tell(&mut self, now: Instant, stream: &Stream, until: SeqNum) {
        self.try_soon(now);
        let waiting = self.waiting.entry(*stream).or_default();
        if waiting.tell_again().is_none_or(|then| then <= now) {
            waiting.told = Some(now);
            self.untold.insert(*stream, until);
        }
    }

    /// What a request asks for of a stream but what waits: that comes without being asked for. [`None`]: nothing.
    pub(super) fn left_of(&self, stream: &Stream, expected: &Expected) -> Option<Expected> {
        let first = self.waiting.get(stream).and_then(|one| one.packets.front()).map(|one| one.1.seq);
        match first {
            Some(first) if !expected.start.before(first) => None,
            Some(first) => {
                let end = expected.end.map(|end| if end.after(first) { first } else { end });
                Some(Expected { end, ..*expected })
            }
            None => Some(*expected),
        }
    }

    /// A try is due: whose senders are to be told goes to `told`, what leaves to `out`, and what has waited too long to `late`.
    pub(super) fn on_timer(
        &mut self,
        now: Instant,
        told: &mut Vec<(Stream, Congestion)>,
        out: &mut Vec<Packet>,
        late: &mut Vec<(Stream, Held)>,
    ) {
        if self.due.is_none_or(|due| due > now) {
            return;
        }
        for (stream, until) in std::mem::take(&mut self.untold) {
            told.push((stream, Congestion { until, held: self.bytes_of(&stream) }));
        }
        self.waiting.values_mut().for_each(|one| one.tried.clear());
        self.burst = if self.refused { 1 } else { (2 * self.burst).min(MOST_BURST) };
        self.refused = false;
        self.expire(now, late);
        out.extend((0..self.burst).map_while(|_| self.next()));
        let is_in_use = |one: &Waiting| !one.packets.is_empty() || !one.tried.is_empty();
        self.waiting.retain(|_, one| is_in_use(one) || one.tell_again().is_some_and(|then| then > now));
        self.due = if self.waiting.values().any(is_in_use) {
            Some(now + RETRY)
        } else {
            self.waiting.values().filter_map(Waiting::tell_again).min()
        };
    }

    /// Bytes of a stream that wait.
    fn bytes_of(&self, stream: &Stream) -> u32 {
        let waiting = self.waiting.get(stream).into_iter().flat_map(|one| &one.packets);
        waiting.map(|(_, held)| held.len).fold(0, u32::saturating_add)
    }

    fn expire(&mut self, now: Instant, late: &mut Vec<(Stream, Held)>) {
        let patience = self.patience;
        let is_over =
            move |one: &Waiting| one.packets.front().is_some_and(|&(since, _)| since + patience <= now);
        let streams: Vec<_> =
            self.waiting.iter().filter(|(_, one)| is_over(one)).map(|(stream, _)| *stream).collect();
        for stream in streams {
            while self.waiting.get(&stream).is_some_and(is_over)
                && let Some((_, held)) = self.take_first(&stream)
            {
                late.push((stream, held));
            }
        }
    }

    fn take_first(&mut self, stream: &Stream) -> Option<(Instant, Held)> {
        let waiting = self.waiting.get_mut(stream)?;
        let (since, held) = waiting.packets.pop_front()?;
        waiting.cost -= held.cost();
        self.accounts.release(&Keeper::of(stream, held.host), held.cost(), &self.quotas);
        Some((since, held))
    }

    /// The first packet of the next stream in the circle.
    fn next(&mut self) -> Option<Packet> {
        let has_one = |(_, one): &(&Stream, &Waiting)| !one.packets.is_empty();
        let behind = self.last.and_then(|last| {
            self.waiting.range((Excluded(last), Unbounded)).find(has_one).map(|(stream, _)| *stream)
        });
        let stream = behind.or_else(|| self.waiting.iter().find(has_one).map(|(stream, _)| *stream))?;
        self.last = Some(stream);
        let (since, held) = self.take_first(&stream)?;
        self.waiting.get_mut(&stream)?.tried.push((held.seq, since));
        Some(held.packet)
    }

    /// When [`Holding::on_timer`] is due.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.due
    }
}

#[cfg(test)]
mod tests;
