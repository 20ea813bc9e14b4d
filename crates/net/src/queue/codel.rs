//! `CoDel`, controlled delay (RFC 8289): packets are dropped as they leave, once all of them have waited longer than a target
//! for a while, and the longer that lasts the more of them.
//!
//! The code follows the pseudocode of RFC 8289 §5 with the same names. It differs in form only: a call of
//! [`CoDel::dequeue`] decides about one packet, and the caller asks again after a drop. Where the pseudocode goes on to
//! the next packet, [`After`] keeps the place.

use handfast_core::{Bytes, Duration, Instant, Stream};

use super::{
    Backlog, Discipline, Handle, Occupancy, PacketMeta, Parameter, QueueLimit, Value, Verdict, drop_tail,
};
use crate::Cause;

/// RFC 8289 §5.3, `maxpacket`: 512 bytes, but "SHOULD use interface MTU". Links here have none; this is Ethernet's, as in ns-3.
const MTU: Bytes = Bytes(1500);

/// §5.5: so many intervals after the last drop the rate of drops is forgotten.
const MEMORY: u64 = 16;

/// The parameters of `CoDel`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// How much the queue holds.
    pub limit: Option<QueueLimit>,
    /// The standing delay that is accepted.
    pub target: Duration,
    /// For how long the delay must stay above the target.
    pub interval: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            // As Linux's codel.
            limit: Some(QueueLimit::Packets(1000)),
            // RFC 8289 §5.3: TARGET = MS2TIME(5)
            target: Duration::from_millis(5),
            // RFC 8289 §5.3: INTERVAL = MS2TIME(100)
            interval: Duration::from_millis(100),
        }
    }
}

impl super::Config for Config {
    fn name(&self) -> &'static str {
        "codel"
    }

    fn about(&self) -> &'static str {
        "controlled delay (RFC 8289): drops or marks while the queue's delay stays above a target"
    }

    fn parameters(&mut self) -> Vec<Parameter<'_>> {
        let limit = "How much the queue holds, the packet in serialisation included";
        let target = "The delay in the queue that is accepted for long";
        let interval = "For how long the delay must stay above `target` before a packet is dropped";
        vec![
            Parameter { key: "limit", about: limit, value: Value::Limit(&mut self.limit) },
            Parameter { key: "target", about: target, value: Value::Time(&mut self.target) },
            Parameter { key: "interval", about: interval, value: Value::Time(&mut self.interval) },
        ]
    }

    fn limit(&self) -> Option<QueueLimit> {
        self.limit
    }
}

/// Where the dequeue routine goes on with the next packet after it has dropped one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    /// No packet was dropped just now.
    Nothing,
    /// The first of this dropping state: the next packet is sent whatever it is.
    FirstDrop,
    /// Another one: the loop goes on.
    Drop,
}

/// A queue under `CoDel`. The names are those of RFC 8289 §5.2.
#[derive(Debug)]
pub struct CoDel<H> {
    config: Config,
    backlog: Backlog<H>,
    /// When a packet may be dropped, if the delay stays above the target until then; [`None`]: it is below.
    first_above_time: Option<Instant>,
    /// When the next packet is dropped, while `dropping`.
    drop_next: Instant,
    /// Packets dropped since the dropping state began, and what it began with.
    count: u32,
    /// `count` when the dropping state began.
    lastcount: u32,
    /// Whether it is in the dropping state.
    dropping: bool,
    after: After,
}

impl<H: Handle> CoDel<H> {
    /// An empty queue. It draws nothing.
    pub fn new(config: &Config, _: Stream) -> Self {
        Self {
            config: config.clone(),
            backlog: Backlog::default(),
            first_above_time: None,
            drop_next: Instant::ZERO,
            count: 0,
            lastcount: 0,
            dropping: false,
            after: After::Nothing,
        }
    }

