//! Bytes to an SDTP packet.

use bytes::Bytes;

use super::flag::Kind;
use super::header::Header;
use super::optional::{self, Answered};
use super::{Carriage, HEADER_LEN, Message, OPTIONAL_LEN, Repeat, Sdtp, data, seal};
use crate::Ecn;
use crate::checksum::{Checksums, Sum};
use crate::error::{Header as Name, ParseError};

/// What the bytes say: the packet, and what belongs to the headers around it.
pub(crate) struct Parsed {
    pub(crate) sdtp: Sdtp,
    /// Source and destination; of IPv6 addresses the last 32 bits.
    pub(crate) edges: [u32; 2],
    pub(crate) ecn: Ecn,
    /// The checksum is wrong, or that of the header of a whole packet inside.
    pub(crate) corrupted: bool,
}

/// Reads a packet from the header of Figure 3 on. `frame` holds `bytes`; what follows the total length is not part of it.
pub(crate) fn parse(
    carriage: Carriage,
    bytes: &[u8],
    frame: &Bytes,
    checksums: Checksums,
) -> Result<Parsed, ParseError> {
    let (header, packet) = Header::parse(bytes)?;
    let wrong = checksums == Checksums::Verify && Sum::default().add(packet).fold() != 0xffff;
    let (body, seal) = seal::split(&packet[HEADER_LEN..], header.flag.sealed)?;
    let (message, wrong_inside) = if header.flag.kind.has_data() {
        with_data(&header, body, frame, checksums)?
    } else if header.flag.kind == Kind::Parity {
        let (field, sum) = optional::split(body)?;
        (Message::Parity(optional::parse_parity(field, header.flag, frame.slice_ref(sum))?), false)
    } else {
        (control(&header, body)?, false)
    };
    let &Header { slice, connection, sequence, edges, .. } = &header;
    let sdtp = Sdtp { carriage, slice, connection, sequence, message, seal };
    Ok(Parsed { sdtp, edges, ecn: header.flag.ecn, corrupted: wrong || wrong_inside })
}

/// Bytes of the packet that `data` begins with, where it begins with one.
pub(crate) fn packet_len(data: &[u8]) -> Option<usize> {
    Header::parse(data).ok().map(|(_, packet)| packet.len())
}

/// Data, or RD, whose own optional field stands before that of the data; and whether a checksum inside is wrong.
fn with_data(
    header: &Header,
    body: &[u8],
    frame: &Bytes,
    checksums: Checksums,
) -> Result<(Message, bool), ParseError> {
    if header.flag.kind == Kind::Data {
        let (data, corrupted) = data::parse(header, body, frame, checksums)?;
        return Ok((Message::Data(data), corrupted));
    }
    let (field, rest) = optional::split(body)?;
    let Answered { start, start_num, timestamp } = optional::parse_repeat(field)?;
    let (data, corrupted) = data::parse(header, rest, frame, checksums)?;
    let trigger = header.flag.trigger;
    Ok((Message::Repeat(Repeat { trigger, start, start_num, timestamp, data }), corrupted))
}

/// RR, RI, CN or CM: the optional field and nothing else.
fn control(header: &Header, body: &[u8]) -> Result<Message, ParseError> {
    let (field, rest) = optional::split(body)?;
    if !rest.is_empty() {
        let (stated, only) = (body.len(), OPTIONAL_LEN);
        return Err(ParseError::PacketLength { header: Name::SdtpOptional, stated, min: only, max: only });
    }
    let flag = header.flag;
    Ok(match flag.kind {
        Kind::Request => Message::Request(optional::parse_request(field, flag)?),
        Kind::Information => Message::Information(optional::parse_information(field, flag)?),
        Kind::Congestion => Message::Congestion(optional::parse_congestion(field)?),
        _ => Message::Notification(optional::parse_notification(field)?),
    })
}
