//! RED, random early detection (Floyd and Jacobson, *Random Early Detection Gateways for Congestion Avoidance*, 1993): packets are
//! dropped as they come, at random, by the average length of the queue. "Gentle" (Floyd, *Recommendation on using the "gentle_"
//! variant of RED*, 2000), and it counts packets.

use std::collections::VecDeque;

use handfast_core::{Duration, Instant, Stream};

use super::{
    Backlog, Discipline, Handle, Occupancy, PacketMeta, Parameter, QueueLimit, Value, Verdict, drop_tail,
};
use crate::Cause;

/// What a [`Value::Share`] counts in.
const WHOLE: f64 = 10_000.0;

/// The parameters of RED.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// How much the queue holds.
    pub limit: Option<QueueLimit>,
    /// `min_th`, packets.
    pub min: u32,
    /// `max_th`, packets.
    pub max: u32,
    /// `max_p`, in hundredths of a percent.
    pub probability: u32,
    /// `w_q`, in hundredths of a percent.
    pub weight: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            limit: Some(QueueLimit::Packets(1000)),
            // Floyd, *RED: Discussions of Setting Parameters* (1997): min_th 5 packets, max_th three times that, max_p 0.1, and w_q
            // 0.002.
            min: 5,
            max: 15,
            probability: 1_000,
            weight: 20,
        }
    }
}

impl super::Config for Config {
    fn name(&self) -> &'static str {
        "red"
    }

    fn about(&self) -> &'static str {
        "random early detection (Floyd and Jacobson 1993): drops or marks by the queue's average length"
    }

    fn parameters(&mut self) -> Vec<Parameter<'_>> {
        let limit = "How much the queue holds, the packet in serialisation included";
        let min = "The average length from which packets are dropped";
        let max = "The average length at which `probability` is reached; at twice that all are dropped";
        let probability = "What share is dropped where the average is `max`";
        let weight = "The weight of each packet's queue length in the average";
        vec![
            Parameter { key: "limit", about: limit, value: Value::Limit(&mut self.limit) },
            Parameter { key: "min", about: min, value: Value::Packets(&mut self.min) },
            Parameter { key: "max", about: max, value: Value::Packets(&mut self.max) },
            Parameter { key: "probability", about: probability, value: Value::Share(&mut self.probability) },
            Parameter { key: "weight", about: weight, value: Value::Share(&mut self.weight) },
        ]
    }

    fn limit(&self) -> Option<QueueLimit> {
        self.limit
    }
}

/// A queue under RED. The names are those of figure 2 of the paper.
#[derive(Debug)]
pub struct Red<H> {
    config: Config,
    random: Stream,
    backlog: Backlog<H>,
    /// Of each packet that waits, whether it leaves marked.
    marks: VecDeque<bool>,
    /// The average length, packets.
    avg: f64,
    /// Packets since the last one that was dropped or marked; [`None`]: the average is below `min`.
    count: Option<u32>,
    /// Since when nothing waits.
    q_time: Option<Instant>,
    /// `s`, a packet's transmission time: how long it took from one packet to the next where one waited.
    s: Option<Duration>,
    /// When the last packet left, if another one waited.
    left_at: Option<Instant>,
}

/// What comes of a packet that arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Waits,
    /// It is dropped, or marked where its sender does ECN.
    Early,
    /// It is dropped whatever its sender does.
    Dropped,
}

impl<H: Handle> Red<H> {
    /// An empty queue. It draws a number for each packet whose fate is open.
    pub fn new(config: &Config, random: Stream) -> Self {
        Self {
            config: config.clone(),
            random,
            backlog: Backlog::default(),
            marks: VecDeque::new(),
            avg: 0.0,
            count: None,
            q_time: Some(Instant::ZERO),
            s: None,
            left_at: None,
        }
    }

    /// "for each packet arrival: calculate the new average queue size avg".
    fn average(&mut self, now: Instant) {
        let w_q = f64::from(self.config.weight) / WHOLE;
        if let Some(since) = self.q_time.take() {
            // "m <- f (time - q_time); avg <- (1 - w_q)^m avg": as many small packets as might have left while nothing waited.
            let m = self.s.map_or(0, |s| now.since(since).as_nanos() / s.as_nanos().max(1));
            self.avg *= libm::pow(1.0 - w_q, m as f64);
        }
        let q = self.backlog.occupancy().packets as f64;
        // "avg <- (1 - w_q) avg + w_q q"
        self.avg += w_q * (q - self.avg);
    }

