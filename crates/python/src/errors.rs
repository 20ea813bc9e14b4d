//! Errors as Python exceptions.

use handfast_scenario::ScenarioError as SourceError;
use handfast_sim::RunError;
use handfast_wire::pcapng::PcapngError;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

create_exception!(
    handfast._handfast,
    ScenarioError,
    PyValueError,
    "A scenario that cannot be used. `str()` shows the line, what was expected and the nearest valid name."
);
create_exception!(handfast._handfast, Cancelled, PyException, "A run was stopped by `Control.cancel`.");

/// The attributes that every `ScenarioError` has, None where an error has no place in a file.
pub(crate) fn declare_attributes(py: Python<'_>) -> PyResult<()> {
    let class = py.get_type::<ScenarioError>();
    class.setattr("line", py.None())?;
    class.setattr("column", py.None())
}

/// What is wrong with a scenario file, as an exception with `line` and `column`.
pub(crate) fn scenario(py: Python<'_>, error: &SourceError) -> PyErr {
    let exception = ScenarioError::new_err(error.to_string());
    let place = [("line", error.line), ("column", error.column)];
    for (name, number) in place.into_iter().filter(|&(_, number)| number > 0) {
        if let Err(failure) = exception.value(py).setattr(name, number) {
            return failure;
        }
    }
    exception
}

/// Why a run gave no result, as an exception.
pub(crate) fn run(error: &RunError) -> PyErr {
    let text = error.to_string();
    match error {
        RunError::Cancelled => Cancelled::new_err(text),
        RunError::Scenario(_) => ScenarioError::new_err(text),
        RunError::Series(_) | RunError::Capture { error: PcapngError::Io(_), .. } => PyOSError::new_err(text),
        RunError::WrongByte { .. } | RunError::Wire(_) | RunError::Capture { .. } => {
            PyRuntimeError::new_err(text)
        }
    }
}

/// Why a run in the lab gave no result, as an exception.
#[cfg(target_os = "linux")]
pub(crate) fn lab(error: &handfast_lab::LabError) -> PyErr {
    use handfast_lab::LabError;
    let text = error.to_string();
    match error {
        LabError::Cancelled => Cancelled::new_err(text),
        LabError::Scenario(_) => ScenarioError::new_err(text),
        LabError::System { .. } | LabError::Series(_) => PyOSError::new_err(text),
        LabError::WrongByte { .. } => PyRuntimeError::new_err(text),
    }
}
