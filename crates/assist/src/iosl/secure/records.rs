//! Records in the stream of a path: two octets of length before each, as Noise §13 has it.

/// The longest plaintext of a record.
pub const MOST_PLAIN: usize = 16_384;

/// The longest record: plaintext and tag. Noise allows 65,535; less is kept here of a record that is still incomplete.
pub const MOST_RECORD: usize = MOST_PLAIN + 16;

/// The longest message of a handshake that is taken: the longest host name has room in it.
pub const MOST_MESSAGE: usize = 1_024;

/// A peer has announced a record that is longer than any, or empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong;

/// A record with its length before it.
pub fn prefixed(record: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(record.len() + 2);
    // Records are at most `MOST_RECORD` long.
    bytes.extend((record.len() as u16).to_be_bytes());
    bytes.extend_from_slice(record);
    bytes
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
    pub fn next(&mut self, stream: &mut &[u8], most: usize) -> Result<Option<Vec<u8>>, TooLong> {
        if !self.take(stream, 2) {
            return Ok(None);
        }
        let len = usize::from(u16::from_be_bytes([self.partial[0], self.partial[1]]));
        if len == 0 || len > most {
            return Err(TooLong);
        }
        if !self.take(stream, 2 + len) {
            return Ok(None);
        }
        // Between records nothing is kept.
        let mut record = std::mem::take(&mut self.partial);
        record.drain(..2);
        Ok(Some(record))
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
