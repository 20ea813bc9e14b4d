//! The command line, as it follows from the registry: a subcommand a service, its tools, and `off`, `on`, `reload`.

use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{ArgMatches, Args, Command};
use handfast_io::EventLoop;
use serde_json::json;

use super::signals::Signals;
use super::{check, main_loop};
use crate::process::{Context, Failure, FileOption, Tool, ask, log, parsed, read, say, switched_off};
use crate::services::{Begun, SERVICES, Service, Start, has_keys};

/// The options of every service.
#[derive(Args)]
struct ServiceOptions {
    /// The configuration, a TOML file; docs/reference/handfastd.md has all keys
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// Says whether FILE is right, what would be done, and whether socket and port can be had; changes nothing
    #[arg(long)]
    check: bool,
}

/// What the process itself does to running services.
type Switch = (&'static str, &'static str, fn(&Path) -> Result<(), String>);
const SWITCHES: [Switch; 3] = [
    (
        "off",
        "Takes all flow entries out, and lets controllers and nodes of SDTP only observe, also after restarts, until `handfastd on`",
        off,
    ),
    ("on", "Lets them do again what their configuration says", on),
    ("reload", "Makes them read their configuration, as SIGHUP does", reload),
];

/// Subcommands that only have subcommands.
const GROUPS: [(&str, &str); 1] =
    [("session", "Keeps a program's connections while its machine's addresses change: sessions")];

fn command() -> Command {
    let command = Command::new("handfastd")
        .version(env!("CARGO_PKG_VERSION"))
        .about("TCP connections that do not notice that you moved: the remedies on real networks")
        .after_help("A first look: handfastd controller --help")
        .subcommand_required(true)
        .arg_required_else_help(true);
    let services = SERVICES.iter().map(|service| {
        let (group, name) = service.name().rsplit_once(' ').unwrap_or(("", service.name()));
        (group, service.command(ServiceOptions::augment_args(Command::new(name))))
    });
    let switches = SWITCHES
        .iter()
        .map(|&(name, about, _)| ("", FileOption::augment_args(Command::new(name)).about(about)));
    let tools = tools().map(|tool| (tool.group, tool.command));
    let companions =
        SERVICES.iter().flat_map(|service| service.companions()).map(|begun| (begun.group, begun.command));
    services.chain(switches).chain(companions).chain(tools).fold(command, |command, (group, leaf)| {
        match GROUPS.iter().find(|(name, _)| *name == group) {
            None => command.subcommand(leaf),
            Some(_) if command.find_subcommand(group).is_some() => {
                command.mut_subcommand(group, |group| group.subcommand(leaf))
            }
            Some((name, about)) => command.subcommand(
                Command::new(*name)
                    .about(*about)
                    .subcommand_required(true)
                    .arg_required_else_help(true)
                    .subcommand(leaf),
            ),
        }
    })
}

/// A subcommand that a group has: its words with one space between.
fn is_named(name: &str, group: &str, command: &Command) -> bool {
    name == format!("{group} {}", command.get_name()).trim_start()
}

/// What is no service: of services, and of their own.
fn tools() -> impl Iterator<Item = Tool> {
    SERVICES.iter().flat_map(|service| service.tools()).chain([crate::watch::tool()])
}

/// Does what the command line says.
pub fn main() -> ExitCode {
    let matches = command().get_matches();
    let (name, mut options) = matches.subcommand().unwrap_or_else(|| unreachable!("one is required"));
    let mut name = name.to_owned();
    while let Some((next, inner)) = options.subcommand() {
        name = format!("{name} {next}");
        options = inner;
    }
    dispatch(&name, options).unwrap_or_else(|message| {
        // Standard error may be full, or closed: the exit code says it too.
        let _ = writeln!(std::io::stderr(), "{message}");
        ExitCode::from(2)
    })
}

fn dispatch(name: &str, options: &ArgMatches) -> Result<ExitCode, String> {
    if let Some(service) = SERVICES.iter().find(|service| service.name() == name) {
        return serve(*service, options).map(|()| ExitCode::SUCCESS);
    }
    if let Some((_, _, switch)) = SWITCHES.iter().find(|(switch, ..)| *switch == name) {
        let FileOption { config } = parsed(options);
        return switch(&config).map(|()| ExitCode::SUCCESS);
    }
    let mut companions = SERVICES.iter().flat_map(|service| service.companions());
    if let Some(found) = companions.find(|found| is_named(name, found.group, &found.command)) {
        return accompany(found.start, options);
    }
    let tool = tools().find(|tool| is_named(name, tool.group, &tool.command));
    (tool.unwrap_or_else(|| unreachable!("clap knows no other")).run)(options)
}

