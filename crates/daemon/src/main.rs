//! `handfastd`: the remedies on real networks.
#![forbid(unsafe_code)]

use std::fs::{File, OpenOptions};
use std::io::{BufReader, BufWriter, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use handfast_assist::sdn;
use handfast_core::Bytes;
use handfast_daemon::config::Settings;
use handfast_daemon::controller::{ConfigFile, Daemon, FileRecorder};
use handfast_daemon::recording::{MOST, Recorder, Recording};
use handfast_daemon::{ask, changes, obstacles, switched_off};
use handfast_document::{Quantity, Size};
use serde_json::json;

/// TCP connections that do not notice that you moved: the remedies on real networks.
#[derive(Parser)]
#[command(name = "handfastd", version, after_help = "A first look: handfastd controller --help")]
struct Command {
    #[command(subcommand)]
    subcommand: What,
}

#[derive(Subcommand)]
enum What {
    /// Holds the segments of stations that roam, as the OpenFlow controller of their switches
    Controller(ControllerCommand),
    /// Takes all flow entries out, and lets a controller only observe, also after restarts, until `handfastd on`
    Off(FileCommand),
    /// Lets a controller do again what its configuration says
    On(FileCommand),
    /// Makes a controller read its configuration, as SIGHUP does
    Reload(FileCommand),
    /// Makes a controller forget a station: what is held for it goes on, and its next event is the first
    Forget {
        #[command(flatten)]
        file: FileCommand,
        /// The station's address, such as 02:00:0a:00:00:05
        station: String,
    },
    /// Tells a recording to a fresh controller: does it ask for the same, byte for byte?
    #[command(
        after_help = "Exit code 0: it does. 1: it does not, with the first difference. 2: FILE is no recording."
    )]
    Replay {
        /// What `handfastd controller --record` wrote
        #[arg(value_name = "FILE")]
        recording: PathBuf,
    },
}

#[derive(clap::Args)]
struct FileCommand {
    /// The configuration of the controller that is meant
    #[arg(long, value_name = "FILE", default_value = "/etc/handfastd/handfastd.toml")]
    config: PathBuf,
}

#[derive(clap::Args)]
#[command(after_help = "\
The first start changes nothing: without `mode = \"act\"` in FILE it logs what it would do. A small FILE:

    association_socket = \"/run/handfast.sock\"
    release = {rate = \"54Mbit/s\"}

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
Exit code 2: the configuration or the system does not allow it to run.")]
struct ControllerCommand {
    /// The configuration, a TOML file; docs/reference/handfastd.md has all keys
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// Says whether FILE is right, what would be done, and whether socket and port can be had; changes nothing
    #[arg(long)]
    check: bool,
    /// Records all that the controller is told and asks for, without payload; for tests
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// How long the recording may get; then it ends with a warning
    #[arg(long, value_name = "SIZE", default_value_t = MOST, requires = "record", value_parser = size)]
    record_most: Bytes,
}

fn main() -> ExitCode {
    let done = match Command::parse().subcommand {
        What::Controller(command) => controller(&command).map(|()| ExitCode::SUCCESS),
        What::Off(FileCommand { config }) => off(&config).map(|()| ExitCode::SUCCESS),
        What::On(FileCommand { config }) => on(&config).map(|()| ExitCode::SUCCESS),
        What::Reload(FileCommand { config }) => match reload(&config) {
            Ok(Some(mode)) => {
                say(&format!("it runs with mode = \"{mode}\""));
                Ok(ExitCode::SUCCESS)
            }
            Ok(None) => Err("error: no controller runs with this configuration".to_owned()),
            Err(message) => Err(message),
        },
        What::Forget { file, station } => forget(&file.config, &station).map(|()| ExitCode::SUCCESS),
        What::Replay { recording } => replay(&recording),
    };
    done.unwrap_or_else(|message| {
        // Standard error may be full, or nobody's: the exit code says it too.
        let _ = writeln!(std::io::stderr(), "{message}");
        ExitCode::from(2)
    })
}

fn replay(path: &Path) -> Result<ExitCode, String> {
    let name = path.display().to_string();
    let recording = File::open(path).and_then(|file| Recording::read(BufReader::new(file)));
    let recording = recording.map_err(|error| format!("error: {name}: {error}"))?;
    let settings = Settings::parse(recording.config(), &name).map_err(|error| error.to_string())?;
    match recording.replay(&mut sdn::Controller::new(settings.controller)) {
        Ok(outputs) => {
            let _ =
                writeln!(std::io::stdout(), "{} inputs, {outputs} outputs, all the same", recording.inputs());
            Ok(ExitCode::SUCCESS)
        }
        Err(difference) => {
            let _ = writeln!(std::io::stdout(), "{difference}");
            Ok(ExitCode::FAILURE)
        }
    }
}

/// The text of a configuration, and what it says.
fn read(config: &Path) -> Result<(String, Settings), String> {
    let name = config.display().to_string();
    let text = std::fs::read_to_string(config).map_err(|error| format!("error: {name}: {error}"))?;
    let settings = Settings::parse(&text, &name).map_err(|error| error.to_string())?;
    Ok((text, settings))
}

/// Makes a running controller read its configuration; what it does then. Nobody may be there.
fn reload(config: &Path) -> Result<Option<String>, String> {
    let (_, settings) = read(config)?;
    match ask(&settings.association_socket, &json!({"event": "reload"})) {
        Ok(answer) => Ok(Some(answer["mode"].as_str().unwrap_or("?").to_owned())),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused) => Ok(None),
        Err(error) => Err(format!("error: {}: {error}", settings.association_socket.display())),
    }
}

