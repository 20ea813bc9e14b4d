//! Recordings: what a controller in the field was told and what it asked for, told again to another one.
//!
//! A recording is JSON lines. The first holds the configuration; each further one is something the controller was told,
//! with its time, or something it asked for thereupon:
//!
//! ```text
//! {"recording":{"version":2,"config":"…"}}
//! {"began":{"at":81230000000,"began":1790000000}}
//! {"connected":{"at":81234000000,"conn":4}}
//! {"sent":{"conn":4,"bytes":"0400001000000001000100080000001+1"}}
//! {"message":{"at":81234500000,"conn":4,"bytes":"040a05…+1448"}}
//! {"notice":{"at":81300000000,"station":[2,0,10,0,0,5],"ap":0,"epoch":3,"associated":false}}
//! {"timer":{"at":81400000000}}
//! {"shut_down":{"at":81500000000}}
//! ```
//!
//! Messages are hexadecimal, and zeros at their end are counted after a `+`: what packets carry beyond their TCP header (for
//! other protocols, their ports) is zeros, so that no payload is on any disk. The controller does not look at it.

mod line;
mod redact;
mod replay;

use std::io::{self, BufRead, Write};

use handfast_assist::sdn::{Controller, Output};
use handfast_core::{Bytes, Instant};

use super::conversation::Input;
use line::{Line, VERSION};
pub use replay::Difference;

/// How long a recording may get, if nobody says otherwise: some three million messages, and no full disk.
pub const MOST: Bytes = Bytes(1_000_000_000);

/// Writes a recording.
pub struct Recorder<W: Write> {
    to: W,
    /// Bytes that may still be written.
    left: u64,
    line: Vec<u8>,
}

impl<W: Write> Recorder<W> {
    /// Begins a recording, of at most so many bytes, of a controller with this configuration file.
    ///
    /// # Errors
    /// What writing fails at.
    pub fn begin(to: W, most: Bytes, config: &str) -> io::Result<Self> {
        let mut this = Self { to, left: most.0, line: Vec::new() };
        this.write(&Line::Recording { version: VERSION, config: config.to_owned() })?;
        Ok(this)
    }

    /// The controller is told something.
    ///
    /// # Errors
    /// What writing fails at.
    pub fn input(&mut self, at: Instant, input: &Input) -> io::Result<()> {
        self.write(&Line::of_input(at, input))
    }

    /// It asks for something.
    ///
    /// # Errors
    /// What writing fails at.
    pub fn output(&mut self, output: &Output) -> io::Result<()> {
        Line::of_output(output).map_or(Ok(()), |line| self.write(&line))
    }

    /// Passes on what was written so far.
    ///
    /// # Errors
    /// What writing fails at.
    pub fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }

    fn write(&mut self, line: &Line) -> io::Result<()> {
        self.line.clear();
        serde_json::to_writer(&mut self.line, line)?;
        self.line.push(b'\n');
        // Whole lines only: what is there can be told again.
        let left = self.left.checked_sub(self.line.len() as u64);
        self.left =
            left.ok_or_else(|| io::Error::new(io::ErrorKind::FileTooLarge, "it is as long as it may be"))?;
        self.to.write_all(&self.line)
    }
}

/// A recording that was read.
pub struct Recording {
    config: String,
    steps: Vec<Step>,
    /// Whether it goes to the controller's end: one whose daemon was killed does not.
    complete: bool,
}

/// Something a controller was told, and what it asked for thereupon.
struct Step {
    /// Line in the file, counted from 1.
    number: usize,
    at: Instant,
    input: Input,
    outputs: Vec<Line>,
}

impl Recording {
    /// Reads a recording. What follows the last line end is ignored: the daemon was killed there.
    ///
    /// # Errors
    /// The first line that is none, with its number.
    pub fn read(mut from: impl BufRead) -> io::Result<Self> {
        let mut this = Self { config: String::new(), steps: Vec::new(), complete: false };
        let (mut text, mut begun) = (Vec::new(), false);
        for number in 1.. {
            text.clear();
            from.read_until(b'\n', &mut text)?;
            let Some(line) = text.strip_suffix(b"\n") else { break };
            let wrong = |what: String| {
                io::Error::new(io::ErrorKind::InvalidData, format!("line {number} of the recording: {what}"))
            };
            let line: Line = serde_json::from_slice(line).map_err(|error| wrong(error.to_string()))?;
            this.take(number, line).map_err(wrong)?;
            begun = true;
        }
        let empty = || io::Error::new(io::ErrorKind::InvalidData, "the recording is empty");
        begun.then_some(this).ok_or_else(empty)
    }

    fn take(&mut self, number: usize, line: Line) -> Result<(), String> {
        match (number, &line) {
            (1, Line::Recording { version: VERSION, config }) => {
                config.clone_into(&mut self.config);
                return Ok(());
            }
            (1, _) | (_, Line::Recording { .. }) => {
                return Err(format!("expected a recording of version {VERSION}, from its beginning"));
            }
            _ => {}
        }
        if let Some(input) = line.input() {
            let (at, input) = input?;
            self.complete = matches!(input, Input::ShutDown);
            self.steps.push(Step { number, at, input, outputs: Vec::new() });
        } else {
            let step = self.steps.last_mut().ok_or("nothing was told before")?;
            step.outputs.push(line);
        }
        Ok(())
    }

    /// The configuration file of the recorded controller.
    pub fn config(&self) -> &str {
        &self.config
    }

    /// How many things the controller was told.
    pub fn inputs(&self) -> usize {
        self.steps.len()
    }

    /// Tells all of it to a controller that was told nothing before; how many outputs were the same, byte for byte.
    ///
    /// # Errors
    /// The first output that is not.
    pub fn replay(&self, controller: &mut Controller) -> Result<usize, Difference> {
        replay::replay(&self.steps, self.complete, controller)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_ends_with_its_last_whole_line() {
        let mut to = Vec::new();
        let mut recorder = Recorder::begin(&mut to, Bytes(150), "x = 1").unwrap();
        let input = Input::Timer;
        let written = (0..10).take_while(|_| recorder.input(Instant::ZERO, &input).is_ok()).count();
        assert!(recorder.input(Instant::ZERO, &input).is_err(), "and nothing more");
        assert!(to.len() <= 150 && to.ends_with(b"\n"));
        let recording = Recording::read(&to[..]).unwrap();
        assert!((1..10).contains(&written));
        assert_eq!(recording.inputs(), written);
    }
}
