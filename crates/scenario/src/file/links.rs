//! `[[links]]`.

use std::borrow::Cow;
use std::fmt;

use handfast_net::Loss;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::quantity::{Probability, Rate, Size, Span};
use super::queue::Queue;
use super::tables::tables_with_shared_keys;
use super::trace::TraceTable;
use super::{Access, AirTable, Located, Name};

tables_with_shared_keys! {
    shared {
        /// Serialisation rate.
        rate: Located<Rate>,
        /// Propagation delay, one way.
        delay: Span,
        /// How much the queue holds, the packet in serialisation included: packets, bytes or "unlimited". Or its discipline:
        /// a name, or a table with its parameters. Default: "1000pkt", as Linux interfaces have.
        queue: Located<Queue>,
        /// Losses: a probability per packet, one table, or a list of these, applied in order after serialisation.
        loss: Losses,
        /// Packets that are held back, so that later ones overtake them.
        reorder: Reorder,
        /// Probability that a packet arrives twice.
        duplicate: Probability,
        /// Between a station and an access point, which stands for a base station: a cellular radio, "lte", "nr" or a table.
        /// It sends packets in transport blocks, and repeats these.
        access: Located<Access>,
        /// What the link follows over time, in place of what it says of `rate`, `delay` or `loss`: a file, a text or what is
        /// drawn for each run.
        trace: Located<TraceTable>,
    }

    /// One direction of a link, or what both have in common.
    LinkShape;

    /// A bidirectional link.
    LinkTable {
        /// The two nodes. "Forward" is from the first to the second.
        between: Located<Ends>,
        /// What events and results call it. Default: the two nodes, "a-b".
        name: Option<Located<Name>>,
        /// Between a station and an access point: its packets share the access point's airtime. `rate` is then one of
        /// 802.11's; without it, it follows the signal of a station that moves. `loss` is of what is left after repetitions.
        air: Option<Located<AirTable>>,
        /// What is different from the first node to the second.
        #[serde(default)]
        forward: LinkShape,
        /// What is different from the second node to the first.
        #[serde(default)]
        backward: LinkShape,
    }
}

/// What Ethernet carries at most, bytes.
const FULL_PACKET: u64 = 1500;

/// The two ends of a link.
#[derive(Clone, Debug)]
pub(crate) struct Ends(pub(crate) [Located<String>; 2]);

impl<'de> Deserialize<'de> for Ends {
    // serde's own two-element array would not notice a third element.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let ends = Vec::<Located<String>>::deserialize(deserializer)?;
        let wrong = |ends: Vec<_>| D::Error::custom(format_args!("a link has two ends, not {}", ends.len()));
        ends.try_into().map(Self).map_err(wrong)
    }
}

impl JsonSchema for Ends {
    fn schema_name() -> Cow<'static, str> {
        "Ends".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 2})
    }
}

/// Packets that are held back, so that later ones overtake them.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Reorder {
    /// Probability that a packet is held back.
    pub(crate) probability: Probability,
    /// For how long.
    pub(crate) by: Span,
}

/// The loss processes of one direction.
#[derive(Clone, Debug)]
pub(crate) struct Losses(pub(crate) Vec<Loss>);

/// A loss process that needs a table.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum LossKind {
    /// Each packet independently, with this probability: the same as the bare number.
    Packet(Probability),
    /// Each bit independently: long packets are corrupted more often.
    Bit(Probability),
    /// Gilbert-Elliott: a two-state chain stepped once a packet.
    GilbertElliott(GilbertElliott),
    /// The packets with these numbers, counted from 1 among those with payload in this direction.
    List(Numbers),
    /// A policer: what exceeds a token bucket is dropped.
    Police(Police),
}

/// A token bucket.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Police {
    /// How fast tokens come.
    rate: Rate,
    /// How many the bucket holds: a full packet's at least.
    burst: Burst,
}

/// What a token bucket holds.
#[derive(JsonSchema)]
#[schemars(transparent)]
pub(crate) struct Burst(Size);

impl<'de> Deserialize<'de> for Burst {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let size = Size::deserialize(deserializer)?;
        if size.0.get() < FULL_PACKET {
            return Err(D::Error::custom("a burst below 1500B lets no full packet through"));
        }
        Ok(Self(size))
    }
}

