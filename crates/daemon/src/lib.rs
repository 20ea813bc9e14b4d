//! `handfastd`: the machines of the help on real networks.
//!
//! [`process`] is what every service needs: the command line, the main loop, signals, the log. [`services`] has a module a
//! service. A service moves bytes between sockets and a machine and looks at the clock; what is decided for a station is
//! decided by the machine, which runs in the simulator as it is.
#![forbid(unsafe_code)]
#![cfg(target_os = "linux")]

pub mod process;
pub mod services;

pub use services::controller::{association, config, conversation, recording};