fn off(config: &Path) -> Result<(), String> {
    let mark = switched_off::mark(config);
    switched_off::set(config).map_err(|error| format!("error: {}: {error}", mark.display()))?;
    let done = match reload(config)? {
        Some(_) => "off: its flow entries are gone",
        None => "off: no controller runs; the next one will only observe",
    };
    say(&format!("{done}, until `handfastd on --config {}`", config.display()));
    Ok(())
}

fn on(config: &Path) -> Result<(), String> {
    let mark = switched_off::mark(config);
    switched_off::unset(config).map_err(|error| format!("error: {}: {error}", mark.display()))?;
    match reload(config)? {
        Some(mode) => say(&format!("on: it runs with mode = \"{mode}\"")),
        None => say("on: no controller runs"),
    }
    Ok(())
}

fn forget(config: &Path, station: &str) -> Result<(), String> {
    let (_, settings) = read(config)?;
    let socket = settings.association_socket;
    let answer = ask(&socket, &json!({"event": "forget", "station": station}))
        .map_err(|error| format!("error: {}: {error}", socket.display()))?;
    answer["error"].as_str().map_or(Ok(()), |error| Err(format!("error: {error}")))
}

/// A line on standard output, which may be full.
fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// In what a running controller differs from a configuration; whether one runs.
fn say_difference(settings: &Settings) -> bool {
    let Ok(status) = ask(&settings.association_socket, &json!({"event": "status"})) else { return false };
    let running: Vec<&str> =
        status["plan"].as_array().into_iter().flatten().filter_map(|line| line.as_str()).collect();
    let changes = changes(&running.join("\n"), &settings.plan());
    if changes.is_empty() {
        say("a controller runs with this configuration");
        return true;
    }
    say("a controller runs; SIGHUP would change:");
    for change in changes {
        say(&change);
    }
    true
}

fn controller(command: &ControllerCommand) -> Result<(), String> {
    let (text, mut settings) = read(&command.config)?;
    if switched_off::heed(&command.config, &mut settings) {
        let mark = switched_off::mark(&command.config);
        let _ = writeln!(std::io::stderr(), "switched off by {}: it only observes", mark.display());
    }
    if command.check {
        let _ = write!(std::io::stdout(), "{}", settings.plan());
        // What it has taken itself is in nobody's way.
        if say_difference(&settings) {
            return Ok(());
        }
        return unobstructed(&settings);
    }
    let log = handfast_daemon::start_log(settings.log, settings.controller.mode);
    let recorder =
        command.record.as_deref().map(|path| record(path, command.record_most, &text)).transpose()?;
    let file = ConfigFile { path: command.config.clone(), text };
    let daemon = Daemon::start(settings.clone(), file, log, recorder).map_err(|failure| {
        // Why it failed is clearer where that is known.
        unobstructed(&settings).err().unwrap_or_else(|| format!("error: {failure}"))
    })?;
    daemon.run().map_err(|failure| format!("error: {failure}"))
}

/// What of this machine is in the way, in one line each.
fn unobstructed(settings: &Settings) -> Result<(), String> {
    let lines: Vec<String> = obstacles(settings).into_iter().map(|line| format!("error: {line}")).collect();
    if lines.is_empty() { Ok(()) } else { Err(lines.join("\n")) }
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
