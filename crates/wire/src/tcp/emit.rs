//! A segment to bytes.

use bytes::BufMut;

use super::options::{self, Layout};
use super::{HEADER_LEN, Segment};
use crate::checksum::Sum;
use crate::error::EmitError;

pub(crate) const CHECKSUM_AT: usize = 16;

/// Whether `segment` has a form on the wire that parses back to it.
pub(crate) fn check(segment: &Segment) -> Result<(), EmitError> {
    if segment.flags.0 > 0xfff {
        return Err(EmitError::Flags(segment.flags.0));
    }
    if let Some(rare) = &segment.rare {
        rare.check()?;
    }
    let options = segment.options_len();
    if options <= options::MAX_LEN { Ok(()) } else { Err(EmitError::OptionsLength(options)) }
}

/// Writes a segment that [`check`] has passed into `out`, which is as long as the segment. With `corrupted` the
/// checksum is wrong.
pub(crate) fn emit(segment: &Segment, pseudo_header: Sum, corrupted: bool, out: &mut [u8]) {
    let header_len = emit_header(segment, out);
    let (header, payload) = out.split_at_mut(header_len);
    segment.payload.write(payload);
    let checksum = pseudo_header.add(header).add(payload).checksum();
    // One more or less is never the same modulo 2^16 - 1: every receiver that verifies finds it.
    let checksum = if corrupted { checksum ^ 1 } else { checksum };
    header[CHECKSUM_AT..CHECKSUM_AT + 2].copy_from_slice(&checksum.to_be_bytes());
}

/// Writes the header to the start of `out`, with zeros for the checksum, and returns how many bytes it takes.
pub(crate) fn emit_header(segment: &Segment, out: &mut [u8]) -> usize {
    let layout = Layout::of(segment, segment.sack.as_slice().len());
    let header_len = HEADER_LEN + layout.len;
    emit_fixed(segment, header_len, out);
    layout.emit(segment, &mut out[HEADER_LEN..]);
    header_len
}

/// Writes the options of a segment to the start of `out`, and returns how many bytes they take.
pub(crate) fn emit_options(segment: &Segment, out: &mut [u8]) -> usize {
    let layout = Layout::of(segment, segment.sack.as_slice().len());
    layout.emit(segment, out);
    layout.len
}

fn emit_fixed(segment: &Segment, header_len: usize, mut out: &mut [u8]) {
    out.put_u16(segment.src_port);
    out.put_u16(segment.dst_port);
    out.put_u32(segment.seq.0);
    out.put_u32(segment.ack.0);
    out.put_u16((header_len as u16 / 4) << 12 | segment.flags.0);
    out.put_u16(segment.window);
    out.put_u16(0);
    out.put_u16(segment.urgent);
}
