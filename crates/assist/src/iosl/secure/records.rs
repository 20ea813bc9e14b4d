//! Records in the stream of a path: two octets of length before each, as Noise §13 has it.

use std::ops::Deref;

/// The octets of a record's length.
pub(super) const PREFIX: usize = 2;

/// The longest plaintext of a record.
pub const MOST_PLAIN: usize = 16_384;

/// The longest record: plaintext and tag. Noise allows 65,535; less is kept here of a record that is still incomplete.
pub const MOST_RECORD: usize = MOST_PLAIN + 16;

/// The longest message of a handshake that is taken: the longest host name has room in it.
pub const MOST_MESSAGE: usize = 1_024;

/// A peer has announced a record that is longer than any, or empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong;

/// A record that has come.
#[derive(Debug)]
pub enum Record<'a> {
    /// In one piece, and still there.
    Whole(&'a [u8]),
    /// In several, with its length before it.
    Pieced(Vec<u8>),
}

impl Deref for Record<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Whole(record) => record,
            Self::Pieced(kept) => kept.get(PREFIX..).unwrap_or_default(),
        }
    }
}

fn length(prefix: [u8; PREFIX], most: usize) -> Result<usize, TooLong> {
    let len = usize::from(u16::from_be_bytes(prefix));
    if len == 0 || len > most { Err(TooLong) } else { Ok(len) }
}

/// Cuts a stream into records, and keeps a part of one at most.
#[derive(Debug, Default)]
pub struct Reader {
    partial: Vec<u8>,
}

impl Reader {
    /// The next record of at most `most` octets, or [`None`] where `stream` has been taken in and more is needed.
    ///
    /// # Errors
    /// [`TooLong`]: nothing after that makes sense.
    pub fn next<'a>(&mut self, stream: &mut &'a [u8], most: usize) -> Result<Option<Record<'a>>, TooLong> {
        if let Some((&before, rest)) = stream.split_first_chunk().filter(|_| self.partial.is_empty())
            && let Some((record, rest)) = rest.split_at_checked(length(before, most)?)
        {
            *stream = rest;
            return Ok(Some(Record::Whole(record)));
        }
        if !self.take(stream, PREFIX) {
            return Ok(None);
        }
        let len = length([self.partial[0], self.partial[1]], most)?;
        if !self.take(stream, PREFIX + len) {
            return Ok(None);
        }
        // Between records nothing is kept.
        Ok(Some(Record::Pieced(std::mem::take(&mut self.partial))))
    }

    /// What it keeps.
    pub fn memory(&self) -> usize {
        self.partial.capacity()
    }

    /// Whether there are `len` octets now.
    fn take(&mut self, stream: &mut &[u8], len: usize) -> bool {
        let missing = len.saturating_sub(self.partial.len());
        let (taken, rest) = stream.split_at(missing.min(stream.len()));
        if len > self.partial.capacity() && !taken.is_empty() {
            self.partial.reserve_exact(len - self.partial.len());
        }
        self.partial.extend_from_slice(taken);
        *stream = rest;
        self.partial.len() >= len
    }
}
