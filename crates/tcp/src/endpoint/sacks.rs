//! What SACK blocks say (RFC 2018, RFC 2883), and who is told of what has arrived.

use handfast_core::Instant;
use handfast_wire::tcp::{Flags, Segment};

use super::Endpoint;
use crate::recovery::SackFacts;
use crate::send::scoreboard::Range;

impl Endpoint {
    /// Enters the segment's SACK blocks into the scoreboard.
    #[inline]
    pub(super) fn take_sacks(&mut self, now: Instant, segment: &Segment) -> SackFacts {
        if !self.sack || segment.sack.is_empty() {
            SackFacts::default()
        } else {
            self.take_blocks(now, segment)
        }
    }

    // Not inlined: most segments have none.
    #[inline(never)]
    fn take_blocks(&mut self, now: Instant, segment: &Segment) -> SackFacts {
        let marked = self.eln.is_some() && segment.flags.contains(Flags::ELN);
        let mut facts =
            SackFacts { duplicate: segment.duplicate().is_some(), marked, ..SackFacts::default() };
        if facts.duplicate {
            self.help_dsack(segment);
        }
        if self.recovery.times_segments() {
            // RFC 8985 §6.2 step 3 goes by the order of the octets.
            let mut blocks = [0, 1, 2, 3].map(|i| self.block(segment, i));
            blocks.sort_unstable_by_key(|block| block.map(|b| b.start));
            for block in blocks.into_iter().flatten() {
                self.take_block(now, block, &mut facts);
            }
        } else {
            for i in 0..segment.sack.as_slice().len() {
                if let Some(block) = self.block(segment, i) {
                    self.take_block(now, block, &mut facts);
                }
            }
        }
        if facts.duplicate
            && let Some(twice) = self.block(segment, 0)
        {
            self.recovery.on_dsack(&context!(self, now), twice);
        }
        facts
    }

    /// The octets of SACK block `i`; none beyond SND.MAX, which are lies.
    #[inline]
    fn block(&self, segment: &Segment, i: usize) -> Option<Range> {
        let block = segment.sack.as_slice().get(i)?;
        let (start, end) = (self.tx.position(block.start)?, self.tx.position(block.end)?);
        (start < end && end <= self.tx.max).then_some(Range { start, end })
    }

    /// Blocks at or below SND.UNA are duplicates' (RFC 2883).
    #[inline]
    fn take_block(&mut self, now: Instant, block: Range, facts: &mut SackFacts) {
        if block.start <= self.tx.una {
            return;
        }
        let Some(block) = self.tx.counted(block) else { return };
        let Range { start, end } = block;
        self.note_delivered(now, block, None);
        let fresh = self.tx.board.insert(start, end);
        facts.fresh += fresh;
        facts.below |= fresh > 0 && start < self.tx.progress.recover;
        facts.above |= fresh > 0 && end > self.tx.progress.recover;
    }

    /// Octets are acknowledged: the meter of delivery rates and RACK hear of those that were not SACKed before.
    #[inline]
    pub(super) fn note_delivered(&mut self, now: Instant, range: Range, segment: Option<&Segment>) {
        if self.tx.cc.samples_path() || self.recovery.times_segments() {
            self.tell_deliveries(now, range, segment);
        }
    }

    #[inline(never)]
    fn tell_deliveries(&mut self, now: Instant, range: Range, segment: Option<&Segment>) {
        // RFC 3522: it tells which transmission was answered, but for octets beyond a hole.
        let ecr = segment.and_then(|segment| self.echo(segment));
        let recover = self.tx.progress.recover;
        let mut at = range.start;
        while let Some(gap) = self.tx.board.gap(at, range.end) {
            // What lies across `recover` counts in two parts.
            let end = if gap.start < recover { gap.end.min(recover) } else { gap.end };
            self.recovery.on_delivered(
                &context!(self, now),
                Range { start: gap.start, end },
                ecr,
                segment.is_none(),
            );
            self.tx.cc.on_delivered(now, gap.start, end);
            at = end;
        }
    }

    /// The timestamp that a segment echoes.
    #[inline]
    pub(super) fn echo(&self, segment: &Segment) -> Option<u32> {
        segment.timestamps.filter(|_| self.timestamps).map(|ts| ts.ecr)
    }
}
