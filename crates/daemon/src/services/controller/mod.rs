//! `handfastd controller`: the SDN controller's machine between sockets. Adapters and timers, nothing else.

mod adapter;
pub mod association;
pub mod config;
pub mod conversation;
mod descriptors;
mod log;
mod obstacles;
pub mod recording;
mod reload;
mod station_events;
mod status;
mod switches;
mod tools;
mod warned;

use std::fs::OpenOptions;
use std::io::BufWriter;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use clap::{Args, Command};
use handfast_assist::sdn::Mode;
use handfast_core::Bytes;
use handfast_document::{Quantity, Size};

use super::{Configured, Running, Service, Start, Table};
use crate::process::{ConfigFile, Level, Tool};
use adapter::{Adapter, FileRecorder};
use config::Settings;
use recording::{MOST, Recorder};

/// The registry's entry.
pub(super) struct ControllerService;

/// What it has besides the options of every service.
#[derive(Args)]
struct Options {
    /// Records all that the controller is told and asks for, without payload; for tests
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// How long the recording may get; then it ends with a warning
    #[arg(long, value_name = "SIZE", default_value_t = MOST, requires = "record", value_parser = size)]
    record_most: Bytes,
}

const ABOUT: &str = "Holds the segments of stations that roam, as the OpenFlow controller of their switches";
const HELP: &str = "\
The first start changes nothing: without `mode = \"act\"` in FILE it logs what it would do. A small FILE:

    association_socket = \"/run/handfast.sock\"
    release_rate = \"54Mbit/s\"

    [access_points.ap1]
    datapath_id = \"0000000000000001\"
    port = 2

The switch is told to connect, and what no entry is for goes its normal way: for Open vSwitch
    ovs-vsctl set bridge br0 protocols=OpenFlow13 fail-mode=secure
    ovs-vsctl set-controller br0 tcp:127.0.0.1:6653
    ovs-ofctl -O OpenFlow13 add-flow br0 priority=0,actions=NORMAL

Station events are lines at the socket:
    {\"event\": \"disassociated\", \"station\": \"02:00:0a:00:00:05\", \"ap\": \"ap1\"}
    {\"event\": \"status\"}

SIGTERM and SIGINT end it with exit code 0: what it holds for stations that are back is sent, its flow
entries and its socket are removed. At SIGHUP it reads FILE again; one that is wrong changes nothing.
Exit code 2: the configuration or the system does not allow it to run.";

impl Service for ControllerService {
    fn name(&self) -> &'static str {
        "controller"
    }

    fn table(&self) -> Table {
        Table::Root
    }

    fn command(&self, command: Command) -> Command {
        // The options first: their own description would become the help.
        Options::augment_args(command).about(ABOUT).after_help(HELP)
    }

    fn configure(&self, file: &ConfigFile, off: bool) -> Result<Box<dyn Configured>, String> {
        let mut settings = Settings::parse(&file.text, &file.name()).map_err(|error| error.to_string())?;
        settings.switch_off(off);
        Ok(Box::new(ConfiguredController(settings)))
    }

    fn when_off(&self) -> Option<&'static str> {
        Some("its flow entries are gone")
    }

    fn tools(&self) -> Vec<Tool> {
        tools::all()
    }
}

struct ConfiguredController(Settings);

impl Configured for ConfiguredController {
    fn plan(&self) -> String {
        self.0.plan()
    }

    fn log_level(&self) -> Level {
        self.0.log
    }

    fn acts(&self) -> bool {
        self.0.controller.mode == Mode::Act
    }

    fn control_socket(&self) -> Option<&Path> {
        Some(&self.0.association_socket)
    }

    fn obstacles(&self) -> Vec<String> {
        obstacles::obstacles(&self.0)
    }

    fn start(self: Box<Self>, start: Start<'_>) -> Result<Box<dyn Running>, String> {
        let Start { file, log, options, io } = start;
        let Options { record: path, record_most } = crate::process::parsed(options);
        let recorder = path.map(|path| record(&path, record_most, &file.text)).transpose()?;
        let adapter = Adapter::start(self.0.clone(), file, log, recorder, io).map_err(|failure| {
            // The obstacle says more than the system call that failed at it.
            super::unobstructed(&*self).err().unwrap_or_else(|| format!("error: {failure}"))
        })?;
        Ok(Box::new(adapter))
    }
}

fn size(text: &str) -> Result<Bytes, String> {
    Size::read(text).map(|size| size.0)
}

/// For this user only: it says who spoke with whom.
fn record(path: &Path, most: Bytes, config: &str) -> Result<FileRecorder, String> {
    let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path);
    let recorder = file.and_then(|file| Recorder::begin(BufWriter::new(file), most, config));
    recorder.map_err(|error| format!("error: {}: {error}", path.display()))
}
