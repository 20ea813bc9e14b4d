//! A path over satellites in low orbit.
//!
//! Terminals are assigned anew every 15 s, all at once: at the seconds 12, 27, 42 and 57 of each minute (Tanveer et al.: "Making
//! Sense of Constellations", `CoNEXT` Companion 2023; Mohan et al.: "A Multifaceted Look at Starlink Performance", WWW 2024).
//! Rates and delays are those of the recording of Laniewski et al. (Starlink-on-the-Road, TMA 2024) while the car stood,
//! cut into intervals at these seconds.

use handfast_core::{Duration, Stream};

use super::{Course, Way, quantile};

const INTERVAL: Duration = Duration::from_secs(15);
const SECOND: Duration = Duration::from_secs(1);

/// Mean rates of 138 intervals, Mbit/s.
const DOWN: [(f64, f64); 9] = [
    (0.01, 45.55),
    (0.05, 117.53),
    (0.10, 150.13),
    (0.25, 236.26),
    (0.50, 301.72),
    (0.75, 337.80),
    (0.90, 366.16),
    (0.95, 394.41),
    (0.99, 418.33),
];
/// Of 128 intervals.
const UP: [(f64, f64); 9] = [
    (0.01, 1.66),
    (0.05, 8.31),
    (0.10, 9.52),
    (0.25, 12.58),
    (0.50, 17.10),
    (0.75, 24.41),
    (0.90, 33.16),
    (0.95, 35.28),
    (0.99, 36.32),
];
/// Mean round-trip times of 782 series of pings, milliseconds.
const ROUND_TRIP: [(f64, f64); 9] = [
    (0.01, 47.07),
    (0.05, 47.63),
    (0.10, 48.72),
    (0.25, 51.88),
    (0.50, 56.73),
    (0.75, 62.83),
    (0.90, 68.25),
    (0.95, 73.30),
    (0.99, 90.66),
];
/// How much the seconds of an interval differ, as a share of their mean: the median of all intervals.
const DOWN_SPREAD: f64 = 0.118;
const UP_SPREAD: f64 = 0.105;
/// What the second before an assignment carries of the others: medians of 259 and 301 Mbit/s.
const BEFORE: f64 = 0.86;
/// How long all is lost at an assignment: 0.4 % of the time, as pings in the median of the recording. Our choice: in one burst.
const BURST: Duration = Duration::from_millis(60);

/// The rates of a way, and how much its seconds differ.
fn of(way: Way) -> (&'static [(f64, f64); 9], f64) {
    match way {
        Way::Down => (&DOWN, DOWN_SPREAD),
        Way::Up => (&UP, UP_SPREAD),
    }
}

/// Mbit/s that are never exceeded.
pub(super) fn fastest(way: Way) -> f64 {
    let (rates, spread) = of(way);
    quantile(rates, 1.0) * (1.0 + spread * libm::sqrt(12.0) / 2.0)
}

pub(super) fn draw(way: Way, mut course: Course, mut random: Stream) -> Course {
    let (rates, spread) = of(way);
    // The run begins at any moment of an interval.
    let mut next = Duration::from_millis(random.below(INTERVAL.as_millis()));
    let mut begun = Duration::ZERO;
    while begun < course.length {
        // In this order, so that both directions have the same delays.
        let delay = quantile(&ROUND_TRIP, random.unit()) / 2.0;
        let [down, up] = [random.unit(), random.unit()];
        let level = quantile(rates, if way == Way::Down { down } else { up });
        let mut at = begun;
        while at < next {
            // Uniform, with that standard deviation.
            let second = 1.0 + spread * libm::sqrt(12.0) * (random.unit() - 0.5);
            let last = next.saturating_sub(at) <= SECOND;
            let mbps = level * second * if last { BEFORE } else { 1.0 };
            let reassigned = at == begun && begun > Duration::ZERO;
            course.step(at, mbps, delay, if reassigned { 1.0 } else { 0.0 });
            if reassigned {
                course.step(at + BURST, mbps, delay, 0.0);
            }
            at = next.min(at + SECOND);
        }
        (begun, next) = (next, next + INTERVAL);
    }
    course
}
