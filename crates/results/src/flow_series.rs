//! The time series of a flow: what is sampled of its sender, and what its receiver got. A new series is a line here, and a
//! [`FlowSample::with`] where it is seen.

use crate::series::{Column, Curve, DType, Table, Value};

/// From one line a series the table, and a number for each name.
macro_rules! flow_series {
    ($($name:ident $id:ident, $dtype:ident $scale:ident, $curve:expr, $what:literal;)*) => {
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

        #[expect(non_camel_case_types, reason = "each is the name of its series")]
        enum Place { $($name),* }

        $(#[doc = $what] pub const $id: SeriesId = SeriesId(Place::$name as usize);)*
    };
}

/// The number of a series of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeriesId(usize);

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

flow_series! {
    cwnd_pkt CWND, F32 Segments, Some(&curve("cwnd", "Congestion window", "cwnd", "pkt", 1.0, true)),
        "the sender's congestion window, in full segments";
    ssthresh_pkt SSTHRESH, F32 Segments, Some(&curve("ssthresh", "Slow-start threshold", "ssthresh", "pkt", 1.0, true)),
        "its slow-start threshold, in full segments; null before the first reduction";
    srtt_s SRTT, F32 Unit, Some(&curve("rtt", "Smoothed round-trip time", "smoothed RTT", "ms", 1e3, true)),
        "its smoothed round-trip time; null before the first sample";
    rto_s RTO, F32 Unit, Some(&curve("rto", "Retransmission timeout", "RTO", "s", 1.0, true)),
        "its retransmission timeout, with back-off";
    delivered_bytes DELIVERED, U64 Unit,
        Some(&curve("delivered", "Delivered to the receiving application", "delivered", "MB", 1e-6, false)),
        "new bytes that the receiving application has got";
    sent_bytes SENT, F64 Unit, None, "bytes that the sender has sent at least once; null with a kernel's TCP";
    acknowledged_bytes ACKNOWLEDGED, F64 Unit, None, "bytes of them that are acknowledged; null with a kernel's TCP";
}

/// What is seen of an open flow at one moment: a value a series; NaN: not known.
#[derive(Clone, Copy, Debug)]
pub struct FlowSample([f64; COUNT]);

impl Default for FlowSample {
    fn default() -> Self {
        Self([f64::NAN; COUNT])
    }
}

impl FlowSample {
    /// Takes note of a value: bytes (windows too), or seconds. [`None`]: not known.
    #[must_use]
    pub fn with(mut self, id: SeriesId, value: Option<f64>) -> Self {
        self.0[id.0] = value.unwrap_or(f64::NAN);
        self
    }

    /// The row of [`FLOWS`] without its first two columns. `segment`: payload bytes of a full segment.
    pub(crate) fn row(self, segment: f32) -> [Value; COUNT] {
        let mut values = [Value::U64(0); COUNT];
        for (place, value) in values.iter_mut().enumerate() {
            let given = self.0[place];
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
}
