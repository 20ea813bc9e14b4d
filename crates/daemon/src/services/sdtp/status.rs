//! The answer to `status`.

use handfast_assist::sdtp::bump::Mode;
use serde_json::{Map, Value, json};

use super::adapter::Adapter;
use crate::process::log::mode_word;
use crate::services::Configured;

pub(super) fn report(adapter: &Adapter) -> Value {
    json!({
        "ok": true,
        "mode": mode_word(adapter.settings.mode == Mode::Act),
        "plan": adapter.settings.plan().lines().collect::<Vec<_>>(),
        "address": adapter.settings.address.to_string(),
        "controller": adapter.channel.is_ready(),
        "log_lines_dropped": adapter.log.dropped(),
        "counters": counters(adapter),
    })
}

/// Those of the machine and of the wire.
pub(super) fn counters(adapter: &Adapter) -> Value {
    let (bump, node) = adapter.bump.counters();
    let wire = adapter.wire.counters;
    let wire = [
        ("too_long", wire.too_long),
        ("checksums_completed", wire.completed),
        ("frames_refused", wire.refused),
        ("frames_overrun", wire.overrun),
    ];
    let all = node.totals().chain(bump.totals()).chain(wire);
    Value::Object(all.map(|(name, count)| (name.to_owned(), count.into())).collect::<Map<_, _>>())
}
