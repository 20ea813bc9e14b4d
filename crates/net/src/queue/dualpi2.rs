//! `DualPI2`, the dual-queue coupled AQM of L4S (RFC 9332): scalable traffic has a queue of its own with a delay below a millisecond,
//! and is marked as often as Classic traffic beside it needs for an equal share of the line.
//!
//! The code follows the pseudocode of RFC 9332 Appendix A, with the overload of A.2 and the same names. It differs in form only: a call
//! of [`DualPi2::dequeue`] decides about one packet, and the updates of a timer are made up for before the next packet comes or goes.

use handfast_core::{Bytes, Duration, Instant, Stream};

use super::{
    Backlog, Discipline, Ecn, Handle, Occupancy, PacketMeta, Parameter, QueueLimit, Value, Verdict, drop_tail,
};
use crate::Cause;

/// RFC 9332 A.1, `k`: the coupling factor.
const K: f64 = 2.0;

/// A.1: `p_Cmax = min(1/k^2, 1)`, from where ECN is off, and `p_Lmax`.
const P_CMAX: f64 = 1.0 / (K * K);
const P_LMAX: f64 = 1.0;

/// A.1, `Th_len`: "Min L4S marking threshold in packets".
const TH_LEN: usize = 1;

/// Nobody updates more often: a target of a nanosecond costs no more than one of a millisecond.
const LEAST_UPDATE: Duration = Duration::from_millis(1);

/// What a [`Value::Share`] counts in.
const WHOLE: i64 = 10_000;

/// The parameters of `DualPI2`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// How much both queues hold together.
    pub limit: Option<QueueLimit>,
    /// The delay of Classic traffic.
    pub target: Duration,
    /// The longest round trip that is expected: how fast the probability may follow the queue.
    pub rtt_max: Duration,
    /// The delay from which L4S packets are marked for their own queue, `minTh`.
    pub threshold: Duration,
    /// All L4S packets are marked from `threshold` and this on.
    pub range: Duration,
    /// Of the line, for Classic traffic while L4S traffic is waiting, in hundredths of a percent: from 1 to 9,999, as neither may starve.
    pub classic_share: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            // As Linux's dualpi2; RFC 9332 A.1: 250 ms at the rate of the line, which a discipline does not know.
            limit: Some(QueueLimit::Packets(10_000)),
            // A.1: target = 15 ms; RTT_max = 100 ms
            target: Duration::from_millis(15),
            rtt_max: Duration::from_millis(100),
            // A.1: minTh = 800 us; range = 400 us
            threshold: Duration::from_micros(800),
            range: Duration::from_micros(400),
            // As Linux's `classic_protection`: the RFC leaves the scheduler open.
            classic_share: 1_000,
        }
    }
}

impl super::Config for Config {
    fn name(&self) -> &'static str {
        "dualpi2"
    }

    fn about(&self) -> &'static str {
        "the dual queue of L4S (RFC 9332): ECT(1) apart from the rest, marks of both coupled"
    }

    fn parameters(&mut self) -> Vec<Parameter<'_>> {
        let limit = "How much both queues hold together, the packet in serialisation included";
        let target = "The delay of what is not L4S";
        let rtt_max = "The longest round trip expected: how fast the probability follows the queue";
        let threshold = "The delay of L4S packets from which some are marked for their own queue";
        let range = "By so much more delay than `threshold` all of them are marked";
        let share = "Of the line, for what is not L4S while L4S packets are waiting";
        vec![
            Parameter { key: "limit", about: limit, value: Value::Limit(&mut self.limit) },
            Parameter { key: "target", about: target, value: Value::Time(&mut self.target) },
            Parameter { key: "rtt_max", about: rtt_max, value: Value::Time(&mut self.rtt_max) },
            Parameter { key: "threshold", about: threshold, value: Value::Time(&mut self.threshold) },
            Parameter { key: "range", about: range, value: Value::Time(&mut self.range) },
            Parameter { key: "classic_share", about: share, value: Value::Part(&mut self.classic_share) },
        ]
    }

    fn limit(&self) -> Option<QueueLimit> {
        self.limit
    }
}

