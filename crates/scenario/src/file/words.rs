//! Values that are one word of a fixed vocabulary.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use handfast_radio::mobility::Then;
use handfast_tcp::{
    Acks, CongestionControl, EcnOption, Estimation, Frto, InitialWindow, Nagle, Recovery, RttEstimation,
    Undo, VhoRule,
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};
use serde_json::{Value, json};

use crate::model::{Directions, NodeKind};

/// A type whose values the file writes as words.
pub(crate) trait Vocabulary: Copy + 'static {
    /// What a word stands for: "a recovery algorithm".
    const WHAT: &'static str;
    /// Each word, its value and its meaning.
    const WORDS: &'static [(&'static str, Self, &'static str)];
}

/// A word of `T`'s vocabulary.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Word<T>(pub(crate) T);

/// Looks `text` up; the message has serde's form, so that all unknown words are reported alike.
pub(crate) fn lookup<T: Vocabulary, E: Error>(text: &str) -> Result<T, E> {
    let found = T::WORDS.iter().find(|(word, ..)| *word == text);
    found.map(|&(_, value, _)| value).ok_or_else(|| {
        let words: Vec<String> = T::WORDS.iter().map(|(word, ..)| format!("`{word}`")).collect();
        E::custom(format_args!("unknown variant `{text}`, expected one of {}", words.join(", ")))
    })
}

impl<'de, T: Vocabulary> Deserialize<'de> for Word<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(WordVisitor(PhantomData)).map(Word)
    }
}

struct WordVisitor<T>(PhantomData<T>);

impl<T: Vocabulary> Visitor<'_> for WordVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", T::WHAT)?;
        let words: Vec<String> = T::WORDS.iter().map(|(word, ..)| format!("\"{word}\"")).collect();
        f.write_str(&words.join(", "))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        lookup(text)
    }

    // `initial_window = 10` reads better than "10".
    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        let text = number.to_string();
        let found = T::WORDS.iter().find(|(word, ..)| *word == text);
        let unexpected = serde::de::Unexpected::Signed(number);
        found.map(|&(_, value, _)| value).ok_or_else(|| E::invalid_type(unexpected, &self))
    }
}

impl<T: Vocabulary> JsonSchema for Word<T> {
    fn schema_name() -> Cow<'static, str> {
        "Word".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let choices: Vec<Value> =
            T::WORDS.iter().flat_map(|(word, _, meaning)| choice(word, meaning)).collect();
        json_schema!({"oneOf": choices})
    }
}

/// A word's place in the schema; a word that is a number may be written as one.
fn choice(word: &str, meaning: &str) -> Vec<Value> {
    let mut choices = vec![json!({"const": word, "description": meaning})];
    choices.extend(word.parse::<i64>().ok().map(|number| json!({"const": number, "description": meaning})));
    choices
}

impl Vocabulary for NodeKind {
    const WHAT: &'static str = "a kind of node";
    const WORDS: &'static [(&'static str, Self, &'static str)] = &[
        ("host", Self::Host, "has endpoints; forwards nothing"),
        ("station", Self::Station, "a host that may move between access points"),
        ("switch", Self::Switch, "forwards"),
        ("ap", Self::AccessPoint, "an access point: forwards; stations associate with it"),
        ("controller", Self::Controller, "controls switches and access points; has no links of its own"),
    ];
}

impl Vocabulary for Estimation {
    const WHAT: &'static str = "a way to estimate capacity";
    const WORDS: &'static [(&'static str, Self, &'static str)] = &[
        ("off", Self::Off, "none"),
        (
            "pair-chirp",
            Self::PairChirp,
            "packet pairs, then chirps, which set ssthresh; the second chirp rises to twice the first estimate, as [vho] figure 1 has it",
        ),
        (
            "pair-chirp-text",
            Self::PairChirpText,
            "the same, but the second chirp rises to the first estimate, as [vho] §3 has it",
        ),
        (
            "pair-chirp-short",
            Self::PairChirpShort,
            "as pair-chirp, but after a handoff no chirp is longer than a connection's first, eight segments, whatever cwnd is",
        ),
    ];
}

impl Vocabulary for Then {
    const WHAT: &'static str = "what happens at the end of a line";
    const WORDS: &'static [(&'static str, Self, &'static str)] = &[
        ("stop", Self::Stop, "it stays there"),
        ("bounce", Self::Bounce, "it goes back to where it came from, and so on"),
    ];
}

impl Vocabulary for Directions {
    const WHAT: &'static str = "a direction";
    const WORDS: &'static [(&'static str, Self, &'static str)] = &[
        ("both", Self::Both, "both directions"),
        ("forward", Self::Forward, "from the first to the second name of `between`"),
        ("backward", Self::Backward, "from the second to the first name of `between`"),
    ];
}

