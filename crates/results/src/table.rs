//! What the columns of a time series are.

use handfast_host::meter::FlowSample;

/// The type of a column's values, little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DType {
    /// IEEE 754, four bytes; NaN where there is no value.
    F32,
    /// IEEE 754, eight bytes.
    F64,
    /// Four bytes, unsigned.
    U32,
    /// Eight bytes, unsigned.
    U64,
}

impl DType {
    /// Bytes a value.
    pub const fn size(self) -> usize {
        match self {
            Self::F32 | Self::U32 => 4,
            Self::F64 | Self::U64 => 8,
        }
    }
}

/// A table: its name and columns.
#[derive(Debug, PartialEq)]
pub struct Table {
    /// Its name.
    pub name: &'static str,
    /// In order. The second column says which flow or queue a row is about.
    pub columns: &'static [Column],
}

/// A column of a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Column {
    /// Its name, with its unit.
    pub name: &'static str,
    /// The type of its values.
    pub dtype: DType,
    /// What it is.
    pub description: &'static str,
    /// How figures and reports draw it.
    pub curve: Option<&'static Curve>,
}

/// A curve of a figure or a report.
#[derive(Debug, PartialEq)]
pub struct Curve {
    /// Names its files.
    pub key: &'static str,
    /// The chart's title.
    pub title: &'static str,
    /// What the axis says, without the unit.
    pub axis: &'static str,
    /// The shown unit.
    pub unit: &'static str,
    /// The factor from the column's unit to the shown one.
    pub scale: f64,
    /// Whether a value holds until the next sample; else it grows from one sample to the next.
    pub steps: bool,
}

impl Curve {
    /// One that holds its value until the next sample, or grows to it.
    pub(crate) const fn new(
        key: &'static str,
        title: &'static str,
        axis: &'static str,
        unit: &'static str,
        scale: f64,
        steps: bool,
    ) -> Self {
        Self { key, title, axis, unit, scale, steps }
    }
}

/// What is sampled of a flow: its column, and where its values come from.
#[derive(Clone, Copy)]
pub(crate) struct Series {
    pub(crate) column: Column,
    pub(crate) scale: Scale,
    pub(crate) value: fn(&FlowSample) -> Option<f64>,
}

/// In what a sample's values are given.
#[derive(Clone, Copy)]
pub(crate) enum Scale {
    /// In the column's unit.
    Unit,
    /// In bytes, where the column has full segments.
    Segments,
}

/// A value of a row.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value {
    F32(f32),
    F64(f64),
    U32(u32),
    U64(u64),
}