/// One of the two queues.
#[derive(Debug)]
struct Half<H> {
    backlog: Backlog<H>,
    /// `q.count`: what [`Half::recur`] has not turned into a packet yet.
    count: f64,
}

impl<H> Default for Half<H> {
    fn default() -> Self {
        Self { backlog: Backlog::default(), count: 0.0 }
    }
}

impl<H> Half<H> {
    fn is_empty(&self) -> bool {
        self.backlog.occupancy().packets == 0
    }

    /// `q.time()`: how long its first packet has waited.
    fn time(&self, now: Instant) -> Duration {
        self.backlog.first().map_or(Duration::ZERO, |packet| now.since(packet.enqueued_at))
    }

    /// A.1, `recur`: "Returns TRUE with a certain likelihood".
    fn recur(&mut self, likelihood: f64) -> bool {
        self.count += likelihood;
        let is_due = self.count > 1.0;
        if is_due {
            self.count -= 1.0;
        }
        is_due
    }
}

/// The base probability, common to both queues.
#[derive(Debug)]
struct Pi2 {
    /// `p'`, and the delay at the last update, seconds.
    p: f64,
    prevq: f64,
    next: Instant,
    tupdate: Duration,
    alpha: f64,
    beta: f64,
    target: f64,
}

impl Pi2 {
    /// A.1: `Tupdate = min(target, RTT_max/3)`, `alpha = 0.1 * Tupdate / RTT_max^2`, `beta = 0.3 / RTT_max`.
    fn new(config: &Config, now: Instant) -> Self {
        let tupdate = config.target.min(config.rtt_max / 3).max(LEAST_UPDATE);
        let rtt_max = config.rtt_max.max(Duration::from_nanos(1)).as_secs_f64();
        Self {
            p: 0.0,
            prevq: 0.0,
            next: now + tupdate,
            tupdate,
            alpha: 0.1 * tupdate.as_secs_f64() / (rtt_max * rtt_max),
            beta: 0.3 / rtt_max,
            target: config.target.as_secs_f64(),
        }
    }

    /// A.1, `dualpi2_update`; true where `p'` has reached a bound that it keeps while nothing comes or goes.
    fn update(&mut self, curq: f64) -> bool {
        let p = self.p + self.alpha * (curq - self.target) + self.beta * (curq - self.prevq);
        // "NOT SHOWN": a probability.
        self.p = p.clamp(0.0, 1.0);
        self.prevq = curq;
        // Nothing waits; or what waits does so for longer each time, and is above the target.
        self.p == 0.0 && curq == 0.0 || self.p >= 1.0 && curq >= self.target
    }

    /// `p_CL = k * p'`: as a probability, 1 at most.
    fn p_cl(&self) -> f64 {
        (K * self.p).min(1.0)
    }

    /// `p_C = p'^2`.
    fn p_c(&self) -> f64 {
        self.p * self.p
    }
}

/// A queue under `DualPI2`.
#[derive(Debug)]
pub struct DualPi2<H> {
    config: Config,
    /// `lq` and `cq`.
    l4s: Half<H>,
    classic: Half<H>,
    pi2: Pi2,
    /// Octets, times [`WHOLE`], that Classic traffic is owed; negative: it has had more than its share.
    credit: i64,
}

impl<H: Handle> DualPi2<H> {
    /// Empty queues. It draws nothing: `recur` spreads what it drops and marks evenly.
    ///
    /// Scenario files keep to the bounds of the parameters; what a caller sets beyond them is the nearest value within.
    pub fn new(config: &Config, _: Stream) -> Self {
        Self {
            config: Config {
                classic_share: config.classic_share.clamp(1, WHOLE as u32 - 1),
                ..config.clone()
            },
            l4s: Half::default(),
            classic: Half::default(),
            pi2: Pi2::new(config, Instant::ZERO),
            credit: 0,
        }
    }

    /// A.2, `dualpi2_update`: `curq = max(cq.time(), lq.time())`.
    fn curq(&self, at: Instant) -> f64 {
        self.classic.time(at).max(self.l4s.time(at)).as_secs_f64()
    }

