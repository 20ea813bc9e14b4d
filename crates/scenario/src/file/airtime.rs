//! `air`: radio links that share airtime.

use schemars::JsonSchema;
use serde::Deserialize;

use handfast_document::Located;
use handfast_radio::airtime::{Band, Format, Guard, Width};

use super::integer::{Attempts, Mpdus, Streams};
use super::quantity::{Probability, Span};
use super::words::{Vocabulary, Word};

/// The medium of an access point: its stations share it with it in both directions, turn by turn.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AirTable {
    /// Which rates there are, how long the waits between frames, and whether frames are aggregated.
    pub(crate) standard: Word<Standard>,
    /// From 802.11n on: where the channel is. Default: "5GHz".
    pub(crate) band: Option<Located<Word<Band>>>,
    /// From 802.11n on: how wide the channel is. Default: "40MHz" of 802.11n, "80MHz" of ac and ax, "20MHz" in the band of 2.4 GHz.
    pub(crate) width: Option<Located<Word<Width>>>,
    /// From 802.11n on: how many spatial streams both ends have. Default: 2.
    pub(crate) streams: Option<Located<Streams>>,
    /// From 802.11n on: the pause between symbols. Default: the shortest, "400ns" of 802.11n and ac, "800ns" of ax.
    pub(crate) guard: Option<Located<Word<Guard>>>,
    /// From 802.11n on: so many frames in an A-MPDU at most, with block acknowledgments; 1: each frame for itself. Default: 64 of
    /// 802.11n and ac, 256 of ax.
    pub(crate) aggregation: Option<Located<Mpdus>>,
    /// From 802.11n on: how long a transmission takes at most. Default: "5484us".
    pub(crate) longest: Option<Located<Span>>,
    /// From 802.11n on: what chooses the rate where none is given. Default: "signal".
    pub(crate) rate_control: Option<Located<Word<RateControl>>>,
    /// The probability that a bit of a frame arrives wrong. Default: none does; of a station that moves, with the rates of 802.11g
    /// and later: what its signal makes it.
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
    /// From 802.11n on.
    High(Format),
}

/// What chooses a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RateControl {
    /// The signal does, if one is known.
    Signal,
    /// What is acknowledged does.
    Minstrel,
}

impl Vocabulary for RateControl {
    const WHAT: &'static str = "a rate control";
    const WORDS: &'static [(&'static str, Self, &'static str)] = &[
        (
            "signal",
            Self::Signal,
            "the fastest rate that must be understood at the signal of a station that moves",
        ),
        ("minstrel", Self::Minstrel, "the rate that carries most by what is acknowledged, as in Linux"),
    ];
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
        ("802.11n", Self::High(Format::Ht), "HT: up to 4 streams of 40 MHz, A-MPDUs of up to 64 frames"),
        ("802.11ac", Self::High(Format::Vht), "VHT: up to 8 streams of 160 MHz, A-MPDUs of up to 64 frames"),
        ("802.11ax", Self::High(Format::He), "HE: up to 8 streams of 160 MHz, A-MPDUs of up to 256 frames"),
    ];
}

impl Vocabulary for Band {
    const WHAT: &'static str = "a frequency band";
    const WORDS: &'static [(&'static str, Self, &'static str)] = &[
        ("2.4GHz", Self::Ghz2_4, "channels of 20 and 40 MHz, of 802.11n and ax"),
        ("5GHz", Self::Ghz5, "channels of up to 160 MHz"),
    ];
}

impl Vocabulary for Width {
    const WHAT: &'static str = "the width of a channel";
    const WORDS: &'static [(&'static str, Self, &'static str)] = &[
        ("20MHz", Self::Mhz20, "one channel"),
        ("40MHz", Self::Mhz40, "two"),
        ("80MHz", Self::Mhz80, "four, of 802.11ac and ax"),
        ("160MHz", Self::Mhz160, "eight, of 802.11ac and ax"),
    ];
}

impl Vocabulary for Guard {
    const WHAT: &'static str = "a guard interval";
    const WORDS: &'static [(&'static str, Self, &'static str)] = &[
        ("400ns", Self::Ns400, "the short one of 802.11n and ac"),
        ("800ns", Self::Ns800, "the long one of 802.11n and ac, the shortest of ax"),
        ("1600ns", Self::Ns1600, "of 802.11ax"),
        ("3200ns", Self::Ns3200, "of 802.11ax"),
    ];
}
