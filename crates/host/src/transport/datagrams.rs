//! A datagram every so often, and none of them repeated: a call, a game, a sensor.
//!
//! Each datagram begins with its number and the time at which it was sent, so that the receiver knows what was lost, what came
//! late, and how long each was on its way.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use handfast_core::{Bytes as Size, Duration, Instant};

use super::{Description, Figure, Figures, Transport, Way};
use crate::meter::DeliveryMeter;
use crate::rank::nearest_rank;
use crate::session::Ending;

/// Number and time of sending.
const HEADER_LEN: usize = 8 + 8;
/// The largest payload of a UDP datagram that Ethernet carries in one piece (RFC 768, RFC 791).
const MOST: u64 = 1500 - 20 - 8;

/// `late`: for somebody who listens, what comes later than this after it was sent comes too late.
pub(super) fn description(size: Size, interval: Duration, late: Option<Duration>) -> Description {
    Description {
        writes: Some((size, interval)),
        ends: Box::new(move |start, stop| ends((size, interval), late, start, stop)),
        problem: problem(size, interval),
    }
}

/// Why nobody can send such datagrams, as the end of a sentence that begins with the flow; [`None`]: one can.
fn problem(size: Size, interval: Duration) -> Option<String> {
    if interval == Duration::ZERO {
        Some("sends datagrams without pause: its interval is zero".to_owned())
    } else if !(HEADER_LEN as u64..=MOST).contains(&size.get()) {
        Some(format!("sends datagrams of {size}: they have {HEADER_LEN} to {MOST} bytes"))
    } else {
        None
    }
}

/// Both ends: who sends, who receives.
fn ends(
    (size, interval): (Size, Duration),
    late: Option<Duration>,
    start: Instant,
    stop: Option<Instant>,
) -> [Box<dyn Transport>; 2] {
    let sender = Sender { size: size.get() as usize, interval, next: start, stop, sent: 0 };
    [Box::new(sender), Box::new(Receiver { late, ..Receiver::default() })]
}

/// The end that sends.
#[derive(Debug)]
struct Sender {
    size: usize,
    interval: Duration,
    next: Instant,
    stop: Option<Instant>,
    sent: u64,
}

impl Sender {
    fn stops(&self) -> Instant {
        self.stop.unwrap_or(Instant::MAX)
    }
}

impl Transport for Sender {
    fn deadline(&self) -> Option<Instant> {
        (self.next < self.stops()).then_some(self.next)
    }

    fn on_timer(&mut self, _now: Instant) {}

    fn on_datagram(&mut self, _now: Instant, _way: Way, _data: &Bytes) {}

    fn poll_transmit(&mut self, now: Instant) -> Option<(Way, Bytes)> {
        if now < self.next || self.next >= self.stops() {
            return None;
        }
        self.next += self.interval;
        let mut data = BytesMut::with_capacity(self.size);
        data.put_u64(self.sent);
        data.put_u64(now.as_nanos());
        data.resize(self.size, 0);
        self.sent += 1;
        Some((Way(0), data.freeze()))
    }

    fn has_begun(&self) -> bool {
        self.sent > 0
    }

    fn ending(&self) -> Option<Ending> {
        self.stop.filter(|&stop| self.next >= stop).map(Ending::Done)
    }

    fn meter(&self) -> DeliveryMeter {
        DeliveryMeter::default()
    }

    fn meter_mut(&mut self) -> Option<&mut DeliveryMeter> {
        None
    }

    fn figures(&self) -> Figures {
        Figures::from([("sent_datagrams", Figure::Count(self.sent))])
    }
}

/// The end that receives.
#[derive(Debug, Default)]
struct Receiver {
    meter: DeliveryMeter,
    /// For each number below the next one that is expected how long the datagram was on its way; [`None`]: it has not come.
    delays: Vec<Option<Duration>>,
    reordered: u64,
    jitter: Jitter,
    /// Of a call: what comes later than this comes too late.
    late: Option<Duration>,
}

impl Transport for Receiver {
    fn deadline(&self) -> Option<Instant> {
        None
    }

    fn on_timer(&mut self, _now: Instant) {}

    fn on_datagram(&mut self, now: Instant, _way: Way, data: &Bytes) {
        let Some(mut header) = data.get(..HEADER_LEN) else { return };
        let (number, sent) = (header.get_u64() as usize, Instant::from_nanos(header.get_u64()));
        let expected = self.delays.len();
        if number >= expected {
            self.delays.resize(number + 1, None);
        } else if self.delays[number].is_some() {
            // A duplicate.
            return;
        } else {
            // RFC 4737 §3.3: its number is smaller than the one that is expected next.
            self.reordered += 1;
        }
        let delay = now.since(sent);
        self.delays[number] = Some(delay);
        self.jitter.add(delay);
        self.meter.add(now, data.len() as u64);
    }

    fn poll_transmit(&mut self, _now: Instant) -> Option<(Way, Bytes)> {
        None
    }

    fn has_begun(&self) -> bool {
        !self.delays.is_empty()
    }

    fn ending(&self) -> Option<Ending> {
        None
    }

    fn meter(&self) -> DeliveryMeter {
        self.meter
    }

    fn meter_mut(&mut self) -> Option<&mut DeliveryMeter> {
        Some(&mut self.meter)
    }

