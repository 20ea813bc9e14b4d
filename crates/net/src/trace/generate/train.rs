//! A phone in a train at 300 km/h along cells of LTE.
//!
//! The sites are 1,000 m apart and 50 m from the track (3GPP TS 36.101 annex B.3 and TS 36.141 table B.3-1, scenario 1): a cell
//! lasts 12 s. How strong a site is heard follows its distance (TR 36.942 §4.5.2: 37.6 dB a decade), and what that
//! carries the same report's annex A: 0.6 (uplink 0.4) of Shannon's bound, 4.4 (2.0) bit/s/Hz at most.

use handfast_core::{Duration, Stream};

use super::{Course, Way, span};

/// 300 km/h, in m/s.
const SPEED: f64 = 300.0 / 3.6;
const SPACING: f64 = 1000.0;
const FROM_TRACK: f64 = 50.0;
/// Decibels a decade of distance.
const DECADE: f64 = 37.6;
/// The signal over noise and interference half way between two sites, in decibels. Our choice.
const AT_EDGE: f64 = 5.0;
/// How much the signal varies from step to step: uniformly by so many decibels either way. Our choice.
const SHADOWS: f64 = 3.0;
/// MHz, all of them for one phone. Our choice.
const BANDWIDTH: f64 = 10.0;
const STEP: Duration = Duration::from_millis(250);
/// Milliseconds one way. Our choice.
const DELAY: f64 = 25.0;
/// A handover: nothing leaves for so many seconds. Our choice, within what LTE is built for.
const GAP: [f64; 2] = [0.020, 0.050];
/// The share of handovers that fail, and how long the phone then looks for a cell. Our choice.
const FAILS: f64 = 0.1;
const REESTABLISHMENT: [f64; 2] = [1.0, 3.0];

pub(super) fn draw(way: Way, mut course: Course, mut random: Stream) -> Course {
    // Metres past the last site half way: the run begins anywhere in a cell.
    let begins = SPACING * random.unit();
    let cell = span(SPACING / SPEED);
    let mut edge = span((SPACING - begins) / SPEED);
    let mut at = Duration::ZERO;
    while at < course.length {
        while at < edge {
            let shadow = SHADOWS * (2.0 * random.unit() - 1.0);
            // How far it is to the next edge says how far it is from the site.
            let to_edge = SPEED * edge.saturating_sub(at).as_secs_f64();
            course.step(at, rate(way, to_edge - SPACING / 2.0, shadow), DELAY, 0.0);
            at = edge.min(at + STEP);
        }
        let [least, most] = if random.chance(FAILS) { REESTABLISHMENT } else { GAP };
        course.step(edge, 0.0, DELAY, 0.0);
        at = edge + span(least + (most - least) * random.unit());
        edge += cell;
    }
    course
}

/// Mbit/s that are never exceeded: at the site, with the strongest signal.
pub(super) fn fastest(way: Way) -> f64 {
    rate(way, 0.0, SHADOWS)
}

/// Mbit/s so many metres along the track from a site.
fn rate(way: Way, along: f64, shadow: f64) -> f64 {
    let distance = libm::sqrt(along * along + FROM_TRACK * FROM_TRACK);
    let decibels = AT_EDGE + DECADE * libm::log10(SPACING / 2.0 / distance) + shadow;
    let (share, most) = match way {
        Way::Down => (0.6, 4.4),
        Way::Up => (0.4, 2.0),
    };
    let bound = libm::log2(1.0 + libm::pow(10.0, decibels / 10.0));
    BANDWIDTH * (share * bound).min(most)
}
