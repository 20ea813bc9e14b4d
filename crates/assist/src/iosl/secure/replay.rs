//! Which datagrams have come (RFC 9147 §4.5.1, RFC 4303 §3.4.3): the bits in a ring of blocks, as RFC 6479 has it, so that nothing is
//! shifted.

/// Bits of a block, and blocks.
const BLOCK: u64 = u64::BITS as u64;
const BLOCKS: usize = 16;

/// How far one may come behind the latest: the block that is filled next holds what is older. RFC 9147 wants 64 at least; a call's
/// burst or a transfer's reordering is longer.
pub(super) const SPAN: u64 = (BLOCKS as u64 - 1) * BLOCK;

/// Of the counters of one sender.
#[derive(Debug, Default)]
pub(super) struct Replay {
    /// All from here on are new.
    next: u64,
    bits: [u64; BLOCKS],
}

impl Replay {
    /// Whether it has not come, and is not so old that nobody knows.
    pub(super) fn is_new(&self, counter: u64) -> bool {
        let is_known = counter >= self.next || self.next - counter <= SPAN;
        is_known && (counter >= self.next || self.bits[place(counter)] & bit(counter) == 0)
    }

    /// It has come, and was new.
    pub(super) fn note(&mut self, counter: u64) {
        if counter >= self.next {
            let (from, to) = (self.next.saturating_sub(1) / BLOCK, counter / BLOCK);
            for block in (from + 1..=to).take(BLOCKS) {
                self.bits[place(block * BLOCK)] = 0;
            }
            self.next = counter + 1;
        }
        self.bits[place(counter)] |= bit(counter);
    }
}

fn place(counter: u64) -> usize {
    (counter / BLOCK) as usize % BLOCKS
}

fn bit(counter: u64) -> u64 {
    1 << (counter % BLOCK)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_window_ends_where_it_is_said_to() {
        let mut replay = Replay::default();
        for latest in [SPAN + 5, 3 * SPAN, 1_000_000] {
            replay.note(latest);
            let news = [0, 1, SPAN - 1, SPAN].map(|back| replay.is_new(latest - back));
            assert_eq!(news, [false, true, true, false], "{latest}");
            assert!(replay.is_new(latest + 1) && replay.is_new(u64::MAX));
        }
    }

    proptest! {
        /// Each is new once, whatever the order; and one that is at most the span behind the latest is new the first time.
        #[test]
        fn nothing_comes_twice(steps in prop::collection::vec(prop_oneof![
            6 => (0u64..40).prop_map(|back| (0, back)),
            3 => (0u64..2_000).prop_map(|back| (0, back)),
            2 => (1u64..300, Just(0u64)),
            1 => (1u64..5_000, Just(0u64)),
        ], 1..400)) {
            let (mut replay, mut came, mut latest) = (Replay::default(), BTreeSet::new(), 0u64);
            for (ahead, back) in steps {
                let counter = (latest + 1 + ahead).saturating_sub(back);
                let is_new = replay.is_new(counter);
                prop_assert!(!(is_new && came.contains(&counter)), "{counter} came before");
                if counter + SPAN > latest {
                    prop_assert_eq!(is_new, !came.contains(&counter), "{}", counter);
                }
                if is_new {
                    replay.note(counter);
                    came.insert(counter);
                    latest = latest.max(counter);
                    prop_assert!(!replay.is_new(counter));
                }
            }
        }
    }
}
