//! Who has sent a request, a repetition, a piece of information or a notification: nobody outside a slice can say it.
//!
//! A forged CN empties caches, a forged RI blinds nodes to losses, and a forged RR makes much of little. So each of them, and
//! each RD, ends with a seal: HMAC-SHA-256 (RFC 2104) under the key of its slice, cut to 16 bytes (§5), over the packet, the
//! node and a counter of that node that only rises. What was seen before, or is too old to tell, is refused (RFC 6479).
//!
//! Where the counter begins, the driver says: above all that the node has used before it started anew, as the time of day does.

use std::collections::BTreeMap;
use std::fmt;

use handfast_wire::sdtp::Seal;
use hmac::Mac;

use crate::code::{Code, code};

/// A secret. It is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Key([u8; 32]);

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

impl Key {
    /// The key of a network, from which those of its slices follow.
    pub const fn new(secret: [u8; 32]) -> Self {
        Self(secret)
    }

    /// The key of a slice: who knows it knows no other's.
    #[must_use]
    pub fn of_slice(&self, slice: u16) -> Self {
        let code = self.code().chain_update(b"handfast sdtp slice").chain_update(slice.to_be_bytes());
        Self(code.finalize().into_bytes().into())
    }

    fn code(&self) -> Code {
        code(&self.0)
    }
}

/// The code of a packet: the bytes that the tag covers, after whose they are.
fn code_of(code: &Code, node: u32, counter: u64, covered: &[u8]) -> Code {
    code.clone().chain_update(node.to_be_bytes()).chain_update(counter.to_be_bytes()).chain_update(covered)
}

/// A node that seals what it sends in a slice.
#[derive(Debug)]
pub struct Sealer {
    code: Code,
    node: u32,
    counter: u64,
}

impl Sealer {
    /// A node; the first packet has the counter `first`.
    pub fn new(slice: &Key, node: u32, first: u64) -> Self {
        Self { code: slice.code(), node, counter: first }
    }

    /// The seal of the next packet, still without its tag: the bytes that the tag covers include the rest.
    pub fn begin(&mut self) -> Seal {
        let counter = self.counter;
        self.counter = counter.saturating_add(1);
        Seal { node: self.node, counter, tag: [0; 16] }
    }

    /// The tag for a seal that was begun here.
    pub fn tag(&self, seal: &Seal, covered: &[u8]) -> [u8; 16] {
        let code = code_of(&self.code, seal.node, seal.counter, covered).finalize().into_bytes();
        code.first_chunk().copied().unwrap_or_default()
    }
}

/// Why a seal is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It is no tag of this slice, or the packet was changed.
    Forged,
    /// The packet came before, or so much later that nobody knows.
    Replayed,
    /// More nodes than the slice may have.
    Crowded,
}

/// Accepts what the nodes of a slice have sealed, each packet once.
#[derive(Debug)]
pub struct Verifier {
    code: Code,
    windows: BTreeMap<u32, Window>,
    most: usize,
}

impl Verifier {
    /// Has seen nothing; the slice has `most` nodes at most. A node beyond them takes nobody's place: its window would be lost,
    /// and all that it sent could be sent again.
    pub fn new(slice: &Key, most: usize) -> Self {
        Self { code: slice.code(), windows: BTreeMap::new(), most }
    }

    /// Whether a packet is by a node of the slice and comes for the first time.
    ///
    /// # Errors
    ///
    /// Why the packet must be dropped.
    pub fn verify(&mut self, seal: &Seal, covered: &[u8]) -> Result<(), Refusal> {
        let code = code_of(&self.code, seal.node, seal.counter, covered);
        // In constant time. Only what is genuine moves a window.
        code.verify_truncated_left(&seal.tag).map_err(|_| Refusal::Forged)?;
        if self.windows.len() >= self.most && !self.windows.contains_key(&seal.node) {
            return Err(Refusal::Crowded);
        }
        let is_new = self.windows.entry(seal.node).or_default().accept(seal.counter);
        is_new.then_some(()).ok_or(Refusal::Replayed)
    }
}

/// Words of the bitmap.
const WORDS: usize = 32;

/// So far behind the highest counter a packet is accepted: the last word is being filled (RFC 6479 §2).
const SPAN: u64 = (WORDS as u64 - 1) * 64;

/// Which counters have come (RFC 6479).
#[derive(Debug, Default)]
struct Window {
    highest: u64,
    words: [u64; WORDS],
}

