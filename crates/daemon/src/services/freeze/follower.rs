//! A file to which somebody writes the signal's power, a line a report: what comes at its end.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use handfast_core::Dbm;
use handfast_io::{EventLoop, SourceId};
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};

/// The longest line; of a longer one nothing counts.
const LONGEST: usize = 256;
/// Powers that a radio can have: what is beyond is a mistake.
const POWERS: std::ops::RangeInclusive<f64> = -200.0..=100.0;

/// What a line says: the signal's power, or that there is none.
pub(super) type Report = Option<Dbm>;

/// The file, read up to its end.
pub(super) struct Follower {
    file: File,
    changes: Inotify,
    id: SourceId,
    lines: Lines,
}

impl Follower {
    /// Follows a file that is there; what is in it already is old.
    pub(super) fn follow(path: &Path, io: &mut EventLoop) -> io::Result<Self> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::End(0))?;
        let changes = Inotify::init(InitFlags::IN_NONBLOCK | InitFlags::IN_CLOEXEC)?;
        changes.add_watch(path, AddWatchFlags::IN_MODIFY)?;
        let id = io.add_descriptor(&changes)?;
        Ok(Self { file, changes, id, lines: Lines::default() })
    }

    pub(super) fn id(&self) -> SourceId {
        self.id
    }

    /// The file has changed: what has come. A line that makes no sense is an error.
    pub(super) fn read(&mut self) -> io::Result<Vec<Result<Report, String>>> {
        // What has changed the file itself says.
        while self.changes.read_events().is_ok_and(|events| !events.is_empty()) {}
        // It was made anew.
        if self.file.metadata()?.len() < self.file.stream_position()? {
            self.file.rewind()?;
            self.lines = Lines::default();
        }
        let mut found = Vec::new();
        let mut chunk = [0; 4096];
        loop {
            match self.file.read(&mut chunk) {
                Ok(0) => return Ok(found),
                Ok(len) => found.extend(self.lines.push(&chunk[..len])),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// Octets that come in pieces, as lines.
#[derive(Debug, Default)]
struct Lines {
    begun: Vec<u8>,
    is_too_long: bool,
}

impl Lines {
    fn push(&mut self, octets: &[u8]) -> Vec<Result<Report, String>> {
        let mut found = Vec::new();
        for &octet in octets {
            if octet == b'\n' {
                let line = std::mem::take(&mut self.begun);
                let is_too_long = std::mem::take(&mut self.is_too_long);
                found.push(if is_too_long { Err("a line too long".to_owned()) } else { parse(&line) });
            } else if self.begun.len() < LONGEST {
                self.begun.push(octet);
            } else {
                self.is_too_long = true;
            }
        }
        found
    }
}

/// `gone`, or a power in dBm; before it there may be other fields, each with a comma after it.
fn parse(line: &[u8]) -> Result<Report, String> {
    let text = String::from_utf8_lossy(line);
    let last = text.rsplit(',').next().unwrap_or_default().trim();
    if last == "gone" {
        return Ok(None);
    }
    power(last).map(Some).ok_or_else(|| format!("`{}` is no power in dBm", last.escape_debug()))
}

/// `-61`, `-61.5`, `-61dBm`.
pub(super) fn power(text: &str) -> Option<Dbm> {
    let number = text.strip_suffix("dBm").unwrap_or(text).trim_end();
    let number: f64 = number.parse().ok().filter(|number| POWERS.contains(number))?;
    Some(Dbm((number * 1e3).round() as i32))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_line_is_a_power_or_none() {
        for (line, is) in
            [("-61", -61_000), ("-61.5dBm", -61_500), ("12.25,wlan0,-70 dBm", -70_000), (" 3 ", 3_000)]
        {
            assert_eq!(parse(line.as_bytes()), Ok(Some(Dbm(is))), "{line}");
        }
        assert_eq!(parse(b"0.1,gone"), Ok(None));
        for wrong in ["", "strong", "nan", "inf", "-1e9", "-61dB", "-61,", "--1", "\u{0}"] {
            assert!(parse(wrong.as_bytes()).is_err(), "{wrong}");
        }
        assert!(parse(&[0xff, b'1']).is_err());
    }

    #[test]
    fn what_is_written_is_read_once_and_in_pieces() {
        let path = std::env::temp_dir().join(format!("handfast-follow-{}", std::process::id()));
        std::fs::write(&path, "-1\n").unwrap();
        let mut io = EventLoop::new().unwrap();
        let mut follower = Follower::follow(&path, &mut io).unwrap();
        let mut writer = File::options().append(true).open(&path).unwrap();
        writer.write_all(b"-50\n-5").unwrap();
        io.wait(None).unwrap();
        assert!(io.take_readable().contains(&follower.id()));
        assert_eq!(follower.read().unwrap(), [Ok(Some(Dbm(-50_000)))], "what was there is old");
        writer.write_all(format!("1\n{}\ngone\n", "x".repeat(10_000)).as_bytes()).unwrap();
        let read = follower.read().unwrap();
        assert_eq!((&read[0], &read[2]), (&Ok(Some(Dbm(-51_000))), &Ok(None)));
        assert!(read[1].is_err() && read.len() == 3);
        std::fs::write(&path, "-9\n").unwrap();
        assert_eq!(follower.read().unwrap(), [Ok(Some(Dbm(-9_000)))], "it was made anew");
        std::fs::remove_file(&path).unwrap();
    }
}