    /// A packet was dropped as it came: nothing waits still, if nothing did.
    fn idle_since(&self, now: Instant) -> Option<Instant> {
        (self.backlog.occupancy().packets == 0).then_some(now)
    }

    /// `p_b`: from nothing at `min` to `max_p` at `max`, and "gentle" from there to 1 at twice `max`.
    fn p_b(&self) -> f64 {
        let [min, max] = [f64::from(self.config.min), self.max_th()];
        let max_p = f64::from(self.config.probability) / WHOLE;
        if self.avg < max {
            max_p * (self.avg - min) / (max - min)
        } else {
            max_p + (1.0 - max_p) * (self.avg - max) / max
        }
    }

    /// `max_th`: above `min_th` whatever the file says.
    fn max_th(&self) -> f64 {
        f64::from(self.config.max.max(self.config.min.saturating_add(1)))
    }

    fn judge(&mut self) -> Fate {
        if self.avg < f64::from(self.config.min) {
            // "else count <- -1"
            self.count = None;
            return Fate::Waits;
        }
        let p_b = self.p_b();
        let count = self.count.map_or(0, |count| count.saturating_add(1));
        // "p_a <- p_b / (1 - count p_b)"
        let left = 1.0 - f64::from(count) * p_b;
        let p_a = if left > 0.0 { p_b / left } else { 1.0 };
        if !self.random.chance(p_a.min(1.0)) {
            self.count = Some(count);
            return Fate::Waits;
        }
        self.count = Some(0);
        // RFC 3168 §7: above the upper threshold "our recommendation is that routers drop packets".
        if self.avg < self.max_th() { Fate::Early } else { Fate::Dropped }
    }
}

impl<H: Handle> Discipline<H> for Red<H> {
    fn enqueue(&mut self, now: Instant, packet: PacketMeta<H>, sending: Occupancy) -> Result<(), Cause> {
        self.average(now);
        let fate = self.judge();
        let marked = fate == Fate::Early && packet.ecn.is_capable();
        if fate != Fate::Waits && !marked {
            self.q_time = self.idle_since(now);
            return Err(Cause::Aqm);
        }
        if !drop_tail::has_room(self.config.limit, self.occupancy() + sending, packet.size) {
            self.q_time = self.idle_since(now);
            return Err(Cause::QueueFull);
        }
        self.backlog.push(packet);
        self.marks.push_back(marked);
        Ok(())
    }

    fn dequeue(&mut self, now: Instant) -> Option<Verdict<H>> {
        let packet = self.backlog.pop()?;
        if let Some(at) = self.left_at.take() {
            self.s = Some(now.since(at)).filter(|&s| s > Duration::ZERO).or(self.s);
        }
        if self.backlog.occupancy().packets == 0 {
            // "when queue becomes empty: q_time <- time"
            self.q_time = Some(now);
        } else {
            self.left_at = Some(now);
        }
        let marked = self.marks.pop_front().unwrap_or(false);
        Some(if marked { Verdict::Mark(packet) } else { Verdict::Send(packet) })
    }

    fn occupancy(&self) -> Occupancy {
        self.backlog.occupancy()
    }

    fn clear(&mut self) -> Vec<PacketMeta<H>> {
        (self.avg, self.count, self.left_at) = (0.0, None, None);
        self.marks.clear();
        self.backlog.clear()
    }
}

#[cfg(test)]
mod tests {
    use handfast_core::Bytes;

    use super::super::{Config as _, Ecn};
    use super::*;

    fn red() -> Red<u32> {
        Red::new(&Config::default(), Stream::new(1, "queue"))
    }

    fn offer(red: &mut Red<u32>, ms: u64, ecn: Ecn) -> Result<(), Cause> {
        let enqueued_at = Instant::from_millis(ms);
        let packet =
            PacketMeta { handle: 0, size: Bytes(1500), flow: 0, ecn, has_payload: true, enqueued_at };
        red.enqueue(enqueued_at, packet, Occupancy::default())
    }

