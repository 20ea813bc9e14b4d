//! The table of metrics and series as JSON: what Python types, documents and schemas are made of.

use serde_json::{Map, Value, json};

use crate::metrics::{self, Column, METRICS, Metric, MetricId, Scope};
use crate::result::SCHEMA;
use crate::series::TABLES;
use crate::table::{self, Curve, DType};

/// Metrics and time series with all that is known of them.
pub fn describe() -> Value {
    json!({
        "metrics": METRICS.iter().map(metric).collect::<Vec<_>>(),
        "series": TABLES.iter().map(|table| json!({
            "name": table.name,
            "columns": table.columns.iter().map(series_column).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
    })
}

fn metric(metric: &Metric) -> Value {
    json!({
        "name": metric.name,
        "unit": metric.unit,
        "count": metric.count,
        "flow": Scope::Flow.has(metric),
        "aggregate": Scope::Aggregate.has(metric),
        "aggregation": metric.aggregation.words(),
        "optional": metric.optional,
        "description": metric.description,
        "column": metric.column.map(column),
    })
}

fn column(Column { order, header, short, unit, digits, scale }: Column) -> Value {
    json!({"order": order, "header": header, "short": short, "unit": unit, "digits": digits, "scale": scale})
}

fn series_column(column: &table::Column) -> Value {
    let dtype = match column.dtype {
        DType::F32 => "float32",
        DType::F64 => "float64",
        DType::U32 => "uint32",
        DType::U64 => "uint64",
    };
    json!({"name": column.name, "dtype": dtype, "description": column.description, "curve": column.curve.map(curve)})
}

fn curve(Curve { key, title, axis, unit, scale, steps }: &Curve) -> Value {
    json!({"key": key, "title": title, "axis": axis, "unit": unit, "scale": scale, "steps": steps})
}

/// The JSON Schema of `result.json` (draft 2020-12).
pub fn schema() -> Value {
    let text = json!({"type": "string"});
    let name_or_null = json!({"type": ["string", "null"]});
    let time = json!({"type": ["number", "null"], "description": "seconds from the run's start"});
    let passage = [
        ("flow", text.clone()),
        ("stall_s", outage_figure(metrics::STALL)),
        ("time_to_full_rate_s", outage_figure(metrics::TIME_TO_FULL_RATE)),
    ];
    let handover = object(
        &[
            ("station", text.clone()),
            ("link", text.clone()),
            ("to", name_or_null),
            ("down_s", json!({"type": "number"})),
            ("up_s", time.clone()),
            ("stall_s", outage_figure(metrics::STALL)),
            ("time_to_full_rate_s", outage_figure(metrics::TIME_TO_FULL_RATE)),
            ("flows", array(&object(&passage, &[]))),
        ],
        &[],
    );
    let flow = [
        ("flow", text.clone()),
        ("from", text.clone()),
        ("to", text.clone()),
        ("start_s", time.clone()),
        ("end_s", time),
        ("outcome", text.clone()),
    ];
    let count = || json!({"type": "integer", "minimum": 0});
    let segment = object(
        &[
            ("from", text.clone()),
            ("to", text.clone()),
            ("at", text.clone()),
            ("noticed", count()),
            ("repaired", count()),
            ("given_up", count()),
            ("repair_mean_s", json!({"type": ["number", "null"]})),
        ],
        &[],
    );
    let run = object(
        &[
            ("scenario", text.clone()),
            ("scenario_hash", text.clone()),
            ("scheme", text.clone()),
            ("backend", json!({"enum": ["sim", "lab"]})),
            ("seed", json!({"type": "integer", "minimum": 0})),
            ("valid", json!({"type": "boolean"})),
            ("duration_s", json!({"type": "number"})),
            ("packets", json!({"type": ["integer", "null"]})),
            ("packet_hops", json!({"type": ["integer", "null"]})),
            ("byte_hops", json!({"type": ["integer", "null"]})),
            ("aggregate", object(&[], &in_scope(Scope::Aggregate))),
            ("flows", array(&object(&flow, &in_scope(Scope::Flow)))),
            ("handovers", array(&handover)),
            ("controller", json!({"type": ["object", "null"], "additionalProperties": {"type": "integer"}})),
            ("segments", json!({"type": ["array", "null"], "items": segment})),
            ("environment", json!({"type": ["object", "null"]})),
        ],
        &[],
    );
    let mut document =
        object(&[("schema", json!({"const": SCHEMA})), ("version", text), ("runs", array(&run))], &[]);
    document["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    document["title"] = json!("handfast result.json");
    document
}

/// A figure of an outage; the words are those of its metric.
fn outage_figure(id: MetricId) -> Value {
    json!({"type": ["number", "null"], "description": id.metric().description})
}

fn array(of: &Value) -> Value {
    json!({"type": "array", "items": of})
}

fn in_scope(scope: Scope) -> Vec<&'static Metric> {
    METRICS.iter().filter(|metric| scope.has(metric)).collect()
}

/// An object with these keys and metrics; new keys may come at any time.
fn object(keys: &[(&str, Value)], metrics: &[&Metric]) -> Value {
    let mut properties: Map<_, _> =
        keys.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
    let mut required: Vec<_> = keys.iter().map(|(key, _)| *key).collect();
    for metric in metrics {
        let kind = if metric.count { "integer" } else { "number" };
        let unit = if metric.unit.is_empty() { String::new() } else { format!(" ({})", metric.unit) };
        let description = format!("{}{unit}", metric.description);
        properties
            .insert(metric.name.to_owned(), json!({"type": [kind, "null"], "description": description}));
        if !metric.optional {
            required.push(metric.name);
        }
    }
    json!({"type": "object", "properties": properties, "required": required})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Values;

    /// Every key of an object, and those that must be there.
    fn keys(schema: &Value) -> (Vec<String>, Vec<String>) {
        let properties = schema["properties"].as_object().unwrap().keys().cloned().collect();
        let required = schema["required"].as_array().unwrap().iter();
        (properties, required.map(|key| key.as_str().unwrap().to_owned()).collect())
    }

    #[test]
    fn the_schema_has_the_keys_that_results_have() {
        let schema = schema();
        let run = &schema["properties"]["runs"]["items"]["properties"];
        for (scope, object) in [(Scope::Aggregate, &run["aggregate"]), (Scope::Flow, &run["flows"]["items"])]
        {
            let written = serde_json::to_value(Values::new(scope)).unwrap();
            let (known, required) = keys(object);
            for key in written.as_object().unwrap().keys() {
                assert!(known.contains(key) && required.contains(key), "{scope:?}: {key}");
            }
        }
    }

    #[test]
    fn what_is_described_is_what_is_written() {
        let described = describe();
        let names =
            described["metrics"].as_array().unwrap().iter().map(|metric| metric["name"].as_str().unwrap());
        assert!(names.eq(METRICS.iter().map(|metric| metric.name)));
        let flows = &described["series"][0]["columns"];
        assert_eq!(flows[2]["name"], "cwnd_pkt");
        assert_eq!(flows[2]["curve"]["unit"], "pkt");
    }
}
