//! The Rust core: scenarios, the simulator, the vocabulary.
//!
//! `_handfast`, the `PyO3` module: thin. Everything it says is said by the crates below it.

mod errors;
#[cfg(target_os = "linux")]
mod lab_tools;
mod run;
mod scenario;
mod series;
mod traces;

use pyo3::prelude::*;

/// The Rust core: scenarios, the simulator, the vocabulary.
#[pymodule]
mod _handfast {
    use handfast_results::result::Document;
    use handfast_scenario::Scenario as Core;
    use pyo3::exceptions::PyValueError;
    use pyo3::prelude::*;
    use serde_json::value::RawValue;

    #[pymodule_export]
    use crate::errors::{Cancelled, ScenarioError};
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use crate::lab_tools::{lab_capacity, lab_relay};
    #[pymodule_export]
    use crate::run::{Control, Run};
    #[pymodule_export]
    use crate::scenario::Scenario;
    #[pymodule_export]
    use crate::traces::{LinkRecording, LinkTrace};

    /// Parse and validate a scenario file's text.
    ///
    /// `name` is what errors call the file; `overrides` are dotted paths and values, as `--set` takes them.
    #[pyfunction]
    #[pyo3(signature = (text, name, overrides = Vec::new()))]
    fn load(py: Python<'_>, text: &str, name: &str, overrides: Vec<(String, String)>) -> PyResult<Scenario> {
        let core =
            Core::parse(text, name, &overrides).map_err(|error| crate::errors::scenario(py, &error))?;
        Ok(Scenario::new(core))
    }

    /// JSON Schema of the scenario file.
    #[pyfunction]
    fn schema() -> String {
        handfast_scenario::schema()
    }

    /// JSON Schema of `result.json`.
    #[pyfunction]
    fn result_schema() -> String {
        handfast_results::describe::schema().to_string()
    }

    /// The tables of metrics and time series as JSON: names, units, aggregation, descriptions, columns, curves.
    #[pyfunction]
    fn metrics() -> String {
        handfast_results::describe::describe().to_string()
    }

    /// Every TCP profile: its name and one line about it.
    #[pyfunction]
    fn profiles() -> Vec<(&'static str, &'static str)> {
        handfast_tcp::PROFILES.iter().map(|profile| (profile.name, profile.summary)).collect()
    }

    /// Every kind of agent built in: its name and one line about it.
    #[pyfunction]
    fn agents() -> Vec<(&'static str, &'static str)> {
        handfast_scenario::AgentKind::ALL.iter().map(|kind| (kind.word, kind.summary)).collect()
    }

    /// Every queue discipline: its name and one line about it.
    #[pyfunction]
    fn disciplines() -> Vec<(&'static str, &'static str)> {
        let all = handfast_scenario::Queue::all();
        all.iter().map(|queue| (queue.config().name(), queue.config().about())).collect()
    }

    /// Everything that draws traces: its name and one line about it.
    #[pyfunction]
    fn generators() -> Vec<(&'static str, &'static str)> {
        handfast_net::trace::Generator::ALL.map(|generator| (generator.name(), generator.about())).to_vec()
    }

    /// The versioned document around run objects.
    #[pyfunction]
    fn document(runs: Vec<String>) -> PyResult<String> {
        let parse = |run: String| {
            RawValue::from_string(run).map_err(|error| PyValueError::new_err(error.to_string()))
        };
        let runs = runs.into_iter().map(parse).collect::<PyResult<Vec<_>>>()?;
        Ok(Document::new(runs).to_json())
    }

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::errors::declare_attributes(module.py())?;
        module.add("LONGEST_FILE", handfast_scenario::LONGEST_FILE)?;
        module.add("LONGEST_TRACE", handfast_net::trace::Trace::LONGEST_TEXT)?;
        module.add("LONGEST_TRACES", handfast_scenario::LONGEST_TRACES)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
