//! The JSON Schema says what the parser says.

use handfast_scenario::schema;
use jsonschema::Validator;
use serde_json::Value;

fn validator() -> Validator {
    let schema: Value = serde_json::from_str(&schema()).unwrap();
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    jsonschema::validator_for(&schema).unwrap()
}

fn complaints(validator: &Validator, text: &str) -> Vec<String> {
    let table: toml::Table = text.parse().unwrap();
    let instance = serde_json::to_value(table).unwrap();
    validator.iter_errors(&instance).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

#[test]
fn shipped_scenarios_satisfy_it() {
    let validator = validator();
    let folder = format!("{}/../../scenarios", env!("CARGO_MANIFEST_DIR"));
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files: Vec<_> = files.filter(|path| path.extension().is_some_and(|end| end == "toml")).collect();
    assert!(files.len() >= 5);
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(complaints(&validator, &text), Vec::<String>::new(), "{}", path.display());
    }
}

#[test]
fn every_key_satisfies_it() {
    let complaints = complaints(&validator(), include_str!("everything.toml"));
    assert_eq!(complaints, Vec::<String>::new());
}

#[test]
fn it_rejects_what_the_parser_rejects() {
    let validator = validator();
    let base = include_str!("errors/base.toml");
    for (right, wrong) in [
        ("duration = \"30s\"", "duration = \"30 parsec\""),
        ("duration = \"30s\"", "duration = 30"),
        ("rate = \"20Mbit/s\"", "rte = \"20Mbit/s\""),
        ("queue = \"100pkt\"", "queue = \"100\""),
        ("queue = \"100pkt\"", "loss = 1.5"),
        ("queue = \"100pkt\"", "loss = {bits = 0.1}"),
        ("queue = \"100pkt\"", "loss = {bit = 0.1, list = [3]}"),
        ("{kind = \"station\"}", "{kind = \"sation\"}"),
        ("[\"ap1\", \"mn\"]", "[\"ap1\", \"mn\", \"cn\"]"),
        ("app = \"bulk\"", "app = {transfer = 3}"),
        ("do = \"outage\"", "do = \"handover\""),
        ("name = \"radio\"", "name = \"the radio\""),
        ("sender = \"sack\"", "sender = \"sackk\""),
        ("sender = \"sack\"", "sender = {profile = \"sack\", rto_minimum = \"1s\"}"),
        ("from = \"cn\"\n", ""),
    ] {
        let text = base.replacen(right, wrong, 1);
        assert_ne!(text, base);
        assert!(handfast_scenario::Scenario::parse(&text, "base", &[]).is_err(), "{wrong}");
        assert!(!complaints(&validator, &text).is_empty(), "{wrong}");
    }
}

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
