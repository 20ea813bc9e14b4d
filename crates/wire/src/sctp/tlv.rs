//! Type, length, value: the form that parameters (§3.2.1) and error causes (§3.3.10) share.

use bytes::{BufMut, Bytes};

use super::error::{Element, ParseError};
use super::padded;

/// Bytes of type and length.
pub(super) const HEADER_LEN: usize = 4;

/// Every element of `value`, in order.
pub(super) fn parse_all<T>(
    value: &Bytes,
    element: fn(u16) -> Element,
    parse: impl Fn(u16, Bytes) -> Result<T, ParseError>,
) -> Result<Vec<T>, ParseError> {
    let (mut all, mut at) = (Vec::new(), 0);
    while at < value.len() {
        let rest = &value[at..];
        let Some(&[k0, k1, l0, l1]) = rest.first_chunk::<HEADER_LEN>() else {
            return Err(ParseError::truncated(Element::Header, HEADER_LEN, rest.len()));
        };
        let (kind, len) = (u16::from_be_bytes([k0, k1]), usize::from(u16::from_be_bytes([l0, l1])));
        if len < HEADER_LEN {
            return Err(ParseError::Length { element: element(kind), len });
        }
        if len > rest.len() {
            return Err(ParseError::truncated(element(kind), len, rest.len()));
        }
        all.push(parse(kind, value.slice(at + HEADER_LEN..at + len))?);
        // §3.2: the padding of the last one may be left out of the length around it.
        at += padded(len);
    }
    Ok(all)
}

/// Writes one with its padding.
pub(super) fn emit(kind: u16, value: &[u8], out: &mut Vec<u8>) {
    let len = HEADER_LEN + value.len();
    out.put_u16(kind);
    // A packet has at most 65,535 bytes: `Packet::emit` looks at the sum first.
    out.put_u16(len as u16);
    out.put_slice(value);
    out.put_bytes(0, padded(len) - len);
}

/// Bytes of elements with values of these lengths, the padding of the last one left out (§3.2.1).
pub(super) fn len_of(values: impl Iterator<Item = usize>) -> usize {
    values.fold(0, |sum, value| padded(sum) + HEADER_LEN + value)
}
