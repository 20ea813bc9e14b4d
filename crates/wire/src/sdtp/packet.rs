//! SDTP as a part of a packet: its edges are the packet's addresses.

use std::net::IpAddr;

use bytes::Bytes;

use super::emit::{Around, emit};
use super::parse::{Parsed, parse};
use super::{Carriage, Sdtp, seal};
use crate::checksum::Checksums;
use crate::error::sdtp::{Fault, Unfit};
use crate::error::{EmitError, ParseError};
use crate::{Body, Packet};

impl Packet {
    /// The SDTP packet that a UDP datagram carries, with [`Carriage::Udp`]. [`Packet::parse`] does not look for it: any UDP
    /// port may be that of a slice.
    ///
    /// # Errors
    /// Why it is none.
    pub fn to_sdtp(&self, checksums: Checksums) -> Result<Self, ParseError> {
        let Body::Udp(datagram) = &self.body else { return Err(Fault::NoDatagram.into()) };
        let bytes = datagram.payload.to_bytes();
        let ports = (datagram.src_port, datagram.dst_port);
        let (sdtp, corrupted) = parse_in_udp((self.src, self.dst), ports, &bytes, &bytes, checksums)?;
        let body = Body::Sdtp(Box::new(sdtp));
        Ok(Self { corrupted: self.corrupted || corrupted, body, ..*self })
    }

    /// Appends to `out` the bytes that the tag of the packet's seal covers, as [`super::covered`] has it. They are the same
    /// whatever the tag is.
    ///
    /// # Errors
    /// As [`Packet::emit`], and a packet without a seal.
    pub fn sealed_bytes(&self, out: &mut Vec<u8>) -> Result<(), EmitError> {
        self.check()?;
        let Body::Sdtp(sdtp) = &self.body else { return Err(Unfit::Unsealed.into()) };
        if sdtp.seal.is_none() {
            return Err(Unfit::Unsealed.into());
        }
        let start = out.len();
        out.resize(start + sdtp.len(), 0);
        self.write_sdtp(sdtp, &mut out[start..]);
        out.truncate(out.len() - seal::TAG_LEN);
        seal::clear_mutable(&mut out[start..]);
        Ok(())
    }

    /// Writes the SDTP packet that this one carries.
    pub(crate) fn write_sdtp(&self, sdtp: &Sdtp, out: &mut [u8]) {
        let around = Around { edges: self.edges(), ecn: self.ecn() };
        emit(sdtp, around, self.corrupted, out);
    }

    fn edges(&self) -> [u32; 2] {
        [self.src, self.dst].map(edge)
    }
}

/// The SDTP packet that a datagram between these ports carries, and whether its own checksum is wrong.
pub(crate) fn parse_in_udp(
    (src, dst): (IpAddr, IpAddr),
    (src_port, dst_port): (u16, u16),
    bytes: &[u8],
    frame: &Bytes,
    checksums: Checksums,
) -> Result<(Sdtp, bool), ParseError> {
    let parsed = parse_between([src, dst].map(edge), Carriage::Udp, bytes, frame, checksums)?;
    let ports = (parsed.0.connection, parsed.0.slice);
    if ports == (src_port, dst_port) { Ok(parsed) } else { Err(Fault::Ports.into()) }
}

/// The packet that a frame with nothing around SDTP carries: its `bytes`.
pub(crate) fn parse_native(bytes: &[u8], frame: &Bytes, checksums: Checksums) -> Result<Packet, ParseError> {
    let Parsed { sdtp, edges, ecn, corrupted } = parse(Carriage::Native, bytes, frame, checksums)?;
    let [src, dst] = edges.map(|bits| IpAddr::from(bits.to_be_bytes()));
    Ok(Packet { traffic_class: ecn.within(0), corrupted, ..Packet::sdtp(src, dst, sdtp) })
}

/// The SDTP packet that an IP packet carries, and whether its checksum is wrong.
pub(crate) fn parse_in_ip(
    (src, dst): (IpAddr, IpAddr),
    bytes: &[u8],
    frame: &Bytes,
    checksums: Checksums,
) -> Result<(Sdtp, bool), ParseError> {
    parse_between([src, dst].map(edge), Carriage::Ip, bytes, frame, checksums)
}

fn parse_between(
    between: [u32; 2],
    carriage: Carriage,
    bytes: &[u8],
    frame: &Bytes,
    checksums: Checksums,
) -> Result<(Sdtp, bool), ParseError> {
    let Parsed { sdtp, edges, corrupted, .. } = parse(carriage, bytes, frame, checksums)?;
    // The copy of ECN is not compared: routers mark the IP header.
    if edges == between { Ok((sdtp, corrupted)) } else { Err(Fault::Edges.into()) }
}

/// An edge's address as the header has it.
fn edge(address: IpAddr) -> u32 {
    match address {
        IpAddr::V4(v4) => v4.to_bits(),
        IpAddr::V6(v6) => v6.to_bits() as u32,
    }
}
