//! Multipart messages: flow statistics, tables and port descriptions (§7.3.5).

use bytes::{Buf, BufMut, Bytes};

use super::codec::{Reader, set_len};
use super::{
    EmitError, FlowModFlags, Instruction, Match, ParseError, Part, Port, PortNo, TableFeatures, TableStats,
};

const FLOW: u16 = 1;
const TABLE: u16 = 3;
const TABLE_FEATURES: u16 = 12;
const PORT_DESCRIPTION: u16 = 13;
/// `OFPMPF_REPLY_MORE`.
const MORE: u16 = 1;

/// A question (§7.3.5).
#[expect(clippy::large_enum_variant, reason = "they are few, and none is kept")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MultipartRequest {
    /// Which entries are there, and what have they counted? (§7.3.5.2)
    Flow(FlowStatsRequest),
    /// How full are the tables? (§7.3.5.3)
    Table,
    /// What can the tables do? (§7.3.5.5; with a body it would set that)
    TableFeatures,
    /// Which ports are there? (§7.3.5.7)
    PortDescription,
    /// Another kind, or one of these with flags, kept.
    Other {
        /// `OFPMP_*`.
        kind: u16,
        /// `OFPMPF_*`.
        flags: u16,
        /// All after the multipart header.
        body: Bytes,
    },
}

/// Which entries are asked for (§7.3.5.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowStatsRequest {
    /// The table; [`super::ALL_TABLES`].
    pub table_id: u8,
    /// Only entries that send there; [`PortNo::ANY`].
    pub out_port: PortNo,
    /// Only entries with that group; [`super::ANY_GROUP`].
    pub out_group: u32,
    /// Their mark.
    pub cookie: u64,
    /// Which of its bits count.
    pub cookie_mask: u64,
    /// Entries whose match is this or narrower.
    pub matches: Match,
}

/// One entry (§7.3.5.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowStats {
    /// Its table.
    pub table_id: u8,
    /// How long it has lived: seconds.
    pub duration_sec: u32,
    /// And nanoseconds beyond them.
    pub duration_nsec: u32,
    /// Its priority.
    pub priority: u16,
    /// Its idle timeout, s.
    pub idle_timeout: u16,
    /// Its hard timeout, s.
    pub hard_timeout: u16,
    /// Its flags.
    pub flags: FlowModFlags,
    /// Its mark.
    pub cookie: u64,
    /// Packets that it matched.
    pub packet_count: u64,
    /// Their bytes.
    pub byte_count: u64,
    /// Its match.
    pub matches: Match,
    /// What it does.
    pub instructions: Vec<Instruction>,
}

/// Part of an answer (§7.3.5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MultipartReply {
    /// Entries.
    Flow {
        /// Whether another part follows (`OFPMPF_REPLY_MORE`).
        more: bool,
        /// These.
        flows: Vec<FlowStats>,
    },
    /// How full tables are.
    Table {
        /// Whether another part follows.
        more: bool,
        /// These.
        tables: Vec<TableStats>,
    },
    /// What tables can do.
    TableFeatures {
        /// Whether another part follows.
        more: bool,
        /// These.
        tables: Vec<TableFeatures>,
    },
    /// Ports.
    PortDescription {
        /// Whether another part follows.
        more: bool,
        /// These.
        ports: Vec<Port>,
    },
    /// Another kind, or one of these with other flags, kept.
    Other {
        /// `OFPMP_*`.
        kind: u16,
        /// `OFPMPF_*`.
        flags: u16,
        /// All after the multipart header.
        body: Bytes,
    },
}

/// Type, flags and what follows.
fn header(mut at: Reader<'_>, part: Part) -> Result<(u16, u16, Reader<'_>), ParseError> {
    let mut fixed = at.take(8, part)?;
    Ok((fixed.get_u16(), fixed.get_u16(), at))
}

fn put_header(out: &mut Vec<u8>, kind: u16, flags: u16) {
    out.put_u16(kind);
    out.put_u16(flags);
    out.put_bytes(0, 4);
}

impl MultipartRequest {
    pub(super) fn parse(at: Reader) -> Result<Self, ParseError> {
        let (kind, flags, mut at) = header(at, Part::MultipartRequest)?;
        let request = match (kind, flags) {
            (FLOW, 0) => Self::Flow(FlowStatsRequest::parse(&mut at)?),
            (TABLE, 0) => Self::Table,
            (TABLE_FEATURES, 0) if at.is_empty() => Self::TableFeatures,
            (PORT_DESCRIPTION, 0) => Self::PortDescription,
            _ => Self::Other { kind, flags, body: at.rest() },
        };
        at.end(Part::MultipartRequest)?;
        Ok(request)
    }

    pub(super) fn emit(&self, out: &mut Vec<u8>) -> Result<(), EmitError> {
        match self {
            Self::Flow(request) => {
                put_header(out, FLOW, 0);
                request.emit(out)?;
            }
            Self::Table => put_header(out, TABLE, 0),
            Self::TableFeatures => put_header(out, TABLE_FEATURES, 0),
            Self::PortDescription => put_header(out, PORT_DESCRIPTION, 0),
            Self::Other { kind: TABLE_FEATURES, flags: 0, body } if body.is_empty() => {
                return Err(EmitError::Known { part: Part::MultipartRequest, kind: TABLE_FEATURES });
            }
            Self::Other { kind: kind @ (FLOW | TABLE | PORT_DESCRIPTION), flags: 0, .. } => {
                return Err(EmitError::Known { part: Part::MultipartRequest, kind: *kind });
            }
            Self::Other { kind, flags, body } => {
                put_header(out, *kind, *flags);
                out.put_slice(body);
            }
        }
        Ok(())
    }
}

