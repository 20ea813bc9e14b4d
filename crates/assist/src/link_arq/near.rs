//! The near end: it keeps what it has sent until the far end has it, and sends again what that lacks.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use handfast_core::{Duration, Instant, SeqNum};
use handfast_wire::shim::{MOST_STATUS, Message, Shim};

use super::Config;
use crate::shim::{Made, Outgoing};

/// A frame that the far end may lack.
#[derive(Debug)]
struct Held {
    packet: Bytes,
    class: u8,
    first_sent: Instant,
    sent: Instant,
    /// Which of all transmissions the last one was.
    transmission: u64,
    /// How often it was sent again.
    retries: u8,
}

/// What has become of frames.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counters {
    pub(super) frames: u64,
    /// Sent again for a status that says that a later transmission has come, and for want of any status.
    pub(super) repeated: u64,
    pub(super) timeouts: u64,
    pub(super) abandoned: u64,
    /// Dropped by this node's own queue, which is not repaired.
    pub(super) congested: u64,
    /// Without room to wait for the window.
    pub(super) overflows: u64,
}

#[derive(Debug)]
pub(super) struct Near {
    config: Config,
    /// The number of the next frame; numbers count on where sequence numbers wrap.
    next: u64,
    held: BTreeMap<u64, Held>,
    /// Packets for which the window has no room.
    waiting: VecDeque<(Bytes, u8)>,
    transmissions: u64,
    /// The last transmission that the far end is known to have got.
    newest: u64,
    /// Smoothed round trip and its variation.
    rtt: Option<(Duration, Duration)>,
    /// The shortest one.
    rtt_min: Option<Duration>,
    /// From when the timer counts.
    since: Instant,
    /// How often in a row the timer has expired.
    expiries: u32,
    pub(super) counters: Counters,
}

/// Packets that wait for the window at most.
const MOST_WAITING: usize = 1_000;

/// Before a round trip is known: above that of any link between two nodes.
const FIRST_TIMEOUT: Duration = Duration::from_millis(100);

impl Near {
    pub(super) fn new(config: Config) -> Self {
        Self {
            config,
            next: 0,
            held: BTreeMap::new(),
            waiting: VecDeque::new(),
            transmissions: 0,
            newest: 0,
            rtt: None,
            rtt_min: None,
            since: Instant::ZERO,
            expiries: 0,
            counters: Counters::default(),
        }
    }

    pub(super) fn send(&mut self, now: Instant, packet: Bytes, class: u8, made: &mut Made) {
        if self.waiting.len() >= MOST_WAITING {
            self.counters.overflows += 1;
            return;
        }
        self.waiting.push_back((packet, class));
        self.fill_window(now, made);
    }

    fn fill_window(&mut self, now: Instant, made: &mut Made) {
        // A status says of so many frames whether they have come.
        while self.next - self.base() < MOST_STATUS as u64
            && let Some((packet, class)) = self.waiting.pop_front()
        {
            if self.held.is_empty() {
                (self.since, self.expiries) = (now, 0);
            }
            self.transmissions += 1;
            let transmission = self.transmissions;
            let held = Held { packet, class, first_sent: now, sent: now, transmission, retries: 0 };
            let number = self.next;
            self.held.insert(number, held);
            self.next += 1;
            self.counters.frames += 1;
            self.transmit(number, made);
        }
    }

    /// What is before this number is done with.
    fn base(&self) -> u64 {
        self.held.keys().next().copied().unwrap_or(self.next)
    }

    fn transmit(&mut self, number: u64, made: &mut Made) {
        let base = SeqNum(self.base() as u32);
        if let Some(Held { packet, class, .. }) = self.held.get(&number) {
            let message = Message::Frame { base, packet: packet.clone() };
            let shim = Shim { sequence: SeqNum(number as u32), message };
            made.out.push(Outgoing { shim, class: *class });
        }
    }

    /// The number that a sequence number of the far end stands for; [`None`]: none of those under way, nor the next.
    fn number(&self, sequence: SeqNum) -> Option<u64> {
        let behind = SeqNum(self.next as u32).distance(sequence);
        let number = self.next.checked_sub(u64::try_from(behind).ok()?)?;
        (number >= self.base()).then_some(number)
    }