/// Runs for as long as a program does.
fn accompany(
    start: fn(&ArgMatches, &mut EventLoop) -> Result<Begun, String>,
    options: &ArgMatches,
) -> Result<ExitCode, String> {
    let system = |failure: Failure| format!("error: {failure}");
    let mut io = EventLoop::new().context(|| "epoll".to_owned()).map_err(system)?;
    let mut running = match start(options, &mut io)? {
        Begun::Running(running) => running,
        Begun::Done(code) => return Ok(code),
    };
    let mut signals = Signals::new(&mut io).context(|| "signal handlers".to_owned()).map_err(system)?;
    running.begin(&mut io)?;
    main_loop::run(&mut *running, &mut io, &mut signals).map_err(system)?;
    Ok(running.exit_code())
}

/// Runs a service, or only checks its configuration.
fn serve(service: &dyn Service, options: &ArgMatches) -> Result<(), String> {
    let ServiceOptions { config, check: only_check } = parsed(options);
    let file = read(&config)?;
    let off = service.when_off().is_some() && switched_off::is_set(&config);
    let configured = service.configure(&file, off)?;
    if off {
        let mark = switched_off::mark(&config);
        let _ = writeln!(std::io::stderr(), "switched off by {}: it only observes", mark.display());
    }
    if only_check {
        return check::check(service.name(), &*configured);
    }
    let log = log::start(configured.log_level(), configured.acts());
    let system = |failure: Failure| format!("error: {failure}");
    let mut io = EventLoop::new().context(|| "epoll".to_owned()).map_err(system)?;
    let mut signals = Signals::new(&mut io).context(|| "signal handlers".to_owned()).map_err(system)?;
    let mut running = configured.start(Start { file, log, options, io: &mut io })?;
    main_loop::run(&mut *running, &mut io, &mut signals).map_err(system)
}

/// The services of a configuration that can be switched off: name, what `off` does to one, and its line socket.
fn switchable(config: &Path) -> Result<Vec<(&'static str, &'static str, PathBuf)>, String> {
    let file = read(config)?;
    let mut found = Vec::new();
    for service in SERVICES {
        let when_off = service.when_off().filter(|_| has_keys(&file.text, service.table()));
        let Some(when_off) = when_off else { continue };
        let configured = service.configure(&file, false)?;
        let socket = configured.control_socket().map(Path::to_owned);
        found.extend(socket.map(|socket| (service.name(), when_off, socket)));
    }
    Ok(found)
}

/// Makes a running service read its configuration; its mode then. Nobody may be there.
fn ask_to_reload(socket: &Path) -> Result<Option<String>, String> {
    match ask(socket, &json!({"event": "reload"})) {
        Ok(answer) => Ok(Some(answer["mode"].as_str().unwrap_or("?").to_owned())),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused) => Ok(None),
        Err(error) => Err(format!("error: {}: {error}", socket.display())),
    }
}

fn reload(config: &Path) -> Result<(), String> {
    for (name, _, socket) in switchable(config)? {
        match ask_to_reload(&socket)? {
            Some(mode) => say(&format!("it runs with mode = \"{mode}\"")),
            None => return Err(format!("error: no {name} runs with this configuration")),
        }
    }
    Ok(())
}

fn off(config: &Path) -> Result<(), String> {
    let mark = switched_off::mark(config);
    switched_off::set(config).map_err(|error| format!("error: {}: {error}", mark.display()))?;
    for (name, when_off, socket) in switchable(config)? {
        let done = match ask_to_reload(&socket)? {
            Some(_) => format!("off: {when_off}"),
            None => format!("off: no {name} runs; the next one will only observe"),
        };
        say(&format!("{done}, until `handfastd on --config {}`", config.display()));
    }
    Ok(())
}

fn on(config: &Path) -> Result<(), String> {
    let mark = switched_off::mark(config);
    switched_off::unset(config).map_err(|error| format!("error: {}: {error}", mark.display()))?;
    for (name, _, socket) in switchable(config)? {
        match ask_to_reload(&socket)? {
            Some(mode) => say(&format!("on: it runs with mode = \"{mode}\"")),
            None => say(&format!("on: no {name} runs")),
        }
    }
    Ok(())
}
