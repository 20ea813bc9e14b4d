//! The time series of a flow: what is sampled of its sender, and what its receiver got.
//!
//! What is a metric too stands in the table of metrics (`metrics/mod.rs`, `sampled`). Another series is a line here, and a field
//! of [`FlowSample`].

use handfast_host::meter::FlowSample;

use crate::metrics::SAMPLED;
use crate::table::{Column, Curve, DType, Scale, Series, Table, Value};

/// Series, a line each.
macro_rules! series {
    ($($name:ident, $dtype:ident $scale:ident, $value:expr, $curve:expr, $what:literal;)*) => {
        &[$(Series {
            column: Column { name: stringify!($name), dtype: DType::$dtype, description: $what, curve: $curve },
            scale: Scale::$scale,
            value: $value,
        }),*]
    };
}

fn bytes(value: u64) -> f64 {
    value as f64
}

const WINDOW: &[Series] = series! {
    cwnd_pkt, F32 Segments, |seen| Some(bytes(seen.cwnd)),
        Some(&Curve::new("cwnd", "Congestion window", "cwnd", "pkt", 1.0, true)),
        "the sender's congestion window, in full segments";
    ssthresh_pkt, F32 Segments, |seen| seen.ssthresh.map(bytes),
        Some(&Curve::new("ssthresh", "Slow-start threshold", "ssthresh", "pkt", 1.0, true)),
        "its slow-start threshold, in full segments; null before the first reduction";
};

// Between these two: the metrics that have a curve.

const TIMER_AND_BYTES: &[Series] = series! {
    rto_s, F32 Unit, |seen| Some(seen.rto.as_secs_f64()),
        Some(&Curve::new("rto", "Retransmission timeout", "RTO", "s", 1.0, true)),
        "its retransmission timeout, with back-off";
    delivered_bytes, U64 Unit, |seen| Some(bytes(seen.delivered)),
        Some(&Curve::new("delivered", "Delivered to the receiving application", "delivered", "MB", 1e-6, false)),
        "new bytes that the receiving application has got";
    sent_bytes, F64 Unit, |seen| seen.sent.map(bytes), None,
        "bytes that the sender has sent at least once; null with a kernel's TCP";
    acknowledged_bytes, F64 Unit, |seen| seen.acknowledged.map(bytes), None,
        "bytes of them that are acknowledged; null with a kernel's TCP";
};

const COUNT: usize = WINDOW.len() + SAMPLED.len() + TIMER_AND_BYTES.len();

/// All, in the order of their columns.
const ALL: [Series; COUNT] = {
    let mut all = [WINDOW[0]; COUNT];
    let mut place = 0;
    while place < COUNT {
        all[place] = series(place);
        place += 1;
    }
    all
};

const fn series(place: usize) -> Series {
    let metrics_end = WINDOW.len() + SAMPLED.len();
    if place < WINDOW.len() {
        WINDOW[place]
    } else if place < metrics_end {
        SAMPLED[place - WINDOW.len()].1
    } else {
        TIMER_AND_BYTES[place - metrics_end]
    }
}

/// When and of which flow a row is.
const KEYS: [Column; 2] = [
    Column { name: "time_s", dtype: DType::F64, description: "since the run's start", curve: None },
    Column { name: "flow", dtype: DType::U32, description: "its name", curve: None },
];

const COLUMNS: [Column; KEYS.len() + COUNT] = {
    let mut columns = [KEYS[0]; KEYS.len() + COUNT];
    columns[1] = KEYS[1];
    let mut place = 0;
    while place < COUNT {
        columns[KEYS.len() + place] = ALL[place].column;
        place += 1;
    }
    columns
};

/// The sender of a flow, and what its receiver got. `flow` counts the scenario's flows from 0. A segment (`pkt`) is one of full
/// size. NaN: not known.
pub const FLOWS: &Table = &Table { name: "flows", columns: &COLUMNS };

/// The row of [`FLOWS`] for a sample, without its first two columns. `segment`: payload bytes of a full segment.
pub(crate) fn row(sample: &FlowSample, segment: f32) -> [Value; COUNT] {
    ALL.map(|series| {
        let given = (series.value)(sample).unwrap_or(f64::NAN);
        match (series.column.dtype, series.scale) {
            (DType::F32, Scale::Segments) => Value::F32(given as f32 / segment),
            (DType::F32, Scale::Unit) => Value::F32(given as f32),
            (DType::F64, _) => Value::F64(given),
            (DType::U32, _) => Value::U32(given as u32),
            (DType::U64, _) => Value::U64(given as u64),
        }
    })
}
