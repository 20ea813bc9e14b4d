//! The services of the daemon, a module each, and what the process has to know of one.
//!
//! A service that is new here is a module and a line in [`SERVICES`]; its subcommand follows from that.

pub mod controller;
mod freeze;
mod metrics;
mod openflow_link;
mod questions;
mod sdtp;
mod sdtp_controller;
mod session;
mod tls;
mod words;

use std::path::Path;
use std::process::ExitCode;

use clap::{ArgMatches, Command};
use handfast_core::Instant;
use handfast_io::{EventLoop, ReadOutcome, SourceId};
use serde_json::Value;
use toml::de::DeTable;

use crate::process::{ConfigFile, Failure, Level, Log, Tool};

/// The registry: a line a service, in the order of the help.
pub(crate) const SERVICES: &[&dyn Service] = &[
    &controller::ControllerService,
    &sdtp::SdtpService,
    &sdtp_controller::SdtpControllerService,
    &session::SessionService,
    &freeze::FreezeService,
    &metrics::MetricsService,
];

/// Where a service's keys are in the configuration file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Table {
    /// At the top of the file and in all tables that no other service has.
    Root,
    /// In this table.
    Named(&'static str),
}

/// The tables of a file that belong to services which have one of their own.
pub(crate) fn named_tables() -> impl Iterator<Item = &'static str> {
    SERVICES.iter().filter_map(|service| match service.table() {
        Table::Named(name) => Some(name),
        Table::Root => None,
    })
}

/// Whether a file has keys of a service. One that cannot be read has: the service says what is wrong with it.
pub(crate) fn has_keys(text: &str, of: Table) -> bool {
    let Ok(document) = DeTable::parse(text) else { return true };
    let keys = document.get_ref();
    match of {
        Table::Named(name) => keys.contains_key(name),
        Table::Root => {
            let is_named = |key: &str| named_tables().any(|name| name == key);
            keys.is_empty() || keys.keys().any(|key| !is_named(key.get_ref()))
        }
    }
}

/// A service before it runs.
pub(crate) trait Service: Sync {
    /// Its subcommand, of two words where it belongs to a group, and the word for it in messages.
    fn name(&self) -> &'static str;

    /// Where its keys are in the configuration file.
    fn table(&self) -> Table;

    /// Adds its help, and its options besides `--config` and `--check`.
    fn command(&self, command: Command) -> Command;

    /// Reads its keys. `off`: it only observes, whatever the file says. The error is a message for people.
    fn configure(&self, file: &ConfigFile, off: bool) -> Result<Box<dyn Configured>, String>;

    /// What `handfastd off` has done to one that runs; [`None`]: it cannot be switched off.
    fn when_off(&self) -> Option<&'static str> {
        None
    }

    /// Its further subcommands.
    fn tools(&self) -> Vec<Tool> {
        Vec::new()
    }

    /// Its further subcommands that run for as long as a program does, without a configuration.
    fn companions(&self) -> Vec<Companion> {
        Vec::new()
    }
}

/// What runs beside a program, as [`Running`] does, and has no configuration.
pub(crate) struct Companion {
    /// The subcommand that it belongs to.
    pub(crate) group: &'static str,
    /// Its name, help and options.
    pub(crate) command: Command,
    /// Begins. The error is a message for people.
    pub(crate) start: fn(&ArgMatches, &mut EventLoop) -> Result<Begun, String>,
}

/// What has begun.
pub(crate) enum Begun {
    /// It runs.
    Running(Box<dyn Running>),
    /// It is done already.
    Done(ExitCode),
}

/// A service whose configuration is right.
pub(crate) trait Configured {
    /// What it would do, a line each: the answer of `--check`, and what SIGHUP compares.
    fn plan(&self) -> String;

    /// What is logged.
    fn log_level(&self) -> Level;

    /// Whether it acts, and does not only observe.
    fn acts(&self) -> bool;

