//! Movement as ns-2's `setdest` writes it, and `BonnMotion` and SUMO after it:
//!
//! ```text
//! $node_(0) set X_ 83.36
//! $node_(0) set Y_ 239.43
//! $ns_ at 2.0 "$node_(0) setdest 90.44 44.89 1.37"
//! ```

use std::collections::BTreeMap;

use handfast_core::{Instant, Speed};

use super::Leg;
use super::sighting::{MOST_LINES, RecordingError, Sighting, excerpt, moment, number, place};
use crate::Place;

/// One station so far: what it was told last.
#[derive(Debug)]
struct Mover {
    seen: Vec<Sighting>,
    leg: Leg,
}

impl Default for Mover {
    fn default() -> Self {
        let leg = Leg::rest(Place::default(), Instant::ZERO, handfast_core::Duration::ZERO);
        Self { seen: Vec::new(), leg }
    }
}

impl Mover {
    /// It heads for another place at `at`, wherever it is on its way by then.
    fn head(&mut self, at: Instant, to: Place, speed: Speed) {
        if self.leg.arrive < at && self.leg.arrive > self.leg.depart {
            self.seen.push(Sighting { at: self.leg.arrive, place: self.leg.to });
        }
        let here = self.leg.at(at);
        self.seen.push(Sighting { at, place: here });
        self.leg = Leg::travel(here, to, at, speed);
    }

    fn finish(mut self) -> Vec<Sighting> {
        if self.leg.arrive < Instant::MAX {
            self.seen.push(Sighting { at: self.leg.arrive, place: self.leg.to });
        }
        self.seen
    }
}

/// What stations do, by number, from lines that are neither empty nor comments.
pub(super) fn read<'a>(
    lines: impl Iterator<Item = (usize, &'a str)>,
) -> Result<BTreeMap<u32, Vec<Sighting>>, RecordingError> {
    let mut movers: BTreeMap<u32, Mover> = BTreeMap::new();
    for (line, text) in lines {
        // What the simulator is told of neighbours, and nothing of movement.
        if text.starts_with("$god_") || text.starts_with("$ns_ at") && text.contains("$god_") {
            continue;
        }
        let wrong = |why: &str| RecordingError { line, why: format!("{why}: `{}`", excerpt(text)) };
        if movers.len() >= MOST_LINES {
            return Err(wrong("too many stations"));
        }
        command(&mut movers, text).map_err(wrong)?;
    }
    Ok(movers.into_iter().map(|(number, mover)| (number, mover.finish())).collect())
}

fn command(movers: &mut BTreeMap<u32, Mover>, text: &str) -> Result<(), &'static str> {
    const EXPECTED: &str = "expected `$node_(N) set X_ …` or `$ns_ at T \"$node_(N) setdest X Y SPEED\"`";
    let words: Vec<&str> =
        text.split_whitespace().take(9).map(|word| word.trim_matches(['"', ';'])).collect();
    match words[..] {
        [node, "set", axis @ ("X_" | "Y_" | "Z_"), value] => {
            let mover = movers.entry(station(node)?).or_default();
            put(mover, axis, value)
        }
        ["$ns_", "at", time, node, "setdest", x, y, speed] => {
            let mover = movers.entry(station(node)?).or_default();
            let at = moment(time).ok_or("not a time in seconds")?;
            let to = place(x, y).ok_or("not a place in metres")?;
            if mover.seen.last().is_some_and(|before| before.at > at) {
                return Err("earlier than what this station was told before");
            }
            mover.head(at, to, metres_per_second(speed).ok_or("not a speed in m/s")?);
            Ok(())
        }
        _ => Err(EXPECTED),
    }
}

/// Where a station is at the start; heights mean nothing in the plane.
fn put(mover: &mut Mover, axis: &str, value: &str) -> Result<(), &'static str> {
    if !mover.seen.is_empty() {
        return Err("a station is put somewhere after it was told to move");
    }
    let at = place(value, "0").ok_or("not a coordinate in metres")?.x;
    let mut here = mover.leg.to;
    match axis {
        "X_" => here.x = at,
        "Y_" => here.y = at,
        _ => {}
    }
    mover.leg = Leg::rest(here, Instant::ZERO, handfast_core::Duration::ZERO);
    Ok(())
}

fn station(text: &str) -> Result<u32, &'static str> {
    let number = text.strip_prefix("$node_(").and_then(|rest| rest.strip_suffix(')'));
    number.and_then(|number| number.parse().ok()).ok_or("not a station such as `$node_(3)`")
}

fn metres_per_second(text: &str) -> Option<Speed> {
    /// Faster than anything that roams.
    const FASTEST: f64 = 100_000.0;
    let speed = number(text).filter(|speed| (0.0..=FASTEST).contains(speed))?;
    Some(Speed::from_mm_per_hour(libm::round(speed * 3.6e6) as u64))
}

#[cfg(test)]
mod tests {
    use crate::mobility::Recording;

    const TEXT: &str = "\
# nodes: 2, pause: 0.00
$node_(0) set X_ 10.0
$node_(0) set Y_ 0.0
$node_(0) set Z_ 0.000000000000
$god_ set-dist 0 1 2
$ns_ at 2.0 \"$node_(0) setdest 20.0 0.0 1.0\"
$ns_ at 7.0 \"$node_(0) setdest 15.0 10.0 2.0\"
$ns_ at 7.5 \"$god_ set-dist 0 1 1\"
$node_(1) set X_ 5.5
";

    #[test]
    fn commands_are_sightings() {
        let recording = Recording::parse(TEXT).unwrap();
        let seen = |number| -> Vec<(u64, i64, i64)> {
            let sightings = recording.trace(number).unwrap().sightings().iter();
            sightings.map(|s| (s.at.as_nanos() / 1_000_000, s.place.x, s.place.y)).collect()
        };
        // The second command comes half way: 5 m on, then 10 m at 2 m/s.
        assert_eq!(seen(0), [(2_000, 10_000, 0), (7_000, 15_000, 0), (12_000, 15_000, 10_000)]);
        assert_eq!(seen(1), [(0, 5_500, 0)]);
        assert_eq!(recording.stations().collect::<Vec<_>>(), [0, 1]);
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, why) in [
            ("$node_(x) set X_ 1", "not a station"),
            ("$node_(0) set X_ far", "not a coordinate"),
            ("$node_(0) put X_ 1", "expected `$node_(N) set"),
            ("$ns_ at 1 \"$node_(0) setdest 1 2 -3\"", "not a speed"),
            ("$ns_ at 1 \"$node_(0) setdest 1 2\"", "expected `$node_(N) set"),
            ("$ns_ at 5 \"$node_(0) setdest 1 2 3\"\n$ns_ at 4 \"$node_(0) setdest 1 2 3\"", "earlier"),
            ("$ns_ at 5 \"$node_(0) setdest 1 2 3\"\n$node_(0) set X_ 4", "after it was told to move"),
            ("$hello", "expected `$node_(N) set"),
        ] {
            let error = Recording::parse(text).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
