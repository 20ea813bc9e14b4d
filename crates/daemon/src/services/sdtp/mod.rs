//! `handfastd sdtp`: a node of SDTP as a bump between two interfaces. The machine is `assist::sdtp::bump`; here are its sockets
//! and its clock.

mod adapter;
pub(super) mod channel;
mod handover;
mod settings;
pub(super) mod shared;
mod status;
mod wire;

use std::path::Path;

use clap::{Args, Command};
use handfast_assist::sdtp::bump::Mode;
use handfast_io::index_of;

use super::tls::TlsTable;
use super::{Configured, Running, Service, Start, Table, unobstructed};
use crate::process::{ConfigFile, Level, parsed, socket_obstacles};
use adapter::Adapter;
use settings::Settings;

/// Its options besides those of every service.
#[derive(Args)]
struct Options {
    /// Takes over from a node that runs with the same interfaces and socket, without a gap: it ends once this one forwards
    #[arg(long)]
    take_over: bool,
}

/// The registry's entry.
pub(super) struct SdtpService;

const NAME: &str = "sdtp";

const HELP: &str = "\
It reads the table [sdtp] of FILE:

    [sdtp]
    address = \"10.99.0.1\"
    datapath_id = \"00000000000000a1\"
    inside = \"eth0\"
    outside = \"eth1\"
    hosts = [\"10.0.1.0/24\"]
    controller = \"127.0.0.1:6654\"
    socket = \"/run/handfastd/sdtp.sock\"
    key_file = \"/etc/handfastd/sdtp.key\"
    mode = \"observe\"

What comes in at one interface leaves by the other. With `mode = \"act\"` it converts the TCP of its hosts, and
keeps copies and repairs losses, as its controller orders (handfastd sdtp-controller). It needs CAP_NET_RAW and
CAP_NET_ADMIN. While it does not run nothing passes.

SIGTERM and SIGINT end it with exit code 0, and so does another one with --take-over. At SIGHUP it reads `mode` of
FILE again.
Exit code 2: the configuration or the system does not allow it to run.";

impl Service for SdtpService {
    fn name(&self) -> &'static str {
        NAME
    }

    fn table(&self) -> Table {
        Table::Named(NAME)
    }

    fn command(&self, command: Command) -> Command {
        // The options first: their own description would become the help.
        Options::augment_args(command)
            .about("Repairs losses in the path, as a node of SDTP between two interfaces")
            .after_help(HELP)
    }

    fn configure(&self, file: &ConfigFile, off: bool) -> Result<Box<dyn Configured>, String> {
        let mut settings = Settings::parse(&file.text, &file.name()).map_err(|error| error.to_string())?;
        settings.switch_off(off);
        Ok(Box::new(settings))
    }

    fn when_off(&self) -> Option<&'static str> {
        Some("it passes all frames as they come")
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
        self.mode == Mode::Act
    }

    fn control_socket(&self) -> Option<&Path> {
        Some(&self.socket)
    }

    fn obstacles(&self) -> Vec<String> {
        let interfaces = self.interfaces.iter().zip(["inside", "outside"]).filter_map(|(name, key)| {
            let error = index_of(name).err()?;
            Some(format!("{key}: {error}; see which there are (ip link)"))
        });
        let tls = self.tls.as_ref().and_then(TlsTable::obstacle);
        interfaces.chain(socket_obstacles("socket", &self.socket)).chain(tls).collect()
    }

    fn start(self: Box<Self>, start: Start<'_>) -> Result<Box<dyn Running>, String> {
        let Start { file, log, options, io } = start;
        let Options { take_over } = parsed(options);
        let adapter = Adapter::start((*self).clone(), file, log, take_over, io)
            .map_err(|failure| unobstructed(&*self).err().unwrap_or_else(|| format!("error: {failure}")))?;
        Ok(Box::new(adapter))
    }
}
