//! `handfastd forget` and `handfastd replay`: what there is for a controller besides running it.

use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{ArgMatches, Args, Command};
use handfast_assist::sdn;
use serde_json::json;

use super::config::Settings;
use super::recording::Recording;
use crate::process::{FileOption, Tool, ask, parsed, read, say};

pub(super) fn all() -> Vec<Tool> {
    let forget_help =
        "Makes a controller forget a station: what is held for it goes on, and its next event is the first";
    let replay_help = "Tells a recording to a fresh controller: does it ask for the same, byte for byte?";
    let exit_codes =
        "Exit code 0: it does. 1: it does not, with the first difference. 2: FILE is no recording.";
    vec![
        Tool {
            group: "",
            command: Forget::augment_args(Command::new("forget")).about(forget_help),
            run: forget,
        },
        Tool {
            group: "",
            command: Replay::augment_args(Command::new("replay")).about(replay_help).after_help(exit_codes),
            run: replay,
        },
    ]
}

#[derive(Args)]
struct Forget {
    #[command(flatten)]
    file: FileOption,
    /// The station's address, such as 02:00:0a:00:00:05
    station: String,
}

fn forget(options: &ArgMatches) -> Result<ExitCode, String> {
    let Forget { file: FileOption { config }, station } = parsed(options);
    let file = read(&config)?;
    let settings = Settings::parse(&file.text, &file.name()).map_err(|error| error.to_string())?;
    let socket = settings.association_socket;
    let answer = ask(&socket, &json!({"event": "forget", "station": station}))
        .map_err(|error| format!("error: {}: {error}", socket.display()))?;
    match answer["error"].as_str() {
        Some(error) => Err(format!("error: {error}")),
        None => Ok(ExitCode::SUCCESS),
    }
}

#[derive(Args)]
struct Replay {
    /// What `handfastd controller --record` wrote
    #[arg(value_name = "FILE")]
    recording: PathBuf,
}

fn replay(options: &ArgMatches) -> Result<ExitCode, String> {
    let Replay { recording: path } = parsed(options);
    let name = path.display().to_string();
    let recording = File::open(path).and_then(|file| Recording::read(BufReader::new(file)));
    let recording = recording.map_err(|error| format!("error: {name}: {error}"))?;
    let settings = Settings::parse(recording.config(), &name).map_err(|error| error.to_string())?;
    match recording.replay(&mut sdn::Controller::new(settings.controller)) {
        Ok(outputs) => {
            say(&format!("{} inputs, {outputs} outputs, all the same", recording.inputs()));
            Ok(ExitCode::SUCCESS)
        }
        Err(difference) => {
            say(&difference.to_string());
            Ok(ExitCode::FAILURE)
        }
    }
}
