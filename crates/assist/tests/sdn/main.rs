//! The SDN controller by itself, a test speaking for its switches and access points. With switches it is tested in
//! `crates/sim/tests/sdn`.

mod config;
mod neighbours;
mod roles;
mod sessions;
