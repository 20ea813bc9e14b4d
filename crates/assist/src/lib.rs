//! The help in the path, as machines: a folder per system.
#![forbid(unsafe_code)]

pub mod sdn;
