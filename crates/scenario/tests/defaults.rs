//! What the description of a key says its default is, is its default.

use handfast_scenario::{Agent, AgentKind, Scenario, schema};
use serde_json::Value;

const NETWORK: &str = r#"
duration = "1s"
flows = [{from = "host", to = "phone"}]
[nodes]
host = {kind = "host"}
ap = {kind = "ap", role = "AccessPoints"}
phone = {kind = "station", role = "Stations"}
boss = {kind = "controller", role = "Controller"}
router = {kind = "switch", role = "Anywhere"}
[[links]]
between = ["host", "router"]
rate = "10Mbit/s"
delay = "1ms"
[[links]]
between = ["router", "ap"]
rate = "10Mbit/s"
delay = "1ms"
[[links]]
between = ["ap", "phone"]
rate = "10Mbit/s"
delay = "1ms"
"#;

/// An agent with these keys.
fn agent(kind: &handfast_assist::Kind, keys: &str) -> Agent {
    let needed = if kind.word == "sdn" { ", policy = \"spurious\"" } else { "" };
    let (word, seat) = (kind.word, kind.seat);
    let agent = format!("{{kind = \"{word}\", at = \"role:{seat:?}\"{needed}{keys}}}");
    let text = format!("{NETWORK}\n[schemes.it]\nsender = \"sack\"\nagents = [{agent}]");
    let scenario = Scenario::parse(&text, "test.toml", &[]).unwrap_or_else(|error| panic!("{error}"));
    scenario.schemes[0].agents[0].clone()
}

/// What is said of the default: `Default: 950.`, `Default: 0.7.` or `Default: "100ms".`, and then perhaps more.
fn default_in(description: &str) -> Option<&str> {
    let (_, said) = description.split_once("Default: ")?;
    if let Some(text) = said.strip_prefix('"') {
        return text.find('"').map(|end| &said[..end + 2]);
    }
    let number = said.split(|c: char| !c.is_ascii_digit() && c != '.').next()?.trim_end_matches('.');
    Some(number).filter(|number| !number.is_empty())
}

#[test]
fn descriptions_name_the_defaults() {
    let schema: Value = serde_json::from_str(&schema()).unwrap();
    let tables = schema["$defs"]["AgentTable"]["oneOf"].as_array().unwrap();
    let mut checked = 0;
    for (kind, table) in AgentKind::ALL.iter().zip(tables) {
        let plain = agent(kind, "");
        assert_eq!(plain.kind.name(), kind.word);
        for &key in kind.keys {
            let description = table["properties"][key]["description"].as_str().unwrap();
            if let Some(default) = default_in(description) {
                assert_eq!(agent(kind, &format!(", {key} = {default}")), plain, "{key} = {default}");
                checked += 1;
            }
        }
    }
    assert!(checked >= 17, "{checked}");
}
