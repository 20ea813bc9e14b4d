//! `handfastd session freeze`: connections of this machine wait for peers that are away, and go on as they were (`[iosl]` IV.C,
//! single-ended). What freezes is a program in the kernel (`bpf/sender`); when, a machine of `assist::iosl::network` or an operator says.

mod absences;
mod follower;
mod repeat;
mod running;
mod settings;
mod source;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{ArgMatches, Args, Command};
use handfast_bpf::Network;
use handfast_io::index_of;
use handfast_io::netlink::Wireless;
use serde_json::json;

use super::{Configured, Running, Service, Start, Table};
use crate::process::{ConfigFile, Level, Tool, ask, cgroup_root, parsed, read, say, socket_obstacles};
use running::Freeze;
use settings::{Settings, SignalOf, Source};

/// The registry's entry.
pub(super) struct FreezeService;

const NAME: &str = "session freeze";
const TABLE: &str = "freeze";
const GROUP: &str = "session";

const HELP: &str = "\
It reads the table [freeze] of FILE:

    [freeze]
    socket = \"/run/handfastd/freeze.sock\"
    peers = [\"192.0.2.0/24\"]
    signal = {interface = \"wlan0\"}

It needs no other end. Connections of this machine to these peers get the congestion control `handfast_cubic`: CUBIC
that keeps cwnd and ssthresh while they are away. With `interface = \"wlan0\"` what this machine acknowledges to them
has a window of zero meanwhile, and its last acknowledgments go three times when they are back.

That somebody is away or back says the signal, or `handfastd session away` and `back`. Without news of this process
nobody is away for more than 2 s. If it is killed while windows are zero, the senders go on by their own timers.

It needs root, and a kernel with BTF and cgroup v2. SIGTERM and SIGINT end it with exit code 0; its connections go on
with CUBIC. Exit code 2: the configuration or the system does not allow it to run.";

impl Service for FreezeService {
    fn name(&self) -> &'static str {
        NAME
    }

    fn table(&self) -> Table {
        Table::Named(TABLE)
    }

    fn command(&self, command: Command) -> Command {
        command
            .about("Keeps the windows of this machine's connections while their peers are away")
            .after_help(HELP)
    }

    fn configure(&self, file: &ConfigFile, _: bool) -> Result<Box<dyn Configured>, String> {
        let settings = Settings::parse(&file.text, &file.name()).map_err(|error| error.to_string())?;
        Ok(Box::new(settings))
    }

    fn tools(&self) -> Vec<Tool> {
        let tool = |name: &'static str, about: &'static str, run| Tool {
            group: GROUP,
            command: PeersOptions::augment_args(Command::new(name)).about(about),
            run,
        };
        vec![
            tool("away", "Tells `handfastd session freeze` that peers are away, or about to go", |options| {
                tell("away", options)
            }),
            tool("back", "Tells it that they are back", |options| tell("back", options)),
        ]
    }
}

#[derive(Args)]
struct PeersOptions {
    /// The configuration of the `handfastd session freeze` that is meant
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// An address, or a network such as 192.0.2.0/24. Default: all peers of FILE
    #[arg(value_name = "PEERS")]
    peers: Vec<Network>,
}

fn tell(event: &str, options: &ArgMatches) -> Result<ExitCode, String> {
    let PeersOptions { config, peers } = parsed(options);
    let file = read(&config)?;
    let settings = Settings::parse(&file.text, &file.name()).map_err(|error| error.to_string())?;
    // By a network that all are in, it is one question, which is an error only if it concerns nobody.
    let peers = if peers.is_empty() { vec!["::/0".parse()?] } else { peers };
    for peers in peers {
        let line = json!({"event": event, "peers": peers.to_string()});
        let answer = ask(&settings.socket, &line)
            .map_err(|error| format!("error: {}: {error}", settings.socket.display()))?;
        if let Some(error) = answer["error"].as_str() {
            return Err(format!("error: {peers}: {error}"));
        }
        say(&answer.to_string());
    }
    Ok(ExitCode::SUCCESS)
}

/// Why an interface does not say how strong its signal is.
fn silent(interface: &str) -> Option<String> {
    let error = index_of(interface).and_then(Wireless::open).err()?;
    Some(format!("signal of {interface}: {error}"))
}

impl Settings {
    /// The control group whose programs are helped.
    fn cgroup(&self) -> Result<PathBuf, String> {
        let named = self.cgroup.clone().or_else(cgroup_root);
        named.ok_or_else(|| {
            "cgroup v2 is not mounted: mount -t cgroup2 none /sys/fs/cgroup, or name a place with `cgroup`".to_owned()
        })
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
        let unreadable = |path: &PathBuf| {
            let error = std::fs::metadata(path).err()?;
            Some(format!("{}: {error}", path.display()))
        };
        let cgroup = self.cgroup();
        let place = cgroup.as_ref().ok().and_then(unreadable);
        let signal = self.signal.as_ref().and_then(|SignalOf { source, .. }| match source {
            Source::File(file) => unreadable(file),
            Source::Interface { name, .. } => silent(name),
        });
        handfast_bpf::missing()
            .map(str::to_owned)
            .into_iter()
            .chain(socket_obstacles("socket", &self.socket))
            .chain(cgroup.err())
            .chain(place)
            .chain(signal)
            .collect()
    }

    fn start(self: Box<Self>, start: Start<'_>) -> Result<Box<dyn Running>, String> {
        let Start { file, log, io, .. } = start;
        Ok(Box::new(Freeze::start(*self, file, log, io)?))
    }
}
