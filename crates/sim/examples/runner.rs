//! Runs one scenario without Python: the code path of `handfast run`, for measuring and for comparing builds.
//!
//! `runner SCENARIO.toml [--scheme NAME] [--seed N] [--out FILE] [--series FILE] [--set KEY=VALUE] [--verify-wire]`

use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;

use handfast_scenario::Scenario;
use handfast_sim::series::{FileSink, NoSeries};
use handfast_sim::{Control, Document, Options, RunError, RunResult, run};

#[derive(Default)]
struct Arguments {
    scenario: String,
    scheme: Option<String>,
    out: Option<String>,
    series: Option<String>,
    overrides: Vec<(String, String)>,
    options: Options,
}

fn arguments(mut words: impl Iterator<Item = String>) -> Result<Arguments, Box<dyn Error>> {
    let mut arguments =
        Arguments { options: Options { seed: 1, ..Options::default() }, ..Arguments::default() };
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} needs a value"));
        match word.as_str() {
            "--scheme" => arguments.scheme = Some(value()?),
            "--seed" => arguments.options.seed = value()?.parse()?,
            "--out" => arguments.out = Some(value()?),
            "--series" => arguments.series = Some(value()?),
            "--set" => {
                let value = value()?;
                let (key, value) = value.split_once('=').ok_or("--set needs KEY=VALUE")?;
                arguments.overrides.push((key.to_owned(), value.to_owned()));
            }
            "--verify-wire" => arguments.options.verify_wire = true,
            _ if word.starts_with('-') => return Err(format!("unknown option {word}").into()),
            _ => arguments.scenario = word,
        }
    }
    arguments.options.series = arguments.series.is_some();
    Ok(arguments)
}

fn simulate(arguments: &Arguments, scenario: &Scenario) -> Result<RunResult, Box<dyn Error>> {
    let first = scenario.schemes.first().map(|scheme| scheme.name.as_str());
    let name = arguments.scheme.as_deref().or(first).ok_or("the scenario has no scheme: say --scheme")?;
    let scheme = scenario.scheme(name)?;
    let (options, control) = (&arguments.options, Control::new());
    let Some(path) = &arguments.series else {
        return Ok(run(scenario, scheme, options, &control, &mut NoSeries)?);
    };
    let mut sink = FileSink::new(BufWriter::new(File::create(path)?))?;
    let result = run(scenario, scheme, options, &control, &mut sink)?;
    sink.finish().map_err(RunError::Series)?;
    Ok(result)
}

fn main() -> ExitCode {
    let Err(error) = go() else { return ExitCode::SUCCESS };
    let _ = writeln!(std::io::stderr(), "{error}");
    ExitCode::from(2)
}

fn go() -> Result<(), Box<dyn Error>> {
    let arguments = arguments(std::env::args().skip(1))?;
    let text = std::fs::read_to_string(Path::new(&arguments.scenario))?;
    let scenario = Scenario::parse(&text, &arguments.scenario, &arguments.overrides)?;
    let document = Document::new(vec![simulate(&arguments, &scenario)?]).to_json();
    match &arguments.out {
        Some(path) => std::fs::write(path, document)?,
        None => writeln!(std::io::stdout(), "{document}")?,
    }
    Ok(())
}
