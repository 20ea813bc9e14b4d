//! `handfastd`: the remedies on real networks.
#![forbid(unsafe_code)]

use std::fs::OpenOptions;
use std::io::BufWriter;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use handfast_daemon::config::Settings;
use handfast_daemon::controller::{Daemon, FileRecorder};
use handfast_daemon::recording::Recorder;

/// TCP connections that do not notice that you moved: the remedies on real networks.
#[derive(Parser)]
#[command(version, after_help = "A first look: handfastd controller --help")]
struct Command {
    #[command(subcommand)]
    subcommand: What,
}

#[derive(Subcommand)]
enum What {
    /// Holds the segments of stations that roam, as the OpenFlow controller of their switches
    Controller(ControllerCommand),
}

#[derive(clap::Args)]
#[command(after_help = "\
The first start changes nothing: without `mode = \"act\"` in FILE it logs what it would do. A small FILE:

    association_socket = \"/run/handfast.sock\"
    release = {rate = \"54Mbit/s\"}

    [access_points.ap1]
    datapath_id = \"0000000000000001\"
    port = 2

The switch is told to connect, and keeps its own rules: for Open vSwitch
    ovs-vsctl set-controller br0 tcp:127.0.0.1:6653 -- set-fail-mode br0 standalone

News of stations are lines at the socket:
    {\"event\": \"disassociated\", \"station\": \"02:00:0a:00:00:05\", \"ap\": \"ap1\", \"epoch\": 3}
    {\"event\": \"status\"}

SIGTERM and SIGINT end it with exit code 0, after what is held has been released and its flow entries
are gone. Exit code 2: the configuration or the system does not allow it to run.")]
struct ControllerCommand {
    /// The configuration, a TOML file; docs/handfastd.md has all keys
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// Says whether FILE is right and what would be done, and ends
    #[arg(long)]
    check: bool,
    /// Records all that the controller is told and asks for, without payload; for tests
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
}

fn main() -> ExitCode {
    let What::Controller(command) = Command::parse().subcommand;
    match controller(&command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}

fn controller(command: &ControllerCommand) -> Result<(), String> {
    let name = command.config.display().to_string();
    let text = std::fs::read_to_string(&command.config).map_err(|error| format!("error: {name}: {error}"))?;
    let settings = Settings::parse(&text, &name).map_err(|error| error.to_string())?;
    if command.check {
        print!("{}", settings.plan());
        return Ok(());
    }
    handfast_daemon::start_log(settings.log);
    let recorder = command.record.as_deref().map(|path| record(path, &text)).transpose()?;
    let daemon = Daemon::start(settings, recorder).map_err(|failure| format!("error: {failure}"))?;
    daemon.run().map_err(|failure| format!("error: {failure}"))
}

/// For this user only: it says who spoke with whom.
fn record(path: &Path, config: &str) -> Result<FileRecorder, String> {
    let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path);
    let recorder = file.and_then(|file| Recorder::begin(BufWriter::new(file), config));
    recorder.map_err(|error| format!("error: {}: {error}", path.display()))
}
