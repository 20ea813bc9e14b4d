//! The SDN controller with switches: by rule, by random sequences, by faults.

mod absence;
mod datagrams;
mod faults;
mod namesakes;
mod neighbours;
mod overlay;
mod passing;
mod properties;
mod roam;
mod roles;
mod sessions;
mod switches;
mod ways;
mod world;
mod zero_window;
