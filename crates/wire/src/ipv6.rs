//! IPv6 (RFC 8200). Extension headers are not opened: they stay, with all that follows, in the body of a packet whose
//! protocol is the first of them. Nothing is lost, and a TCP segment behind a routing header, whose checksum covers an
//! address that the fixed header does not show, is not mistaken for a corrupted one.

use std::net::Ipv6Addr;

use bytes::BufMut;

use crate::error::{Header, ParseError};
use crate::ip::{FLOW_LABEL, IpHeader};

/// Bytes of the fixed header.
pub(crate) const HEADER_LEN: usize = 40;
/// Bytes of header and payload that the payload length field can state.
pub(crate) const MAX_LEN: usize = HEADER_LEN + 0xffff;
/// Next-header value of hop-by-hop options.
pub(crate) const HOP_BY_HOP: u8 = 0;

/// The header and the payload; bytes after the payload length (Ethernet padding) are not part of it.
pub(crate) fn parse(data: &[u8]) -> Result<(IpHeader, &[u8]), ParseError> {
    let Some((fixed, rest)) = data.split_first_chunk::<HEADER_LEN>() else {
        return Err(ParseError::Truncated { header: Header::Ipv6, needed: HEADER_LEN, have: data.len() });
    };
    let [v0, v1, f0, f1, l0, l1, protocol, hop_limit, addresses @ ..] = *fixed;
    if v0 >> 4 != 6 {
        return Err(ParseError::IpVersion(v0 >> 4));
    }
    let body = payload(u16::from_be_bytes([l0, l1]), protocol, rest)?;
    let (src, dst) = addresses.split_at(16);
    let header = IpHeader {
        src: address(src).into(),
        dst: address(dst).into(),
        hop_limit,
        traffic_class: v0 << 4 | v1 >> 4,
        identification: 0,
        may_fragment: false,
        flow_label: u32::from_be_bytes([0, v1, f0, f1]) & FLOW_LABEL,
        quick_start: None,
        protocol,
    };
    Ok((header, body))
}

/// The bytes that the payload length covers.
fn payload(stated: u16, protocol: u8, rest: &[u8]) -> Result<&[u8], ParseError> {
    // RFC 2675 §2: a payload length of zero before a hop-by-hop header says "see the jumbo payload option".
    if stated == 0 && protocol == HOP_BY_HOP {
        return Err(ParseError::Jumbogram);
    }
    let stated = usize::from(stated);
    let max = rest.len().min(0xffff);
    rest.get(..stated).ok_or(ParseError::PacketLength { header: Header::Ipv6, stated, min: 0, max })
}

fn address(bytes: &[u8]) -> Ipv6Addr {
    let mut octets = [0; 16];
    octets.copy_from_slice(bytes);
    octets.into()
}

/// Writes the header of a packet of `len` bytes, itself included, which [`MAX_LEN`] bounds.
pub(crate) fn emit(header: &IpHeader, src: Ipv6Addr, dst: Ipv6Addr, len: usize, mut out: &mut [u8]) {
    out.put_u32(6 << 28 | u32::from(header.traffic_class) << 20 | header.flow_label);
    out.put_u16((len - HEADER_LEN) as u16);
    out.put_u8(header.protocol);
    out.put_u8(header.hop_limit);
    out.put_slice(&src.octets());
    out.put_slice(&dst.octets());
}
