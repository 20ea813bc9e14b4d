//! The JSON Schema of the scenario file, for editors.

use serde_json::{Map, Value, json};

use crate::file::File;

/// Keys that have an older name, which is still read: the name now, and the older one. The tables say the same to the parser
/// (`#[serde(alias)]`).
const ALIASES: [(&str, &str); 2] = [("congestion_control", "growth"), ("end_notice", "news")];

/// The JSON Schema (draft 2020-12) of scenario files, indented.
pub fn schema() -> String {
    let mut schema = schemars::schema_for!(File).to_value();
    add_aliases(&mut schema);
    format!("{schema:#}")
}

/// In every table that has such a key: the older name as well, but not both.
fn add_aliases(value: &mut Value) {
    match value {
        Value::Object(object) => {
            object.values_mut().for_each(add_aliases);
            for (now, older) in ALIASES {
                add_alias(object, now, older);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(add_aliases),
        _ => {}
    }
}

fn add_alias(table: &mut Map<String, Value>, now: &str, older: &str) {
    let Some(properties) = table.get_mut("properties").and_then(Value::as_object_mut) else { return };
    let Some(mut property) = properties.get(now).cloned() else { return };
    property["description"] = json!(format!("The older name of `{now}`."));
    property["deprecated"] = json!(true);
    properties.insert(older.to_owned(), property);
    table.insert("not".to_owned(), json!({"required": [now, older]}));
}