impl FlowStatsRequest {
    fn parse(at: &mut Reader) -> Result<Self, ParseError> {
        let mut fixed = at.take(32, Part::FlowStatsRequest)?;
        let table_id = fixed.get_u8();
        fixed.advance(3);
        let (out_port, out_group) = (PortNo(fixed.get_u32()), fixed.get_u32());
        fixed.advance(4);
        let (cookie, cookie_mask) = (fixed.get_u64(), fixed.get_u64());
        let matches = Match::parse(at)?;
        Ok(Self { table_id, out_port, out_group, cookie, cookie_mask, matches })
    }

    fn emit(&self, out: &mut Vec<u8>) -> Result<(), EmitError> {
        out.put_slice(&[self.table_id, 0, 0, 0]);
        out.put_u32(self.out_port.0);
        out.put_u32(self.out_group);
        out.put_bytes(0, 4);
        out.put_u64(self.cookie);
        out.put_u64(self.cookie_mask);
        self.matches.emit(out)
    }
}

impl FlowStats {
    /// Bytes before the match.
    const FIXED_LEN: usize = 48;

    fn parse(at: &mut Reader) -> Result<Self, ParseError> {
        // The reader is looked at and then cut by what it says.
        let len = at.clone().take(2, Part::FlowStats)?.get_u16();
        let mut at = at.part(len.into(), Self::FIXED_LEN, Part::FlowStats)?;
        let mut fixed = at.take(Self::FIXED_LEN, Part::FlowStats)?;
        fixed.advance(2);
        Ok(Self {
            table_id: fixed.get_u8(),
            duration_sec: {
                fixed.advance(1);
                fixed.get_u32()
            },
            duration_nsec: fixed.get_u32(),
            priority: fixed.get_u16(),
            idle_timeout: fixed.get_u16(),
            hard_timeout: fixed.get_u16(),
            flags: FlowModFlags(fixed.get_u16()),
            cookie: {
                fixed.advance(4);
                fixed.get_u64()
            },
            packet_count: fixed.get_u64(),
            byte_count: fixed.get_u64(),
            matches: Match::parse(&mut at)?,
            instructions: Instruction::parse_all(at)?,
        })
    }

    fn emit(&self, out: &mut Vec<u8>) -> Result<(), EmitError> {
        let start = out.len();
        out.put_slice(&[0, 0, self.table_id, 0]);
        out.put_u32(self.duration_sec);
        out.put_u32(self.duration_nsec);
        for field in [self.priority, self.idle_timeout, self.hard_timeout, self.flags.0] {
            out.put_u16(field);
        }
        out.put_bytes(0, 4);
        for field in [self.cookie, self.packet_count, self.byte_count] {
            out.put_u64(field);
        }
        self.matches.emit(out)?;
        Instruction::emit_all(&self.instructions, out)?;
        set_len(out, start, start);
        Ok(())
    }
}

impl MultipartReply {
    pub(super) fn parse(at: Reader) -> Result<Self, ParseError> {
        let (kind, flags, mut at) = header(at, Part::MultipartReply)?;
        let more = flags == MORE;
        match (kind, flags) {
            (FLOW, 0 | MORE) => Ok(Self::Flow { more, flows: parse_all(at, FlowStats::parse)? }),
            (TABLE, 0 | MORE) => Ok(Self::Table { more, tables: parse_all(at, TableStats::parse)? }),
            (TABLE_FEATURES, 0 | MORE) => {
                Ok(Self::TableFeatures { more, tables: parse_all(at, TableFeatures::parse)? })
            }
            (PORT_DESCRIPTION, 0 | MORE) => {
                Ok(Self::PortDescription { more, ports: parse_all(at, Port::parse)? })
            }
            _ => Ok(Self::Other { kind, flags, body: at.rest() }),
        }
    }

    pub(super) fn emit(&self, out: &mut Vec<u8>) -> Result<(), EmitError> {
        match self {
            Self::Flow { more, flows } => {
                put_header(out, FLOW, u16::from(*more));
                flows.iter().try_for_each(|flow| flow.emit(out))
            }
            Self::Table { more, tables } => {
                put_header(out, TABLE, u16::from(*more));
                for table in tables {
                    table.emit(out);
                }
                Ok(())
            }
            Self::TableFeatures { more, tables } => {
                put_header(out, TABLE_FEATURES, u16::from(*more));
                for table in tables {
                    table.emit(out);
                }
                Ok(())
            }
            Self::PortDescription { more, ports } => {
                put_header(out, PORT_DESCRIPTION, u16::from(*more));
                for port in ports {
                    port.emit(out);
                }
                Ok(())
            }
            Self::Other {
                kind: kind @ (FLOW | TABLE | TABLE_FEATURES | PORT_DESCRIPTION),
                flags: 0 | MORE,
                ..
            } => Err(EmitError::Known { part: Part::MultipartReply, kind: *kind }),
            Self::Other { kind, flags, body } => {
                put_header(out, *kind, *flags);
                out.put_slice(body);
                Ok(())
            }
        }
    }
}

/// All there are until the reader's end.
fn parse_all<T>(
    mut at: Reader,
    parse: impl Fn(&mut Reader) -> Result<T, ParseError>,
) -> Result<Vec<T>, ParseError> {
    let mut all = Vec::new();
    while !at.is_empty() {
        all.push(parse(&mut at)?);
    }
    Ok(all)
}