    /// Loses the packet that came first, for want of room: a drop as any other one (Linux, `fq_codel_drop`: `flow->cvars.count += i`).
    pub(super) fn throw_out(&mut self) -> Option<PacketMeta<H>> {
        let packet = self.backlog.pop()?;
        self.count = self.count.saturating_add(1);
        Some(packet)
    }

    /// What it has lost since its dropping state began.
    #[cfg(test)]
    pub(super) const fn drops(&self) -> u32 {
        self.count
    }

    /// `dodequeue` of RFC 8289 §5.6: the next packet, and whether it may be dropped.
    fn dodequeue(&mut self, now: Instant) -> Option<(PacketMeta<H>, bool)> {
        let Some(packet) = self.backlog.pop() else {
            // queue is empty - we can't be above target: first_above_time_ = 0
            self.first_above_time = None;
            return None;
        };
        // time_t sojourn_time = now - r.p->tstamp; if (sojourn_time < TARGET || bytes() <= maxpacket)
        let sojourn_time = now.since(packet.enqueued_at);
        if sojourn_time < self.config.target || self.backlog.occupancy().bytes <= MTU {
            // went below - stay below for at least INTERVAL
            self.first_above_time = None;
            return Some((packet, false));
        }
        let Some(first_above_time) = self.first_above_time else {
            // just went above from below: first_above_time_ = now + INTERVAL
            self.first_above_time = Some(now + self.config.interval);
            return Some((packet, false));
        };
        // else if (now >= first_above_time_) r.ok_to_drop = true
        Some((packet, now >= first_above_time))
    }

    /// `control_law` of RFC 8289 §5.6: `t + INTERVAL / sqrt(count)`, in whole nanoseconds.
    fn control_law(&self, t: Instant, count: u32) -> Instant {
        let interval = u128::from(self.config.interval.as_nanos());
        let spacing = (interval * interval / u128::from(count.max(1))).isqrt();
        t + Duration::from_nanos(u64::try_from(spacing).unwrap_or(u64::MAX))
    }

    /// Drops a packet, or marks it where its sender does ECN (RFC 3168 §5), as Linux's codel does.
    fn drop_or_mark(&mut self, packet: PacketMeta<H>, after: After) -> Verdict<H> {
        if packet.ecn.is_capable() {
            return Verdict::Mark(packet);
        }
        self.after = after;
        Verdict::Drop(packet)
    }

    /// RFC 8289 §5.5, in the dropping state: `while (now >= drop_next_ && dropping_) { drop(r.p); ++count_; … }`.
    fn drop_again(&mut self, packet: PacketMeta<H>) -> Verdict<H> {
        self.count = self.count.saturating_add(1);
        let verdict = self.drop_or_mark(packet, After::Drop);
        if matches!(verdict, Verdict::Mark(_)) {
            // A marked packet is sent, so nothing is dequeued in its place (Linux, codel_dequeue: goto end).
            self.drop_next = self.control_law(self.drop_next, self.count);
        }
        verdict
    }

    /// RFC 8289 §5.5: the dropping state begins with a drop.
    fn begin_dropping(&mut self, now: Instant, packet: PacketMeta<H>) -> Verdict<H> {
        self.dropping = true;
        // "If min went above TARGET close to when it last went below, assume that the drop rate that controlled the queue on
        // the last cycle is a good starting point": delta = count_ - lastcount_
        let delta = self.count.saturating_sub(self.lastcount);
        // if ((delta > 1) && (now - drop_next_ < 16*INTERVAL)) count_ = delta, else 1
        let recent = now.since(self.drop_next) < self.config.interval * MEMORY;
        self.count = if delta > 1 && recent { delta } else { 1 };
        // drop_next_ = control_law(now, count_); lastcount_ = count_
        self.drop_next = self.control_law(now, self.count);
        self.lastcount = self.count;
        self.drop_or_mark(packet, After::FirstDrop)
    }
}

