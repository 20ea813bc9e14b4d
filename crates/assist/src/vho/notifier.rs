//! Notifications: which are due, and when.

use std::collections::BTreeMap;
use std::net::IpAddr;

use handfast_core::{Duration, Instant, Stream};
use handfast_wire::Notification;
use handfast_wire::notification::{AccessLink, Kind};

/// Messages that wait, at most; beyond them new ones are lost.
const MOST: usize = 4096;

/// How notifications travel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// The probability that a message is lost before it leaves.
    pub loss: f64,
    /// From the event until it leaves.
    pub delay: Duration,
    /// How often each is sent again.
    pub repeat: u32,
    /// How long after the one before.
    pub repeat_after: Duration,
}

impl Default for Config {
    /// Once, at once, and nothing is lost.
    fn default() -> Self {
        Self { loss: 0.0, delay: Duration::ZERO, repeat: 0, repeat_after: Duration::from_millis(100) }
    }
}

/// A host with flows to the mobile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Correspondent {
    /// Its address.
    pub address: IpAddr,
    /// How many.
    pub flows: u16,
}

/// What has happened to the mobile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    /// What.
    pub kind: Kind,
    /// The access link that it has now.
    pub new: AccessLink,
    /// The one that it had before, if there was one.
    pub old: Option<AccessLink>,
}

/// The notifications of one mobile. A machine: the driver sends what [`Notifier::due`] gives.
#[derive(Debug)]
pub struct Notifier {
    config: Config,
    stream: Stream,
    sent: u32,
    /// By when they leave, and in which order.
    waiting: BTreeMap<(Instant, u64), (IpAddr, Notification)>,
    queued: u64,
}

impl Notifier {
    /// Nothing has happened yet. Losses are drawn from `stream`.
    pub fn new(config: Config, stream: Stream) -> Self {
        Self { config, stream, sent: 0, waiting: BTreeMap::new(), queued: 0 }
    }

    /// Something has happened, of which these hear.
    pub fn tell(&mut self, now: Instant, told: &Told, to: impl IntoIterator<Item = Correspondent>) {
        if told.kind != Kind::Start {
            // What waited is about a link that the mobile has no more.
            self.waiting.clear();
        }
        for Correspondent { address, flows } in to {
            self.sent = self.sent.wrapping_add(1);
            let &Told { kind, new, old } = told;
            let notification = Notification { kind, number: self.sent, flows, new, old };
            for copy in 0..=u64::from(self.config.repeat) {
                self.queue(now + self.config.delay + self.config.repeat_after * copy, address, notification);
            }
        }
    }

    fn queue(&mut self, at: Instant, address: IpAddr, notification: Notification) {
        if !self.stream.chance(self.config.loss) && self.waiting.len() < MOST {
            self.queued += 1;
            self.waiting.insert((at, self.queued), (address, notification));
        }
    }

    /// When [`Notifier::due`] has something next.
    pub fn deadline(&self) -> Option<Instant> {
        self.waiting.first_key_value().map(|(&(at, _), _)| at)
    }

    /// A message that leaves by `now`, and for whom it is.
    pub fn due(&mut self, now: Instant) -> Option<(IpAddr, Notification)> {
        let first = self.waiting.first_entry()?;
        (first.key().0 <= now).then(|| first.remove())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use handfast_core::BitRate;
    use std::net::Ipv4Addr;

    fn at(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    fn told(kind: Kind) -> Told {
        let new = AccessLink { rate: BitRate::from_bps(1_000_000), delay: Duration::from_millis(4) };
        Told { kind, new, old: None }
    }

    fn host(n: u8) -> Correspondent {
        Correspondent { address: Ipv4Addr::new(10, 0, 0, n).into(), flows: u16::from(n) }
    }

    /// What leaves until `until`: when, to how many flows, and the number.
    fn leaves(notifier: &mut Notifier, until: Instant) -> Vec<(u64, u16, u32)> {
        let mut all = Vec::new();
        while let Some(now) = notifier.deadline().filter(|&now| now <= until) {
            while let Some((_, told)) = notifier.due(now) {
                all.push((now.since(Instant::ZERO).as_millis(), told.flows, told.number));
            }
        }
        all
    }

    #[test]
    fn each_correspondent_hears_of_its_own_flows() {
        let mut notifier = Notifier::new(Config::default(), Stream::new(1, "test"));
        notifier.tell(at(5), &told(Kind::Resumed), [host(1), host(3)]);
        assert_eq!(notifier.due(at(4)), None);
        assert_eq!(leaves(&mut notifier, Instant::MAX), [(5, 1, 1), (5, 3, 2)]);
    }

    #[test]
    fn repetitions_have_the_number_of_the_first_and_end_with_the_next_link() {
        let config = Config { delay: Duration::from_millis(10), repeat: 2, ..Config::default() };
        let mut notifier = Notifier::new(config, Stream::new(1, "test"));
        notifier.tell(at(0), &told(Kind::BreakBeforeMake), [host(1)]);
        assert_eq!(leaves(&mut notifier, at(150)), [(10, 1, 1), (110, 1, 1)]);
        notifier.tell(at(150), &told(Kind::Start), [host(2)]);
        assert_eq!(leaves(&mut notifier, at(210)), [(160, 2, 2), (210, 1, 1)], "it is about the same link");
        notifier.tell(at(250), &told(Kind::Resumed), [host(1)]);
        assert_eq!(leaves(&mut notifier, Instant::MAX), [(260, 1, 3), (360, 1, 3), (460, 1, 3)]);
    }

    #[test]
    fn messages_are_lost_each_by_itself() {
        let config = Config { loss: 0.5, repeat: 99, ..Config::default() };
        let mut notifier = Notifier::new(config, Stream::new(1, "test"));
        notifier.tell(at(0), &told(Kind::Resumed), [host(1)]);
        let left = leaves(&mut notifier, Instant::MAX).len();
        assert!((30..70).contains(&left), "{left} of 100");
    }

    #[test]
    fn what_waits_is_bounded() {
        let config = Config { repeat: 100, ..Config::default() };
        let mut notifier = Notifier::new(config, Stream::new(1, "test"));
        for _ in 0..100 {
            notifier.tell(at(0), &told(Kind::Start), [host(1)]);
        }
        assert_eq!(notifier.waiting.len(), MOST);
    }
}
