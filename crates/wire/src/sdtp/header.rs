//! The required fields: 24 bytes that every packet has (`[sdtp]` Figure 3).

use bytes::BufMut;
use handfast_core::SeqNum;

use super::flag::{Flag, Kind};
use super::{Content, HEADER_LEN, Message, OPTIONAL_LEN, PROTOCOL, Sdtp};
use crate::Ecn;
use crate::error::sdtp::Fault;
use crate::error::{Header as Name, ParseError};
use crate::ip::{IPV4, IPV6, TCP};

/// Where the checksum stands, before the Flag field.
pub(super) const CHECKSUM_AT: usize = 4;
/// The required fields and the optional field, in 32-bit words.
const DATA_OFFSET: u8 = ((HEADER_LEN + OPTIONAL_LEN) / 4) as u8;

/// The required fields without length, data offset and checksum.
pub(super) struct Header {
    /// What data is: a TCP segment or a packet of either IP version. [`PROTOCOL`]: there is none.
    pub(super) protocol: u8,
    pub(super) flag: Flag,
    /// Source and destination; of IPv6 addresses the last 32 bits.
    pub(super) edges: [u32; 2],
    pub(super) connection: u16,
    pub(super) slice: u16,
    pub(super) sequence: SeqNum,
}

impl Header {
    /// That of a packet.
    pub(super) fn of(sdtp: &Sdtp, edges: [u32; 2], ecn: Ecn) -> Self {
        let protocol = match sdtp.data() {
            None if matches!(sdtp.message, Message::Parity(_)) => TCP,
            None => PROTOCOL,
            Some(data) => match data.content {
                Content::Segment(_) => TCP,
                Content::Packet(_) if data.ip.v6 => IPV6,
                Content::Packet(_) => IPV4,
            },
        };
        let &Sdtp { slice, connection, sequence, .. } = sdtp;
        Self { protocol, flag: Flag::of(sdtp, ecn), edges, connection, slice, sequence }
    }

    /// The header, and the bytes of the packet, itself included.
    pub(super) fn parse(data: &[u8]) -> Result<(Self, &[u8]), ParseError> {
        let Some(fixed) = data.first_chunk::<HEADER_LEN>() else {
            return Err(ParseError::Truncated { header: Name::Sdtp, needed: HEADER_LEN, have: data.len() });
        };
        let [protocol, l0, l1, offset, _, _, f0, f1, edges @ .., c0, c1, s0, s1, q0, q1, q2, q3] = *fixed;
        check_offset(offset)?;
        let flag = Flag::parse(u16::from_be_bytes([f0, f1]))?;
        check_protocol(protocol, flag)?;
        let [a0, a1, a2, a3, b0, b1, b2, b3] = edges;
        let header = Self {
            protocol,
            flag,
            edges: [[a0, a1, a2, a3], [b0, b1, b2, b3]].map(u32::from_be_bytes),
            connection: u16::from_be_bytes([c0, c1]),
            slice: u16::from_be_bytes([s0, s1]),
            sequence: SeqNum(u32::from_be_bytes([q0, q1, q2, q3])),
        };
        Ok((header, packet(usize::from(u16::from_be_bytes([l0, l1])), data)?))
    }

    /// Writes the header of a packet of `len` bytes, with a checksum of 0.
    pub(super) fn emit(&self, len: usize, out: &mut impl BufMut) {
        out.put_u8(self.protocol);
        out.put_u16(len as u16);
        out.put_u8(DATA_OFFSET);
        out.put_u16(0);
        out.put_u16(self.flag.emit());
        for edge in self.edges {
            out.put_u32(edge);
        }
        // `[sdtp]` §III-B: the required fields are matched by switches. The ports of the edges are the connection and the
        // slice.
        out.put_u16(self.connection);
        out.put_u16(self.slice);
        out.put_u32(self.sequence.0);
    }
}

/// The bytes that the total length covers.
fn packet(stated: usize, data: &[u8]) -> Result<&[u8], ParseError> {
    let (min, max) = (HEADER_LEN, data.len().min(0xffff));
    match data.get(..stated) {
        Some(packet) if stated >= min => Ok(packet),
        _ => Err(ParseError::PacketLength { header: Name::Sdtp, stated, min, max }),
    }
}

fn check_offset(words: u8) -> Result<(), ParseError> {
    let only = HEADER_LEN + OPTIONAL_LEN;
    if words == DATA_OFFSET {
        return Ok(());
    }
    let stated = usize::from(words) * 4;
    Err(ParseError::HeaderLength { header: Name::Sdtp, stated, min: only, max: only })
}

/// Whether the protocol is one that the type has, and the hosts' IP version that of a whole packet.
fn check_protocol(protocol: u8, flag: Flag) -> Result<(), Fault> {
    let Flag { kind, v6, .. } = flag;
    let fits = match protocol {
        TCP => kind.has_data() || kind == Kind::Parity,
        IPV4 => kind.has_data() && !v6,
        IPV6 => kind.has_data() && v6,
        PROTOCOL => !kind.has_data() && kind != Kind::Parity,
        _ => false,
    };
    if fits { Ok(()) } else { Err(Fault::Protocol(protocol)) }
}