impl Vocabulary for Recovery {
    const WHAT: &'static str = "a recovery algorithm";
    const WORDS: &'static [(&'static str, Self, &'static str)] = &[
        ("tahoe", Self::Tahoe, "fast retransmit, then slow start"),
        ("reno", Self::Reno, "fast recovery, left on the first ACK of new data (RFC 5681)"),
        ("newreno", Self::NewReno, "fast recovery with partial ACKs (RFC 6582)"),
        ("sack", Self::Sack, "SACK-based recovery (RFC 6675)"),
        ("rack", Self::Rack, "RACK-TLP (RFC 8985) with proportional rate reduction (RFC 6937)"),
    ];
}

impl Vocabulary for CongestionControl {
    const WHAT: &'static str = "a congestion control";
    const WORDS: &'static [(&'static str, Self, &'static str)] = Self::WORDS;
}

impl Vocabulary for Nagle {
    const WHAT: &'static str = "what makes a small segment wait";
    const WORDS: &'static [(&'static str, Self, &'static str)] = &[
        ("off", Self::Off, "nothing: TCP_NODELAY"),
        ("rfc896", Self::Rfc896, "anything unacknowledged (RFC 896)"),
        ("minshall", Self::Minshall, "an unacknowledged small segment (Linux)"),
    ];
}

impl Vocabulary for EcnOption {
    const WHAT: &'static str = "when the option of accurate ECN is sent";
    const WORDS: &'static [(&'static str, Self, &'static str)] = &[
        ("unsent", Self::Unsent, "never; the peer's is read"),
        ("minimum", Self::Minimum, "when counters change, and three times a round trip (RFC 9768 §3.2.3.3)"),
        ("full", Self::Full, "wherever it fits, until it seems to be dropped on the way"),
        ("persistent", Self::Persistent, "wherever it fits"),
    ];
}

impl Vocabulary for Acks {
    const WHAT: &'static str = "a rule for acknowledgements";
    const WORDS: &'static [(&'static str, Self, &'static str)] = &[
        ("rfc5681", Self::Rfc5681, "every second segment, or after `delayed_ack` (RFC 5681 §4.2)"),
        (
            "linux",
            Self::Linux,
            "quick ACKs first, then two full segments or an adaptive delay of at least `delayed_ack`",
        ),
    ];
}

impl Vocabulary for RttEstimation {
    const WHAT: &'static str = "a round-trip time estimator";
    const WORDS: &'static [(&'static str, Self, &'static str)] = &[
        ("rfc6298", Self::Rfc6298, "RFC 6298 §2, with the gains of RFC 7323 appendix G"),
        (
            "linux",
            Self::Linux,
            "the kernel's: the largest variance of a round trip, which decays once a round trip; times what is SACKed too",
        ),
    ];
}

impl Vocabulary for Frto {
    const WHAT: &'static str = "a variant of F-RTO";
    const WORDS: &'static [(&'static str, Self, &'static str)] = &[
        ("off", Self::Off, "no detection by F-RTO"),
        ("basic", Self::Basic, "cumulative acknowledgements only (RFC 5682 §2.1)"),
        ("sack", Self::Sack, "with SACK (RFC 5682 §3.1)"),
    ];
}

impl Vocabulary for Undo {
    const WHAT: &'static str = "a way to take a reduction back";
    const WORDS: &'static [(&'static str, Self, &'static str)] = &[
        ("rfc4015", Self::Rfc4015, "after spurious timeouts only (RFC 4015)"),
        (
            "linux",
            Self::Linux,
            "as the kernel does, with `recovery = \"rack\"`: after fast recoveries too, and by DSACK",
        ),
    ];
}

impl Vocabulary for VhoRule {
    const WHAT: &'static str = "a rule of [vho]";
    const WORDS: &'static [(&'static str, Self, &'static str)] = &[
        (
            "min-rto",
            Self::MinRto,
            "after a handoff to a slower answer than the RTO waits for: a lower bound of the RTO",
        ),
        (
            "bdp-window",
            Self::BdpWindow,
            "after a handoff to a link that cannot hold what is in flight: cwnd and ssthresh become its \
             bandwidth-delay product",
        ),
        (
            "reordering",
            Self::Reordering,
            "after a handoff to a link that overtakes the old one: fast retransmit waits for more duplicates, and is \
             taken back by DSACK (with `recovery = \"sack\"`)",
        ),
        (
            "retransmit",
            Self::Retransmit,
            "connected again in RTO recovery: the first unacknowledged segment goes at once, ssthresh becomes the \
             bandwidth-delay product",
        ),
        ("initial-ssthresh", Self::InitialSsthresh, "at the start ssthresh is the bandwidth-delay product"),
        (
            "handoff-ssthresh",
            Self::HandoffSsthresh,
            "after a handoff ssthresh is the bandwidth-delay product",
        ),
    ];
}

impl Vocabulary for InitialWindow {
    const WHAT: &'static str = "an initial window";
    const WORDS: &'static [(&'static str, Self, &'static str)] = &[
        ("1", Self::One, "one segment (RFC 2001)"),
        ("rfc3390", Self::Rfc3390, "two to four segments (RFC 3390)"),
        ("10", Self::Ten, "ten segments (RFC 6928)"),
    ];
}
