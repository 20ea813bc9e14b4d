//! The signal of each station over a run, where its link depends on it.

use handfast_core::{Dbm, Duration, Instant};
use handfast_radio::association::{AccessPoint, Schedule};
use handfast_radio::mobility::Motion;
use handfast_radio::signal::Propagation;

/// How often a signal is looked at: once a beacon, as a rate controller has its samples.
const EVERY: Duration = Duration::from_micros(102_400);
/// Whole decibels: smaller changes are none.
const STEP: i32 = 1_000;

/// A station's signal at the access point that it is with, from a moment on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Signal {
    pub(crate) at: Instant,
    /// Which access point of the air.
    pub(crate) ap: usize,
    /// Rounded down to a whole dBm.
    pub(crate) level: Dbm,
}

/// The signals of one station at the access points that it is with: at the start, after each association, and wherever a look
/// finds another one.
pub(crate) fn signals(
    schedule: &Schedule,
    aps: &[AccessPoint],
    propagation: &Propagation,
    mut motion: Motion,
    end: Instant,
) -> Vec<Signal> {
    let mut signals: Vec<Signal> = Vec::new();
    for Stay { ap, from, to } in stays(schedule, end) {
        let Some(at) = aps.get(ap) else { continue };
        let mut last = None;
        let mut now = from;
        while now < to {
            let distance = at.place.distance(motion.place(now));
            let Dbm(level) = at.transmitter.level(propagation, distance);
            let level = Dbm(level - level.rem_euclid(STEP));
            if last.replace(level) != Some(level) {
                signals.push(Signal { at: now, ap, level });
            }
            now += EVERY;
        }
    }
    signals
}

/// An association.
struct Stay {
    ap: usize,
    from: Instant,
    to: Instant,
}

fn stays(schedule: &Schedule, end: Instant) -> impl Iterator<Item = Stay> {
    let roams = || schedule.roams.iter();
    let begins =
        std::iter::once((schedule.first, Instant::ZERO)).chain(roams().map(|roam| (roam.to, roam.up)));
    let ends = roams().map(|roam| roam.down).chain(std::iter::once(end));
    begins.zip(ends).filter_map(|((ap, from), to)| Some(Stay { ap: ap?, from, to }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use handfast_core::{Db, Length, Speed, Stream};
    use handfast_radio::Place;
    use handfast_radio::association::{Cause, Roam};
    use handfast_radio::mobility::{Linear, Mobility, Then};
    use handfast_radio::signal::{Channel, Transmitter};

    fn ap(x: i64) -> AccessPoint {
        let channel = Channel::new(1).unwrap();
        let transmitter = Transmitter { power: Dbm(20_000), gains: Db(0), channel };
        AccessPoint::with_range(Place { x, y: 0 }, transmitter, &Propagation::FreeSpace, Length(200_000))
    }

    fn walk() -> Motion {
        let towards = Place { x: 100_000, y: 0 };
        let speed: Speed = "10m/s".parse().unwrap();
        let mobility = Mobility::Linear(Linear { towards, speed, then: Then::Stop });
        Motion::new(&mobility, Place { x: 1_000, y: 0 }, Stream::new(1, "walk"))
    }

    fn seconds(s: u64) -> Instant {
        Instant::from_millis(s * 1_000)
    }

    #[test]
    fn a_signal_is_told_when_it_is_another_and_only_while_there_is_one() {
        let roam = Roam {
            from: 0,
            down: seconds(4),
            lost: seconds(4),
            cause: Cause::BeaconLoss,
            to: Some(1),
            up: seconds(6),
        };
        let schedule = Schedule { first: Some(0), roams: vec![roam] };
        let aps = [ap(0), ap(100_000)];
        let signals = signals(&schedule, &aps, &Propagation::FreeSpace, walk(), seconds(8));
        let of = |ap| signals.iter().filter(move |signal| signal.ap == ap).collect::<Vec<_>>();
        let (away, towards) = (of(0), of(1));
        assert_eq!((away[0].at, towards[0].at), (Instant::ZERO, seconds(6)));
        assert!(away.iter().all(|signal| signal.at < seconds(4)));
        assert!(away.windows(2).all(|pair| pair[1].level < pair[0].level), "{away:?}");
        assert!(towards.windows(2).all(|pair| pair[1].level > pair[0].level), "{towards:?}");
        // From 1 m to some 41 m: 20 log10(41) dB, one by one but where the first look finds several.
        assert!((20..=33).contains(&away.len()), "{}", away.len());
        assert!(signals.iter().all(|signal| signal.level.0 % 1_000 == 0));
    }

    #[test]
    fn a_station_that_never_comes_back_has_no_signal() {
        let roam = Roam {
            from: 0,
            down: seconds(1),
            lost: seconds(2),
            cause: Cause::BeaconLoss,
            to: None,
            up: seconds(8),
        };
        let schedule = Schedule { first: Some(0), roams: vec![roam] };
        let signals = signals(&schedule, &[ap(0)], &Propagation::FreeSpace, walk(), seconds(8));
        assert!(!signals.is_empty() && signals.iter().all(|signal| signal.at < seconds(1)));
        assert!(
            super::signals(&Schedule::default(), &[], &Propagation::FreeSpace, walk(), seconds(8)).is_empty()
        );
    }
}
