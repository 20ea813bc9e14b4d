//! What the parts of a message are read and written with.

use bytes::{Buf, BufMut, Bytes};

use super::{ParseError, Part};

/// Type and length of an element, an action, an instruction or a match.
const TLV_HEADER_LEN: usize = 4;

/// Bytes of a message that are still to be read.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a> {
    at: &'a [u8],
    frame: &'a Bytes,
}

impl<'a> Reader<'a> {
    pub(super) fn new(frame: &'a Bytes) -> Self {
        Self { at: frame, frame }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.at.is_empty()
    }

    /// The next `needed` bytes, which are the beginning of `part`.
    pub(super) fn take(&mut self, needed: usize, part: Part) -> Result<&'a [u8], ParseError> {
        let have = self.at.len();
        let (taken, rest) =
            self.at.split_at_checked(needed).ok_or(ParseError::Truncated { part, needed, have })?;
        self.at = rest;
        Ok(taken)
    }

    /// A reader of the next `len` bytes only; `len` is what `part` states, `min` the least it may.
    pub(super) fn part(&mut self, len: usize, min: usize, part: Part) -> Result<Self, ParseError> {
        let max = self.at.len();
        if !(min..=max).contains(&len) {
            return Err(ParseError::Length { part, stated: len, min, max });
        }
        Ok(Self { at: self.take(len, part)?, frame: self.frame })
    }

    /// The type of the next `part` and a reader of what follows its length.
    pub(super) fn tlv(&mut self, part: Part) -> Result<(u16, Self), ParseError> {
        let mut header = self.clone().take(TLV_HEADER_LEN, part)?;
        let kind = header.get_u16();
        let mut inner = self.part(usize::from(header.get_u16()), TLV_HEADER_LEN, part)?;
        inner.take(TLV_HEADER_LEN, part)?;
        Ok((kind, inner))
    }

    /// Steps over what fills a part up to a multiple of 8 bytes, of which `inner` is what [`Reader::tlv`] gave.
    pub(super) fn skip_padding(&mut self, inner: Self, part: Part) -> Result<(), ParseError> {
        self.take(padding(inner.stated()), part).map(drop)
    }

    /// What a part states as its length, of which this is what [`Reader::tlv`] gave.
    pub(super) fn stated(self) -> usize {
        TLV_HEADER_LEN + self.at.len()
    }

    /// All that is left, sharing the message's memory.
    pub(super) fn rest(&mut self) -> Bytes {
        let rest = std::mem::take(&mut self.at);
        self.frame.slice_ref(rest)
    }

    /// An error where anything is left.
    pub(super) fn end(&self, part: Part) -> Result<(), ParseError> {
        if self.at.is_empty() { Ok(()) } else { Err(ParseError::Trailing { part, extra: self.at.len() }) }
    }

    /// An error where not exactly `len` bytes are left after the type and length of `part`.
    pub(super) fn exactly(&mut self, len: usize, part: Part) -> Result<&'a [u8], ParseError> {
        if self.at.len() == len {
            return self.take(len, part);
        }
        let expected = TLV_HEADER_LEN + len;
        Err(ParseError::Length { part, stated: self.stated(), min: expected, max: expected })
    }
}

/// The value with that number, where the numbers count from 0.
pub(super) fn value<T: Copy>(all: &[T], found: u32, part: Part) -> Result<T, ParseError> {
    let max = all.len() as u32 - 1;
    all.get(found as usize).copied().ok_or(ParseError::Value { part, found, max })
}

/// Bytes from `len` to the next multiple of 8 (`OpenFlow` 1.3.5 §7.2.3, §7.5.1).
fn padding(len: usize) -> usize {
    len.next_multiple_of(8) - len
}

/// Writes a type, a length and what `body` writes; the length covers all of it.
pub(super) fn put_tlv<E>(
    out: &mut Vec<u8>,
    kind: u16,
    body: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
) -> Result<(), E> {
    let start = out.len();
    out.put_u16(kind);
    out.put_u16(0);
    body(out)?;
    set_len(out, start, start + 2);
    Ok(())
}

/// Writes zeros until what began at `start` is a multiple of 8 bytes long.
pub(super) fn put_padding(out: &mut Vec<u8>, start: usize) {
    out.put_bytes(0, padding(out.len() - start));
}

/// States the length of all since `start` in the two bytes at `field`. A length of more than 16 bits is cut here and
/// refused when the whole message's is looked at.
pub(super) fn set_len(out: &mut [u8], start: usize, field: usize) {
    let len = out.len() - start;
    out[field..field + 2].copy_from_slice(&(len as u16).to_be_bytes());
}