    /// The updates that were due until `now`.
    fn catch_up(&mut self, now: Instant) {
        while self.pi2.next <= now {
            let settled = self.pi2.update(self.curq(self.pi2.next));
            self.pi2.next += self.pi2.tupdate;
            if settled && self.pi2.next <= now {
                let more = now.since(self.pi2.next).as_nanos() / self.pi2.tupdate.as_nanos();
                let last = self.pi2.next + self.pi2.tupdate * more;
                self.pi2.prevq = self.curq(last);
                self.pi2.next = last + self.pi2.tupdate;
            }
        }
    }

    /// `scheduler()`, weighted round robin: L4S first, as long as Classic traffic gets its share.
    fn is_classics_turn(&self) -> bool {
        self.l4s.is_empty() || !self.classic.is_empty() && self.credit > 0
    }

    /// A packet is sent. Its octets count against its queue while the other queue waits.
    fn charge(&mut self, size: Bytes, classic: bool) {
        let (share, size) = (i64::from(self.config.classic_share), size.get() as i64);
        let other = if classic { &self.l4s } else { &self.classic };
        if other.is_empty() {
            self.credit = 0;
        } else {
            self.credit += if classic { -(WHOLE - share) * size } else { share * size };
        }
    }

    /// A.1, `laqm`: from nothing at `minTh` to all at `maxTh`.
    fn laqm(&self, qdelay: Duration) -> f64 {
        if self.l4s.backlog.occupancy().packets <= TH_LEN {
            // "Suppress marking 1 pkt queue"
            return 0.0;
        }
        let over = qdelay.saturating_sub(self.config.threshold);
        if over >= self.config.range {
            // A step where the range is nothing.
            return f64::from(u8::from(qdelay >= self.config.threshold));
        }
        over.as_secs_f64() / self.config.range.as_secs_f64()
    }

    /// A.2, the L4S half of `dualpi2_dequeue`.
    fn send_l4s(&mut self, now: Instant, packet: PacketMeta<H>) -> Verdict<H> {
        let p_cl = self.pi2.p_cl();
        let marks = if p_cl < P_LMAX {
            // p_L = max(p'_L, p_CL)
            let p_l = self.laqm(now.since(packet.enqueued_at)).max(p_cl);
            self.l4s.recur(p_l)
        } else {
            if self.l4s.recur(self.pi2.p_c()) {
                // "revert to Classic drop due to overload"
                return Verdict::Drop(packet);
            }
            self.l4s.recur(p_cl)
        };
        if marks { Verdict::Mark(packet) } else { Verdict::Send(packet) }
    }

    /// The other half.
    fn send_classic(&mut self, packet: PacketMeta<H>) -> Verdict<H> {
        let p_c = self.pi2.p_c();
        if !self.classic.recur(p_c) {
            return Verdict::Send(packet);
        }
        if packet.ecn == Ecn::NotEct || p_c >= P_CMAX {
            // "Overload disables ECN"
            return Verdict::Drop(packet);
        }
        Verdict::Mark(packet)
    }
}

impl<H: Handle> Discipline<H> for DualPi2<H> {
    /// A.1, `dualpi2_enqueue`.
    fn enqueue(&mut self, now: Instant, packet: PacketMeta<H>, sending: Occupancy) -> Result<(), Cause> {
        self.catch_up(now);
        if !drop_tail::has_room(self.config.limit, self.occupancy() + sending, packet.size) {
            return Err(Cause::QueueFull);
        }
        // "if ( ecn(pkt) modulo 2 == 1 ) % ECN bits = ECT(1) or CE"
        let is_l4s = matches!(packet.ecn, Ecn::Ect1 | Ecn::Ce);
        let half = if is_l4s { &mut self.l4s } else { &mut self.classic };
        half.backlog.push(packet);
        Ok(())
    }

    /// A.2, `dualpi2_dequeue`.
    fn dequeue(&mut self, now: Instant) -> Option<Verdict<H>> {
        self.catch_up(now);
        let classic = self.is_classics_turn();
        let verdict = if classic {
            let packet = self.classic.backlog.pop()?;
            self.send_classic(packet)
        } else {
            let packet = self.l4s.backlog.pop()?;
            self.send_l4s(now, packet)
        };
        if let Verdict::Send(packet) | Verdict::Mark(packet) = &verdict {
            self.charge(packet.size, classic);
        }
        Some(verdict)
    }

