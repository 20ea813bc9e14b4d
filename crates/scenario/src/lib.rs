//! The scenario file: typed, validated, errors that point at the line.

mod model;

pub use model::*;
