//! The placement that makes the mean delay least (beyond `[sdtp]`, whose §V has it as future work).
//!
//! On a line the search is exact for [`DelayModel`], whatever the line's length: the cost of a link depends on the cache before
//! it and the retransmitting node behind it alone, so dynamic programming over these two finds the best of all placements.
//! In a network ([`on_map`]) it is a heuristic: the best placement on each of a few paths.

use handfast_core::BitRate;

use super::{DelayModel, Placement};
use crate::sdtp::line::Line;
use crate::sdtp::map::{Avoid, Map, NodeId, Path};

/// A cost, the place before, and how many functions that one has.
type Step = (f64, usize, usize);

/// The placement with the least mean delay of those with at most `budget` functions between the edges
/// ([`Placement::functions`]); of several that are as good one with the fewest.
pub fn minimum_delay(line: &Line, budget: usize, model: DelayModel) -> Placement {
    let last = line.last();
    let budget = budget.min(2 * (last - 1));
    let segments: Vec<_> = (0..=last).map(|end| Segment::new(line, end, budget, model)).collect();
    let mut ways = vec![vec![None; budget + 1]; last + 1];
    ways[0][0] = Some((0.0, 0, 0));
    for end in 1..=last {
        let own = if end == last { 0 } else { 2 };
        for used in own..=budget {
            ways[end][used] = cheapest_end(&ways, &segments[end], used - own);
        }
    }
    let used =
        cheapest(ways[last].iter().enumerate().filter_map(|(used, way)| Some((way.as_ref()?.0, used))));
    placement(line, &ways, &segments, used.unwrap_or(0))
}

/// The cheapest way to a segment's end with so many functions before it.
fn cheapest_end(ways: &[Vec<Option<Step>>], segment: &Segment, budget: usize) -> Option<Step> {
    let mut best: Option<Step> = None;
    for (start, (way, steps)) in ways.iter().zip(&segment.from).enumerate() {
        for inner in 0..=budget {
            let Some((before, step)) = way[budget - inner].zip(steps[inner]) else { continue };
            let cost = before.0 + step.0;
            if best.is_none_or(|best| cost < best.0) {
                best = Some((cost, start, inner));
            }
        }
    }
    best
}

/// The number of the first with the least cost.
fn cheapest(costs: impl Iterator<Item = (f64, usize)>) -> Option<usize> {
    costs.reduce(|best, one| if one.0 < best.0 { one } else { best }).map(|(_, number)| number)
}

fn placement(line: &Line, ways: &[Vec<Option<Step>>], segments: &[Segment], used: usize) -> Placement {
    let (mut caching, mut retransmitting) = (Vec::new(), Vec::new());
    let (mut end, mut used) = (line.last(), used);
    while let Some((_, start, inner)) = ways[end][used].filter(|_| end > 0) {
        retransmitting.push(end);
        caching.extend(segments[end].caches(start, inner));
        used -= inner + if end == line.last() { 0 } else { 2 };
        end = start;
    }
    Placement::new(line.last(), caching, retransmitting)
}

/// The caches of a segment that ends at a node which retransmits.
struct Segment {
    end: usize,
    /// For a cache at a place and so many more behind it: the least cost of the links from there on, where the next cache is,
    /// and how many are behind that one.
    from: Vec<Vec<Option<Step>>>,
}

impl Segment {
    fn new(line: &Line, end: usize, budget: usize, model: DelayModel) -> Self {
        let mut segment = Self { end, from: vec![vec![None; budget + 1]; end] };
        for start in (0..end).rev() {
            let repair = model.repair(line, start, end);
            for more in 0..=budget {
                segment.from[start][more] = segment.cheapest_next(line, start, more, repair);
            }
        }
        segment
    }

    fn cheapest_next(&self, line: &Line, start: usize, more: usize, repair: f64) -> Option<Step> {
        let losses = |to: usize| line.hops()[start..to].iter().map(|hop| hop.loss).sum::<f64>() * repair;
        if more == 0 {
            return Some((losses(self.end), self.end, 0));
        }
        let mut best: Option<Step> = None;
        for next in start + 1..self.end {
            let Some((rest, ..)) = self.from[next][more - 1] else { continue };
            let cost = losses(next) + rest;
            if best.is_none_or(|best| cost < best.0) {
                best = Some((cost, next, more - 1));
            }
        }
        best
    }

    /// The caches behind a start, so many.
    fn caches(&self, start: usize, more: usize) -> Vec<usize> {
        let (mut at, mut more, mut caches) = (start, more, Vec::new());
        while more > 0
            && let Some((_, next, rest)) = self.from[at][more]
        {
            caches.push(next);
            (at, more) = (next, rest);
        }
        caches
    }
}

/// A path and what its nodes do.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The path, hosts included.
    pub path: Path,
    /// What the nodes between its edges do.
    pub placement: Placement,
    /// The mean delay of the whole path, in nanoseconds.
    pub mean_delay: f64,
}

/// The best of a few paths, each with its best placement: the shortest one, and for each of its links the shortest one without
/// that link. A heuristic: a path that differs in more may be better.
pub fn on_map(
    map: &Map,
    from: NodeId,
    to: NodeId,
    slower_than: BitRate,
    budget: usize,
    model: DelayModel,
) -> Option<Choice> {
    let shortest = map.shortest(from, to, &Avoid { link: None, slower_than })?;
    let others = shortest.links.iter().filter_map(|&link| {
        let avoid = Avoid { link: Some(link), slower_than };
        map.shortest(from, to, &avoid)
    });
    let paths: Vec<_> = std::iter::once(shortest.clone()).chain(others).collect();
    let choices = paths.into_iter().filter_map(|path| choose(map, path, budget, model));
    choices.reduce(|best, one| if one.mean_delay < best.mean_delay { one } else { best })
}

fn choose(map: &Map, path: Path, budget: usize, model: DelayModel) -> Option<Choice> {
    let line = map.line(&path)?;
    let placement = minimum_delay(&line, budget, model);
    let outside = path.delay.saturating_sub(line.delay(0, line.last())).as_nanos() as f64;
    Some(Choice { mean_delay: outside + model.mean_delay(&line, &placement), path, placement })
}
