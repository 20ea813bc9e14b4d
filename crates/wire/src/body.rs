//! Bytes of an IP packet to a [`Packet`], and those of its body to a [`Body`].

use bytes::Bytes;

use crate::checksum::{Checksums, pseudo_header};
use crate::error::ParseError;
use crate::error::sdtp::Fault;
use crate::ip::{self, IpHeader};
use crate::packet::{Body, Ethernet, Packet};
use crate::udp::{self, Datagram};
use crate::{Payload, ipv4, ipv6, sdtp, tcp};

/// The body of an IP packet, and whether a checksum shows that it is corrupted.
pub(crate) type Parsed = Result<(Body, bool), ParseError>;

/// A packet in such a frame, whose body `parse_body` reads.
pub(crate) fn parse_ip(
    ethernet: Option<Ethernet>,
    version: u8,
    data: &[u8],
    frame: &Bytes,
    checksums: Checksums,
    parse_body: impl Fn(&IpHeader, &[u8], &Bytes, Checksums) -> Parsed,
) -> Result<Packet, ParseError> {
    let (header, body) = match version {
        4 => ipv4::parse(data, checksums)?,
        6 => ipv6::parse(data)?,
        other => return Err(ParseError::IpVersion(other)),
    };
    let (body, corrupted) = parse_body(&header, body, frame, checksums)?;
    let IpHeader { src, dst, hop_limit, traffic_class, identification, may_fragment, flow_label, .. } =
        header;
    let quick_start = header.quick_start;
    Ok(Packet {
        ethernet,
        src,
        dst,
        hop_limit,
        traffic_class,
        identification,
        may_fragment,
        flow_label,
        quick_start,
        corrupted,
        body,
    })
}

/// Any body. What is no SDTP stays as it came: its protocol number is one for experiments of anybody.
pub(crate) fn parse_body(header: &IpHeader, body: &[u8], frame: &Bytes, checksums: Checksums) -> Parsed {
    if header.protocol == sdtp::PROTOCOL
        && let Ok((sdtp, corrupted)) = sdtp::parse_in_ip((header.src, header.dst), body, frame, checksums)
    {
        return Ok((Body::Sdtp(Box::new(sdtp)), corrupted));
    }
    parse_transport(header, body, frame, checksums)
}

/// Any body, where a datagram has to carry SDTP.
pub(crate) fn parse_carried(header: &IpHeader, body: &[u8], frame: &Bytes, checksums: Checksums) -> Parsed {
    if header.protocol != ip::UDP {
        return parse_body(header, body, frame, checksums);
    }
    let (src_port, dst_port, data) = udp::parse(body).ok_or(Fault::NoDatagram)?;
    let (ends, ports) = ((header.src, header.dst), (src_port, dst_port));
    let (sdtp, wrong) = sdtp::parse_in_udp(ends, ports, data, frame, checksums)?;
    let is_right = || {
        // SDTP that is right sums up to zero; what follows it does not have to.
        let summed = if sdtp.len() == data.len() { &body[..udp::HEADER_LEN] } else { body };
        pseudo_header(header.src, header.dst, ip::UDP, body.len()).add(summed).fold() == 0xffff
    };
    let corrupted = wrong || checksums == Checksums::Verify && !is_right();
    Ok((Body::Sdtp(Box::new(sdtp)), corrupted))
}

/// A body in which no SDTP is looked for.
pub(crate) fn parse_transport(header: &IpHeader, body: &[u8], frame: &Bytes, checksums: Checksums) -> Parsed {
    let parsed = match header.protocol {
        ip::TCP => {
            let (mut segment, data) = tcp::parse(body)?;
            segment.payload = Payload::part_of(data, frame);
            Body::Tcp(segment)
        }
        ip::UDP if let Some((src_port, dst_port, data)) = udp::parse(body) => {
            Body::Udp(Datagram { src_port, dst_port, payload: Payload::part_of(data, frame) })
        }
        protocol => return Ok((Body::Other { protocol, payload: Payload::part_of(body, frame) }, false)),
    };
    let sum = || pseudo_header(header.src, header.dst, header.protocol, body.len()).add(body);
    Ok((parsed, checksums == Checksums::Verify && sum().fold() != 0xffff))
}
