//! The access points' side of `handfastd`.

use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use serde_json::Value;

use crate::traffic::address;

/// Lines that are sent before their answers are read: neither side then waits for the other.
const BATCH: usize = 100;

/// The association socket.
pub(crate) struct StationEvents {
    stream: UnixStream,
    answers: BufReader<UnixStream>,
}

impl StationEvents {
    pub(crate) fn connect(path: &Path) -> Result<Self, Box<dyn Error>> {
        let stream = UnixStream::connect(path)?;
        let answers = BufReader::new(stream.try_clone()?);
        Ok(Self { stream, answers })
    }

    /// Says the same of every station; `ap`: the number of its access point.
    pub(crate) fn tell(
        &mut self,
        event: &str,
        epoch: u32,
        stations: u32,
        ap: impl Fn(u32) -> u32,
    ) -> Result<(), Box<dyn Error>> {
        let line = |station: u32| {
            let address = address(station).map(|octet| format!("{octet:02x}")).join(":");
            let ap = ap(station);
            format!(
                "{{\"event\": \"{event}\", \"station\": \"{address}\", \"ap\": \"ap{ap}\", \"epoch\": {epoch}}}\n"
            )
        };
        let stations: Vec<u32> = (0..stations).collect();
        for batch in stations.chunks(BATCH) {
            let lines: String = batch.iter().map(|&station| line(station)).collect();
            self.stream.write_all(lines.as_bytes())?;
            for _ in batch {
                let answer = self.answer()?;
                if answer["ok"] != true {
                    return Err(format!("{event}: {answer}").into());
                }
            }
        }
        Ok(())
    }

    /// How the daemon does.
    pub(crate) fn status(&mut self) -> Result<Value, Box<dyn Error>> {
        self.stream.write_all(b"{\"event\": \"status\"}\n")?;
        self.answer()
    }

    fn answer(&mut self) -> Result<Value, Box<dyn Error>> {
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        Ok(serde_json::from_str(&line)?)
    }
}
