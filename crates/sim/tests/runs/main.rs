//! Whole runs, from a scenario to its result.

mod applications;
mod captures;
mod determinism;
mod news;
mod plugin;
mod roams;
mod sdn;
mod support;
mod table;
mod walks;
mod wlan;
