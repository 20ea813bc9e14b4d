//! One direction of a connection that goes straight.

use std::io::{self, ErrorKind, Read, Write};

use super::super::carrier::Plug;

/// Turns of one connection before the others have theirs.
const MOST_TURNS: usize = 16;

/// Where a direction has broken: at the side from which it comes, or at the other one.
pub(super) struct Broken {
    pub(super) is_source: bool,
    pub(super) error: io::Error,
}

/// One direction.
#[derive(Debug, Default)]
pub(super) struct Lane {
    waiting: Vec<u8>,
    sent: usize,
    pub(super) has_ended: bool,
    pub(super) is_told: bool,
}

impl Lane {
    /// One that begins with these octets.
    pub(super) fn with(waiting: Vec<u8>) -> Self {
        Self { waiting, ..Self::default() }
    }

    /// Moves what there is; whether there may be more.
    pub(super) fn pump(&mut self, from: &mut Plug, to: &mut Plug, chunk: &mut [u8]) -> Result<bool, Broken> {
        for _ in 0..MOST_TURNS {
            while self.sent < self.waiting.len() {
                match to.write(&self.waiting[self.sent..]) {
                    Ok(written) => self.sent += written,
                    Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(error) => return Err(Broken { is_source: false, error }),
                }
            }
            self.waiting.clear();
            self.sent = 0;
            if self.has_ended {
                if !std::mem::replace(&mut self.is_told, true) {
                    to.finish().map_err(|error| Broken { is_source: false, error })?;
                }
                return Ok(false);
            }
            match from.read(chunk) {
                Ok(0) => self.has_ended = true,
                Ok(read) => self.waiting.extend_from_slice(&chunk[..read]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(Broken { is_source: true, error }),
            }
        }
        Ok(true)
    }
}
