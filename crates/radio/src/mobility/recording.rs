//! Recorded movement: who was seen where, when. Read from lines of comma-separated values or ns-2's `setdest` commands.

use std::collections::BTreeMap;

use handfast_core::{Duration, Instant};

use super::sighting::{MOST_LINES, RecordingError, Sighting, excerpt, moment, place};
use super::{Leg, setdest};
use crate::Place;

/// The sightings of one station in order of time, at least one: straight from each to the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace(Vec<Sighting>);

impl Trace {
    /// The trace of these sightings; [`None`] where there is none, or one is earlier than the one before it.
    pub fn new(sightings: Vec<Sighting>) -> Option<Self> {
        let ordered = sightings.is_sorted_by_key(|sighting| sighting.at);
        (ordered && !sightings.is_empty()).then_some(Self(sightings))
    }

    /// The sightings.
    pub fn sightings(&self) -> &[Sighting] {
        &self.0
    }

    /// Where it is before it was first seen.
    pub fn start(&self) -> Place {
        self.0[0].place
    }

    /// The leg that begins at `now`.
    pub(super) fn next(&self, here: Place, now: Instant) -> Leg {
        let index = self.0.partition_point(|sighting| sighting.at <= now);
        let from = index.checked_sub(1).map_or(here, |before| self.0[before].place);
        match self.0.get(index) {
            // Whoever was not seen yet has not moved.
            Some(first) if index == 0 => Leg::rest(here, now, first.at.since(now)),
            Some(next) => Leg { from, to: next.place, depart: now, arrive: next.at },
            None => Leg::rest(from, now, Duration::MAX),
        }
    }
}

/// The traces of a file, by station number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording(BTreeMap<u32, Trace>);

impl Recording {
    /// A longer text is refused.
    pub const MOST_LINES: usize = MOST_LINES;

    /// Reads a text. Its lines are either all `seconds,x,y` in metres (one station, number 0; a first line of words and lines
    /// after `#` are passed over), or those that ns-2's `setdest` and its followers write.
    ///
    /// # Errors
    /// The first line that is neither.
    pub fn parse(text: &str) -> Result<Self, RecordingError> {
        let lines = || text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
        if lines().nth(Self::MOST_LINES).is_some() {
            return Err(whole(format!("more than {} lines", Self::MOST_LINES)));
        }
        let told = || lines().filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let traces = if told().any(|(_, line)| line.starts_with('$')) {
            setdest::read(told())?
        } else {
            BTreeMap::from([(0, values(told())?)])
        };
        let traces = traces.into_iter().filter_map(|(number, seen)| Some((number, Trace::new(seen)?)));
        let this = Self(traces.collect());
        if this.0.is_empty() { Err(whole("nobody was seen".to_owned())) } else { Ok(this) }
    }

    /// The trace of a station.
    pub fn trace(&self, number: u32) -> Option<&Trace> {
        self.0.get(&number)
    }

    /// The numbers of its stations.
    pub fn stations(&self) -> impl Iterator<Item = u32> {
        self.0.keys().copied()
    }
}

fn whole(why: String) -> RecordingError {
    RecordingError { line: 0, why }
}

fn values<'a>(lines: impl Iterator<Item = (usize, &'a str)>) -> Result<Vec<Sighting>, RecordingError> {
    let mut seen: Vec<Sighting> = Vec::new();
    for (index, (line, text)) in lines.enumerate() {
        let wrong = |why: &str| RecordingError { line, why: format!("{why}: `{}`", excerpt(text)) };
        let fields: Vec<&str> = text.splitn(4, ',').map(str::trim).collect();
        if index == 0 && fields[0].starts_with(|first: char| first.is_alphabetic()) {
            continue;
        }
        let &[time, x, y] = &fields[..] else { return Err(wrong("expected `seconds,x,y`")) };
        let at = moment(time).ok_or_else(|| wrong("not a time in seconds"))?;
        let place = place(x, y).ok_or_else(|| wrong("not a place in metres"))?;
        if seen.last().is_some_and(|before| before.at > at) {
            return Err(wrong("earlier than the line before"));
        }
        seen.push(Sighting { at, place });
    }
    Ok(seen)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sighting(millis: u64, x: i64, y: i64) -> Sighting {
        Sighting { at: Instant::from_millis(millis), place: Place { x, y } }
    }

    #[test]
    fn lines_of_values_are_sightings() {
        let text = "time,x,y\n# somebody\n0.5, 1, 2\n\n10,1.5,-2e1\n";
        let recording = Recording::parse(text).unwrap();
        let expected = [sighting(500, 1_000, 2_000), sighting(10_000, 1_500, -20_000)];
        assert_eq!(recording.trace(0).unwrap().sightings(), expected);
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, line, why) in [
            ("", 0, "nobody was seen"),
            ("1,2", 1, "expected `seconds,x,y`"),
            ("1,2,3,4", 1, "expected `seconds,x,y`"),
            ("0,0,0\n-1,2,3", 2, "not a time"),
            ("0,0,nan", 1, "not a place"),
            ("0,0,1e9", 1, "not a place"),
            ("5,0,0\n4,0,0", 2, "earlier than the line before"),
            ("1e99,0,0", 1, "not a time"),
        ] {
            let error = Recording::parse(text).unwrap_err();
            assert_eq!(error.line, line, "{text}: {error}");
            assert!(error.to_string().contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn between_sightings_the_way_is_straight_and_even() {
        let trace =
            Trace::new(vec![sighting(1_000, 0, 0), sighting(3_000, 4_000, 0), sighting(3_000, 9_000, 0)]);
        let mobility = super::super::Mobility::Trace(std::sync::Arc::new(trace.unwrap()));
        let stream = handfast_core::Stream::new(1, "trace");
        let mut motion = super::super::Motion::new(&mobility, Place { x: 77, y: 77 }, stream);
        let seen = [0, 1_000, 2_000, 2_999, 3_000, 9_000].map(|ms| motion.place(Instant::from_millis(ms)).x);
        // Two sightings at one moment are a jump.
        assert_eq!(seen, [0, 0, 2_000, 3_998, 9_000, 9_000]);
    }
}
