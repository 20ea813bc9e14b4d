//! All associations of one station in a run, known before it begins: neither movement nor signals depend on traffic.

use handfast_core::{Dbm, Instant, Length};

use super::{Air, Cause, Config, Event, Heard, Station};
use crate::Place;
use crate::mobility::Motion;
use crate::signal::{Channel, Propagation, Transmitter};

/// An access point of the air.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessPoint {
    /// Where it is.
    pub place: Place,
    /// What it sends with.
    pub transmitter: Transmitter,
    /// Below this signal it is not understood.
    pub minimum: Dbm,
}

impl AccessPoint {
    /// One that is understood up to `range`.
    pub fn with_range(
        place: Place,
        transmitter: Transmitter,
        propagation: &Propagation,
        range: Length,
    ) -> Self {
        Self { place, transmitter, minimum: transmitter.level(propagation, range) }
    }

    /// Its signal at a place; [`None`]: it is not understood there.
    pub fn level_at(&self, propagation: &Propagation, place: Place) -> Option<Dbm> {
        let level = self.transmitter.level(propagation, self.place.distance(place));
        (level >= self.minimum).then_some(level)
    }
}

/// A station without an access point, and how that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Roam {
    /// Which access point it was with.
    pub from: usize,
    /// From when on nothing got through. A silence that ends before the association is lost is none.
    pub down: Instant,
    /// When the station gave the association up.
    pub lost: Instant,
    /// Why.
    pub cause: Cause,
    /// Which one it is with from then on; [`None`]: no more in this run.
    pub to: Option<usize>,
    /// From when; the run's end where it never is.
    pub up: Instant,
}

/// A station's associations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// The access point that it is with at the start: the strongest; [`None`]: it hears none, and has no associations at all.
    pub first: Option<usize>,
    /// What follows, in order of time; none overlaps the next.
    pub roams: Vec<Roam>,
}

impl Schedule {
    /// The access point that a station at `place` hears best, the first of equals.
    pub fn loudest(aps: &[AccessPoint], propagation: &Propagation, place: Place) -> Option<usize> {
        best(aps, propagation, place, |_| true).map(|heard| heard.ap)
    }

    /// Those of a station that moves like this among these access points, until the end of the run.
    pub fn new(
        config: &Config,
        aps: &[AccessPoint],
        propagation: &Propagation,
        motion: Motion,
        end: Instant,
    ) -> Self {
        let mut field = Field { aps, propagation, motion };
        let start = field.motion.place(Instant::ZERO);
        let Some(first) = Self::loudest(aps, propagation, start) else { return Self::default() };
        let mut station = Station::associated(config, first, Instant::ZERO);
        let mut roams: Vec<Roam> = Vec::new();
        while station.deadline() < end {
            let now = station.deadline();
            match station.on_timer(now, &mut field) {
                None => {}
                Some(Event::AssociationLost { ap, silent_since, cause, .. }) => {
                    roams.push(Roam { from: ap, down: silent_since, lost: now, cause, to: None, up: end });
                }
                Some(Event::Associated { ap, .. }) => {
                    if let Some(roam) = roams.last_mut() {
                        (roam.to, roam.up) = (Some(ap), now);
                    }
                }
            }
        }
        Self { first: Some(first), roams }
    }
}

/// The air around a station that moves.
struct Field<'a> {
    aps: &'a [AccessPoint],
    propagation: &'a Propagation,
    motion: Motion,
}

/// The strongest of some access points at a place, the first of equals.
fn best(
    aps: &[AccessPoint],
    propagation: &Propagation,
    place: Place,
    of: impl Fn(&AccessPoint) -> bool,
) -> Option<Heard> {
    let mut best: Option<Heard> = None;
    for (ap, at) in aps.iter().enumerate().filter(|(_, at)| of(at)) {
        let Some(level) = at.level_at(propagation, place) else { continue };
        if best.is_none_or(|best| level > best.level) {
            best = Some(Heard { ap, level });
        }
    }
    best
}