    /// The line socket at which one that runs answers `status` and `reload`, if it has one.
    fn control_socket(&self) -> Option<&Path>;

    /// What of this machine is in the way, a line each with what to do next. Changes nothing.
    fn obstacles(&self) -> Vec<String>;

    /// Takes the sockets. The error is a message for people.
    fn start(self: Box<Self>, start: Start<'_>) -> Result<Box<dyn Running>, String>;
}

/// What a service gets when it starts.
pub(crate) struct Start<'a> {
    /// The file that it was configured by.
    pub(crate) file: ConfigFile,
    /// Its log.
    pub(crate) log: Log,
    /// What the command line says.
    pub(crate) options: &'a ArgMatches,
    /// Where its sockets belong.
    pub(crate) io: &'a mut EventLoop,
}

/// A service that runs.
pub(crate) trait Running {
    /// Starts what must not be there before signals are heard. The error is a message for people.
    fn begin(&mut self, _io: &mut EventLoop) -> Result<(), String> {
        Ok(())
    }

    /// A socket of it can be read: reads once, and says whether there may be more.
    fn on_readable(&mut self, io: &mut EventLoop, id: SourceId) -> ReadOutcome;

    /// Sends what is to be sent, as far as the kernel takes it. Called before every sleep.
    fn flush(&mut self, io: &mut EventLoop);

    /// When [`Running::on_timer`] is due.
    fn deadline(&mut self) -> Option<Instant>;

    /// Does what is due. It may be called early.
    fn on_timer(&mut self, io: &mut EventLoop, now: Instant);

    /// SIGHUP: reads its configuration; one that is wrong changes nothing.
    fn reload(&mut self);

    /// How it does.
    fn status(&self) -> Value;

    /// Whether it has ended by itself: another one has followed.
    fn is_over(&self) -> bool {
        false
    }

    /// SIGTERM or SIGINT has come, by its name: whether that ends it.
    fn ends_at(&mut self, _signal: &str) -> bool {
        true
    }

    /// With what the process ends.
    fn exit_code(&self) -> ExitCode {
        ExitCode::SUCCESS
    }

    /// SIGTERM: ends what it does, by `deadline`.
    fn stop(&mut self, io: &mut EventLoop, deadline: Instant) -> Result<(), Failure>;
}

/// The obstacles of a service as an error, if there are any.
pub(crate) fn unobstructed(service: &dyn Configured) -> Result<(), String> {
    let lines: Vec<String> = service.obstacles().into_iter().map(|line| format!("error: {line}")).collect();
    if lines.is_empty() { Ok(()) } else { Err(lines.join("\n")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_and_tables_are_used_once() {
        let names: BTreeSet<_> = SERVICES.iter().map(|service| service.name()).collect();
        assert_eq!(names.len(), SERVICES.len());
        let tables: BTreeSet<_> = named_tables().collect();
        assert_eq!(tables.len(), named_tables().count());
        let roots = SERVICES.iter().filter(|service| service.table() == Table::Root).count();
        assert!(roots <= 1, "the rest of the file belongs to one service");
    }

    #[test]
    fn a_file_is_of_the_services_that_it_has_keys_of() {
        let of = |text: &str| {
            let tables = [Table::Root, Table::Named("sdtp"), Table::Named("metrics")];
            tables.map(|table| has_keys(text, table))
        };
        assert_eq!(of("[sdtp]\n[metrics]"), [false, true, true]);
        assert_eq!(of("listen = \"x\""), [true, false, false]);
        assert_eq!(of(""), [true, false, false]);
        assert_eq!(of("no document"), [true; 3]);
    }

    #[test]
    fn each_is_documented() {
        let page = include_str!("../../../../docs/reference/handfastd.md");
        for service in SERVICES {
            assert!(page.contains(&format!("`handfastd {} ", service.name())), "{}", service.name());
        }
    }
}
