//! `handfastd watch`: what stalled this machine's connections, for how long, and what would have helped.

mod convert;
mod names;
mod observe;
mod page;
mod replay;
mod report;
mod text;

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::{ArgMatches, Args, Command};
use handfast_core::Duration;
use handfast_watch::Limits;
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::process::{Tool, parsed, say};
use names::Names;
use observe::Observed;
use report::Report;

const HELP: &str = "\
Watches all TCP connections of this machine, and its questions to name servers,
until Ctrl-C and prints each stall as it ends: what it was, how long, and what
would have saved how much, by a replay in the simulator. Then it sums up. It needs no root and changes nothing;
it sees the network namespace that it runs in.

  handfastd watch                              walk about, then press Ctrl-C
  handfastd watch --for 60 --html page.html    a minute, and a page of it
  handfastd watch --json | jq .                a line a stall; the sum is last

Addresses of peers are replaced by numbers unless --names is given. What a stall
was is read off the kernel's state every 50 ms and rtnetlink's messages;
docs/reference/watch.md says how, and how sure it is.
Exit code 0: watched. 2: the kernel refused, or FILE could not be written.";

pub(crate) fn tool() -> Tool {
    let about = "Says what stalled this machine's connections, and what would have helped";
    Tool {
        group: "",
        command: Options::augment_args(Command::new("watch")).about(about).after_help(HELP),
        run,
    }
}

#[derive(Args)]
struct Options {
    /// Ends after so many seconds; otherwise at Ctrl-C
    #[arg(long = "for", value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    length: Option<u64>,
    /// Waits shorter than so many milliseconds are none
    #[arg(long, value_name = "MS", default_value_t = 200, value_parser = clap::value_parser!(u64).range(50..=60_000))]
    least: u64,
    /// Looks at all connections every so many milliseconds
    #[arg(long, value_name = "MS", default_value_t = 50, value_parser = clap::value_parser!(u64).range(10..=1000))]
    interval: u64,
    /// A line of JSON for each stall, and one for the sum
    #[arg(long)]
    json: bool,
    /// Writes a page of it all at the end
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Shows the addresses of peers
    #[arg(long)]
    names: bool,
    /// Replays no stall in the simulator
    #[arg(long)]
    no_replay: bool,
}

fn run(options: &ArgMatches) -> Result<ExitCode, String> {
    let options: Options = parsed(options);
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // The second one ends it at once, whatever it is at.
        signal_hook::flag::register_conditional_default(signal, Arc::clone(&stop))
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&stop)))
            .map_err(|error| format!("error: signal handlers: {error}"))?;
    }
    let settings = observe::Settings {
        limits: Limits { least: Duration::from_millis(options.least), ..Limits::default() },
        every: Duration::from_millis(options.interval),
        length: options.length.map(Duration::from_secs),
    };
    // Before the watch, not after it: FILE may be no place to write to.
    let cannot = |path: &PathBuf, error: std::io::Error| format!("error: {}: {error}", path.display());
    let mut html = match &options.html {
        Some(path) => Some(std::fs::File::create(path).map_err(|error| cannot(path, error))?),
        None => None,
    };
    let mut report = Report::new(Names::new(options.names), !options.no_replay);
    let screen = Screen::new(options.json);
    // A replay takes longer than the time between two looks.
    let (seen, see) = std::sync::mpsc::channel();
    let watched = std::thread::scope(|scope| {
        let looking = scope.spawn(move || {
            let stop = || stop.load(Ordering::Relaxed);
            observe::watch(&settings, stop, |observed| drop(seen.send(observed)))
        });
        for observed in see {
            match observed {
                Observed::Stalls(stalls) => {
                    for stall in &stalls {
                        screen.stall(report.add(stall));
                    }
                }
                Observed::Look { watched, waiting, passed } => {
                    report.looked(watched, passed);
                    screen.state(&text::state(&report, waiting));
                }
            }
        }
        looking.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    watched.map_err(|error| format!("error: the kernel says nothing of its connections: {error}"))?;
    screen.sum(&report);
    if let Some((file, path)) = html.as_mut().zip(options.html.as_ref()) {
        file.write_all(page::page(&report).as_bytes()).map_err(|error| cannot(path, error))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Where it is said.
struct Screen {
    json: bool,
    /// A line that is written over, for those who look on.
    has_state: bool,
}

impl Screen {
    fn new(json: bool) -> Self {
        Self { json, has_state: !json && std::io::stderr().is_terminal() && std::io::stdout().is_terminal() }
    }

    fn stall(&self, told: &report::Told) {
        self.clear();
        if self.json { say(&told.json().to_string()) } else { say(&text::stall(told)) }
    }

    fn state(&self, line: &str) {
        if self.has_state {
            // `\r`, the line, and `EL` of ECMA-48: what was longer before goes.
            let _ = write!(std::io::stderr(), "\r{line}\x1b[K");
        }
    }

    fn clear(&self) {
        self.state("");
        if self.has_state {
            let _ = write!(std::io::stderr(), "\r");
        }
    }

    fn sum(&self, report: &Report) {
        self.clear();
        if self.json { say(&report.json().to_string()) } else { say(&text::sum(report)) }
    }
}
