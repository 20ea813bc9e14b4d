//! A run and the handle on it.

use std::sync::Arc;

use handfast_results::Control as Core;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// A handle on a run in progress, shared between threads.
#[pyclass(frozen, module = "handfast._handfast")]
#[derive(Default)]
pub(crate) struct Control {
    pub(crate) core: Arc<Core>,
}

#[pymethods]
impl Control {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Ask the run to stop soon; it then raises `Cancelled`.
    fn cancel(&self) {
        self.core.cancel();
    }

    /// The scenario's time done, 0 to 1.
    #[getter]
    fn progress(&self) -> f64 {
        self.core.progress()
    }
}

/// What one run gave.
#[pyclass(frozen, module = "handfast._handfast")]
pub(crate) struct Run {
    pub(crate) json: String,
    pub(crate) series: Py<PyDict>,
}

#[pymethods]
impl Run {
    /// One run object of `result.json`.
    #[getter]
    fn json(&self) -> &str {
        &self.json
    }

    /// Tables of equally long columns.
    ///
    /// The tables are "flows", "queues" and "packets", empty unless the run was asked for time series; the last one also where
    /// no flow measures its delays. The column of names is a list of str; each other column is a memoryview of float32, float64,
    /// uint32 or uint64, NaN where there is no value.
    #[getter]
    fn series(&self, py: Python<'_>) -> Py<PyDict> {
        self.series.clone_ref(py)
    }
}
