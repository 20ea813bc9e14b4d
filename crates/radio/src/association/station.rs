//! The station's machine: scanning, authenticating, associating, associated (IEEE 802.11-2020 §11.3.1). It breaks before it
//! makes: with one radio, the old association ends before the new one begins.

use handfast_core::{Dbm, Duration, Instant};

use super::Config;
use crate::signal::Channel;

/// An access point that is heard, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heard {
    /// Its number.
    pub ap: usize,
    /// How strong.
    pub level: Dbm,
}

/// What a station's antenna hears at one moment.
pub trait Air {
    /// The strongest access point on a channel, the first of equals; [`None`]: none that could be understood.
    fn strongest(&mut self, now: Instant, channel: Channel) -> Option<Heard>;

    /// The signal of one access point; [`None`]: it cannot be understood.
    fn level(&mut self, now: Instant, ap: usize) -> Option<Dbm>;
}

/// Why an association ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The access point is not heard any more; nobody could tell it.
    BeaconLoss,
    /// The station has chosen a stronger one; it tells the old one, or the new one does.
    Roam,
}

/// What a driver learns from a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// An association has ended.
    AssociationLost {
        /// With which access point.
        ap: usize,
        /// Its number: it rises with each association.
        epoch: u64,
        /// From when on nothing got through.
        silent_since: Instant,
        /// Why.
        cause: Cause,
    },
    /// An association begins.
    Associated {
        /// With which access point.
        ap: usize,
        /// Its number.
        epoch: u64,
    },
}

#[derive(Clone, Copy, Debug)]
enum State {
    /// On the channel with this index of the scan.
    Scanning {
        index: usize,
        best: Option<Heard>,
    },
    Authenticating {
        ap: usize,
    },
    Associating {
        ap: usize,
    },
    /// So many beacons have not been heard, the first of them then.
    Associated {
        ap: usize,
        missed: u32,
        silent_since: Instant,
        next_scan: Instant,
    },
}

/// One station. Its driver calls [`Station::on_timer`] at each [`Station::deadline`].
#[derive(Debug)]
pub struct Station<'a> {
    config: &'a Config,
    state: State,
    deadline: Instant,
    epoch: u64,
}

impl<'a> Station<'a> {
    /// Nowhere yet: the first scan begins.
    pub fn searching(config: &'a Config, now: Instant) -> Self {
        let state = State::Scanning { index: 0, best: None };
        let mut this = Self { config, state, deadline: now, epoch: 0 };
        this.scan(now, Duration::ZERO);
        this
    }

    /// Associated with `ap` since before `now`; its epoch is 1.
    pub fn associated(config: &'a Config, ap: usize, now: Instant) -> Self {
        let mut this = Self::searching(config, now);
        this.associate(now, ap);
        this
    }

    /// With whom it is associated.
    pub fn ap(&self) -> Option<usize> {
        match self.state {
            State::Associated { ap, .. } => Some(ap),
            _ => None,
        }
    }

    /// When [`Station::on_timer`] is due.
    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    /// The deadline has come; afterwards it is in the future.
    pub fn on_timer(&mut self, now: Instant, air: &mut impl Air) -> Option<Event> {
        match self.state {
            State::Scanning { index, best } => {
                self.on_channel(now, index, best, air);
                None
            }
            State::Authenticating { ap } => {
                let associating = State::Associating { ap };
                self.proceed(now, ap, air, |this| this.enter(now, associating, this.config.association));
                None
            }
            State::Associating { ap } => {
                self.proceed(now, ap, air, |this| this.associate(now, ap));
                self.ap().map(|ap| Event::Associated { ap, epoch: self.epoch })
            }
            State::Associated { ap, .. } => self.on_beacon(now, ap, air),
        }
    }

    fn enter(&mut self, now: Instant, state: State, time: Duration) {
        self.state = state;
        // A phase may be set to take no time; a machine's deadline is in the future all the same.
        self.deadline = now + time.max(Duration::from_nanos(1));
    }

    fn scan(&mut self, now: Instant, pause: Duration) {
        self.enter(now, State::Scanning { index: 0, best: None }, pause + self.config.scan.dwell);
    }