    /// The far end has all frames before `next`, and those that the bits say.
    pub(super) fn on_status(&mut self, now: Instant, next: SeqNum, bits: &[u8], made: &mut Made) {
        let Some(first) = self.number(next) else { return };
        let has = |number: u64| {
            let place = number.checked_sub(first + 1)?;
            let byte = bits.get((place / 8) as usize)?;
            Some(byte >> (place % 8) & 1 == 1)
        };
        let come = |number: &u64| *number < first || has(*number) == Some(true);
        let came: Vec<u64> = self.held.keys().copied().filter(come).collect();
        for number in &came {
            self.came(now, *number);
        }
        if !came.is_empty() {
            (self.since, self.expiries) = (now, 0);
        }
        // A transmission that was overtaken is lost: the link keeps its order.
        let newest = self.newest;
        let lost = self.held.iter().filter(|(_, held)| held.transmission < newest);
        let lost: Vec<u64> = lost.map(|(&number, _)| number).collect();
        for number in lost {
            self.counters.repeated += u64::from(self.repeat(now, number, made));
        }
        self.fill_window(now, made);
    }

    fn came(&mut self, now: Instant, number: u64) {
        let Some(held) = self.held.remove(&number) else { return };
        let took = now.since(held.sent);
        if held.retries > 0 {
            // RFC 8985 §6.2 step 2: what comes sooner than anything has ever come was sent before.
            if self.rtt_min.is_some_and(|least| took >= least) {
                self.newest = self.newest.max(held.transmission);
            }
            // RFC 6298 §3 (Karn's algorithm): of a frame that was sent twice nobody knows which one has come.
            return;
        }
        self.newest = self.newest.max(held.transmission);
        self.rtt = Some(smoothed(self.rtt, took));
        self.rtt_min = Some(self.rtt_min.map_or(took, |least| least.min(took)));
    }

    /// Sends a frame again; false: it is given up (RFC 3366 §2.2, §3.3: a link's persistence has bounds).
    fn repeat(&mut self, now: Instant, number: u64, made: &mut Made) -> bool {
        let Config { retries, persistence, .. } = self.config;
        let Some(held) = self.held.get_mut(&number) else { return false };
        if held.retries >= retries || now.since(held.first_sent) >= persistence {
            self.held.remove(&number);
            self.counters.abandoned += 1;
            return false;
        }
        self.transmissions += 1;
        held.retries += 1;
        (held.sent, held.transmission) = (now, self.transmissions);
        self.transmit(number, made);
        true
    }

    /// This node's own queue has dropped a frame: the sender has to learn of the congestion, so it is not repaired.
    pub(super) fn on_drop(&mut self, sequence: SeqNum) {
        let dropped = self.number(sequence).and_then(|number| self.held.remove(&number));
        self.counters.congested += u64::from(dropped.is_some());
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        // RFC 6298 §5.5: it doubles.
        let timeout = self.timeout().saturating_mul(1 << self.expiries.min(10));
        (!self.held.is_empty()).then(|| self.since + timeout)
    }

    /// RFC 6298 §2.3.
    fn timeout(&self) -> Duration {
        // The status may wait: as RFC 8985 §7.2 adds the longest delay of an acknowledgment.
        let delay = self.config.status_delay;
        let longest = |(mean, variation): (Duration, Duration)| mean + variation * 4 + delay;
        self.rtt.map_or(FIRST_TIMEOUT, longest).max(self.config.timer_min)
    }

    /// No frame has come for a time-out: the first one goes again, and the status that answers it tells of the others.
    pub(super) fn on_timer(&mut self, now: Instant, made: &mut Made) {
        if self.deadline().is_none_or(|due| due > now) {
            return;
        }
        (self.since, self.expiries) = (now, self.expiries + 1);
        while let Some(&first) = self.held.keys().next() {
            if self.repeat(now, first, made) {
                self.counters.timeouts += 1;
                break;
            }
        }
        self.fill_window(now, made);
    }
}

/// RFC 6298 §2.2 and §2.3.
fn smoothed(before: Option<(Duration, Duration)>, sample: Duration) -> (Duration, Duration) {
    let part = |time: Duration, of: u64| Duration::from_nanos(time.as_nanos() / of);
    let Some((mean, variation)) = before else { return (sample, part(sample, 2)) };
    (part(mean * 7 + sample, 8), part(variation * 3 + mean.abs_diff(sample), 4))
}
