//! `trace` of a link.

use handfast_net::trace::{AtEnd, Generator, Way};
use schemars::JsonSchema;
use serde::Deserialize;

use super::Located;
use super::words::{Vocabulary, Word};

/// What a direction of a link follows over time: one of `file`, `text` and `generate`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TraceTable {
    /// A file: mahimahi's, or lines of values under names such as `time_s,rate_mbps,delay_ms,loss`. Its path begins where the
    /// scenario file is.
    pub(crate) file: Option<Located<String>>,
    /// What such a file holds.
    pub(crate) text: Option<Located<String>>,
    /// What draws it: each run its own, both directions of a link the same course.
    pub(crate) generate: Option<Located<Word<Generator>>>,
    /// What comes after the end of `file` or `text`. Default: "repeat".
    pub(crate) end: Option<Located<Word<AtEnd>>>,
    /// `generate`: in which direction packets go. Default: forward "down", backward "up".
    pub(crate) way: Option<Located<Word<Way>>>,
}

impl Vocabulary for AtEnd {
    const WHAT: &'static str = "what comes after the end";
    const WORDS: &'static [(&'static str, Self, &'static str)] = &[
        ("repeat", Self::Repeat, "It begins anew."),
        ("hold", Self::Hold, "Its last line holds; there are no more opportunities."),
    ];
}

impl Vocabulary for Way {
    const WHAT: &'static str = "a direction";
    const WORDS: &'static [(&'static str, Self, &'static str)] =
        &[("down", Self::Down, "To the user."), ("up", Self::Up, "From the user.")];
}

impl Vocabulary for Generator {
    const WHAT: &'static str = "what draws a trace";
    const WORDS: &'static [(&'static str, Self, &'static str)] = &[
        (Self::Starlink.name(), Self::Starlink, Self::Starlink.about()),
        (Self::Mmwave.name(), Self::Mmwave, Self::Mmwave.about()),
        (Self::Train.name(), Self::Train, Self::Train.about()),
    ];
}
