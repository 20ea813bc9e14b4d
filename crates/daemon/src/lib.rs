//! `handfastd`: the machines of the help on real networks.
//!
//! [`program`] is the command line and the main loop. [`process`] is what every service needs: the log, its configuration file.
//! [`services`] has a module a
//! service. A service moves bytes between sockets and a machine and looks at the clock; what is decided for a station is
//! decided by the machine, which runs in the simulator as it is.
#![forbid(unsafe_code)]
#![cfg(target_os = "linux")]

pub mod process;
pub mod program;
pub mod services;
mod watch;

pub use services::controller::{association, config, conversation, recording};
