//! Data of hosts: what is left of their headers in the optional field, then TCP options and payload, or a whole IP packet.

use bytes::{Buf, BufMut, Bytes};
use handfast_core::SeqNum;

use super::header::Header;
use super::optional::{self, Field};
use super::{Content, Data, InnerIp, OPTIONAL_LEN};
use crate::checksum::Checksums;
use crate::error::sdtp::Fault;
use crate::error::{Header as Name, ParseError};
use crate::ip::{FLOW_LABEL, TCP};
use crate::tcp::{self, Flags, Segment};
use crate::{Packet, Payload};

const DONT_FRAGMENT: u32 = 1 << 31;
/// Where the number of the host stands, between that and the flow label.
const HOST: u32 = 20;

/// The optional field of data.
struct Fields {
    ack: SeqNum,
    /// Data offset, reserved bits and flags, as in TCP's header.
    offset_flags: u16,
    window: u16,
    since_start: u16,
    host: u16,
    ip: InnerIp,
}

/// Reads data from the optional field on, and says whether the header checksum of a whole packet is wrong. `frame` holds
/// `bytes`.
pub(super) fn parse(
    header: &Header,
    bytes: &[u8],
    frame: &Bytes,
    checksums: Checksums,
) -> Result<(Data, bool), ParseError> {
    let (field, rest) = optional::split(bytes)?;
    let fields = parse_fields(field, header)?;
    let (content, corrupted) = if header.protocol == TCP {
        (Content::Segment(parse_segment(&fields, header.sequence, rest, frame)?), false)
    } else {
        let (packet, corrupted) = parse_whole(header.flag.v6, rest, frame, checksums)?;
        (Content::Packet(Box::new(packet)), corrupted)
    };
    let Fields { since_start, host, ip, .. } = fields;
    Ok((Data { ip, since_start, host, content }, corrupted))
}

/// The whole packet, and whether its header's checksum is wrong: that is no error here, for the packet around it, which is
/// marked as corrupted then, does not stop being SDTP.
fn parse_whole(
    v6: bool,
    bytes: &[u8],
    frame: &Bytes,
    checksums: Checksums,
) -> Result<(Packet, bool), ParseError> {
    let version = if v6 { 6 } else { 4 };
    match Packet::parse_inner(version, bytes, frame, checksums) {
        Err(ParseError::Ipv4Checksum { .. }) => {
            Ok((Packet::parse_inner(version, bytes, frame, Checksums::Trust)?, true))
        }
        parsed => Ok((parsed?, false)),
    }
}

fn parse_fields(field: &Field, header: &Header) -> Result<Fields, Fault> {
    let mut field = &field[..];
    let ack = SeqNum(field.get_u32());
    let (offset_flags, window) = (field.get_u16(), field.get_u16());
    let checksum = field.get_u16();
    let since_start = field.get_u16();
    let (hop_limit, traffic_class, identification) = (field.get_u8(), field.get_u8(), field.get_u16());
    let word = field.get_u32();
    let is_bare = ack.0 == 0 && offset_flags == 0 && window == 0 && checksum == 0;
    if header.protocol != TCP && !is_bare {
        return Err(Fault::Zeros);
    }
    let dont_fragment = word & DONT_FRAGMENT != 0;
    let flow_label = word & FLOW_LABEL;
    let host = (word >> HOST) as u16 & Data::HOSTS;
    let v6 = header.flag.v6;
    let ip = InnerIp { v6, hop_limit, traffic_class, identification, dont_fragment, flow_label };
    Ok(Fields { ack, offset_flags, window, since_start, host, ip })
}

fn parse_segment(
    fields: &Fields,
    sequence: SeqNum,
    rest: &[u8],
    frame: &Bytes,
) -> Result<Segment, ParseError> {
    let (options, payload) = rest.split_at(options_len(fields.offset_flags, rest.len())?);
    let flags = Flags(fields.offset_flags & 0x0fff);
    if flags.contains(Flags::URG) {
        return Err(Fault::Urgent.into());
    }
    let (ack, window) = (fields.ack, fields.window);
    let payload = Payload::part_of(payload, frame);
    let mut segment = Segment { seq: sequence, ack, flags, window, payload, ..Segment::EMPTY };
    tcp::parse_options(&mut segment, options)?;
    Ok(segment)
}

/// Bytes of TCP options, by TCP's data offset.
fn options_len(offset_flags: u16, have: usize) -> Result<usize, ParseError> {
    let stated = usize::from(offset_flags >> 12) * 4;
    let (min, max) = (tcp::HEADER_LEN, tcp::HEADER_LEN + have.min(tcp::MAX_OPTIONS_LEN));
    if (min..=max).contains(&stated) {
        return Ok(stated - min);
    }
    Err(ParseError::HeaderLength { header: Name::Tcp, stated, min, max })
}

/// Writes data into `out`, which is as long as it is.
pub(super) fn emit(data: &Data, out: &mut [u8]) {
    let (field, rest) = out.split_at_mut(OPTIONAL_LEN);
    match &data.content {
        Content::Segment(segment) => {
            let options_len = tcp::emit_options(segment, rest);
            segment.payload.write(&mut rest[options_len..]);
            let offset = ((tcp::HEADER_LEN + options_len) as u16 / 4) << 12;
            emit_fields(data, segment.ack.0, [offset | segment.flags.0, segment.window], field);
        }
        Content::Packet(packet) => {
            emit_fields(data, 0, [0; 2], field);
            packet.write(rest);
        }
    }
}

/// The optional field of data, with what TCP's header says: zeros where there is none.
fn emit_fields(data: &Data, ack: u32, [offset_flags, window]: [u16; 2], mut field: &mut [u8]) {
    let &InnerIp { hop_limit, traffic_class, identification, dont_fragment, flow_label, .. } = &data.ip;
    field.put_u32(ack);
    field.put_u16(offset_flags);
    field.put_u16(window);
    // TCP's checksum as the host sent it; the mark `corrupted` stands for it.
    field.put_u16(0);
    field.put_u16(data.since_start);
    field.put_u8(hop_limit);
    field.put_u8(traffic_class);
    field.put_u16(identification);
    let dont_fragment = if dont_fragment { DONT_FRAGMENT } else { 0 };
    field.put_u32(dont_fragment | u32::from(data.host) << HOST | flow_label);
}
