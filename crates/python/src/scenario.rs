//! A scenario, and running it.

use std::path::PathBuf;
use std::sync::Arc;

#[cfg(target_os = "linux")]
use handfast_lab::capacity;
use handfast_results::Control as CoreControl;
use handfast_results::result::RunResult;
use handfast_results::series::{Collected, NoSeries, SeriesSink};
use handfast_scenario::Scenario as Core;
use handfast_sim::{Options, RunError};
use pyo3::prelude::*;

use crate::errors::ScenarioError;
use crate::run::{Control, Run};
use crate::{errors, series};

/// A validated scenario.
#[pyclass(frozen, module = "handfast._handfast")]
pub(crate) struct Scenario {
    core: Core,
}

impl Scenario {
    pub(crate) fn new(core: Core) -> Self {
        Self { core }
    }
}

#[pymethods]
impl Scenario {
    #[getter]
    fn name(&self) -> &str {
        &self.core.name
    }

    #[getter]
    fn description(&self) -> &str {
        &self.core.description
    }

    #[getter]
    fn hash(&self) -> &str {
        &self.core.hash
    }

    #[getter]
    fn duration_s(&self) -> f64 {
        self.core.duration.as_secs_f64()
    }

    #[getter]
    fn schemes(&self) -> Vec<&str> {
        self.core.schemes.iter().map(|scheme| scheme.name.as_str()).collect()
    }

    #[getter]
    fn nodes(&self) -> Vec<&str> {
        self.core.nodes.iter().map(|node| node.name.as_str()).collect()
    }

    #[getter]
    fn flows(&self) -> Vec<&str> {
        self.core.flows.iter().map(|flow| flow.name.as_str()).collect()
    }

    /// The nodes of `capture`.
    #[getter]
    fn captures(&self) -> Vec<&str> {
        self.core.captures.iter().map(|&node| self.core.nodes[node].name.as_str()).collect()
    }

    /// The files that links follow, as the scenario names them.
    #[getter]
    fn trace_files(&self) -> Vec<&str> {
        self.core.trace_files.iter().map(String::as_str).collect()
    }

    /// Simulate once. The interpreter lock is released meanwhile.
    #[pyo3(signature = (scheme, seed, *, series = false, capture_dir = None, verify_wire = false, control = None))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords on the Python side")]
    fn run(
        &self,
        py: Python<'_>,
        scheme: &str,
        seed: u64,
        series: bool,
        capture_dir: Option<PathBuf>,
        verify_wire: bool,
        control: Option<&Control>,
    ) -> PyResult<Run> {
        let scheme = self.core.scheme(scheme).map_err(|error| errors::scenario(py, &error))?;
        let options = Options { seed, series, verify_wire, capture_dir };
        let control = control.map_or_else(Arc::default, |control| control.core.clone());
        let done = py.detach(|| simulate(&self.core, scheme, &options, &control));
        let (result, collected) = done.map_err(|error| errors::run(&error))?;
        let series = series::tables(py, &self.core, &collected)?;
        Ok(Run { json: result.to_json(), series })
    }

    /// What a run in the lab needs of the machine, as JSON.
    #[cfg(target_os = "linux")]
    fn lab_plan(&self, py: Python<'_>, scheme: &str) -> PyResult<String> {
        let scheme = self.core.scheme(scheme).map_err(|error| errors::scenario(py, &error))?;
        let plan = handfast_lab::Plan::new(&self.core, scheme);
        plan.map(|plan| plan.to_json()).map_err(ScenarioError::new_err)
    }

    /// Frames a second that the packet loop would move at the most.
    #[cfg(target_os = "linux")]
    fn lab_load(&self, py: Python<'_>, scheme: &str) -> PyResult<f64> {
        let scheme = self.core.scheme(scheme).map_err(|error| errors::scenario(py, &error))?;
        capacity::load(&self.core, scheme).map_err(ScenarioError::new_err)
    }

    /// Raise `ScenarioError` where that is more than a machine carries which carries so many.
    #[cfg(target_os = "linux")]
    fn check_lab_load(&self, py: Python<'_>, scheme: &str, frames_per_s: f64) -> PyResult<()> {
        capacity::check_load(self.lab_load(py, scheme)?, frames_per_s).map_err(ScenarioError::new_err)
    }

    /// Run once in real time, in namespaces made after `lab_plan`. The interpreter lock is released meanwhile.
    #[cfg(target_os = "linux")]
    #[pyo3(signature = (scheme, seed, hub, nodes, *, association_socket = None, series = false, capture_dir = None, control = None))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords on the Python side")]
    fn run_lab(
        &self,
        py: Python<'_>,
        scheme: &str,
        seed: u64,
        hub: String,
        nodes: Vec<String>,
        association_socket: Option<PathBuf>,
        series: bool,
        capture_dir: Option<PathBuf>,
        control: Option<&Control>,
    ) -> PyResult<Run> {
        let scheme = self.core.scheme(scheme).map_err(|error| errors::scenario(py, &error))?;
        let spaces = handfast_lab::Spaces { hub, nodes, association_socket };
        let options = handfast_lab::LabOptions { seed, series, capture_dir };
        let control = control.map_or_else(Arc::default, |control| control.core.clone());
        let done = py.detach(|| {
            collecting(series, |sink| {
                handfast_lab::run(&self.core, scheme, &spaces, &options, &control, sink)
            })
        });
        let (result, collected) = done.map_err(|error| errors::lab(&error))?;
        let series = series::tables(py, &self.core, &collected)?;
        Ok(Run { json: result.to_json(), series })
    }
}

/// Does a run with a sink that keeps what it is given, if that is wanted.
fn collecting<T, E>(
    series: bool,
    run: impl FnOnce(&mut dyn SeriesSink) -> Result<T, E>,
) -> Result<(T, Collected), E> {
    let (mut collected, mut none) = (Collected::default(), NoSeries);
    let result = run(if series { &mut collected } else { &mut none })?;
    Ok((result, collected))
}

fn simulate(
    scenario: &Core,
    scheme: &handfast_scenario::Scheme,
    options: &Options,
    control: &CoreControl,
) -> Result<(RunResult, Collected), RunError> {
    collecting(options.series, |sink| handfast_sim::run(scenario, scheme, options, control, sink))
}
