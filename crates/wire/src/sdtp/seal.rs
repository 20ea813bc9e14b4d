//! The proof of who has sent a packet. Its tag is computed where the keys are; here are the bytes that it covers.

use bytes::{Buf, BufMut};

use super::flag::ECN_BITS;
use super::header::{CHECKSUM_AT, Header};
use super::{SEAL_LEN, Seal};
use crate::error::{Header as Name, ParseError};

/// Bytes of [`Seal::tag`].
pub(super) const TAG_LEN: usize = 16;

/// The bytes before the seal, and the seal, which a packet ends with if it is `sealed`.
pub(super) fn split(bytes: &[u8], sealed: bool) -> Result<(&[u8], Option<Seal>), ParseError> {
    if !sealed {
        return Ok((bytes, None));
    }
    let Some((rest, seal)) = bytes.split_last_chunk::<SEAL_LEN>() else {
        return Err(ParseError::Truncated { header: Name::SdtpSeal, needed: SEAL_LEN, have: bytes.len() });
    };
    Ok((rest, Some(Seal::parse(seal))))
}

impl Seal {
    fn parse(mut bytes: &[u8]) -> Self {
        let (node, counter) = (bytes.get_u32(), bytes.get_u64());
        let mut tag = [0; TAG_LEN];
        bytes.copy_to_slice(&mut tag);
        Self { node, counter, tag }
    }

    /// Writes it into [`SEAL_LEN`] bytes.
    pub(super) fn emit(&self, mut out: &mut [u8]) {
        out.put_u32(self.node);
        out.put_u64(self.counter);
        out.put_slice(&self.tag);
    }
}

/// Appends to `out` the bytes that the tag of a sealed packet covers: all before the tag, with zeros for what changes on the
/// way, the checksum and ECN. `packet` begins with the header of Figure 3. False: it is no sealed packet.
pub fn covered(packet: &[u8], out: &mut Vec<u8>) -> bool {
    let Ok((header, packet)) = Header::parse(packet) else { return false };
    let Some((before, _)) = packet.split_last_chunk::<TAG_LEN>().filter(|_| header.flag.sealed) else {
        return false;
    };
    let start = out.len();
    out.extend_from_slice(before);
    clear_mutable(&mut out[start..]);
    true
}

/// Puts zeros in place of what changes on the way, in a packet that begins with the header of Figure 3.
pub(super) fn clear_mutable(packet: &mut [u8]) {
    let Some([c0, c1, f0, f1, ..]) = packet.get_mut(CHECKSUM_AT..) else { return };
    let flag = u16::from_be_bytes([*f0, *f1]) & !ECN_BITS;
    ([*c0, *c1], [*f0, *f1]) = ([0; 2], flag.to_be_bytes());
}
