//! A 5G cell at millimetre waves whose line of sight people block.
//!
//! What blocks a path is a body that moves: for "a few 100 ms or more" (Raghavan et al.: "Statistical Blockage Modeling and
//! Robustness of Beamforming in Millimeter Wave Systems", 2018). Then a reflection carries on at a tenth of the rate. The
//! figures below are our choice.

use handfast_core::{Duration, Stream};

use super::{Course, Way, exponential, span};

/// The mean time without a blockage, in seconds.
const CLEAR: f64 = 5.0;
/// A blockage takes at least so long, and then on the average so much longer.
const BLOCKED: [f64; 2] = [0.2, 0.3];
/// Mbit/s in the clear: from, to.
const DOWN: [f64; 2] = [600.0, 1000.0];
const UP: [f64; 2] = [60.0, 100.0];
/// What is left of it.
const REFLECTED: f64 = 0.1;
/// Milliseconds one way.
const DELAY: f64 = 12.0;
/// By how much longer it takes by a reflection: more repetitions on the radio.
const REPETITIONS: f64 = 4.0;
/// Until the beam is found by which it goes on half of all is lost.
const SEARCH: Duration = Duration::from_millis(20);
const LOST: f64 = 0.5;

/// Mbit/s in the clear: from, to.
fn of(way: Way) -> [f64; 2] {
    if way == Way::Down { DOWN } else { UP }
}

/// Mbit/s that are never exceeded.
pub(super) fn fastest(way: Way) -> f64 {
    of(way)[1]
}

pub(super) fn draw(way: Way, mut course: Course, mut random: Stream) -> Course {
    let [low, high] = of(way);
    let mut at = Duration::ZERO;
    while at < course.length {
        let mbps = low + (high - low) * random.unit();
        course.step(at, mbps, DELAY, 0.0);
        at += span(exponential(CLEAR, &mut random));
        let blocked = span(BLOCKED[0] + exponential(BLOCKED[1], &mut random));
        course.step(at, mbps * REFLECTED, DELAY + REPETITIONS, LOST);
        course.step(at + SEARCH, mbps * REFLECTED, DELAY + REPETITIONS, 0.0);
        at += blocked;
    }
    course
}
