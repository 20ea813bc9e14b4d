//! What the tests of whole runs share.

use std::path::Path;

/// For what no override can say: a key that goes, a table that becomes another.
pub(crate) use handfast_document::testing::edited;
use handfast_scenario::Scenario;
use handfast_sim::series::{Collected, NoSeries};
use handfast_sim::{Control, Options, RunResult, run};

/// A download over two links with an outage, random loss and a random start: everything that draws numbers.
pub(crate) const OUTAGE: &str = r#"
duration = "12s"
[nodes]
server = {kind = "host"}
ap = {kind = "ap", role = "base-station"}
phone = {kind = "station"}
[[links]]
between = ["server", "ap"]
rate = "100Mbit/s"
delay = "5ms"
[[links]]
name = "radio"
between = ["ap", "phone"]
rate = "10Mbit/s"
delay = "15ms"
queue = "50pkt"
loss = 1e-3
[[flows]]
name = "download"
from = "server"
to = "phone"
jitter = "100ms"
[[events]]
at = "4s"
do = "outage"
link = "radio"
gap = "2s"
phase = "500ms"
"#;

/// The scenario in `text`.
pub(crate) fn scenario(text: &str) -> Scenario {
    Scenario::parse(text, "test.toml", &[]).unwrap_or_else(|error| panic!("{error}"))
}

/// The scenario in `text` with values set by path, as `--set` does. A path that leads nowhere is an error.
#[track_caller]
pub(crate) fn set(text: &str, changes: &[(&str, &str)]) -> Scenario {
    let overrides: Vec<_> =
        changes.iter().map(|(path, value)| ((*path).to_owned(), (*value).to_owned())).collect();
    Scenario::parse(text, "test.toml", &overrides).unwrap_or_else(|error| panic!("{error}"))
}

/// [`OUTAGE`] or another text with lines added at its end.
pub(crate) fn with(text: &str, more: &str) -> Scenario {
    scenario(&format!("{text}\n{more}"))
}

/// Runs it without time series.
pub(crate) fn result(scenario: &Scenario, scheme: &str, seed: u64) -> RunResult {
    let options = Options { seed, ..Options::default() };
    let scheme = scenario.scheme(scheme).expect("a scheme or profile");
    run(scenario, scheme, &options, &Control::new(), &mut NoSeries).expect("a result")
}

/// What SDTP's nodes and controller have counted.
pub(crate) fn counted(run: &RunResult, name: &str) -> u64 {
    run.controller.as_ref().and_then(|counters| counters.get(name)).copied().unwrap_or_default()
}

/// Runs it with those options: the result as JSON, and the time series if there are any.
pub(crate) fn bytes(scenario: &Scenario, scheme: &str, options: &Options) -> (String, Collected) {
    let mut series = Collected::default();
    let scheme = scenario.scheme(scheme).expect("a scheme or profile");
    let result = run(scenario, scheme, options, &Control::new(), &mut series).expect("a result");
    (result.to_json(), series)
}

/// Compares with the file of that name, line by line; with `HANDFAST_UPDATE` it is written anew.
pub(crate) fn assert_golden(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/runs").join(name);
    if std::env::var_os("HANDFAST_UPDATE").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    for (line, (now, was)) in text.lines().zip(golden.lines()).enumerate() {
        assert_eq!(now, was, "line {}; if that is meant, set HANDFAST_UPDATE=1", line + 1);
    }
    assert_eq!(text.lines().count(), golden.lines().count());
}
