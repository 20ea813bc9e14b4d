//! A cache at every switch, as the works have it that `[sdtp]` §I compares with: what the choice of caches saves.

use super::{Placement, equalised_loss};
use crate::sdtp::line::Line;

/// All nodes cache; those retransmit that [`equalised_loss`] chooses.
pub fn every_switch(line: &Line, segments: usize) -> Placement {
    let chosen = equalised_loss(line, segments, 0.0);
    Placement::new(line.last(), 0..=line.last(), chosen.retransmitting())
}
