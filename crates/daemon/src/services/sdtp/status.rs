//! The answer to `status`.

use handfast_assist::sdtp::bump::{Bump, Mode};
use serde_json::{Map, Value, json};

use super::settings::Settings;
use super::wire::WireCounters;
use crate::process::log::mode_word;
use crate::services::Configured;

/// `counters`: as [`counters`] has them.
///
/// Whether the controller is there, and whether the node cannot keep up. `methods`: how frames of each side are moved.
pub(super) fn report(
    settings: &Settings,
    (has_controller, is_overloaded): (bool, bool),
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
        "overloaded": is_overloaded,
        "log_lines_dropped": dropped,
        "counters": counters,
    })
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
