//! What every service needs of its process: the log, its configuration file, the off switch, descriptors, ports.
//! Nothing here knows what a service does.

mod ask;
mod cgroup;
mod config_file;
pub(crate) mod descriptors;
mod hangup;
pub(crate) mod log;
mod places;
mod port;
mod reload;
mod socket_obstacles;
pub(crate) mod switched_off;
mod tool;

use std::fmt;
use std::io;

pub(crate) use ask::ask;
pub(crate) use cgroup::{cgroup_parents, cgroup_root};
pub use config_file::ConfigFile;
pub(crate) use config_file::parse;
pub(crate) use hangup::hangup_is_ignored;
pub use log::{Level, Log};
pub(crate) use places::{address, keys_of, listen_address, socket_address, socket_path, table_of};
pub(crate) use port::port_obstacle;
pub(crate) use reload::{log_changes, reread};
pub(crate) use socket_obstacles::socket_obstacles;
pub use tool::Tool;
pub(crate) use tool::{FileOption, parsed, read, say};

/// A system call failed.
#[derive(Debug)]
pub struct Failure {
    what: String,
    error: io::Error,
}

impl Failure {
    pub(crate) fn new(what: String, error: io::Error) -> Self {
        Self { what, error }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.error)
    }
}

impl std::error::Error for Failure {}

/// Says in an error what was being done.
pub(crate) trait Context<T> {
    fn context(self, what: impl FnOnce() -> String) -> Result<T, Failure>;
}

impl<T> Context<T> for io::Result<T> {
    fn context(self, what: impl FnOnce() -> String) -> Result<T, Failure> {
        self.map_err(|error| Failure { what: what(), error })
    }
}

/// What differs between two plans: lines of the first with "-", of the second with "+".
pub(crate) fn changes(old: &str, new: &str) -> Vec<String> {
    let gone =
        old.lines().filter(|line| !new.lines().any(|other| other == *line)).map(|line| format!("- {line}"));
    let come =
        new.lines().filter(|line| !old.lines().any(|other| other == *line)).map(|line| format!("+ {line}"));
    gone.chain(come).collect()
}
