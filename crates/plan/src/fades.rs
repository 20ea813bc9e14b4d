//! Signals that fall and rise with events: the SINR of a link at each moment, and what the link carries then.

use std::collections::BTreeMap;

use handfast_core::{BitRate, Db, Duration, Instant};
use handfast_scenario::{FULL_SINR, Fade, LinkId, Scenario};

use crate::change::Change;
use crate::topology::channel;

/// The signal of a link from when it begins to fall until it is as strong as before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Dip {
    begins: Instant,
    /// As weak as it gets, from here ...
    weak: Instant,
    /// ... to here.
    rises: Instant,
    /// Where it rises at once, the same as `rises`.
    ends: Instant,
    sinr: Db,
}

/// The dips of all links.
#[derive(Clone, Debug, Default)]
pub struct Fades(BTreeMap<LinkId, Vec<Dip>>);

impl Fades {
    /// The signal of a link is as weak as it gets from `weak` to `rises`. `slowly`: it rises as it fell; otherwise it is strong at once.
    pub(crate) fn add(&mut self, link: LinkId, weak: Instant, rises: Instant, fade: Fade, slowly: bool) {
        let begins = Instant::ZERO + weak.since(Instant::ZERO).saturating_sub(fade.ramp);
        let ends = if slowly { rises + fade.ramp } else { rises };
        self.0.entry(link).or_default().push(Dip { begins, weak, rises, ends, sinr: fade.sinr });
    }

    /// In order of time. The scenario sees to it that none begins before another of its link has ended.
    pub(crate) fn sort(&mut self) {
        self.0.values_mut().for_each(|dips| dips.sort_by_key(|dip| dip.begins));
    }

    /// Whether nothing fades.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The SINR of a link.
    pub fn sinr(&self, link: LinkId, now: Instant) -> Db {
        let dips = self.0.get(&link).map_or(&[][..], Vec::as_slice);
        let begun = dips.partition_point(|dip| dip.begins <= now);
        begun.checked_sub(1).map_or(FULL_SINR, |last| dips[last].at(now))
    }

    /// What both directions of the links carry, as steps: one for each decibel.
    pub(crate) fn rates<'a>(
        &'a self,
        scenario: &'a Scenario,
    ) -> impl Iterator<Item = (Instant, Change)> + 'a {
        self.0.iter().flat_map(move |(&link, dips)| {
            let of = &scenario.links[link];
            let steps = dips.iter().flat_map(Dip::steps);
            steps.flat_map(move |(at, sinr)| {
                let ends = [(0, of.forward.rate), (1, of.backward.rate)];
                ends.map(|(end, rate)| (at, Change::Rate(channel(link, end), carried(rate, sinr))))
            })
        })
    }
}

impl Dip {
    fn at(&self, now: Instant) -> Db {
        if now >= self.ends {
            FULL_SINR
        } else if now < self.weak {
            between(FULL_SINR, self.sinr, now.since(self.begins), self.weak.since(self.begins))
        } else if now <= self.rises {
            self.sinr
        } else {
            between(self.sinr, FULL_SINR, now.since(self.rises), self.ends.since(self.rises))
        }
    }

    /// Each whole decibel on the way down and up, and when it is reached.
    fn steps(&self) -> impl Iterator<Item = (Instant, Db)> + use<> {
        let &Self { begins, weak, rises, ends, sinr } = self;
        let count = u64::from(FULL_SINR.0.abs_diff(sinr.0).div_ceil(STEP));
        let level = move |step: u64| Db((FULL_SINR.0 - (step as u32 * STEP) as i32).max(sinr.0));
        let (falls, climbs) = (weak.since(begins), ends.since(rises));
        let down = (1..=count).map(move |step| (begins + part(falls, step, count), level(step)));
        let up = (1..=count).map(move |step| (rises + part(climbs, step, count), level(count - step)));
        down.chain(up)
    }
}

/// Thousandths of a decibel.
const STEP: u32 = 1_000;

fn part(time: Duration, step: u64, count: u64) -> Duration {
    Duration::from_nanos((u128::from(time.as_nanos()) * u128::from(step) / u128::from(count)) as u64)
}

/// On the straight line from one level to another.
fn between(from: Db, to: Db, passed: Duration, all: Duration) -> Db {
    let change =
        i128::from(to.0 - from.0) * i128::from(passed.as_nanos()) / i128::from(all.as_nanos().max(1));
    Db(from.0 + change as i32)
}