/// Gilbert-Elliott: a two-state chain stepped once a packet.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GilbertElliott {
    /// Probability of good to bad.
    good_to_bad: Probability,
    /// Probability of bad to good: the mean burst is 1 over it, in packets.
    bad_to_good: Probability,
    /// Loss probability in the good state. Default: 0.
    loss_good: Option<Probability>,
    /// Loss probability in the bad state. Default: 1.
    loss_bad: Option<Probability>,
}

/// Packet numbers, ascending, each once.
pub(crate) struct Numbers(Vec<u64>);

impl<'de> Deserialize<'de> for Numbers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut numbers = Vec::<u64>::deserialize(deserializer)?;
        if numbers.contains(&0) {
            return Err(D::Error::custom("packets are counted from 1"));
        }
        numbers.sort_unstable();
        numbers.dedup();
        Ok(Self(numbers))
    }
}

impl JsonSchema for Numbers {
    fn schema_name() -> Cow<'static, str> {
        "Numbers".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "array", "items": {"type": "integer", "minimum": 1}})
    }
}

impl From<LossKind> for Loss {
    fn from(kind: LossKind) -> Self {
        match kind {
            LossKind::Packet(p) => Self::Packet(p.0),
            LossKind::Bit(p) => Self::Bit(p.0),
            LossKind::List(numbers) => Self::List(numbers.0),
            LossKind::Police(bucket) => Self::Police { rate: bucket.rate.0, burst: bucket.burst.0.0 },
            LossKind::GilbertElliott(chain) => Self::GilbertElliott {
                good_to_bad: chain.good_to_bad.0,
                bad_to_good: chain.bad_to_good.0,
                loss_good: chain.loss_good.map_or(0.0, |p| p.0),
                loss_bad: chain.loss_bad.map_or(1.0, |p| p.0),
            },
        }
    }
}

/// One entry of a list, or the whole value: a number or a table.
struct OneLoss(Loss);

impl<'de> Deserialize<'de> for OneLoss {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LossVisitor { list: false }).map(|mut losses| Self(losses.remove(0)))
    }
}

impl<'de> Deserialize<'de> for Losses {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LossVisitor { list: true }).map(Self)
    }
}

struct LossVisitor {
    /// Whether a list is right here: lists do not nest.
    list: bool,
}

impl<'de> Visitor<'de> for LossVisitor {
    type Value = Vec<Loss>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "a loss: a probability such as 0.01, {bit = 1e-6}, {gilbert-elliott = {…}}, {list = [3, 7]} or {police = {…}}",
        )?;
        f.write_str(if self.list { ", or a list of these" } else { "" })
    }

    fn visit_f64<E: Error>(self, p: f64) -> Result<Vec<Loss>, E> {
        Probability::check(p).map(|p| vec![Loss::Packet(p.0)])
    }

    fn visit_i64<E: Error>(self, p: i64) -> Result<Vec<Loss>, E> {
        self.visit_f64(p as f64)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Vec<Loss>, A::Error> {
        let kind = LossKind::deserialize(MapAccessDeserializer::new(&mut map))?;
        // serde takes the first key for the variant and leaves the others alone.
        if map.next_key::<IgnoredAny>()?.is_some() {
            return Err(A::Error::custom(
                "a loss is a table with one key; several losses are a list of tables",
            ));
        }
        Ok(vec![kind.into()])
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Vec<Loss>, A::Error> {
        if !self.list {
            return Err(A::Error::invalid_type(serde::de::Unexpected::Seq, &self));
        }
        let mut losses = Vec::new();
        while let Some(OneLoss(loss)) = seq.next_element()? {
            losses.push(loss);
        }
        Ok(losses)
    }
}

impl JsonSchema for Losses {
    fn schema_name() -> Cow<'static, str> {
        "Losses".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let number = Probability::json_schema(generator);
        let table = generator.subschema_for::<LossKind>();
        let one = serde_json::json!({"anyOf": [number, table]});
        json_schema!({"anyOf": [number, table, {"type": "array", "items": one}]})
    }
}
