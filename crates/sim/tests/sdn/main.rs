//! The SDN controller with switches: by rule, by random sequences, by faults.

mod absence;
#[path = "../../../assist/tests/sdn/config.rs"]
mod config;
mod datagrams;
mod faults;
mod namesakes;
mod overlay;
mod passing;
mod paths;
mod properties;
mod roam;
mod switches;
mod world;
mod zero_window;
