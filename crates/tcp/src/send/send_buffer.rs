//! What the application has written and the peer has not yet acknowledged.

use std::collections::VecDeque;
use std::mem::offset_of;

use bytes::{Bytes, BytesMut};
use handfast_core::ShortQueue;
use handfast_wire::Payload;

/// A run of written data. Synthetic runs are as long as they like: they take no memory.
#[derive(Clone, Debug)]
enum Chunk {
    Synthetic { stream: u32, offset: u64, len: u64 },
    Bytes(Bytes),
}

impl Chunk {
    fn len(&self) -> u64 {
        match self {
            Self::Synthetic { len, .. } => *len,
            Self::Bytes(bytes) => bytes.len() as u64,
        }
    }
}

/// The send buffer: bytes at stream positions `start .. end`, where position 0 is the first byte ever written.
// In the order of the fields: see [`crate::Endpoint`].
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub struct SendBuffer {
    end: u64,
    start: u64,
    /// Real bytes held: what the configured limit bounds.
    real: u64,
    chunks: ShortQueue<Chunk>,
    /// Writes stay apart: [`crate::Config::keeps_writes`].
    apart: bool,
    /// Positions across which no segment reaches (`MSG_EOR`), ascending. Only real bytes have records.
    #[expect(clippy::box_collection, reason = "thousands of connections have none: a pointer each")]
    records: Option<Box<VecDeque<u64>>>,
}

impl SendBuffer {
    /// How many of its first bytes are all that is touched while nothing is written.
    pub(crate) const SHARED: usize = offset_of!(Self, start);

    /// An empty one. `apart`: [`SendBuffer::slice`] gives of one write only.
    pub fn new(apart: bool) -> Self {
        Self { apart, ..Self::default() }
    }

    /// One past the last byte written.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Takes as much of `payload` as fits under `limit` real bytes; returns how much that is.
    pub fn write(&mut self, payload: Payload, limit: u64) -> usize {
        let taken = match payload {
            Payload::Synthetic { stream, offset, len } => {
                self.write_synthetic(stream, offset, u64::from(len));
                len as usize
            }
            Payload::Bytes(bytes) => {
                let room = usize::try_from(limit.saturating_sub(self.real)).unwrap_or(usize::MAX);
                let taken = bytes.slice(..bytes.len().min(room));
                let len = taken.len();
                if len > 0 {
                    self.real += len as u64;
                    self.chunks.push_back(Chunk::Bytes(taken));
                }
                len
            }
        };
        self.end += taken as u64;
        taken
    }

    fn write_synthetic(&mut self, stream: u32, offset: u64, len: u64) {
        if !self.apart
            && let Some(Chunk::Synthetic { stream: s, offset: o, len: l }) = self.chunks.back_mut()
            && *s == stream
            && *o + *l == offset
        {
            *l += len;
        } else if len > 0 {
            self.chunks.push_back(Chunk::Synthetic { stream, offset, len });
        }
    }

    /// What is written next shares no segment with what was written before.
    pub(crate) fn end_record(&mut self) {
        let records = self.records.get_or_insert_default();
        if self.real > 0 && records.back() != Some(&self.end) {
            records.push_back(self.end);
        }
    }

    /// Forgets everything before position `upto`: it is acknowledged.
    #[inline]
    pub fn release(&mut self, upto: u64) {
        let surplus = upto.min(self.end).saturating_sub(self.start);
        self.start += surplus;
        match self.chunks.front_mut() {
            // Nearly always the first run is longer.
            Some(Chunk::Synthetic { offset, len, .. }) if surplus < *len => {
                *offset += surplus;
                *len -= surplus;
            }
            _ => self.release_chunks(surplus),
        }
    }

    #[inline(never)]
    fn release_chunks(&mut self, mut surplus: u64) {
        if let Some(records) = &mut self.records {
            while records.front().is_some_and(|&end| end <= self.start) {
                records.pop_front();
            }
        }
        while surplus > 0 {
            let Some(front) = self.chunks.front_mut() else { return };
            let cut = surplus.min(front.len());
            surplus -= cut;
            match front {
                Chunk::Synthetic { offset, len, .. } => {
                    *offset += cut;
                    *len -= cut;
                }
                Chunk::Bytes(bytes) => {
                    self.real -= cut;
                    let _ = bytes.split_to(cut as usize);
                }
            }
            if front.len() == 0 {
                self.chunks.pop_front();
            }
        }
    }

    /// At most `max` bytes from position `from` on. Shorter where real and synthetic data meet: one payload holds
    /// one kind.
    #[inline]
    pub fn slice(&self, from: u64, max: usize) -> Payload {
        let skip = from.saturating_sub(self.start);
        // Nearly always the first run is long enough.
        match self.chunks.front() {
            Some(&Chunk::Synthetic { stream, offset, len }) if skip < len => {
                let available = usize::try_from(len - skip).unwrap_or(usize::MAX);
                Payload::Synthetic { stream, offset: offset + skip, len: available.min(max) as u32 }
            }
            _ => self.search(skip, max),
        }
    }

