//! Somebody at the association socket: lines in, lines out.

use std::io::{self, Read, Write};

use mio::net::UnixStream;

use super::Found;
use crate::association::{LONGEST_LINE, LineError, Request, too_long};

/// Bytes of a read.
const READ: usize = 4096;
/// Answers that may wait for somebody who does not read them.
const MOST_WAITING: usize = 64 << 10;

/// Somebody at the association socket. What waits of his lines is at most [`LONGEST_LINE`] and one read.
pub(super) struct LineClient {
    stream: UnixStream,
    line: Vec<u8>,
    /// Which line that is, from one on.
    number: u64,
    /// The line is too long, which was said: up to its end nothing counts.
    skipping: bool,
    outgoing: Vec<u8>,
}

impl LineClient {
    pub(super) fn new(stream: UnixStream) -> Self {
        Self { stream, line: Vec::new(), number: 1, skipping: false, outgoing: Vec::new() }
    }

    /// Reads once; what the lines that are whole ask, with their numbers.
    pub(super) fn read(
        &mut self,
        requests: &mut Vec<(u64, Result<Request, LineError>)>,
    ) -> io::Result<Found> {
        let mut chunk = [0; READ];
        loop {
            match self.stream.read(&mut chunk) {
                Ok(0) => {
                    if !self.line.is_empty() {
                        requests.push((self.number, Request::parse(&std::mem::take(&mut self.line))));
                    }
                    return Ok(Found::End);
                }
                Ok(read) => {
                    self.take(&chunk[..read], requests);
                    return Ok(Found::Some);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Found::Nothing),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn take(&mut self, read: &[u8], requests: &mut Vec<(u64, Result<Request, LineError>)>) {
        for part in read.split_inclusive(|&byte| byte == b'\n') {
            let whole = part.ends_with(b"\n");
            if !self.skipping {
                self.line.extend_from_slice(part.strip_suffix(b"\n").unwrap_or(part));
            }
            if self.line.len() > LONGEST_LINE {
                self.line.clear();
                self.skipping = true;
                requests.push((self.number, Err(too_long())));
            }
            if whole && !std::mem::take(&mut self.skipping) {
                requests.push((self.number, Request::parse(&self.line)));
                self.line.clear();
            }
            self.number += u64::from(whole);
        }
    }

    /// Answers a line.
    pub(super) fn answer(&mut self, answer: &serde_json::Value) {
        self.outgoing.extend_from_slice(answer.to_string().as_bytes());
        self.outgoing.push(b'\n');
    }

    /// Gives the kernel what it takes; whether this goes on.
    pub(super) fn flush(&mut self) -> bool {
        while !self.outgoing.is_empty() {
            match self.stream.write(&self.outgoing) {
                Ok(written) => drop(self.outgoing.drain(..written)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
        }
        self.outgoing.len() <= MOST_WAITING
    }
}