impl<H: Handle> Discipline<H> for CoDel<H> {
    /// RFC 8289 §5.4: the packet's time of arrival is in [`PacketMeta::enqueued_at`].
    fn enqueue(&mut self, _: Instant, packet: PacketMeta<H>, sending: Occupancy) -> Result<(), Cause> {
        if !drop_tail::has_room(self.config.limit, self.occupancy() + sending, packet.size) {
            return Err(Cause::QueueFull);
        }
        self.backlog.push(packet);
        Ok(())
    }

    /// RFC 8289 §5.5.
    fn dequeue(&mut self, now: Instant) -> Option<Verdict<H>> {
        let after = std::mem::replace(&mut self.after, After::Nothing);
        let Some((packet, ok_to_drop)) = self.dodequeue(now) else {
            // An empty queue is not ok to drop from: dropping_ = false
            self.dropping = false;
            return None;
        };
        if after == After::FirstDrop {
            // "drop(r.p); r = dodequeue(now); dropping_ = true; … return r.p"
            return Some(Verdict::Send(packet));
        }
        if self.dropping && !ok_to_drop {
            // sojourn time below TARGET - leave dropping state
            self.dropping = false;
        }
        if self.dropping {
            if after == After::Drop {
                // schedule the next drop: drop_next_ = control_law(drop_next_, count_)
                self.drop_next = self.control_law(self.drop_next, self.count);
            }
            let due = now >= self.drop_next;
            return Some(if due { self.drop_again(packet) } else { Verdict::Send(packet) });
        }
        // After a drop of the loop, "dropping_ = false" ends it: this packet is not ok to drop.
        Some(if ok_to_drop { self.begin_dropping(now, packet) } else { Verdict::Send(packet) })
    }

    fn occupancy(&self) -> Occupancy {
        self.backlog.occupancy()
    }

    fn clear(&mut self) -> Vec<PacketMeta<H>> {
        (self.first_above_time, self.dropping, self.after) = (None, false, After::Nothing);
        self.backlog.clear()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Config as _, Ecn};
    use super::*;

    /// What became of a packet: when, which, and whether it was marked instead of dropped.
    type Fate = (u64, u32, bool);

    fn codel() -> CoDel<u32> {
        CoDel::new(&Config::default(), Stream::new(1, "queue"))
    }

    fn offer(codel: &mut CoDel<u32>, ms: u64, handle: u32, size: u64, ecn: Ecn) {
        let enqueued_at = Instant::from_millis(ms);
        let packet = PacketMeta { handle, size: Bytes(size), flow: 0, ecn, has_payload: true, enqueued_at };
        codel.enqueue(enqueued_at, packet, Occupancy::default()).unwrap();
    }

    /// Asks until a packet is sent or there is none, and notes which were dropped or marked.
    fn serve(codel: &mut CoDel<u32>, ms: u64, fates: &mut Vec<Fate>) -> Option<u32> {
        loop {
            match codel.dequeue(Instant::from_millis(ms))? {
                Verdict::Send(packet) => return Some(packet.handle),
                Verdict::Mark(packet) => {
                    fates.push((ms, packet.handle, true));
                    return Some(packet.handle);
                }
                Verdict::Drop(packet) => fates.push((ms, packet.handle, false)),
            }
        }
    }

    /// One packet of 1500 bytes comes each millisecond and one leaves each millisecond, `backlog` of them wait; from `from` to
    /// `to`. Their handles are the milliseconds of their arrival.
    fn standing(codel: &mut CoDel<u32>, backlog: u64, (from, to): (u64, u64), ecn: Ecn) -> Vec<Fate> {
        let mut fates = Vec::new();
        for ms in from..to {
            offer(codel, ms, ms as u32, 1500, ecn);
            if ms >= from + backlog {
                serve(codel, ms, &mut fates);
            }
        }
        fates
    }

    fn drain(codel: &mut CoDel<u32>, ms: u64) {
        while serve(codel, ms, &mut Vec::new()).is_some() {}
    }

