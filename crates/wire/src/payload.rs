//! What a segment carries: real bytes, or a stretch of a stream whose bytes follow from their position.

use bytes::Bytes;

/// A segment's payload. Synthetic payload costs no memory and no copying: the receiving endpoint checks `stream` and
/// `offset`, so that wrong reassembly is caught as surely as with real bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Payload {
    /// Bytes `offset .. offset + len` of synthetic stream `stream`.
    Synthetic {
        /// Which synthetic stream (one per flow and direction).
        stream: u32,
        /// Position of the first byte in that stream.
        offset: u64,
        /// Bytes carried.
        len: u32,
    },
    /// Real bytes.
    Bytes(Bytes),
}

impl Payload {
    /// No payload.
    pub const EMPTY: Self = Self::Synthetic { stream: 0, offset: 0, len: 0 };

    /// Bytes carried.
    pub fn len(&self) -> usize {
        match self {
            Self::Synthetic { len, .. } => *len as usize,
            Self::Bytes(bytes) => bytes.len(),
        }
    }

    /// Whether nothing is carried.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The part `from .. from + len`, counted from this payload's first byte; clipped to what there is.
    #[must_use]
    pub fn slice(&self, from: usize, len: usize) -> Self {
        let from = from.min(self.len());
        let len = len.min(self.len() - from);
        match self {
            Self::Synthetic { stream, offset, .. } => {
                Self::Synthetic { stream: *stream, offset: offset + from as u64, len: len as u32 }
            }
            Self::Bytes(bytes) => Self::Bytes(bytes.slice(from..from + len)),
        }
    }

    /// Byte `at` of synthetic stream `stream`: what [`Payload::to_bytes`] writes for it.
    pub fn synthetic_byte(stream: u32, at: u64) -> u8 {
        synthetic_word(stream, at / 8)[(at % 8) as usize]
    }

    /// Writes the bytes to `out`, which is as long as the payload.
    pub(crate) fn write(&self, out: &mut [u8]) {
        match self {
            Self::Synthetic { stream, offset, .. } => write_synthetic(*stream, *offset, out),
            Self::Bytes(bytes) => out.copy_from_slice(bytes),
        }
    }

    /// `part` of `frame` without a copy.
    pub(crate) fn part_of(part: &[u8], frame: &Bytes) -> Self {
        if part.is_empty() { Self::EMPTY } else { Self::Bytes(frame.slice_ref(part)) }
    }

    /// The real bytes, made up from their position where the payload is synthetic.
    pub fn to_bytes(&self) -> Bytes {
        match self {
            Self::Synthetic { stream, offset, len } => {
                let mut bytes = vec![0; *len as usize];
                write_synthetic(*stream, *offset, &mut bytes);
                bytes.into()
            }
            Self::Bytes(bytes) => bytes.clone(),
        }
    }
}

/// Bytes `8 * index .. 8 * index + 8` of a synthetic stream.
fn synthetic_word(stream: u32, index: u64) -> [u8; 8] {
    // Streams begin 2^32 words (32 GiB) apart in one sequence of words that never repeats (a product with an odd number
    // is one-to-one), so a word found in the wrong place or stream is always the wrong word. The constant is 2^64 divided
    // by the golden ratio: neighbours differ in about half of their bits.
    (u64::from(stream) << 32).wrapping_add(index).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes()
}

fn write_synthetic(stream: u32, offset: u64, out: &mut [u8]) {
    // The first word may be cut at its start, the last at its end.
    let skip = (offset % 8) as usize;
    let first = out.len().min(8 - skip);
    let (head, rest) = out.split_at_mut(first);
    head.copy_from_slice(&synthetic_word(stream, offset / 8)[skip..skip + first]);
    for (word, index) in rest.chunks_mut(8).zip(offset / 8 + 1..) {
        word.copy_from_slice(&synthetic_word(stream, index)[..word.len()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stretch_is_the_bytes_at_its_positions() {
        for offset in 0..20 {
            for len in 0..20 {
                let bytes = Payload::Synthetic { stream: 3, offset, len }.to_bytes();
                let expected: Vec<u8> =
                    (offset..offset + u64::from(len)).map(|at| Payload::synthetic_byte(3, at)).collect();
                assert_eq!(bytes, expected);
            }
        }
    }

    #[test]
    fn a_stretch_in_the_wrong_place_or_stream_has_other_bytes() {
        let word = |stream, offset| Payload::Synthetic { stream, offset, len: 8 }.to_bytes();
        for other in 1..2000 {
            assert_ne!(word(0, 0), word(0, other));
            assert_ne!(word(0, 0), word(1, other - 1));
            assert_ne!(word(0, 8 * other), word(other as u32, 0));
        }
    }

    #[test]
    fn a_slice_is_clipped() {
        let real = Payload::Bytes(Bytes::from_static(b"abcdef"));
        assert_eq!(real.slice(2, 3), Payload::Bytes(Bytes::from_static(b"cde")));
        assert_eq!(real.slice(4, 9), Payload::Bytes(Bytes::from_static(b"ef")));
        let made_up = Payload::Synthetic { stream: 1, offset: 100, len: 6 };
        assert_eq!(made_up.slice(4, 9), Payload::Synthetic { stream: 1, offset: 104, len: 2 });
        assert!(made_up.slice(7, 1).is_empty());
    }
}
