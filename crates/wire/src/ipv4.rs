//! IPv4 (RFC 791). Options other than Quick-Start's are stepped over; fragments are errors.

use std::net::Ipv4Addr;

use bytes::BufMut;

use crate::checksum::{Checksums, Sum};
use crate::error::{Header, ParseError};
use crate::ip::IpHeader;
use crate::quick_start::{self, QuickStart};

/// Bytes of a header without options.
pub(crate) const HEADER_LEN: usize = 20;
/// Bytes that the total length field can state.
pub(crate) const MAX_LEN: usize = 0xffff;

const CHECKSUM_AT: usize = 10;
const DONT_FRAGMENT: u16 = 0x4000;
const MORE_FRAGMENTS: u16 = 0x2000;
const FRAGMENT_OFFSET: u16 = 0x1fff;

/// The header and the body; bytes after the total length (Ethernet padding) are not part of it.
pub(crate) fn parse(data: &[u8], checksums: Checksums) -> Result<(IpHeader, &[u8]), ParseError> {
    let Some(fixed) = data.first_chunk::<HEADER_LEN>() else {
        return Err(ParseError::Truncated { header: Header::Ipv4, needed: HEADER_LEN, have: data.len() });
    };
    let [version_ihl, traffic_class, l0, l1, i0, i1, f0, f1, hop_limit, protocol, c0, c1, addresses @ ..] =
        *fixed;
    if version_ihl >> 4 != 4 {
        return Err(ParseError::IpVersion(version_ihl >> 4));
    }
    let header_len = header_len(version_ihl, data.len())?;
    let packet = packet(usize::from(u16::from_be_bytes([l0, l1])), header_len, data)?;
    let (header, body) = packet.split_at(header_len);
    if checksums == Checksums::Verify {
        verify(header, u16::from_be_bytes([c0, c1]))?;
    }
    let fragment = u16::from_be_bytes([f0, f1]);
    whole(fragment)?;
    let [s0, s1, s2, s3, d0, d1, d2, d3] = addresses;
    let parsed = IpHeader {
        src: Ipv4Addr::new(s0, s1, s2, s3).into(),
        dst: Ipv4Addr::new(d0, d1, d2, d3).into(),
        hop_limit,
        traffic_class,
        identification: u16::from_be_bytes([i0, i1]),
        may_fragment: fragment & DONT_FRAGMENT == 0,
        flow_label: 0,
        protocol,
        quick_start: find_quick_start(&header[HEADER_LEN..]),
    };
    Ok((parsed, body))
}

fn header_len(version_ihl: u8, have: usize) -> Result<usize, ParseError> {
    let stated = usize::from(version_ihl & 0x0f) * 4;
    if (HEADER_LEN..=have).contains(&stated) {
        return Ok(stated);
    }
    Err(ParseError::HeaderLength { header: Header::Ipv4, stated, min: HEADER_LEN, max: have.min(60) })
}

/// The Quick-Start option, if it is there; the last of several. What is malformed ends the search (RFC 791 §3.1).
fn find_quick_start(mut options: &[u8]) -> Option<QuickStart> {
    const END: u8 = 0;
    const NOP: u8 = 1;
    let mut found = None;
    while let Some((&kind, rest)) = options.split_first() {
        match kind {
            END => break,
            NOP => options = rest,
            _ => {
                let stated = usize::from(rest.first().copied().unwrap_or(0));
                let Some((option, after)) = options.split_at_checked(stated).filter(|_| stated >= 2) else {
                    break;
                };
                found = QuickStart::parse(option).or(found);
                options = after;
            }
        }
    }
    found
}

/// The bytes that the total length covers.
fn packet(stated: usize, header_len: usize, data: &[u8]) -> Result<&[u8], ParseError> {
    match data.get(..stated) {
        Some(packet) if stated >= header_len => Ok(packet),
        _ => Err(ParseError::PacketLength {
            header: Header::Ipv4,
            stated,
            min: header_len,
            max: data.len().min(MAX_LEN),
        }),
    }
}

fn verify(header: &[u8], found: u16) -> Result<(), ParseError> {
    let sum = Sum::default().add(header);
    if sum.fold() == 0xffff {
        return Ok(());
    }
    // Adding the complement takes the wrong checksum out of the sum.
    let expected = sum.add(&(!found).to_be_bytes()).checksum();
    Err(ParseError::Ipv4Checksum { found, expected })
}

/// RFC 791 §3.2: a datagram is whole where its offset is zero and no more fragments follow.
fn whole(fragment: u16) -> Result<(), ParseError> {
    let offset = (fragment & FRAGMENT_OFFSET) * 8;
    let more = fragment & MORE_FRAGMENTS != 0;
    if offset == 0 && !more { Ok(()) } else { Err(ParseError::Fragment { offset, more }) }
}

/// Writes the header of a packet of `len` bytes, which [`MAX_LEN`] bounds.
pub(crate) fn emit(header: &IpHeader, src: Ipv4Addr, dst: Ipv4Addr, len: usize, out: &mut [u8]) {
    let header_len = len_of(header.quick_start);
    let mut at = &mut *out;
    at.put_u8(0x40 | (header_len / 4) as u8);
    at.put_u8(header.traffic_class);
    at.put_u16(len as u16);
    at.put_u16(header.identification);
    at.put_u16(if header.may_fragment { 0 } else { DONT_FRAGMENT });
    at.put_u8(header.hop_limit);
    at.put_u8(header.protocol);
    at.put_u16(0);
    at.put_slice(&src.octets());
    at.put_slice(&dst.octets());
    if let Some(option) = header.quick_start {
        at.put_slice(&option.emit());
    }
    let checksum = Sum::default().add(&out[..header_len]).checksum();
    out[CHECKSUM_AT..CHECKSUM_AT + 2].copy_from_slice(&checksum.to_be_bytes());
}

/// Bytes of the header with or without that option.
#[inline]
pub(crate) fn len_of(option: Option<QuickStart>) -> usize {
    HEADER_LEN + if option.is_some() { quick_start::OPTION_LEN } else { 0 }
}
