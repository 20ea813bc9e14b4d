//! `handfastd sdtp-controller`: admits connections of hosts behind edges, and tells nodes of SDTP their functions. The machine is
//! `assist::sdtp::Controller`; here are its sockets.

mod adapter;
mod links;
mod settings;

use std::path::Path;

use clap::Command;

use super::{Configured, Running, Service, Start, Table, unobstructed};
use crate::process::{ConfigFile, Level, port_obstacle, socket_obstacles};
use crate::services::tls::TlsTable;
use adapter::Adapter;
use settings::Settings;

/// The registry's entry.
pub(super) struct SdtpControllerService;

const NAME: &str = "sdtp-controller";

const HELP: &str = "\
It reads the table [sdtp-controller] of FILE: the nodes of a line in order, and the links between them:

    [sdtp-controller]
    listen = \"127.0.0.1:6654\"
    socket = \"/run/handfastd/sdtp-controller.sock\"
    nodes = [
        {address = \"10.99.0.1\", datapath_id = \"00000000000000a1\", hosts = [\"10.0.1.0/24\"]},
        {address = \"10.99.0.2\", datapath_id = \"00000000000000a2\"},
        {address = \"10.99.0.3\", datapath_id = \"00000000000000a3\", hosts = [\"10.0.2.0/24\"]},
    ]
    links = [{delay = \"20ms\", loss = 0.02}, {delay = \"20ms\", loss = 0.02}]

While it does not run, connections that begin are plain TCP, and those of before go on.

SIGTERM and SIGINT end it with exit code 0. What it knows of the line needs a new start.
Exit code 2: the configuration or the system does not allow it to run.";

impl Service for SdtpControllerService {
    fn name(&self) -> &'static str {
        NAME
    }

    fn table(&self) -> Table {
        Table::Named(NAME)
    }

    fn command(&self, command: Command) -> Command {
        command.about("Commands nodes of SDTP (handfastd sdtp), over OpenFlow 1.3").after_help(HELP)
    }

    fn configure(&self, file: &ConfigFile, _: bool) -> Result<Box<dyn Configured>, String> {
        let settings = Settings::parse(&file.text, &file.name()).map_err(|error| error.to_string())?;
        Ok(Box::new(settings))
    }
}

impl Configured for Settings {
    fn plan(&self) -> String {
        self.describe()
    }

    fn log_level(&self) -> Level {
        self.log
    }

    fn acts(&self) -> bool {
        true
    }

    fn control_socket(&self) -> Option<&Path> {
        Some(&self.socket)
    }

    fn obstacles(&self) -> Vec<String> {
        let tls = self.tls.as_ref().and_then(TlsTable::obstacle);
        socket_obstacles("socket", &self.socket).chain(port_obstacle(self.listen)).chain(tls).collect()
    }

    fn start(self: Box<Self>, start: Start<'_>) -> Result<Box<dyn Running>, String> {
        let Start { file, log, io, .. } = start;
        let adapter = Adapter::start((*self).clone(), file, log, io)
            .map_err(|failure| unobstructed(&*self).err().unwrap_or_else(|| format!("error: {failure}")))?;
        Ok(Box::new(adapter))
    }
}
