//! The answer to `status`.

use std::net::IpAddr;

use handfast_assist::sdtp::Repairs;
use handfast_assist::sdtp::bump::{Bump, Mode};
use serde_json::{Map, Value, json};

use super::settings::Settings;
use super::wire::WireCounters;
use crate::process::log::mode_word;
use crate::services::Configured;

/// Segments of an answer: a line has two for each pair of edges.
const MOST_SEGMENTS: usize = 256;

/// `counters`: as [`counters`] has them.
///
/// `methods`: how frames of each side are moved.
pub(super) fn report(
    settings: &Settings,
    bump: &Bump,
    has_controller: bool,
    methods: [&str; 2],
    counters: &Value,
    dropped: u64,
) -> Value {
    json!({
        "ok": true,
        "mode": mode_word(settings.mode == Mode::Act),
        "plan": settings.plan().lines().collect::<Vec<_>>(),
        "address": settings.address.to_string(),
        "controller": has_controller,
        "packet_io": methods,
        "overloaded": bump.is_overloaded(),
        "log_lines_dropped": dropped,
        "counters": counters,
        "segments": segments(bump),
    })
}

/// What became of losses in the segments that end here.
fn segments(bump: &Bump) -> Vec<Value> {
    let segment = |((from, to), repairs): ((IpAddr, IpAddr), Repairs)| {
        json!({
            "from": from.to_string(),
            "to": to.to_string(),
            "noticed": repairs.noticed,
            "repaired": repairs.repaired,
            "given_up": repairs.given_up,
            "repair_seconds": repairs.repair_time.as_secs_f64(),
        })
    };
    bump.repairs().take(MOST_SEGMENTS).map(segment).collect()
}

/// Those of the machine and of the wire.
pub(super) fn counters(bump: &Bump, wire: WireCounters) -> Value {
    let (bump, node) = bump.counters();
    let wire = [
        ("cut", wire.cut),
        ("too_long", wire.too_long),
        ("checksums_completed", wire.completed),
        ("frames_refused", wire.refused),
        ("frames_congested", wire.congested),
        ("frames_overrun", wire.overrun),
    ];
    let all = node.totals().chain(bump.totals()).chain(wire);
    Value::Object(all.map(|(name, count)| (name.to_owned(), count.into())).collect::<Map<_, _>>())
}
