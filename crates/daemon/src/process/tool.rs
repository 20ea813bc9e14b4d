//! Further subcommands of services, and what they share with the command line.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{ArgMatches, Args, Command, FromArgMatches};

use super::ConfigFile;

/// A further subcommand of a service: it does its work and ends.
pub struct Tool {
    /// The subcommand that it belongs to, such as `session`; empty: none.
    pub group: &'static str,
    /// Its name, help and options.
    pub command: Command,
    /// What it does; the error is a message for people.
    pub run: fn(&ArgMatches) -> Result<ExitCode, String>,
}

/// The option of what is done to a service that runs.
#[derive(Args)]
pub(crate) struct FileOption {
    /// The configuration of the controller that is meant
    #[arg(long, value_name = "FILE", default_value = "/etc/handfastd/handfastd.toml")]
    pub(crate) config: PathBuf,
}

/// The options of a subcommand, which clap has checked.
pub(crate) fn parsed<T: FromArgMatches>(options: &ArgMatches) -> T {
    T::from_arg_matches(options).unwrap_or_else(|error| error.exit())
}

/// Reads a configuration file.
pub(crate) fn read(path: &Path) -> Result<ConfigFile, String> {
    let text =
        std::fs::read_to_string(path).map_err(|error| format!("error: {}: {error}", path.display()))?;
    Ok(ConfigFile { path: path.to_owned(), text })
}

/// A line on standard output, which may be full.
pub(crate) fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}
