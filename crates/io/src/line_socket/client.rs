//! A client of a line socket: lines in, answers out.
#![forbid(unsafe_code)]

use std::fmt::Display;
use std::io::{self, Read, Write};

use mio::net::UnixStream;

use super::{Line, LineLimits};
use crate::ReadOutcome;

/// Bytes of a read.
const READ: usize = 4096;

/// A client. What is kept of its lines is at most the longest line and one read.
pub struct LineClient {
    stream: UnixStream,
    limits: LineLimits,
    line: Vec<u8>,
    /// Which line that is, counted from one.
    number: u64,
    /// The line is too long, which was reported: its rest is skipped.
    skipping: bool,
    outgoing: Vec<u8>,
}

impl LineClient {
    pub(super) fn new(stream: UnixStream, limits: LineLimits) -> Self {
        Self { stream, limits, line: Vec::new(), number: 1, skipping: false, outgoing: Vec::new() }
    }

    /// Reads once; adds the lines that are complete, with their numbers.
    pub(super) fn read(&mut self, lines: &mut Vec<(u64, Line)>) -> io::Result<ReadOutcome> {
        let mut chunk = [0; READ];
        loop {
            match self.stream.read(&mut chunk) {
                Ok(0) => {
                    if !self.line.is_empty() {
                        lines.push((self.number, Line::Complete(std::mem::take(&mut self.line))));
                    }
                    return Ok(ReadOutcome::End);
                }
                Ok(read) => {
                    self.split(&chunk[..read], lines);
                    return Ok(ReadOutcome::Some);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(ReadOutcome::Nothing),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn split(&mut self, read: &[u8], lines: &mut Vec<(u64, Line)>) {
        for part in read.split_inclusive(|&byte| byte == b'\n') {
            let whole = part.ends_with(b"\n");
            if !self.skipping {
                self.line.extend_from_slice(part.strip_suffix(b"\n").unwrap_or(part));
            }
            if self.line.len() > self.limits.longest_line {
                self.line.clear();
                self.skipping = true;
                lines.push((self.number, Line::TooLong));
            }
            if whole && !std::mem::take(&mut self.skipping) {
                lines.push((self.number, Line::Complete(std::mem::take(&mut self.line))));
            }
            self.number += u64::from(whole);
        }
    }

    /// Answers a line.
    pub fn answer(&mut self, answer: &impl Display) {
        // A vector takes all that is written to it.
        let _ = writeln!(self.outgoing, "{answer}");
    }

    /// Gives the kernel what it takes. Whether the connection can go on.
    pub fn flush(&mut self) -> bool {
        while !self.outgoing.is_empty() {
            match self.stream.write(&self.outgoing) {
                Ok(written) => drop(self.outgoing.drain(..written)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
        }
        self.outgoing.len() <= self.limits.most_waiting
    }
}