    fn search(&self, mut skip: u64, max: usize) -> Payload {
        let from = self.start + skip;
        let record = self.records.iter().flat_map(|ends| ends.iter()).find(|&&end| end > from);
        let max = record.map_or(max, |end| max.min(usize::try_from(end - from).unwrap_or(usize::MAX)));
        for (index, chunk) in self.chunks.iter().enumerate() {
            if skip >= chunk.len() {
                skip -= chunk.len();
                continue;
            }
            let available = usize::try_from(chunk.len() - skip).unwrap_or(usize::MAX);
            return match chunk {
                Chunk::Synthetic { stream, offset, .. } => Payload::Synthetic {
                    stream: *stream,
                    offset: offset + skip,
                    len: available.min(max) as u32,
                },
                Chunk::Bytes(bytes) if self.apart || available >= max || index + 1 == self.chunks.len() => {
                    let from = skip as usize;
                    Payload::Bytes(bytes.slice(from..from + available.min(max)))
                }
                Chunk::Bytes(_) => Payload::Bytes(self.gather(index, skip as usize, max)),
            };
        }
        Payload::EMPTY
    }

    /// Small writes become one segment: copies up to `max` real bytes from chunk `index` on.
    fn gather(&self, index: usize, skip: usize, max: usize) -> Bytes {
        let mut out = BytesMut::with_capacity(max);
        let mut skip = skip;
        for chunk in self.chunks.iter().skip(index) {
            let Chunk::Bytes(bytes) = chunk else { break };
            let take = (bytes.len() - skip).min(max - out.len());
            out.extend_from_slice(&bytes[skip..skip + take]);
            skip = 0;
            if out.len() == max {
                break;
            }
        }
        out.freeze()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(text: &'static str) -> Payload {
        Payload::Bytes(Bytes::from_static(text.as_bytes()))
    }

    #[test]
    fn small_writes_are_gathered_into_one_segment() {
        let mut b = SendBuffer::default();
        for part in ["ab", "cd", "ef"] {
            assert_eq!(b.write(bytes(part), 100), 2);
        }
        assert_eq!(b.slice(1, 4), bytes("bcde"));
        b.release(3);
        assert_eq!(b.slice(3, 10), bytes("def"));
        assert_eq!(b.slice(6, 10).len(), 0);
    }

    #[test]
    fn writes_that_stay_apart_share_no_segment() {
        let mut b = SendBuffer::new(true);
        for part in ["ab", "cd", "ef"] {
            assert_eq!(b.write(bytes(part), 100), 2);
        }
        assert_eq!(b.slice(0, 4), bytes("ab"));
        b.release(3);
        assert_eq!(b.slice(3, 10), bytes("d"));
        assert_eq!(b.slice(4, 1), bytes("e"));
        for offset in [0, 10] {
            b.write(Payload::Synthetic { stream: 1, offset, len: 10 }, 100);
        }
        assert_eq!(b.slice(6, 20), Payload::Synthetic { stream: 1, offset: 0, len: 10 });
    }

    #[test]
    fn no_segment_reaches_across_the_end_of_a_record() {
        let mut b = SendBuffer::default();
        b.write(bytes("abc"), 100);
        b.write(bytes("de"), 100);
        b.end_record();
        b.write(bytes("fgh"), 100);
        assert_eq!(b.slice(1, 10), bytes("bcde"));
        assert_eq!(b.slice(5, 10), bytes("fgh"));
        b.release(6);
        assert_eq!(b.slice(6, 10), bytes("gh"));
        assert!(b.records.is_some_and(|records| records.is_empty()));
    }

    #[test]
    fn the_limit_counts_real_bytes_that_are_not_released() {
        let mut b = SendBuffer::default();
        assert_eq!(b.write(bytes("abcdef"), 4), 4);
        assert_eq!(b.write(bytes("x"), 4), 0);
        b.release(1);
        assert_eq!(b.write(bytes("xy"), 4), 1);
        assert_eq!(b.end(), 5);
        assert_eq!(b.slice(1, 9), bytes("bcdx"));
    }

    #[test]
    fn synthetic_runs_merge_and_never_fill_the_buffer() {
        let mut b = SendBuffer::default();
        for k in 0..1000u64 {
            let payload = Payload::Synthetic { stream: 7, offset: k << 30, len: 1 << 30 };
            assert_eq!(b.write(payload, 10), 1 << 30);
        }
        assert_eq!(b.chunks.len(), 1);
        let at = 500 << 30;
        b.release(at);
        assert_eq!(b.slice(at + 5, 1460), Payload::Synthetic { stream: 7, offset: at + 5, len: 1460 });
    }

    #[test]
    fn a_segment_holds_one_kind_of_data() {
        let mut b = SendBuffer::default();
        b.write(bytes("ab"), 100);
        b.write(Payload::Synthetic { stream: 1, offset: 0, len: 4 }, 100);
        assert_eq!(b.slice(0, 10), bytes("ab"));
        assert_eq!(b.slice(2, 10), Payload::Synthetic { stream: 1, offset: 0, len: 4 });
        assert_eq!(b.slice(5, 10), Payload::Synthetic { stream: 1, offset: 3, len: 1 });
    }
}