    fn figures(&self) -> Figures {
        let mut delays: Vec<Duration> = self.delays.iter().flatten().copied().collect();
        delays.sort_unstable();
        let received = delays.len() as u64;
        let at = |percent: usize| nearest_rank(&delays, 10 * percent);
        let seconds = |delay: Option<Duration>| Figure::Value(delay.map(Duration::as_secs_f64));
        let mut figures = Figures::from([
            ("received_datagrams", Figure::Count(received)),
            ("lost_datagrams", Figure::Count(self.delays.len() as u64 - received)),
            ("reordered_datagrams", Figure::Count(self.reordered)),
            ("delay_min_s", seconds(delays.first().copied())),
            ("delay_p50_s", seconds(at(50))),
            ("delay_p99_s", seconds(at(99))),
            ("jitter_s", Figure::Value(self.jitter.mean())),
        ]);
        if let Some(late) = self.late {
            let in_time = delays.partition_point(|&delay| delay <= late) as u64;
            figures.insert("late_datagrams", Figure::Count(received - in_time));
            figures.insert("delay_p95_s", seconds(at(95)));
        }
        figures
    }
}

/// The interarrival jitter of RFC 3550.
#[derive(Clone, Copy, Debug, Default)]
struct Jitter {
    last: Option<Duration>,
    mean: Option<f64>,
}

impl Jitter {
    /// The next datagram was so long on its way.
    fn add(&mut self, delay: Duration) {
        if let Some(last) = self.last.replace(delay) {
            let difference = (delay.as_secs_f64() - last.as_secs_f64()).abs();
            let mean = self.mean.unwrap_or(0.0);
            // RFC 3550 §6.4.1: J(i) = J(i-1) + (|D(i-1,i)| - J(i-1))/16.
            self.mean = Some(mean + (difference - mean) / 16.0);
        }
    }

    /// Seconds; [`None`] before the second datagram.
    fn mean(self) -> Option<f64> {
        self.mean
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    fn pair(stop: Option<Instant>) -> [Box<dyn Transport>; 2] {
        ends((Size(160), Duration::from_millis(20)), None, at(5), stop)
    }

    #[test]
    fn what_comes_after_its_time_is_of_no_use_to_who_listens() {
        let late = Duration::from_millis(150);
        let [mut sender, mut receiver] =
            ends((Size(172), Duration::from_millis(20)), Some(late), at(0), None);
        for (number, delay) in [(0, 10), (1, 150), (2, 151), (3, 400)] {
            let (_, data) = sender.poll_transmit(at(20 * number)).unwrap();
            receiver.on_datagram(at(20 * number + delay), Way(0), &data);
        }
        let figures = receiver.figures();
        assert_eq!(figures["late_datagrams"], Figure::Count(2));
        assert_eq!(
            (figures["delay_p50_s"], figures["delay_p95_s"]),
            (Figure::Value(Some(0.15)), Figure::Value(Some(0.4)))
        );
        assert!(!pair(None)[1].figures().contains_key("late_datagrams"), "nobody listens to plain datagrams");
    }

    #[test]
    fn a_datagram_leaves_at_its_time_until_the_stop() {
        let [mut sender, _] = pair(Some(at(45)));
        assert_eq!((sender.deadline(), sender.poll_transmit(at(4))), (Some(at(5)), None));
        assert!(!sender.has_begun() && sender.ending().is_none());
        assert_eq!(sender.poll_transmit(at(5)).unwrap().1.len(), 160);
        assert_eq!((sender.deadline(), sender.poll_transmit(at(5))), (Some(at(25)), None));
        assert!(sender.poll_transmit(at(25)).is_some());
        assert_eq!((sender.deadline(), sender.poll_transmit(at(45))), (None, None));
        assert_eq!((sender.has_begun(), sender.ending()), (true, Some(Ending::Done(at(45)))));
        assert_eq!(sender.figures()["sent_datagrams"], Figure::Count(2));
    }

    #[test]
    fn losses_reordering_duplicates_and_delays_are_told_apart() {
        let [mut sender, mut receiver] = pair(None);
        let sent: Vec<_> = (0..6).map(|n| sender.poll_transmit(at(5 + 20 * n)).unwrap().1).collect();
        // Sent at 5, 25, 45, 65, 85 and 105 ms. The second is lost, the third comes after the fourth, and twice.
        for (number, ms) in [(0, 15), (3, 85), (2, 86), (2, 87), (4, 95), (5, 115)] {
            receiver.on_datagram(at(ms), Way(0), &sent[number]);
        }
        let figures = receiver.figures();
        let count = |key| figures[key];
        assert_eq!(count("received_datagrams"), Figure::Count(5));
        assert_eq!(count("lost_datagrams"), Figure::Count(1));
        assert_eq!(count("reordered_datagrams"), Figure::Count(1));
        assert_eq!(figures["delay_min_s"], Figure::Value(Some(0.01)));
        assert_eq!(figures["delay_p50_s"], Figure::Value(Some(0.01)));
        assert_eq!(figures["delay_p99_s"], Figure::Value(Some(0.041)));
        assert_eq!(receiver.meter().bytes, 5 * 160);
        // 10, 20, 41, 10 and 10 ms on the way.
        let by_hand = [0.010, 0.021, 0.031, 0.0].iter().fold(0.0, |mean, d| mean + (d - mean) / 16.0);
        let Figure::Value(Some(jitter)) = figures["jitter_s"] else { panic!("{figures:?}") };
        assert!((jitter - by_hand).abs() < 1e-12, "{jitter} {by_hand}");
    }

    #[test]
    fn what_has_not_come_has_no_delay() {
        let [_, mut receiver] = pair(None);
        receiver.on_datagram(at(1), Way(0), &Bytes::from_static(b"no header"));
        let figures = receiver.figures();
        assert_eq!(
            (figures["received_datagrams"], figures["delay_p99_s"]),
            (Figure::Count(0), Figure::Value(None))
        );
        assert_eq!(figures["jitter_s"], Figure::Value(None));
    }
}