/// The rate of a link at a SINR, as Shannon's law (1948) has it of one bandwidth: log2(1 + SINR) to that of the full signal.
fn carried(full: BitRate, sinr: Db) -> BitRate {
    let capacity = |sinr: Db| libm::log2(1.0 + libm::pow(10.0, sinr.as_f64() / 10.0));
    let rate = full.as_bps() as f64 * capacity(sinr) / capacity(FULL_SINR);
    BitRate::from_bps((rate as u64).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    const FADE: Fade = Fade { ramp: Duration::from_millis(500), sinr: Db(-5_000) };

    fn fades(slowly: bool) -> Fades {
        let mut fades = Fades::default();
        fades.add(3, at(1000), at(2000), FADE, slowly);
        fades.sort();
        fades
    }

    #[test]
    fn a_signal_falls_stays_and_rises() {
        let fades = fades(true);
        for (ms, sinr) in
            [(0, 20_000), (500, 20_000), (750, 7_500), (1000, -5_000), (2000, -5_000), (2250, 7_500)]
        {
            assert_eq!(fades.sinr(3, at(ms)), Db(sinr), "{ms}");
        }
        assert_eq!(fades.sinr(3, at(2500)), FULL_SINR);
        assert_eq!(fades.sinr(2, at(1500)), FULL_SINR, "another link");
    }

    #[test]
    fn after_a_handover_the_old_link_is_as_it_was() {
        let fades = fades(false);
        assert_eq!(fades.sinr(3, at(1999)), Db(-5_000));
        assert_eq!(fades.sinr(3, at(2000)), FULL_SINR);
    }

    #[test]
    fn one_without_time_to_fall_begins_weak() {
        let mut fades = Fades::default();
        fades.add(0, at(100), at(200), FADE, true);
        // 100 ms are left for 25 dB.
        assert_eq!(fades.sinr(0, at(50)), Db(7_500));
        let mut sudden = Fades::default();
        sudden.add(0, at(100), at(200), Fade { ramp: Duration::ZERO, ..FADE }, true);
        assert_eq!([99, 100, 199, 200].map(|ms| sudden.sinr(0, at(ms)).0), [20_000, -5_000, -5_000, 20_000]);
    }

    #[test]
    fn of_several_the_last_that_has_begun_counts() {
        let mut fades = fades(true);
        fades.add(3, at(9000), at(9500), Fade { sinr: Db(3_000), ..FADE }, true);
        fades.add(3, at(5000), at(5500), Fade { sinr: Db(0), ..FADE }, true);
        fades.sort();
        assert_eq!([1500, 3000, 5200, 9200].map(|ms| fades.sinr(3, at(ms)).0), [-5_000, 20_000, 0, 3_000]);
    }

    #[test]
    fn each_decibel_is_a_step_down_and_up_again() {
        let fades = fades(true);
        let steps: Vec<_> = fades.0[&3][0].steps().collect();
        assert_eq!(steps.len(), 50);
        assert_eq!((steps[0], steps[24]), ((at(520), Db(19_000)), (at(1000), Db(-5_000))));
        assert_eq!((steps[25], steps[49]), ((at(2020), Db(-4_000)), (at(2500), FULL_SINR)));
    }

    #[test]
    fn a_fraction_of_a_decibel_is_a_step_of_its_own() {
        let mut fades = Fades::default();
        fades.add(0, at(1000), at(2000), Fade { sinr: Db(18_500), ..FADE }, true);
        let levels: Vec<_> = fades.0[&0][0].steps().map(|(_, sinr)| sinr.0).collect();
        assert_eq!(levels, [19_000, 18_500, 19_000, 20_000]);
    }

    #[test]
    fn a_link_carries_what_shannon_says() {
        let full = BitRate::from_bps(100_000_000);
        assert_eq!(carried(full, FULL_SINR), full);
        // log2(2) / log2(101) and log2(1.316) / log2(101).
        assert_eq!(carried(full, Db(0)).as_bps() / 1000, 15_019);
        assert_eq!(carried(full, Db(-5_000)).as_bps() / 1000, 5_953);
        assert_eq!(carried(BitRate::from_bps(1), Db(-100_000)).as_bps(), 1, "never nothing");
    }
}
