//! The JSON Schema tells people what each key means; that it says what the parser says, `tests/python/test_schema.py` checks.

use handfast_scenario::schema;
use serde_json::Value;

#[test]
fn every_key_is_described() {
    let schema: Value = serde_json::from_str(&schema()).unwrap();
    let mut bare = Vec::new();
    collect_undescribed(&schema, "", &mut bare);
    assert_eq!(bare, Vec::<String>::new());
}

fn collect_undescribed(value: &Value, path: &str, bare: &mut Vec<String>) {
    let Some(object) = value.as_object() else { return };
    for (key, property) in object.get("properties").and_then(Value::as_object).into_iter().flatten() {
        // The variants of an enum are described one level up.
        let described = property.get("description").is_some() || object.get("description").is_some();
        if !described {
            bare.push(format!("{path}/{key}"));
        }
    }
    for (key, inner) in object {
        collect_undescribed(inner, &format!("{path}/{key}"), bare);
    }
}
