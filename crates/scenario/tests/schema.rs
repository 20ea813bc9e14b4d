//! The JSON Schema tells people what each key means; that it says what the parser says, `tests/python/test_schema.py` checks.

use handfast_scenario::schema;
use serde_json::{Value, json};

#[test]
fn every_key_is_described() {
    let schema: Value = serde_json::from_str(&schema()).unwrap();
    let (mut seen, mut bare) = (0, Vec::new());
    collect(&schema, "", false, &mut seen, &mut bare);
    assert_eq!(bare, Vec::<String>::new());
    assert!(seen > 150, "only {seen} keys");
}

#[test]
fn a_key_without_a_description_is_found() {
    let table = json!({"description": "a table", "properties": {"rate": {"type": "string"}}});
    let variant = json!({"oneOf": [{"properties": {"paced": {"type": "object"}}}]});
    let (mut seen, mut bare) = (0, Vec::new());
    collect(&json!({"$defs": {"Table": table, "App": variant}}), "", false, &mut seen, &mut bare);
    assert_eq!((seen, bare.len()), (2, 2), "{bare:?}");
}

/// Counts the keys below `value`, and names those without a description. The one key of an enum's variant is described by
/// the variant.
fn collect(value: &Value, path: &str, variant: bool, seen: &mut usize, bare: &mut Vec<String>) {
    for (index, inner) in value.as_array().into_iter().flatten().enumerate() {
        collect(inner, &format!("{path}/{index}"), true, seen, bare);
    }
    let Some(object) = value.as_object() else { return };
    for (key, property) in object.get("properties").and_then(Value::as_object).into_iter().flatten() {
        *seen += 1;
        let by_variant = variant && object.contains_key("description");
        if property.get("description").is_none() && !by_variant {
            bare.push(format!("{path}/{key}"));
        }
    }
    for (key, inner) in object {
        collect(inner, &format!("{path}/{key}"), false, seen, bare);
    }
}