impl Window {
    fn accept(&mut self, counter: u64) -> bool {
        if counter > self.highest {
            self.advance(counter);
        } else if self.highest - counter >= SPAN {
            return false;
        }
        let (word, bit) = (&mut self.words[(counter / 64) as usize % WORDS], 1 << (counter % 64));
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    /// What is reached now was not seen before.
    fn advance(&mut self, counter: u64) {
        let (last, next) = (self.highest / 64, counter / 64);
        for word in last + 1..=next.min(last + WORDS as u64) {
            self.words[word as usize % WORDS] = 0;
        }
        self.highest = counter;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn secret() -> Key {
        Key::new(std::array::from_fn(|at| at as u8))
    }

    fn sealed(sealer: &mut Sealer, covered: &[u8]) -> Seal {
        let seal = sealer.begin();
        Seal { tag: sealer.tag(&seal, covered), ..seal }
    }

    /// Computed with Python's `hmac`.
    #[test]
    fn the_tag_is_hmac_sha_256() {
        let mut sealer = Sealer::new(&secret().of_slice(0x0102), 7, 9);
        let seal = sealed(&mut sealer, b"abc");
        assert_eq!(
            (seal.node, seal.counter, u128::from_be_bytes(seal.tag)),
            (7, 9, 0xd5df_8f1c_ba6d_ac73_b83f_d163_b820_6dba)
        );
    }

    #[test]
    fn a_packet_is_accepted_once() {
        let key = secret().of_slice(3);
        let (mut sealer, mut verifier) = (Sealer::new(&key, 7, 100), Verifier::new(&key, 4));
        let seals = [(); 3].map(|()| sealed(&mut sealer, b"abc"));
        assert_eq!(seals.map(|seal| seal.counter), [100, 101, 102]);
        for at in [0, 2, 1] {
            assert_eq!(verifier.verify(&seals[at], b"abc"), Ok(()));
            assert_eq!(verifier.verify(&seals[at], b"abc"), Err(Refusal::Replayed));
        }
    }

    #[test]
    fn whatever_is_changed_makes_it_a_forgery_and_moves_no_window() {
        let key = secret().of_slice(3);
        let (mut sealer, mut verifier) = (Sealer::new(&key, 7, 1), Verifier::new(&key, 4));
        let seal = sealed(&mut sealer, b"abc");
        let mut tag = seal.tag;
        tag[15] ^= 1;
        let changed = [Seal { node: 8, ..seal }, Seal { counter: 5_000, ..seal }, Seal { tag, ..seal }];
        for changed in changed {
            assert_eq!(verifier.verify(&changed, b"abc"), Err(Refusal::Forged));
        }
        assert_eq!(verifier.verify(&seal, b"abd"), Err(Refusal::Forged));
        let mut other = Verifier::new(&secret().of_slice(4), 4);
        assert_eq!(other.verify(&seal, b"abc"), Err(Refusal::Forged), "of another slice");
        assert_eq!(verifier.verify(&seal, b"abc"), Ok(()));
    }

    #[test]
    fn a_node_too_many_is_refused_and_the_others_go_on() {
        let key = secret();
        let mut verifier = Verifier::new(&key, 2);
        let mut sealers = [1, 2, 3].map(|node| Sealer::new(&key, node, 0));
        for expected in [[Ok(()), Ok(()), Err(Refusal::Crowded)]; 2] {
            let results = sealers.each_mut().map(|sealer| verifier.verify(&sealed(sealer, b""), b""));
            assert_eq!(results, expected);
        }
    }

    #[test]
    fn a_key_is_not_shown() {
        let (key, mut sealer) = (secret(), Sealer::new(&secret(), 1, 0));
        assert_eq!(format!("{key:?}"), "Key(..)");
        sealer.begin();
        let shown = format!("{sealer:?} {:?}", Verifier::new(&key, 1));
        assert!(!shown.contains("3, 4, 5") && !shown.contains("030405"), "{shown}");
    }

    #[test]
    fn what_is_too_far_behind_is_refused() {
        let mut window = Window::default();
        assert!(window.accept(5_000));
        assert!(window.accept(5_000 - SPAN + 1) && !window.accept(5_000 - SPAN));
        assert!(window.accept(u64::MAX) && !window.accept(u64::MAX) && window.accept(u64::MAX - 1));
        let mut first = Window::default();
        assert!(first.accept(0) && !first.accept(0));
    }

    proptest! {
        #[test]
        fn a_window_is_a_set_of_what_came(steps in prop::collection::vec((any::<bool>(), 0u64..3_000), 0..300)) {
            let (mut window, mut seen, mut highest) = (Window::default(), BTreeSet::new(), 0u64);
            for (is_ahead, by) in steps {
                let counter = if is_ahead { highest + by / 8 } else { highest.saturating_sub(by) };
                highest = highest.max(counter);
                let is_new = highest - counter < SPAN && seen.insert(counter);
                prop_assert_eq!(window.accept(counter), is_new, "{} of {}", counter, highest);
            }
        }
    }
}
