//! `air`: radio links that share airtime.

use schemars::JsonSchema;
use serde::Deserialize;

use super::integer::Attempts;
use super::quantity::Probability;
use super::words::{Vocabulary, Word};

/// The medium of an access point: its stations share it with it in both directions, frame by frame.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AirTable {
    /// Which rates there are, and how long the waits between frames.
    pub(crate) standard: Word<Standard>,
    /// The probability that a bit of a frame arrives wrong. Default: none does; of a station that moves, with 802.11g's rates:
    /// what its signal makes it.
    pub(crate) bit_errors: Option<Probability>,
    /// How often a frame is sent before it is given up. Default: 7.
    pub(crate) attempts: Option<Attempts>,
    /// The part of wrong frames that pass for right ones. Default: what 32 bits of checksum miss, 1 in 4,294,967,296.
    pub(crate) undetected: Option<Probability>,
}

/// An amendment of 802.11.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standard {
    /// 802.11b.
    B,
    /// 802.11g, and no station of 802.11b.
    G,
    /// 802.11g beside stations of 802.11b.
    BesideB,
}

impl Vocabulary for Standard {
    const WHAT: &'static str = "a standard";
    const WORDS: &'static [(&'static str, Self, &'static str)] = &[
        ("802.11b", Self::B, "1, 2, 5.5 and 11 Mbit/s, slots of 20 us"),
        ("802.11g", Self::G, "6 to 54 Mbit/s as well, slots of 9 us: no station of 802.11b is about"),
        (
            "802.11b/g",
            Self::BesideB,
            "the rates of 802.11g with the slots of 802.11b, beside stations of which it is",
        ),
    ];
}