    /// The time on one channel is over.
    fn on_channel(&mut self, now: Instant, index: usize, best: Option<Heard>, air: &mut impl Air) {
        let channels = &self.config.scan.channels;
        let here = channels.get(index).and_then(|&channel| air.strongest(now, channel));
        let best = stronger(best, here);
        if index + 1 < channels.len() {
            let next = State::Scanning { index: index + 1, best };
            return self.enter(now, next, self.config.scan.dwell);
        }
        match best {
            Some(Heard { ap, .. }) => self.authenticate(now, ap),
            None => self.scan(now, self.config.rescan),
        }
    }

    fn authenticate(&mut self, now: Instant, ap: usize) {
        self.enter(now, State::Authenticating { ap }, self.config.authentication);
    }

    /// Goes on where the access point still answers; else the search begins again.
    fn proceed(&mut self, now: Instant, ap: usize, air: &mut impl Air, on: impl FnOnce(&mut Self)) {
        if air.level(now, ap).is_some() { on(self) } else { self.scan(now, Duration::ZERO) }
    }

    fn associate(&mut self, now: Instant, ap: usize) {
        self.epoch += 1;
        let next_scan = self.config.background_scan.map_or(Instant::MAX, |interval| now + interval);
        let associated = State::Associated { ap, missed: 0, silent_since: now, next_scan };
        self.enter(now, associated, self.config.beacon_interval);
    }

    /// A beacon is due.
    fn on_beacon(&mut self, now: Instant, at: usize, air: &mut impl Air) -> Option<Event> {
        self.deadline = now + self.config.beacon_interval;
        let level = air.level(now, at);
        let State::Associated { missed, silent_since, next_scan, .. } = &mut self.state else { return None };
        let Some(level) = level else {
            if *missed == 0 {
                *silent_since = now;
            }
            *missed += 1;
            let since = *silent_since;
            let lost = *missed >= self.config.beacons_lost;
            return lost.then(|| {
                self.scan(now, Duration::ZERO);
                self.lost(at, since, Cause::BeaconLoss)
            });
        };
        *missed = 0;
        if level >= self.config.roam_below || *next_scan > now {
            return None;
        }
        *next_scan = now + self.config.background_scan?;
        let better = self.better(now, Heard { ap: at, level }, air)?;
        self.authenticate(now, better);
        Some(self.lost(at, now, Cause::Roam))
    }

    /// Another access point that is stronger by the hysteresis. The station listens between its own frames; that costs nothing.
    fn better(&self, now: Instant, own: Heard, air: &mut impl Air) -> Option<usize> {
        let all = self.config.scan.channels.iter().map(|&channel| air.strongest(now, channel));
        let best = all.fold(None, stronger)?;
        let enough = best.ap != own.ap && best.level >= own.level + self.config.hysteresis;
        enough.then_some(best.ap)
    }

    fn lost(&self, ap: usize, silent_since: Instant, cause: Cause) -> Event {
        Event::AssociationLost { ap, epoch: self.epoch, silent_since, cause }
    }
}

