//! Files that people write: TOML with its lines, quantities with units, errors that point.
#![forbid(unsafe_code)]

mod deferred;
mod error;
mod integer;
mod named;
mod quantity;
mod source;
mod span;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod toml;

pub use deferred::{Deferred, Table};
pub use error::{Checked, DocumentError, Problem, hint, nearest};
pub use named::{Located, Name, Named};
pub use quantity::{
    Decibels, Packets, Probability, Quantity, Rate, SignalRatio, Size, TimeSpan, ZERO_RATE, parse_units,
    pattern_of, positive, read_quantity,
};
pub use source::{Override, Source};
pub use span::Span;
pub use toml::{duplicate_key, missing_key, path_at, problem, unknown_key};
