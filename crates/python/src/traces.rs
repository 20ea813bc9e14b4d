//! Traces of links for the command line: read, drawn, imported, in figures.

use handfast_core::{Duration, Stream};
use handfast_net::trace::{
    AtEnd, Columns, DelayKind, Generator, Recording, TimeUnit, Trace, TraceError, Way,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::json;

/// A trace.
#[pyclass(frozen, name = "Trace", module = "handfast._handfast")]
pub(crate) struct LinkTrace {
    core: Trace,
}

fn wrong(error: &TraceError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

#[pymethods]
impl LinkTrace {
    /// Read a text in one of the formats of scenario files.
    #[staticmethod]
    fn parse(text: &str) -> PyResult<Self> {
        let core = Trace::parse(text, AtEnd::Repeat).map_err(|error| wrong(&error))?;
        Ok(Self { core })
    }

    /// Draw one; `way` is "down" or "up".
    #[staticmethod]
    fn generate(name: &str, way: &str, seconds: f64, seed: u64) -> PyResult<Self> {
        let generator = Generator::ALL.into_iter().find(|generator| generator.name() == name);
        let generator = generator.ok_or_else(|| PyValueError::new_err(format!("no generator `{name}`")))?;
        let way = if way == "up" { Way::Up } else { Way::Down };
        let length = Duration::from_nanos((seconds.clamp(0.0, 1e9) * 1e9) as u64);
        Ok(Self { core: generator.draw(way, length, Stream::new(seed, "trace")) })
    }

    /// As lines of values.
    fn csv(&self) -> String {
        self.core.to_steps().to_csv()
    }

    /// In figures, as JSON.
    fn summary(&self) -> String {
        let summary = self.core.summary();
        let seconds = Duration::as_secs_f64;
        let [least, median, p99] = summary.delay.map_or([None; 3], |delays| delays.map(Some));
        json!({
            "length_s": seconds(summary.length),
            "entries": summary.entries,
            "is_opportunities": matches!(self.core, Trace::Opportunities(_)),
            "mean_rate_bps": summary.mean_rate.map(|rate| rate.as_bps()),
            "peak_rate_bps": summary.peak_rate.map(|rate| rate.as_bps()),
            "outages": summary.outages,
            "longest_outage_s": summary.longest_outage.map(seconds),
            "delay_min_s": least.map(seconds),
            "delay_median_s": median.map(seconds),
            "delay_p99_s": p99.map(seconds),
            "loss": summary.loss,
        })
        .to_string()
    }
}

/// A recording, cut where it pauses.
#[pyclass(frozen, name = "Recording", module = "handfast._handfast")]
pub(crate) struct LinkRecording {
    core: Recording,
}

#[pymethods]
impl LinkRecording {
    /// Read lines of values under declared columns: their names, and what a number is worth in seconds, bit/s, seconds and as
    /// a probability. A time worth None is a date.
    #[staticmethod]
    #[pyo3(signature = (text, time, rate = None, delay = None, loss = None, round_trip = false))]
    fn read(
        text: &str,
        time: (String, Option<f64>),
        rate: Option<(String, f64)>,
        delay: Option<(String, f64)>,
        loss: Option<(String, f64)>,
        round_trip: bool,
    ) -> PyResult<Self> {
        let kind = if round_trip { DelayKind::RoundTrip } else { DelayKind::OneWay };
        let delay = delay.map(|(name, unit)| (name, unit, kind));
        let time = (time.0, time.1.map_or(TimeUnit::Date, TimeUnit::Seconds));
        let core =
            Recording::read(text, &Columns { time, rate, delay, loss }).map_err(|error| wrong(&error))?;
        Ok(Self { core })
    }

    /// How long each part is, in seconds.
    fn parts(&self) -> Vec<f64> {
        self.core.parts().map(Duration::as_secs_f64).collect()
    }

    /// A part as a trace, counted from 0; without a number the longest.
    #[pyo3(signature = (part = None))]
    fn trace(&self, part: Option<usize>) -> PyResult<LinkTrace> {
        let part = part.unwrap_or_else(|| self.core.longest());
        Ok(LinkTrace { core: self.core.trace(part).map_err(|error| wrong(&error))? })
    }
}
