//! Time series as Python objects, without a copy of every number.

use handfast_results::series::{Collected, DType, queue_names};
use handfast_scenario::Scenario;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString};

/// Tables by name, each of columns by name.
pub(crate) fn tables(py: Python<'_>, scenario: &Scenario, collected: &Collected) -> PyResult<Py<PyDict>> {
    let result = PyDict::new(py);
    for (table, columns) in collected.tables() {
        let dict = PyDict::new(py);
        for (name, dtype, bytes) in columns {
            match name {
                "flow" => {
                    dict.set_item(name, names(py, scenario.flows.iter().map(|flow| &*flow.name), bytes)?)?
                }
                "queue" => {
                    dict.set_item(name, names(py, queue_names(scenario).iter().map(|q| &**q), bytes)?)?
                }
                _ => dict.set_item(name, view(py, dtype, bytes)?)?,
            }
        }
        result.set_item(table, dict)?;
    }
    Ok(result.unbind())
}

/// The names that a column of indices stands for.
fn names<'py, 'a>(
    py: Python<'py>,
    all: impl Iterator<Item = &'a str>,
    indices: &[u8],
) -> PyResult<Bound<'py, PyList>> {
    let all: Vec<_> = all.map(|name| PyString::new(py, name)).collect();
    let (indices, _) = indices.as_chunks::<4>();
    PyList::new(py, indices.iter().map(|&index| &all[u32::from_le_bytes(index) as usize]))
}

/// A memoryview of the numbers.
fn view<'py>(py: Python<'py>, dtype: DType, bytes: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    let format = match dtype {
        DType::F32 => "f",
        DType::F64 => "d",
        DType::U32 => "I",
        DType::U64 => "Q",
    };
    let view = py.import("builtins")?.getattr("memoryview")?.call1((PyBytes::new(py, bytes),))?;
    view.call_method1("cast", (format,))
}
