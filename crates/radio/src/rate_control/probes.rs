//! Which rate is tried out next.

use handfast_core::Stream;

use super::stats::Stats;

/// What a probe is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// The next faster rate.
    Increment,
    /// Any faster rate: for a link that has changed much.
    Jump,
    /// One between those in use.
    Slow,
}

/// "Every 6 attempts are split into 3x INC, 2x JUMP, 1x SLOW."
const KINDS: [Kind; 6] =
    [Kind::Increment, Kind::Jump, Kind::Increment, Kind::Jump, Kind::Increment, Kind::Slow];

/// The turns of kinds and of groups: rates with the same number of streams.
#[derive(Clone, Debug, Default)]
pub(super) struct Probes {
    turn: usize,
    group: u8,
}

impl Probes {
    /// The next one, if this turn has any: `best` is the rate with the most throughput, `surest` the one with the highest
    /// probability. A faster rate is one whose MPDUs take less airtime.
    pub(super) fn next(
        &mut self,
        rates: &[Stats],
        best: usize,
        surest: usize,
        stream: &mut Stream,
    ) -> Option<usize> {
        let kind = KINDS[self.turn];
        self.turn = (self.turn + 1) % KINDS.len();
        let airtime = |at: usize| rates[at].airtime();
        if kind == Kind::Slow {
            let between = |&at: &usize| airtime(at) > airtime(best) && airtime(at) < airtime(surest);
            return pick((0..rates.len()).filter(between), stream);
        }
        let groups = rates.iter().map(|rate| rate.mcs.streams()).max().unwrap_or(1);
        // "Pick the next rate group": the next one that has a faster rate.
        for _ in 0..groups {
            self.group = self.group % groups + 1;
            let faster = |&at: &usize| rates[at].mcs.streams() == self.group && airtime(at) < airtime(best);
            let mut faster = (0..rates.len()).filter(faster);
            let found = match kind {
                Kind::Increment => faster.max_by_key(|&at| airtime(at)),
                _ => pick(faster.by_ref(), stream),
            };
            if found.is_some() {
                return found;
            }
        }
        None
    }
}

/// One of them at random.
fn pick(from: impl Iterator<Item = usize>, stream: &mut Stream) -> Option<usize> {
    let all: Vec<usize> = from.collect();
    if all.is_empty() { None } else { Some(all[stream.below(all.len() as u64) as usize]) }
}