    fn occupancy(&self) -> Occupancy {
        self.l4s.backlog.occupancy() + self.classic.backlog.occupancy()
    }

    fn clear(&mut self) -> Vec<PacketMeta<H>> {
        let mut packets = self.l4s.backlog.clear();
        packets.extend(self.classic.backlog.clear());
        packets.sort_by_key(|packet| packet.enqueued_at);
        (self.l4s.count, self.classic.count, self.credit) = (0.0, 0.0, 0);
        (self.pi2.p, self.pi2.prevq) = (0.0, 0.0);
        packets
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "the same steps give the same bits")]
mod tests {
    use super::super::Config as _;
    use super::*;

    fn dualpi2() -> DualPi2<u32> {
        with(&Config::default())
    }

    fn with(config: &Config) -> DualPi2<u32> {
        DualPi2::new(config, Stream::new(1, "queue"))
    }

    fn offer(queue: &mut DualPi2<u32>, us: u64, handle: u32, ecn: Ecn) {
        let enqueued_at = Instant::from_nanos(1_000 * us);
        let packet = PacketMeta { handle, size: Bytes(1500), flow: 0, ecn, has_payload: true, enqueued_at };
        queue.enqueue(enqueued_at, packet, Occupancy::default()).unwrap();
    }

    fn serve(queue: &mut DualPi2<u32>, us: u64) -> Verdict<u32> {
        queue.dequeue(Instant::from_nanos(1_000 * us)).unwrap()
    }

    /// With this base probability, of 1,000 packets how many are sent, marked and dropped. They never wait.
    fn fates(p: f64, ecn: Ecn) -> (usize, usize, usize) {
        let (mut queue, mut found) = (dualpi2(), (0, 0, 0));
        queue.pi2.p = p;
        for handle in 0..1_000 {
            offer(&mut queue, 0, handle, ecn);
            match serve(&mut queue, 0) {
                Verdict::Send(_) => found.0 += 1,
                Verdict::Mark(_) => found.1 += 1,
                Verdict::Drop(_) => found.2 += 1,
            }
        }
        found
    }

    #[test]
    fn classic_traffic_has_the_square_and_l4s_traffic_twice_the_base() {
        assert_eq!(fates(0.125, Ecn::NotEct), (985, 0, 15));
        assert_eq!(fates(0.125, Ecn::Ect0), (985, 15, 0));
        assert_eq!(fates(0.125, Ecn::Ect1), (751, 249, 0));
        assert_eq!(fates(0.125, Ecn::Ce), (751, 249, 0), "what was marked before is taken for L4S");
    }

    #[test]
    fn overload_drops_as_often_in_both_queues_and_marks_no_classic_packet() {
        // p' = 1/2: p_C = 1/4 is p_Cmax, and p_CL = 1.
        assert_eq!(fates(0.5, Ecn::Ect0), (751, 0, 249));
        let (sent, marked, dropped) = fates(0.5, Ecn::Ect1);
        assert!(sent <= 1 && dropped.abs_diff(250) <= 1 && marked > 700, "{sent} {marked} {dropped}");
        assert_eq!(fates(0.499, Ecn::Ect1).2, 0, "just below");
    }

    #[test]
    fn an_l4s_packet_is_marked_for_its_own_queue_between_two_thresholds() {
        for (waited, marked) in [(800, 0_usize), (900, 250), (1_000, 500), (1_200, 1_000), (5_000, 1_000)] {
            let (mut queue, mut count) = (dualpi2(), 0);
            (0..3).for_each(|handle| offer(&mut queue, 0, handle, Ecn::Ect1));
            for _ in 0..1_000 {
                count += usize::from(matches!(serve(&mut queue, waited), Verdict::Mark(_)));
                queue.l4s.backlog.push(PacketMeta {
                    handle: 9,
                    size: Bytes(1500),
                    flow: 0,
                    ecn: Ecn::Ect1,
                    has_payload: true,
                    enqueued_at: Instant::ZERO,
                });
            }
            assert!(marked.abs_diff(count) <= 1, "{waited} us: {count}");
        }
    }

