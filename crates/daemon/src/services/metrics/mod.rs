//! `handfastd metrics`: the controller's counters for Prometheus, over HTTP on a loopback address.
//!
//! At an interval it asks the association socket for `status`, as any client may, and keeps the answer. It touches no switch
//! and no station. Clients, their requests and their time are bounded.

mod clients;
mod http;
mod page;
mod question;
mod read;
mod running;
mod settings;
mod state;

use std::path::Path;

use clap::Command;

use super::{Configured, Running, Service, Start, Table, unobstructed};
use crate::process::{ConfigFile, Level, port_obstacle};
use settings::Settings;
use state::Metrics;

/// The registry's entry.
pub(super) struct MetricsService;

const NAME: &str = "metrics";

const HELP: &str = "\
It reads `association_socket` of FILE, and the table [metrics], which may be missing:

    [metrics]
    listen = \"127.0.0.1:9653\"
    interval = \"5s\"

SIGTERM and SIGINT end it with exit code 0. At SIGHUP it reads FILE again; one that is wrong changes nothing.";

impl Service for MetricsService {
    fn name(&self) -> &'static str {
        NAME
    }

    fn table(&self) -> Table {
        Table::Named(NAME)
    }

    fn command(&self, command: Command) -> Command {
        command
            .about("Serves the counters of a controller to Prometheus, on a loopback address")
            .after_help(HELP)
    }

    fn configure(&self, file: &ConfigFile, _: bool) -> Result<Box<dyn Configured>, String> {
        let settings = Settings::parse(&file.text, &file.name()).map_err(|error| error.to_string())?;
        Ok(Box::new(settings))
    }
}

impl Configured for Settings {
    fn plan(&self) -> String {
        let (listen, socket) = (self.listen, self.association_socket.display());
        format!("serves http://{listen}/metrics\nasks {socket} every {}\n", self.interval)
    }

    fn log_level(&self) -> Level {
        Level::Info
    }

    fn acts(&self) -> bool {
        false
    }

    fn control_socket(&self) -> Option<&Path> {
        None
    }

    fn obstacles(&self) -> Vec<String> {
        port_obstacle(self.listen).into_iter().collect()
    }

    fn start(self: Box<Self>, start: Start<'_>) -> Result<Box<dyn Running>, String> {
        let Start { file, log, io, .. } = start;
        let metrics = Metrics::start((*self).clone(), file, log, io)
            .map_err(|failure| unobstructed(&*self).err().unwrap_or_else(|| format!("error: {failure}")))?;
        Ok(Box::new(metrics))
    }
}