    /// When packets are dropped from `first` on, at whole milliseconds, beginning with that `count`: each `INTERVAL /
    /// sqrt(count)` after the one before.
    fn schedule(first: f64, count: u32, drops: u32) -> Vec<u64> {
        let spacing = |k: u32| 100.0 / f64::from(k).sqrt();
        let times = (count..count + drops).scan(first, |at, k| {
            let now = *at;
            *at += spacing(k);
            Some(now.ceil() as u64)
        });
        times.collect()
    }

    fn times(fates: &[Fate]) -> Vec<u64> {
        fates.iter().map(|&(ms, ..)| ms).collect()
    }

    #[test]
    fn below_the_target_nothing_is_dropped() {
        assert_eq!(standing(&mut codel(), 4, (0, 5_000), Ecn::NotEct), []);
    }

    #[test]
    fn above_the_target_for_an_interval_one_packet_is_dropped() {
        // The first that has waited for 5 ms leaves at 5 ms: one may be dropped from 105 ms on, the next 100 ms later.
        let mut codel = codel();
        assert_eq!(standing(&mut codel, 5, (0, 105), Ecn::NotEct), []);
        offer(&mut codel, 105, 105, 1500, Ecn::NotEct);
        let mut fates = Vec::new();
        assert_eq!(serve(&mut codel, 105, &mut fates), Some(101), "the next is sent");
        assert_eq!(fates, [(105, 100, false)]);
    }

    #[test]
    fn a_short_stay_above_the_target_is_no_reason() {
        let mut codel = codel();
        for round in 0..20 {
            let from = round * 200;
            assert_eq!(standing(&mut codel, 30, (from, from + 130), Ecn::NotEct), [], "{round}");
            drain(&mut codel, from + 129);
        }
    }

    #[test]
    fn drops_come_faster_with_the_root_of_their_count() {
        let fates = standing(&mut codel(), 60, (0, 1_000), Ecn::NotEct);
        // First above at 60 ms.
        assert_eq!(times(&fates), schedule(160.0, 1, fates.len() as u32));
        assert!(fates.len() > 20, "{}", fates.len());
    }

    #[test]
    fn drops_that_were_due_while_nothing_left_come_at_once() {
        let mut codel = codel();
        let before = standing(&mut codel, 200, (0, 302), Ecn::NotEct);
        assert_eq!(times(&before), [300]);
        let mut fates = Vec::new();
        serve(&mut codel, 700, &mut fates);
        let due = schedule(300.0, 1, 100).into_iter().skip(1).filter(|&at| at <= 700).count();
        assert_eq!((fates.len(), due), (6, 6));
    }

    #[test]
    fn it_ends_when_one_packet_has_waited_for_less() {
        let mut codel = codel();
        standing(&mut codel, 30, (0, 400), Ecn::NotEct);
        assert!(codel.dropping);
        drain(&mut codel, 400);
        offer(&mut codel, 401, 1, 1500, Ecn::NotEct);
        offer(&mut codel, 401, 2, 1500, Ecn::NotEct);
        offer(&mut codel, 401, 3, 1500, Ecn::NotEct);
        let mut fates = Vec::new();
        assert_eq!(serve(&mut codel, 405, &mut fates), Some(1));
        assert!(!codel.dropping && fates.is_empty());
    }

    /// When packets are dropped of a backlog that begins at `from`, after a first dropping state.
    fn second_state(from: u64) -> Vec<u64> {
        let mut codel = codel();
        // Begins at 160 ms; the tenth would be dropped at 630.4 ms.
        let first = standing(&mut codel, 60, (0, 630), Ecn::NotEct);
        assert_eq!((first.len(), codel.lastcount), (9, 1));
        drain(&mut codel, 630);
        times(&standing(&mut codel, 60, (from, from + 500), Ecn::NotEct))
    }

    #[test]
    fn soon_afterwards_it_goes_on_at_the_rate_of_before() {
        // Its 9 drops less the one that it began with.
        let again = second_state(1_000);
        assert_eq!(again, schedule(1_160.0, 8, again.len() as u32));
    }