    /// With this average and so many that wait: of how many packets what share is taken, marked and dropped.
    fn fates(avg: f64, waiting: usize, ecn: Ecn) -> (usize, usize, usize) {
        let (mut red, mut found) = (red(), (0, 0, 0));
        for _ in 0..10_000 {
            (red.avg, red.q_time) = (avg, None);
            red.config.weight = 1;
            while red.backlog.occupancy().packets > waiting {
                match red.dequeue(Instant::ZERO) {
                    Some(Verdict::Send(_)) => found.0 += 1,
                    Some(Verdict::Mark(_)) => found.1 += 1,
                    other => panic!("{other:?}"),
                }
            }
            found.2 += usize::from(offer(&mut red, 0, ecn) == Err(Cause::Aqm));
        }
        found
    }

    #[test]
    fn the_share_that_is_dropped_rises_with_the_average() {
        assert_eq!(fates(4.9, 4, Ecn::NotEct).2, 0, "below the lower threshold");
        // Gaps are uniform between 1 and 1/p_b - 1, so that the share is about twice p_b.
        for (avg, p_b) in [(6.0, 0.01), (10.0, 0.05), (14.99, 0.1), (17.0, 0.22), (22.5, 0.5)] {
            let share = fates(avg, avg as usize, Ecn::NotEct).2 as f64 / 1e4;
            assert!((share / (2.0 * p_b) - 1.0).abs() < 0.12, "{avg}: {share}, {p_b}");
        }
        assert_eq!(fates(30.01, 30, Ecn::NotEct).2, 10_000, "at twice the upper threshold");
    }

    #[test]
    fn drops_are_spread_and_never_further_apart_than_one_over_p() {
        let mut red = red();
        red.config.weight = 1;
        let mut gaps = Vec::new();
        let mut since = 0;
        for _ in 0..20_000 {
            (red.avg, red.q_time) = (10.0, None);
            since += 1;
            if red.judge() != Fate::Waits {
                gaps.push(since);
                since = 0;
            }
        }
        // p_b is 0.05 (the paper, section VII, method 2; by its figure 2 count is 1 at the packet after a drop).
        let mut counts = [0; 21];
        for gap in gaps {
            counts[gap] += 1;
        }
        assert!(counts[1..20].iter().all(|&count| (50..160).contains(&count)), "{counts:?}");
        assert_eq!((counts[0], counts[20]), (0, 0));
    }

    #[test]
    fn who_does_ecn_is_marked_below_the_upper_threshold_and_dropped_above() {
        let (sent, marked, dropped) = fates(10.0, 10, Ecn::Ect0);
        assert!(marked > 500 && sent > 8_000 && dropped == 0, "{sent}, {marked}, {dropped}");
        let (_, marked, dropped) = fates(20.0, 20, Ecn::Ect0);
        assert!(marked == 0 && dropped > 2_000, "{marked}, {dropped}");
    }

    #[test]
    fn the_average_follows_the_queue_slowly() {
        let mut red = red();
        red.config.weight = 1_000;
        red.q_time = None;
        for _ in 0..4 {
            red.backlog.push(PacketMeta {
                handle: 0,
                size: Bytes(1500),
                flow: 0,
                ecn: Ecn::NotEct,
                has_payload: true,
                enqueued_at: Instant::ZERO,
            });
        }
        red.average(Instant::ZERO);
        assert!((red.avg - 0.4).abs() < 1e-12);
        red.average(Instant::ZERO);
        assert!((red.avg - 0.76).abs() < 1e-12);
    }

    #[test]
    fn the_average_falls_while_nothing_waits() {
        let mut red = red();
        red.config.weight = 1_000;
        // Two packets leave 2 ms apart, then nothing waits from 12 ms on.
        for _ in 0..2 {
            offer(&mut red, 10, Ecn::NotEct).unwrap();
        }
        red.dequeue(Instant::from_millis(10));
        red.dequeue(Instant::from_millis(12));
        red.avg = 4.0;
        red.average(Instant::from_millis(18));
        // Three might have left in 6 ms; and the packet that comes finds none.
        assert!((red.avg - 4.0 * 0.6561).abs() < 1e-12, "{}", red.avg);
        red.average(Instant::from_millis(30));
        assert!((red.avg - 4.0 * 0.590_49).abs() < 1e-12, "the time counts once");
    }