/// The stronger of two, the first of equals.
fn stronger(one: Option<Heard>, other: Option<Heard>) -> Option<Heard> {
    match (one, other) {
        (Some(a), Some(b)) => Some(if b.level > a.level { b } else { a }),
        (a, b) => a.or(b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Signals by number, and the channel of each: number n is on channel n + 1.
    struct Fixed(Vec<Option<i32>>);

    impl Air for Fixed {
        fn strongest(&mut self, now: Instant, channel: Channel) -> Option<Heard> {
            let ap = usize::from(channel.number()) - 1;
            self.level(now, ap).map(|level| Heard { ap, level })
        }

        fn level(&mut self, _: Instant, ap: usize) -> Option<Dbm> {
            self.0.get(ap).copied().flatten().map(Dbm)
        }
    }

    /// Runs the station until something happens; when, and what.
    fn next(station: &mut Station<'_>, air: &mut Fixed) -> (u64, Event) {
        loop {
            let now = station.deadline();
            assert!(now < Instant::from_millis(600_000), "nothing happens");
            if let Some(event) = station.on_timer(now, air) {
                return (now.as_nanos() / 1_000, event);
            }
            assert!(station.deadline() > now);
        }
    }

    #[test]
    fn the_strongest_is_chosen_after_all_channels_were_heard() {
        let config = Config::default();
        let mut station = Station::searching(&config, Instant::ZERO);
        let mut air = Fixed(vec![Some(-70_000), None, Some(-60_000), Some(-60_000)]);
        // 13 channels of 60 ms, 5 ms of authentication, 5 ms of association.
        assert_eq!(next(&mut station, &mut air), (790_000, Event::Associated { ap: 2, epoch: 1 }));
        assert_eq!(station.ap(), Some(2));
    }

    #[test]
    fn seven_beacons_are_missed_before_the_association_is_lost() {
        let config = Config::default();
        let mut station = Station::associated(&config, 0, Instant::ZERO);
        let mut air = Fixed(vec![None, Some(-80_000)]);
        let silent_since = Instant::from_nanos(102_400_000);
        let lost = Event::AssociationLost { ap: 0, epoch: 1, silent_since, cause: Cause::BeaconLoss };
        assert_eq!(next(&mut station, &mut air), (7 * 102_400, lost));
        assert_eq!(station.ap(), None);
        let back = Event::Associated { ap: 1, epoch: 2 };
        assert_eq!(next(&mut station, &mut air), (7 * 102_400 + 790_000, back));
    }

    #[test]
    fn a_beacon_that_is_heard_ends_the_count() {
        let config = Config::default();
        let mut station = Station::associated(&config, 0, Instant::ZERO);
        for beacon in 1..100 {
            let level = (beacon % 7 == 0).then_some(-70_000);
            let event = station.on_timer(station.deadline(), &mut Fixed(vec![level]));
            assert_eq!(event, None, "beacon {beacon}");
        }
    }

    #[test]
    fn only_one_that_is_stronger_by_the_hysteresis_is_worth_a_roam() {
        let config = Config::default();
        let mut station = Station::associated(&config, 0, Instant::ZERO);
        let mut air = Fixed(vec![Some(-70_000), Some(-64_001)]);
        for _ in 0..100 {
            assert_eq!(station.on_timer(station.deadline(), &mut air), None);
        }
        air.0[1] = Some(-64_000);
        let (at, event) = next(&mut station, &mut air);
        let silent_since = Instant::from_nanos(at * 1_000);
        assert_eq!(event, Event::AssociationLost { ap: 0, epoch: 1, silent_since, cause: Cause::Roam });
        // It knows where to go: no scan.
        assert_eq!(next(&mut station, &mut air), (at + 10_000, Event::Associated { ap: 1, epoch: 2 }));
    }

    #[test]
    fn a_strong_signal_is_left_for_nobody() {
        let config = Config { roam_below: Dbm(-65_000), ..Config::default() };
        let mut station = Station::associated(&config, 0, Instant::ZERO);
        let mut air = Fixed(vec![Some(-65_000), Some(-20_000)]);
        for _ in 0..100 {
            assert_eq!(station.on_timer(station.deadline(), &mut air), None);
        }
    }

    #[test]
    fn an_access_point_that_falls_silent_meanwhile_is_not_joined() {
        let config = Config { rescan: Duration::from_secs(1), ..Config::default() };
        let mut station = Station::searching(&config, Instant::ZERO);
        let mut air = Fixed(vec![Some(-70_000)]);
        for _ in 0..13 {
            station.on_timer(station.deadline(), &mut air);
        }
        air.0[0] = None;
        for _ in 0..14 {
            assert_eq!(station.on_timer(station.deadline(), &mut air), None);
        }
        // 13 channels, authentication without an answer, 13 channels without a beacon, a second, and the first channel.
        assert_eq!(station.deadline(), Instant::from_millis(780 + 5 + 780 + 1_000 + 60));
    }

    #[test]
    fn phases_without_duration_do_not_stop_time() {
        let zero = Duration::ZERO;
        let scan = super::super::Scan { channels: Vec::new(), dwell: zero };
        let config = Config { scan, authentication: zero, association: zero, ..Config::default() };
        let mut station = Station::searching(&config, Instant::ZERO);
        for _ in 0..10 {
            let now = station.deadline();
            station.on_timer(now, &mut Fixed(vec![Some(-1)]));
            assert!(station.deadline() > now);
        }
    }
}