    #[test]
    fn a_queue_of_one_packet_is_not_marked_for_itself() {
        let mut queue = dualpi2();
        offer(&mut queue, 0, 0, Ecn::Ect1);
        offer(&mut queue, 0, 1, Ecn::Ect1);
        assert!(matches!(serve(&mut queue, 9_000), Verdict::Send(_)));
    }

    #[test]
    fn l4s_goes_first_and_classic_traffic_has_its_tenth() {
        let mut queue = dualpi2();
        for handle in 0..200 {
            offer(&mut queue, 0, handle, if handle % 2 == 0 { Ecn::NotEct } else { Ecn::Ect1 });
        }
        let mut sent = |_: &usize| match serve(&mut queue, 1) {
            Verdict::Send(packet) => packet.handle % 2 == 0,
            other => panic!("{other:?}"),
        };
        let classic: Vec<_> = (0..100).filter(&mut sent).collect();
        assert_eq!(classic.len(), 10);
        assert_eq!(classic[..2], [1, 11], "behind the first of the others");
    }

    #[test]
    fn the_base_probability_follows_the_oldest_packet_each_15_ms() {
        let mut queue = dualpi2();
        offer(&mut queue, 0, 0, Ecn::NotEct);
        queue.catch_up(Instant::from_millis(14));
        assert_eq!(queue.pi2.p, 0.0);
        // alpha = 0.15 Hz, beta = 3 Hz: 0.15 * (15 - 15) ms + 3 * (15 - 0) ms; then 0.15 * 15 ms + 3 * 15 ms.
        queue.catch_up(Instant::from_millis(15));
        assert!((queue.pi2.p - 0.045).abs() < 1e-9, "{}", queue.pi2.p);
        queue.catch_up(Instant::from_millis(30));
        assert!((queue.pi2.p - 0.092_25).abs() < 1e-9, "{}", queue.pi2.p);
    }

    #[test]
    fn updates_are_made_up_for_and_those_that_change_nothing_are_skipped() {
        for ecn in [Ecn::NotEct, Ecn::Ect1] {
            let (mut all, mut late) = (dualpi2(), dualpi2());
            for queue in [&mut all, &mut late] {
                offer(queue, 0, 0, ecn);
            }
            // A line that stands still for 30 s, and a year in which nothing comes.
            (0..30_000).for_each(|ms| all.catch_up(Instant::from_millis(ms)));
            late.catch_up(Instant::from_millis(29_999));
            assert_eq!((all.pi2.p, all.pi2.prevq, all.pi2.next), (late.pi2.p, late.pi2.prevq, late.pi2.next));
            assert_eq!(late.pi2.p, 1.0);
            late.catch_up(Instant::from_millis(31_536_000_000));
            assert_eq!(late.pi2.p, 1.0);
            while late.dequeue(Instant::from_millis(31_536_000_000)).is_some() {}
            late.catch_up(Instant::from_millis(63_072_000_000));
            assert_eq!(late.pi2.p, 0.0);
        }
    }

    /// Both with this base probability and a packet that came then: one is asked each millisecond, the other one at the end.
    fn asked_often_and_once(config: &Config, p: f64, came_us: u64) -> [f64; 2] {
        let [mut often, mut once] = [(); 2].map(|()| with(config));
        for queue in [&mut often, &mut once] {
            offer(queue, came_us, 0, Ecn::NotEct);
            queue.pi2.p = p;
        }
        (0..100).for_each(|ms| often.catch_up(Instant::from_millis(ms)));
        once.catch_up(Instant::from_millis(99));
        [often, once].map(|queue| queue.pi2.p)
    }

    #[test]
    fn no_update_is_skipped_while_the_probability_moves() {
        // At 15 ms it has waited for 0.4 ms: 0.15 * (0.4 - 15) ms + 3 * 0.4 ms is below nothing, not so later.
        let [often, once] = asked_often_and_once(&Config::default(), 0.0, 14_600);
        assert!(often > 0.2 && often == once, "{often} {once}");
        // Below a target of a second alpha takes more than beta gives, also from 1: twice in 99 ms, as
        // Tupdate = RTT_max/3, alpha = 1/3 Hz, beta = 3 Hz: 1 - 0.967/3 + 0.1 - 0.933/3 + 0.1.
        let slow = Config { target: Duration::from_secs(1), ..Config::default() };
        let [often, once] = asked_often_and_once(&slow, 1.0, 0);
        assert!((often - 0.567).abs() < 1e-3 && often == once, "{often} {once}");
    }

