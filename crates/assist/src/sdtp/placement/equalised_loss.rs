//! The policy of equalised loss probability (`[sdtp]` §II-C, "EP policy").

use super::Placement;
use crate::sdtp::line::Line;

/// Caches are before the links that lose more than `lossy`. Of these nodes those retransmit that make so many segments, or as
/// many as there are nodes for, with losses as equal as may be: the worst segment loses as little as possible, and then the
/// best one as much. All ways to divide the line are considered, by dynamic programming.
pub fn equalised_loss(line: &Line, segments: usize, lossy: f64) -> Placement {
    let caching: Vec<_> =
        line.hops().iter().enumerate().filter(|(_, hop)| hop.loss > lossy).map(|(at, _)| at).collect();
    let inner = caching.iter().copied().filter(|&node| node > 0);
    let stops: Vec<_> = std::iter::once(0).chain(inner).chain([line.last()]).collect();
    let segments = segments.clamp(1, stops.len() - 1);
    let retransmitting = divide(line, &stops, segments);
    Placement::new(line.last(), caching, retransmitting)
}

/// Where the segments end.
fn divide(line: &Line, stops: &[usize], segments: usize) -> Vec<usize> {
    let loss = |from: usize, to: usize| line.loss(stops[from], stops[to]);
    let least =
        best(stops.len(), segments, |from, to| Some(loss(from, to)), f64::max, |one, other| one < other);
    let Some((most, _)) = least else { return Vec::new() };
    let within = |from, to| Some(loss(from, to)).filter(|loss| *loss <= most);
    let even = best(stops.len(), segments, within, f64::min, |one, other| one > other);
    even.map_or(Vec::new(), |(_, ends)| ends.into_iter().map(|end| stops[end]).collect())
}

/// What a division is worth, and where its segments end.
type Division = (f64, Vec<usize>);

/// The best way to divide the places 0 to `stops - 1` into segments. A division is worth what `join` makes of its segments.
fn best(
    stops: usize,
    segments: usize,
    value: impl Fn(usize, usize) -> Option<f64>,
    join: impl Fn(f64, f64) -> f64,
    is_better: impl Fn(f64, f64) -> bool,
) -> Option<Division> {
    let first = |end| value(0, end).map(|value| (value, vec![end]));
    let mut ways: Vec<Option<Division>> =
        (0..stops).map(|end| Some(end).filter(|end| *end > 0).and_then(first)).collect();
    for _ in 1..segments {
        let longer = |end: usize| {
            let before =
                ways[..end].iter().enumerate().filter_map(|(start, way)| Some((start, way.as_ref()?)));
            let totals = before.filter_map(|(start, way)| Some((join(way.0, value(start, end)?), way)));
            let (total, way) =
                totals.reduce(|best, one| if is_better(one.0, best.0) { one } else { best })?;
            Some((total, way.1.iter().copied().chain([end]).collect()))
        };
        ways = (0..stops).map(longer).collect();
    }
    ways.pop().flatten()
}
