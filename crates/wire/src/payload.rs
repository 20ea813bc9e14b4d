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
        let mixed = (at / 8 + u64::from(stream)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed.to_be_bytes()[(at % 8) as usize]
    }

    /// The real bytes, made up from their position where the payload is synthetic.
    pub fn to_bytes(&self) -> Bytes {
        match self {
            Self::Synthetic { stream, offset, len } => {
                (*offset..offset + u64::from(*len)).map(|at| Self::synthetic_byte(*stream, at)).collect()
            }
            Self::Bytes(bytes) => bytes.clone(),
        }
    }
}
