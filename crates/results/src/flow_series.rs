//! The time series of a flow: what is sampled of its sender, and what its receiver got. A new series is a line here, and a field
//! of [`FlowSample`].

use handfast_core::Duration;
use handfast_host::meter::FlowSample;

use crate::table::{Column, Curve, DType, Table, Value};

/// From one line a series the table, and how each value is read.
macro_rules! flow_series {
    ($($name:ident, $dtype:ident $scale:ident, $value:expr, $curve:expr, $what:literal;)*) => {
        /// The sender of a flow, and what its receiver got. `flow` counts the scenario's flows from 0. A segment (`pkt`) is one of
        /// full size. NaN: not known.
        pub const FLOWS: &Table = &Table {
            name: "flows",
            columns: &[
                Column { name: "time_s", dtype: DType::F64, description: "since the run's start", curve: None },
                Column { name: "flow", dtype: DType::U32, description: "its name", curve: None },
                $(Column { name: stringify!($name), dtype: DType::$dtype, description: $what, curve: $curve },)*
            ],
        };

        const SCALES: [Scale; COUNT] = [$(Scale::$scale),*];
        const COUNT: usize = [$(stringify!($name)),*].len();

        const VALUES: [fn(&FlowSample) -> Option<f64>; COUNT] = [$($value),*];
    };
}

/// In what a sample's values are given.
#[derive(Clone, Copy)]
enum Scale {
    /// In the column's unit.
    Unit,
    /// In bytes, where the column has full segments.
    Segments,
}

const fn curve(
    key: &'static str,
    title: &'static str,
    axis: &'static str,
    unit: &'static str,
    scale: f64,
    steps: bool,
) -> Curve {
    Curve { key, title, axis, unit, scale, steps }
}

fn bytes(value: u64) -> f64 {
    value as f64
}

flow_series! {
    cwnd_pkt, F32 Segments, |seen| Some(bytes(seen.cwnd)),
        Some(&curve("cwnd", "Congestion window", "cwnd", "pkt", 1.0, true)),
        "the sender's congestion window, in full segments";
    ssthresh_pkt, F32 Segments, |seen| seen.ssthresh.map(bytes),
        Some(&curve("ssthresh", "Slow-start threshold", "ssthresh", "pkt", 1.0, true)),
        "its slow-start threshold, in full segments; null before the first reduction";
    srtt_s, F32 Unit, |seen| seen.srtt.map(Duration::as_secs_f64),
        Some(&curve("rtt", "Smoothed round-trip time", "smoothed RTT", "ms", 1e3, true)),
        "its smoothed round-trip time; null before the first sample";
    rto_s, F32 Unit, |seen| Some(seen.rto.as_secs_f64()),
        Some(&curve("rto", "Retransmission timeout", "RTO", "s", 1.0, true)),
        "its retransmission timeout, with back-off";
    delivered_bytes, U64 Unit, |seen| Some(bytes(seen.delivered)),
        Some(&curve("delivered", "Delivered to the receiving application", "delivered", "MB", 1e-6, false)),
        "new bytes that the receiving application has got";
    sent_bytes, F64 Unit, |seen| seen.sent.map(bytes), None,
        "bytes that the sender has sent at least once; null with a kernel's TCP";
    acknowledged_bytes, F64 Unit, |seen| seen.acknowledged.map(bytes), None,
        "bytes of them that are acknowledged; null with a kernel's TCP";
}

/// The row of [`FLOWS`] for a sample, without its first two columns. `segment`: payload bytes of a full segment.
pub(crate) fn row(sample: &FlowSample, segment: f32) -> [Value; COUNT] {
    let mut values = [Value::U64(0); COUNT];
    for (place, value) in values.iter_mut().enumerate() {
        let given = VALUES[place](sample).unwrap_or(f64::NAN);
        *value = match (FLOWS.columns[place + 2].dtype, SCALES[place]) {
            (DType::F32, Scale::Segments) => Value::F32(given as f32 / segment),
            (DType::F32, Scale::Unit) => Value::F32(given as f32),
            (DType::F64, _) => Value::F64(given),
            (DType::U32, _) => Value::U32(given as u32),
            (DType::U64, _) => Value::U64(given as u64),
        };
    }
    values
}
