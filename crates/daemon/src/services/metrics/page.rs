//! The page: a status of the controller in Prometheus' text format.

use std::fmt::Write as _;

use handfast_core::Duration;
use serde_json::{Map, Value};

/// The page while the controller does not answer: old counters are not shown.
pub(super) const DOWN: &str = "# TYPE handfastd_up gauge\nhandfastd_up 0\n";

/// A status in Prometheus' text format. `age`: how old it is.
pub(super) fn page(age: Duration, status: &Value) -> String {
    let mut page = String::new();
    let mut metric = |name: &str, kind: &str, samples: &[(String, f64)]| {
        // Names come from a socket: those that the format does not have are left out.
        let known =
            name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
        if !known || samples.is_empty() {
            return;
        }
        // A string takes all that is written to it.
        let _ = writeln!(page, "# TYPE handfastd_{name} {kind}");
        for (labels, value) in samples {
            let _ = writeln!(page, "handfastd_{name}{labels} {value}");
        }
    };
    let one = |value: f64| [(String::new(), value)];
    let number = |value: &Value| value.as_u64().map(|count| count as f64);
    metric("up", "gauge", &one(1.0));
    metric("status_age_seconds", "gauge", &one(age.as_secs_f64()));
    metric("acts", "gauge", &one(f64::from(u8::from(status["mode"] == "act"))));
    metric("switches", "gauge", &one(status["switches"].as_array().map_or(0, Vec::len) as f64));
    for name in ["held_bytes", "held_datagram_bytes", "connections", "sessions", "paths", "kept_bytes"] {
        metric(name, "gauge", &number(&status[name]).map(one).into_iter().flatten().collect::<Vec<_>>());
    }
    let objects = |value: &Value| value.as_object().cloned().unwrap_or_else(Map::new);
    for (name, key) in [("table_entries", "entries"), ("table_most", "most")] {
        let of = |(switch, table): (&String, &Value)| Some((label("switch", switch), number(&table[key])?));
        let samples: Vec<_> = objects(&status["tables"]).iter().filter_map(of).collect();
        metric(name, "gauge", &samples);
    }
    let own = ["lines", "malformed_lines", "links_closed", "unsendable", "log_lines_dropped"];
    let own = own.map(|name| (name.to_owned(), status[name].clone()));
    for (name, count) in own.into_iter().chain(objects(&status["counters"])) {
        let samples: Vec<_> = match &count {
            Value::Object(kinds) => {
                kinds.iter().filter_map(|(kind, count)| Some((label("kind", kind), number(count)?))).collect()
            }
            count => number(count).map(one).into_iter().flatten().collect(),
        };
        metric(&format!("{name}_total"), "counter", &samples);
    }
    for name in ["noticed", "repaired", "given_up", "repair_seconds"] {
        let segments = status["segments"].as_array().into_iter().flatten();
        let of = |segment: &Value| {
            let [from, to] = ["from", "to"].map(|end| segment[end].as_str());
            Some((labels(&[("from", from?), ("to", to?)]), segment[name].as_f64()?))
        };
        metric(&format!("segment_{name}_total"), "counter", &segments.filter_map(of).collect::<Vec<_>>());
    }
    page
}

fn label(name: &str, value: &str) -> String {
    labels(&[(name, value)])
}

/// Labels; quotation marks, backslashes and line ends are escaped.
fn labels(pairs: &[(&str, &str)]) -> String {
    let escaped = |value: &str| value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    let pairs: Vec<String> =
        pairs.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
    format!("{{{}}}", pairs.join(","))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_status_becomes_a_page() {
        let status = json!({
            "mode": "act", "held_bytes": 7, "switches": ["0000000000000001"], "lines": 3,
            "tables": {"0000000000000001": {"entries": 12, "most": null}},
            "counters": {"held": 5, "dropped_other": {"a\"rp": 2, "udp": 0}, "no name": 1},
            "segments": [{"from": "10.99.0.1", "to": "fd99::2", "repaired": 7, "repair_seconds": 0.25}],
        });
        let expected = "\
# TYPE handfastd_up gauge
handfastd_up 1
# TYPE handfastd_status_age_seconds gauge
handfastd_status_age_seconds 0.25
# TYPE handfastd_acts gauge
handfastd_acts 1
# TYPE handfastd_switches gauge
handfastd_switches 1
# TYPE handfastd_held_bytes gauge
handfastd_held_bytes 7
# TYPE handfastd_table_entries gauge
handfastd_table_entries{switch=\"0000000000000001\"} 12
# TYPE handfastd_lines_total counter
handfastd_lines_total 3
# TYPE handfastd_dropped_other_total counter
handfastd_dropped_other_total{kind=\"a\\\"rp\"} 2
handfastd_dropped_other_total{kind=\"udp\"} 0
# TYPE handfastd_held_total counter
handfastd_held_total 5
# TYPE handfastd_segment_repaired_total counter
handfastd_segment_repaired_total{from=\"10.99.0.1\",to=\"fd99::2\"} 7
# TYPE handfastd_segment_repair_seconds_total counter
handfastd_segment_repair_seconds_total{from=\"10.99.0.1\",to=\"fd99::2\"} 0.25
";
        assert_eq!(page(Duration::from_millis(250), &status), expected);
    }
}