    #[test]
    fn nothing_waits_still_after_a_drop_of_what_found_nothing() {
        let mut red = red();
        red.config.weight = 1_000;
        red.s = Some(Duration::from_millis(2));
        (red.avg, red.q_time) = (40.0, None);
        assert_eq!(offer(&mut red, 12, Ecn::NotEct), Err(Cause::Aqm), "above twice the upper threshold");
        // 36 after it; three might have left in 6 ms.
        red.average(Instant::from_millis(18));
        assert!((red.avg - 36.0 * 0.6561).abs() < 1e-9, "{}", red.avg);
        // Where one waits that time is not idle.
        (red.avg, red.q_time) = (0.0, None);
        offer(&mut red, 20, Ecn::NotEct).unwrap();
        red.avg = 40.0;
        assert_eq!(offer(&mut red, 22, Ecn::NotEct), Err(Cause::Aqm));
        assert_eq!(red.q_time, None);
    }

    #[test]
    fn two_that_leave_at_once_say_nothing_of_how_long_a_packet_takes() {
        let mut red = red();
        for _ in 0..3 {
            offer(&mut red, 0, Ecn::NotEct).unwrap();
        }
        let took = [1, 3, 3].map(|ms| {
            red.dequeue(Instant::from_millis(ms));
            red.s
        });
        assert_eq!(took, [None, Some(Duration::from_millis(2)), Some(Duration::from_millis(2))]);
    }

    #[test]
    fn p_b_rises_to_the_upper_threshold_and_gently_beyond() {
        let mut red = red();
        for (avg, p_b) in [(5.0, 0.0), (10.0, 0.05), (15.0, 0.1), (22.5, 0.55), (30.0, 1.0)] {
            red.avg = avg;
            assert!((red.p_b() - p_b).abs() < 1e-12, "{avg}: {}", red.p_b());
        }
    }

    #[test]
    fn packets_are_counted_from_the_lower_threshold_on() {
        let mut red = red();
        red.avg = 5.0;
        assert_eq!(
            [(); 2].map(|()| (red.judge(), red.count)),
            [(Fate::Waits, Some(0)), (Fate::Waits, Some(1))]
        );
        red.avg = 4.99;
        assert_eq!([(); 2].map(|()| (red.judge(), red.count)), [(Fate::Waits, None); 2]);
    }

    #[test]
    fn the_upper_threshold_itself_is_above() {
        // RFC 3168 §7. The tenth packet of those that waited is the last one that may.
        for (avg, fate) in [(14.999, Fate::Early), (15.0, Fate::Dropped)] {
            let mut red = red();
            (red.avg, red.count) = (avg, Some(10));
            assert_eq!((red.judge(), red.count), (fate, Some(0)), "{avg}");
        }
    }

    #[test]
    fn what_finds_it_full_is_dropped() {
        let config = Config { limit: Some(QueueLimit::Packets(2)), ..Config::default() };
        let mut red = Red::new(&config, Stream::new(1, "queue"));
        assert_eq!([(); 3].map(|()| offer(&mut red, 0, Ecn::Ect0)), [Ok(()), Ok(()), Err(Cause::QueueFull)]);
        assert_eq!(red.clear().len(), 2);
        assert_eq!(red.dequeue(Instant::ZERO), None);
    }

    #[test]
    fn its_parameters_are_those_of_floyd() {
        let mut config = Config::default();
        let said: Vec<_> =
            config.parameters().iter().map(|one| format!("{} {}", one.key, one.value)).collect();
        assert_eq!(said, ["limit 1000pkt", "min 5pkt", "max 15pkt", "probability 10%", "weight 0.2%"]);
        assert!(config.about().contains("1993"));
        assert_eq!((config.name(), config.limit()), ("red", Some(QueueLimit::Packets(1000))));
    }
}
