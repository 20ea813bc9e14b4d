//! `handfastd session`: connections of programs go on while addresses change. The machine is `assist::iosl::end`; here are its
//! sockets and its clock.

mod below;
mod carrier;
mod idle;
mod keeping;
mod keys;
mod local;
mod ports;
mod server;
mod settings;
mod targets;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{ArgMatches, Args, Command};

use super::{Companion, Configured, Running, Service, Start, Table};
use crate::process::{ConfigFile, Level, Tool, parsed, port_obstacle, read, say, socket_obstacles};
use server::Server;
use settings::Settings;

/// The registry's entry.
pub(super) struct SessionService;

const NAME: &str = "session serve";
const TABLE: &str = "session";
const GROUP: &str = "session";

const HELP: &str = "\
It reads the table [session] of FILE:

    [session]
    listen = \"0.0.0.0:7443\"
    key_file = \"/etc/handfastd/session.key\"
    socket = \"/run/handfastd/session.sock\"
    clients = [\"KEY\"]
    targets = [{address = \"192.0.2.5\", ports = [22], names = [\"server.example\"]}]

It leads sessions of clients to these targets and to nothing else. KEY is what `handfastd session key` prints on the
client's machine. `handfastd session key --config FILE` prints the key of this end, which clients pin on first use.

SIGTERM and SIGINT end it with exit code 0, and all sessions with it. At SIGHUP it reads clients and targets again.
Exit code 2: the configuration or the system does not allow it to run.";

impl Service for SessionService {
    fn name(&self) -> &'static str {
        NAME
    }

    fn table(&self) -> Table {
        Table::Named(TABLE)
    }

    fn command(&self, command: Command) -> Command {
        command.about("Takes sessions before a server, and leads them to it").after_help(HELP)
    }

    fn configure(&self, file: &ConfigFile, _: bool) -> Result<Box<dyn Configured>, String> {
        let settings = Settings::parse(&file.text, &file.name()).map_err(|error| error.to_string())?;
        Ok(Box::new(settings))
    }

    fn tools(&self) -> Vec<Tool> {
        let about = "Prints the public key of this user, or of the end that FILE configures; makes it where there is none";
        let key = Tool {
            group: GROUP,
            command: KeyOptions::augment_args(Command::new("key")).about(about),
            run: print_key,
        };
        std::iter::once(key).chain(local::tools()).collect()
    }

    fn companions(&self) -> Vec<Companion> {
        local::companions()
    }
}

#[derive(Args)]
struct KeyOptions {
    /// The configuration of an end before a server
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

fn print_key(options: &ArgMatches) -> Result<ExitCode, String> {
    let KeyOptions { config } = parsed(options);
    let file = match config {
        None => local::Places::of_user()?.key(),
        Some(config) => {
            let file = read(&config)?;
            Settings::parse(&file.text, &file.name()).map_err(|error| error.to_string())?.key_file
        }
    };
    say(&keys::name_of(&keys::own(&file)?.public()));
    Ok(ExitCode::SUCCESS)
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
        let clients =
            self.clients.allowed().err().map(|error| error.trim_start_matches("error: ").to_owned());
        let below = self.below.is_there().err().map(|why| format!("below: {why}"));
        port_obstacle(self.listen)
            .into_iter()
            .chain(below)
            .chain(socket_obstacles("socket", &self.socket))
            .chain(clients)
            .collect()
    }

    fn start(self: Box<Self>, start: Start<'_>) -> Result<Box<dyn Running>, String> {
        let Start { file, log, io, .. } = start;
        Ok(Box::new(Server::start(*self, file, log, io)?))
    }
}