    #[test]
    fn an_outage_takes_all_in_the_order_of_arrival() {
        let mut queue = dualpi2();
        for (handle, ecn) in [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce].into_iter().enumerate() {
            offer(&mut queue, handle as u64, handle as u32, ecn);
        }
        assert!(queue.clear().iter().map(|packet| packet.handle).eq(0..4));
        assert_eq!(queue.dequeue(Instant::from_millis(1)), None);
    }

    #[test]
    fn both_queues_together_are_full_or_not() {
        let mut queue = with(&Config { limit: Some(QueueLimit::Packets(2)), ..Config::default() });
        offer(&mut queue, 0, 0, Ecn::NotEct);
        offer(&mut queue, 0, 1, Ecn::Ect1);
        assert_eq!(queue.occupancy(), Occupancy { packets: 2, bytes: Bytes(3000) });
        for half in [&queue.classic, &queue.l4s] {
            assert_eq!(half.backlog.occupancy().packets, 1);
        }
        let packet = *queue.l4s.backlog.first().unwrap();
        assert_eq!(queue.enqueue(Instant::ZERO, packet, Occupancy::default()), Err(Cause::QueueFull));
    }

    #[test]
    fn a_ramp_without_width_is_a_step() {
        let mut queue = with(&Config { range: Duration::ZERO, ..Config::default() });
        (0..4).for_each(|handle| offer(&mut queue, 0, handle, Ecn::Ect1));
        let at = |us| queue.laqm(Duration::from_micros(us));
        assert_eq!([0, 799, 800, 801].map(at), [0.0, 0.0, 1.0, 1.0]);
    }

    #[test]
    fn neither_queue_starves_whatever_share_a_caller_gives() {
        for classic_share in [0, 10_000, u32::MAX] {
            let mut queue = with(&Config { classic_share, limit: None, ..Config::default() });
            for handle in 0..60_000 {
                offer(&mut queue, 0, handle, if handle % 2 == 0 { Ecn::NotEct } else { Ecn::Ect1 });
            }
            let mut served = [0; 2];
            for _ in 0..20_000 {
                match queue.dequeue(Instant::ZERO) {
                    Some(Verdict::Send(packet)) => served[packet.handle as usize % 2] += 1,
                    other => panic!("{other:?}"),
                }
            }
            assert!(served[0] > 0 && served[1] > 0, "{classic_share}: {served:?}");
        }
    }

    #[test]
    fn no_round_trip_and_no_target_are_no_reason_to_divide_by_zero() {
        let zero = Duration::ZERO;
        let mut queue =
            with(&Config { target: zero, rtt_max: zero, threshold: zero, range: zero, ..Config::default() });
        for ms in 0..100 {
            offer(&mut queue, ms, 0, if ms % 2 == 0 { Ecn::NotEct } else { Ecn::Ect1 });
            queue.catch_up(Instant::from_millis(ms));
            assert!((0.0..=1.0).contains(&queue.pi2.p), "{}", queue.pi2.p);
        }
        while queue.dequeue(Instant::from_millis(200)).is_some() {}
        assert!(queue.l4s.count.is_finite() && queue.classic.count.is_finite());
    }

    #[test]
    fn its_parameters_are_those_of_the_rfc() {
        let mut config = Config::default();
        let said: Vec<_> =
            config.parameters().iter().map(|one| format!("{} {}", one.key, one.value)).collect();
        assert_eq!(said[..3], ["limit 10000pkt", "target 15ms", "rtt_max 100ms"]);
        assert_eq!(said[3..], ["threshold 800us", "range 400us", "classic_share 10%"]);
        assert!(config.about().contains("RFC 9332"));
        assert_eq!((config.name(), config.limit()), ("dualpi2", Some(QueueLimit::Packets(10_000))));
    }
}
