//! `[radio]`, and how stations move.

use std::borrow::Cow;

use handfast_radio::mobility::Then;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{Deserializer, Error};

use super::integer::Beacons;
use super::quantity::{Decibels, Level, Metres, Pace, Span};
use super::words::{Vocabulary, Word};
use super::{AirTable, LinkShape, Located};

/// The air between access points and stations that move: signals, and what stations do about them.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RadioTable {
    /// Each link between an access point and a station that moves.
    pub(crate) link: Located<LinkShape>,
    /// Their packets share airtime, as those of `[[links]]` with this key. Default: each has its rate to itself.
    pub(crate) air: Option<Located<AirTable>>,
    /// What becomes of signals on their way. Default: "two-ray-ground".
    pub(crate) propagation: Option<PropagationKind>,
    /// `two-ray-ground`: the height of all antennas. Default: "1.5m".
    pub(crate) antenna_height: Option<Located<Metres>>,
    /// The gains of both antennas together. Default: "0dB".
    pub(crate) gains: Option<Decibels>,
    /// How stations look for access points. Default: "active".
    pub(crate) scan: Option<Word<ScanKind>>,
    /// The channels on which they look. Default: 1 to 13.
    pub(crate) channels: Option<Located<Vec<u8>>>,
    /// How long they stay on each. Default: "60ms" in an active scan, "111ms" in a passive one.
    pub(crate) dwell: Option<Located<Span>>,
    /// From a scan that has found nobody to the next one. Default: "0s".
    pub(crate) rescan: Option<Span>,
    /// Between beacons. Default: "102.4ms".
    pub(crate) beacon_interval: Option<Located<Span>>,
    /// So many beacons in a row that are not heard end an association. Default: 7.
    pub(crate) beacons_lost: Option<Beacons>,
    /// How often a station looks for a stronger access point while it has one; "0s": never. Default: "1s".
    pub(crate) background_scan: Option<Span>,
    /// It does so only while its own is weaker than this. Default: always.
    pub(crate) roam_below: Option<Level>,
    /// How much stronger another one must be. Default: "6dB".
    pub(crate) hysteresis: Option<Decibels>,
    /// How long it takes to authenticate. Default: "5ms".
    pub(crate) authentication: Option<Span>,
    /// How long it takes to associate then, keys included. Default: "5ms".
    pub(crate) association: Option<Span>,
}

/// What becomes of signals on their way.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum PropagationKind {
    /// Nothing is in the way (Friis).
    FreeSpace,
    /// The ground reflects: free space, and the fourth power of the distance beyond the crossover distance.
    TwoRayGround,
    /// Free space up to `reference`, and a power of the distance beyond.
    LogDistance(LogDistance),
}

/// Free space up to `reference`, and a power of the distance beyond.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LogDistance {
    /// The power, 1 to 10: 2 is free space, 3 to 4 indoors.
    pub(crate) exponent: f64,
    /// Default: "1m".
    pub(crate) reference: Option<Metres>,
}

/// How stations look for access points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScanKind {
    /// They ask.
    Active,
    /// They wait for beacons.
    Passive,
}

impl Vocabulary for ScanKind {
    const WHAT: &'static str = "a way to look for access points";
    const WORDS: &'static [(&'static str, Self, &'static str)] = &[
        ("active", Self::Active, "probe requests on each channel"),
        ("passive", Self::Passive, "each channel until a beacon must have come"),
    ];
}

/// How a station moves.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum MobilityKind {
    /// It stays where it is.
    Still,
    /// On a straight line.
    Linear(Line),
    /// In a random direction, drawn anew at intervals.
    RandomWalk(Walk),
    /// To a random place, and after a pause to the next.
    RandomWaypoint(Waypoint),
    /// As somebody was seen to move.
    Trace(Trace),
}

/// On a straight line.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Line {
    /// Towards this place, in metres.
    pub(crate) towards: At,
    /// How fast.
    pub(crate) speed: Pace,
    /// What it does there. Default: "stop".
    pub(crate) then: Option<Word<Then>>,
}

/// In a random direction, drawn anew at intervals; edges reflect it.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Walk {
    /// Two opposite corners of the area, in metres.
    pub(crate) area: Vec<At>,
    /// How fast.
    pub(crate) speed: Pace,
    /// With it: a speed drawn uniformly from here to `speed`, with each direction. Default: `speed`.
    pub(crate) slowest: Option<Pace>,
    /// How long it keeps a direction. Default: "10s".
    pub(crate) every: Option<Span>,
}

/// To a random place, and after a pause to the next.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Waypoint {
    /// Two opposite corners of the area, in metres.
    pub(crate) area: Vec<At>,
    /// How fast.
    pub(crate) speed: Pace,
    /// With it: a speed drawn uniformly from here to `speed`, for each way. Default: `speed`.
    pub(crate) slowest: Option<Pace>,
    /// How long it stays at each place. Default: "0s".
    pub(crate) pause: Option<Span>,
}

/// As somebody was seen to move.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Trace {
    /// Lines of `seconds,x,y` in metres, or the commands of ns-2's `setdest`.
    pub(crate) text: String,
    /// `setdest`: the number of the node. Default: 0.
    #[serde(default)]
    pub(crate) station: u32,
}

/// A place: two numbers, metres.
#[derive(Clone, Copy, Debug)]
pub(crate) struct At(pub(crate) handfast_radio::Place);

impl<'de> Deserialize<'de> for At {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let metres = Vec::<f64>::deserialize(deserializer)?;
        let place = match metres[..] {
            [x, y] => handfast_radio::Place::from_metres(x, y),
            _ => None,
        };
        place.map(Self).ok_or_else(|| {
            D::Error::custom("expected a place in metres such as [12.5, 40], at most 1,000 km away")
        })
    }
}

impl JsonSchema for At {
    fn schema_name() -> Cow<'static, str> {
        "At".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2})
    }
}