impl Air for Field<'_> {
    fn strongest(&mut self, now: Instant, channel: Channel) -> Option<Heard> {
        let place = self.motion.place(now);
        best(self.aps, self.propagation, place, |at| at.transmitter.channel == channel)
    }

    fn level(&mut self, now: Instant, ap: usize) -> Option<Dbm> {
        let place = self.motion.place(now);
        self.aps.get(ap)?.level_at(self.propagation, place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mobility::{Area, Linear, Mobility, RandomWaypoint, Speeds, Then};
    use handfast_core::{Db, Duration, Speed, Stream};
    use proptest::prelude::*;

    /// Every so many millimetres one with the paper's power and range, on channels 1, 6, 11 in turn.
    fn row(spacing: &[i64]) -> Vec<AccessPoint> {
        let channels = [1, 6, 11].into_iter().cycle().filter_map(Channel::new);
        let places = spacing.iter().map(|&x| Place { x, y: 0 });
        let ap = |(place, channel)| {
            let transmitter = Transmitter { power: Dbm(20_000), gains: Db(0), channel };
            AccessPoint::with_range(place, transmitter, &Propagation::TWO_RAY_GROUND, Length(33_000))
        };
        places.zip(channels).map(ap).collect()
    }

    fn along(aps: &[AccessPoint], metres: i64, speed: &str, config: &Config) -> Schedule {
        let towards = Place { x: metres * 1_000, y: 0 };
        let linear = Linear { towards, speed: speed.parse().unwrap(), then: Then::Stop };
        let motion = Motion::new(&Mobility::Linear(linear), Place::default(), Stream::new(1, "mn"));
        Schedule::new(config, aps, &Propagation::TWO_RAY_GROUND, motion, Instant::from_millis(300_000))
    }

    #[test]
    fn a_gap_between_ranges_is_a_roam_as_long_as_the_way() {
        // Ranges end at 33 m and begin again at 37 m; 2 m/s make 2 s of it.
        let schedule = along(&row(&[0, 70_000]), 70, "2m/s", &Config::default());
        assert_eq!(schedule.first, Some(0));
        let [roam] = schedule.roams[..] else { panic!("{schedule:?}") };
        assert_eq!((roam.from, roam.to, roam.cause), (0, Some(1), Cause::BeaconLoss));
        let seconds = |at: Instant| at.as_secs_f64();
        // The next beacon after 16.5 s is the first that is not heard, six more are missed.
        assert!((16.5..16.61).contains(&seconds(roam.down)), "{roam:?}");
        assert_eq!(roam.lost, roam.down + Duration::from_micros(6 * 102_400));
        // In range at 18.5 s; it is found when the scan comes by, within one scan and the two handshakes.
        assert!((18.5..18.5 + 0.78 + 0.78 + 0.01).contains(&seconds(roam.up)), "{roam:?}");
    }

    #[test]
    fn overlapping_ranges_are_changed_by_choice() {
        let schedule = along(&row(&[0, 40_000]), 40, "1m/s", &Config::default());
        let [roam] = schedule.roams[..] else { panic!("{schedule:?}") };
        assert_eq!((roam.to, roam.cause), (Some(1), Cause::Roam));
        assert_eq!(roam.down, roam.lost);
        assert_eq!(roam.up, roam.down + Duration::from_millis(10));
        // 6 dB are a factor of two in distance: at 26.7 m of 40, seen by the next look a second later at most.
        let at = roam.down.as_secs_f64();
        assert!((26.5..27.9).contains(&at), "{at}");
    }

    #[test]
    fn who_leaves_for_good_is_gone_to_the_end() {
        let schedule = along(&row(&[0]), 100, "4m/s", &Config::default());
        let [roam] = schedule.roams[..] else { panic!("{schedule:?}") };
        assert_eq!((roam.to, roam.up), (None, Instant::from_millis(300_000)));
    }

    #[test]
    fn who_hears_nobody_has_no_associations() {
        let schedule = along(&row(&[40_000]), 80, "1m/s", &Config::default());
        assert_eq!(schedule, Schedule::default());
    }

    #[test]
    fn the_old_access_point_may_be_the_new_one() {
        let linear =
            Linear { towards: Place { x: 40_000, y: 0 }, speed: "4m/s".parse().unwrap(), then: Then::Bounce };
        let motion = Motion::new(&Mobility::Linear(linear), Place::default(), Stream::new(1, "mn"));
        let end = Instant::from_millis(20_000);
        let model = Propagation::TWO_RAY_GROUND;
        let schedule = Schedule::new(&Config::default(), &row(&[0]), &model, motion, end);
        let ends: Vec<_> = schedule.roams.iter().map(|roam| (roam.from, roam.to)).collect();
        assert_eq!(ends, [(0, Some(0))]);
    }

    proptest! {
        #[test]
        fn a_station_is_never_with_two_access_points(
            seed in 0_u64..10_000,
            spacing in prop::collection::vec(0_i64..300_000, 1..12),
            hysteresis in 0..12_000,
        ) {
            let aps = row(&spacing);
            let area = Area::new(Place::default(), Place { x: 300_000, y: 20_000 });
            let speed = Speeds(Speed::from_mm_per_hour(3_600_000), Speed::from_mm_per_hour(36_000_000));
            let waypoint = RandomWaypoint { area, speed, pause: Duration::from_secs(1) };
            let config = Config { hysteresis: Db(hysteresis), ..Config::default() };
            let run = || {
                let motion = Motion::new(&Mobility::RandomWaypoint(waypoint), Place::default(), Stream::new(seed, "mn"));
                let end = Instant::from_millis(120_000);
                Schedule::new(&config, &aps, &Propagation::TWO_RAY_GROUND, motion, end)
            };
            let schedule = run();
            prop_assert_eq!(&schedule, &run());
            let (mut at, mut since) = (schedule.first, Instant::ZERO);
            for roam in &schedule.roams {
                prop_assert_eq!(Some(roam.from), at);
                prop_assert!(since <= roam.down && roam.down <= roam.lost && roam.lost <= roam.up);
                (at, since) = (roam.to, roam.up);
            }
        }
    }
}
