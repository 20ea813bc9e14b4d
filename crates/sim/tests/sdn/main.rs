//! The SDN controller with switches: by rule, by random sequences, by faults.

mod absence;
#[path = "../../../assist/tests/sdn/config.rs"]
mod config;
mod datagrams;
mod faults;
mod namesakes;
mod overlay;
mod passing;
mod properties;
mod roam;
mod switches;
mod ways;
mod world;
mod zero_window;