    #[test]
    fn after_sixteen_intervals_it_begins_anew() {
        // The tenth was due at 630.4 ms: that is 1,599.6 and 1,600.6 ms before the first of these.
        let first = second_state(2_070);
        assert_eq!(first, schedule(2_230.0, 8, first.len() as u32));
        let again = second_state(2_071);
        assert_eq!(again, schedule(2_231.0, 1, again.len() as u32));
    }

    #[test]
    fn sixteen_intervals_are_exclusive() {
        // §5.5: now - drop_next_ < 16*INTERVAL
        for (ms, count) in [(1_699, 4), (1_700, 1)] {
            let mut codel = codel();
            offer(&mut codel, 0, 0, 1500, Ecn::NotEct);
            let packet = codel.backlog.pop().unwrap();
            (codel.count, codel.lastcount, codel.drop_next) = (5, 1, Instant::from_millis(100));
            codel.begin_dropping(Instant::from_millis(ms), packet);
            assert_eq!(codel.count, count, "{ms} ms");
        }
    }

    #[test]
    fn a_queue_of_one_packet_is_never_dropped_from() {
        for (behind, drops) in [(1500, false), (1501, true)] {
            let mut codel = codel();
            let mut fates = Vec::new();
            for second in 0..100 {
                offer(&mut codel, second * 1_000, 0, behind, Ecn::NotEct);
                if second > 0 {
                    serve(&mut codel, second * 1_000 + 500, &mut fates);
                }
            }
            assert_eq!(!fates.is_empty(), drops, "{behind} bytes behind");
        }
    }

    #[test]
    fn a_packet_whose_sender_does_ecn_is_marked_instead() {
        for ecn in [Ecn::Ect0, Ecn::Ect1, Ecn::Ce] {
            let fates = standing(&mut codel(), 60, (0, 1_000), ecn);
            assert!(fates.iter().all(|&(.., marked)| marked));
            assert_eq!(times(&fates), schedule(160.0, 1, fates.len() as u32));
            // Nothing is dequeued in place of a marked packet, so the 60 that wait stay.
            let late: Vec<u64> = fates.iter().map(|&(ms, handle, _)| ms - u64::from(handle)).collect();
            assert!(late.iter().all(|&late| late == 60), "{late:?}");
        }
    }

    #[test]
    fn an_outage_takes_all_and_the_state() {
        let mut codel = codel();
        standing(&mut codel, 60, (0, 500), Ecn::NotEct);
        let held = codel.occupancy().packets;
        let cleared = codel.clear();
        assert_eq!(cleared.len(), held);
        assert!(cleared.is_sorted_by_key(|packet| packet.enqueued_at));
        assert_eq!(codel.occupancy(), Occupancy::default());
        // First above at 560 ms.
        let fates = standing(&mut codel, 60, (500, 700), Ecn::NotEct);
        assert_eq!(times(&fates).first(), Some(&660));
    }

    #[test]
    fn what_finds_it_full_is_dropped_at_the_tail() {
        let config = Config { limit: Some(QueueLimit::Packets(2)), ..Config::default() };
        let mut codel = CoDel::new(&config, Stream::new(1, "queue"));
        let sending = Occupancy { packets: 1, bytes: Bytes(1500) };
        offer(&mut codel, 0, 0, 1500, Ecn::NotEct);
        let packet = codel.backlog.pop().unwrap();
        assert_eq!(codel.enqueue(Instant::ZERO, packet, sending), Ok(()));
        assert_eq!(codel.enqueue(Instant::ZERO, packet, sending), Err(Cause::QueueFull));
        assert_eq!(config.limit(), Some(QueueLimit::Packets(2)));
    }

    #[test]
    fn its_parameters_are_those_of_the_rfc() {
        let mut config = Config::default();
        let said: Vec<_> =
            config.parameters().iter().map(|one| format!("{} {}", one.key, one.value)).collect();
        assert_eq!(said, ["limit 1000pkt", "target 5ms", "interval 100ms"]);
        assert!(config.about().contains("RFC 8289"));
        assert_eq!(config.name(), "codel");
    }
}
