//! Chunks (§3.2, §3.3).

use bytes::{BufMut, Bytes};
use handfast_core::SeqNum;

use super::error::{Element, ParseError};
use super::{CHUNK_HEADER_LEN, Cause, Data, Init, Sack, padded, tlv};

/// A chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Chunk {
    /// DATA (0).
    Data(Data),
    /// INIT (1).
    Init(Init),
    /// INIT ACK (2).
    InitAck(Init),
    /// SACK (3).
    Sack(Sack),
    /// HEARTBEAT (4): what its sender wants back.
    Heartbeat(Bytes),
    /// HEARTBEAT ACK (5): the same.
    HeartbeatAck(Bytes),
    /// ABORT (6).
    Abort {
        /// T: the packet's tag is the receiver's own (§8.5.1).
        reflected: bool,
        /// Why.
        causes: Vec<Cause>,
    },
    /// SHUTDOWN (7).
    Shutdown {
        /// All up to this TSN has arrived.
        cumulative: SeqNum,
    },
    /// SHUTDOWN ACK (8).
    ShutdownAck,
    /// ERROR (9).
    Error(Vec<Cause>),
    /// COOKIE ECHO (10).
    CookieEcho(Bytes),
    /// COOKIE ACK (11).
    CookieAck,
    /// SHUTDOWN COMPLETE (14).
    ShutdownComplete {
        /// T: as for ABORT.
        reflected: bool,
    },
    /// Any other.
    Unknown {
        /// Its type.
        kind: u8,
        /// Its flags.
        flags: u8,
        /// Its value.
        value: Bytes,
    },
}

/// What a receiver does with a chunk or parameter that it does not know (§3.2, §3.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Action {
    /// It goes on with what follows.
    pub skip: bool,
    /// It tells the sender.
    pub report: bool,
}

impl Action {
    pub(super) const fn of(bits: u8) -> Self {
        Self { skip: bits & 2 != 0, report: bits & 1 != 0 }
    }
}

/// The type of HEARTBEAT's parameter: Heartbeat Info (§3.3.5).
const HEARTBEAT_INFO: u16 = 1;

/// T of ABORT and SHUTDOWN COMPLETE.
const REFLECTED: u8 = 1;

impl Chunk {
    const DATA: u8 = 0;
    const INIT: u8 = 1;
    const INIT_ACK: u8 = 2;
    const SACK: u8 = 3;
    const HEARTBEAT: u8 = 4;
    const HEARTBEAT_ACK: u8 = 5;
    const ABORT: u8 = 6;
    const SHUTDOWN: u8 = 7;
    const SHUTDOWN_ACK: u8 = 8;
    const ERROR: u8 = 9;
    const COOKIE_ECHO: u8 = 10;
    const COOKIE_ACK: u8 = 11;
    const SHUTDOWN_COMPLETE: u8 = 14;

    /// What a receiver does that does not know it (§3.2): the two highest bits of its type say it.
    pub const fn action(kind: u8) -> Action {
        Action::of(kind >> 6)
    }

    fn parse(kind: u8, flags: u8, value: Bytes) -> Result<Self, ParseError> {
        let causes = |value| tlv::parse_all(value, Element::Cause, Cause::parse);
        let reflected = flags & REFLECTED != 0;
        let chunk = match kind {
            Self::DATA => Self::Data(Data::parse(kind, flags, &value)?),
            Self::INIT => Self::Init(Init::parse(kind, &value)?),
            Self::INIT_ACK => Self::InitAck(Init::parse(kind, &value)?),
            Self::SACK => Self::Sack(Sack::parse(kind, &value)?),
            Self::HEARTBEAT => Self::Heartbeat(heartbeat(&value)?),
            Self::HEARTBEAT_ACK => Self::HeartbeatAck(heartbeat(&value)?),
            Self::ABORT => Self::Abort { reflected, causes: causes(&value)? },
            Self::ERROR => Self::Error(causes(&value)?),
            Self::COOKIE_ECHO => Self::CookieEcho(value),
            Self::SHUTDOWN => match value.as_ref() {
                &[a, b, c, d] => Self::Shutdown { cumulative: SeqNum(u32::from_be_bytes([a, b, c, d])) },
                _ => return Err(ParseError::Length { element: Element::Chunk(kind), len: value.len() }),
            },
            Self::SHUTDOWN_ACK | Self::COOKIE_ACK | Self::SHUTDOWN_COMPLETE if !value.is_empty() => {
                return Err(ParseError::Length { element: Element::Chunk(kind), len: value.len() });
            }
            Self::SHUTDOWN_ACK => Self::ShutdownAck,
            Self::COOKIE_ACK => Self::CookieAck,
            Self::SHUTDOWN_COMPLETE => Self::ShutdownComplete { reflected },
            _ => Self::Unknown { kind, flags, value },
        };
        Ok(chunk)
    }

    const fn kind(&self) -> u8 {
        match self {
            Self::Data(_) => Self::DATA,
            Self::Init(_) => Self::INIT,
            Self::InitAck(_) => Self::INIT_ACK,
            Self::Sack(_) => Self::SACK,
            Self::Heartbeat(_) => Self::HEARTBEAT,
            Self::HeartbeatAck(_) => Self::HEARTBEAT_ACK,
            Self::Abort { .. } => Self::ABORT,
            Self::Shutdown { .. } => Self::SHUTDOWN,
            Self::ShutdownAck => Self::SHUTDOWN_ACK,
            Self::Error(_) => Self::ERROR,
            Self::CookieEcho(_) => Self::COOKIE_ECHO,
            Self::CookieAck => Self::COOKIE_ACK,
            Self::ShutdownComplete { .. } => Self::SHUTDOWN_COMPLETE,
            Self::Unknown { kind, .. } => *kind,
        }
    }

    fn flags(&self) -> u8 {
        match self {
            Self::Data(data) => data.flags(),
            Self::Abort { reflected: true, .. } | Self::ShutdownComplete { reflected: true } => REFLECTED,
            Self::Unknown { flags, .. } => *flags,
            _ => 0,
        }
    }

    fn value_len(&self) -> usize {
        match self {
            Self::Data(data) => data.value_len(),
            Self::Init(init) | Self::InitAck(init) => init.value_len(),
            Self::Sack(sack) => sack.value_len(),
            Self::Heartbeat(info) | Self::HeartbeatAck(info) => tlv::HEADER_LEN + info.len(),
            Self::Abort { causes, .. } | Self::Error(causes) => {
                tlv::len_of(causes.iter().map(Cause::value_len))
            }
            Self::Shutdown { .. } => 4,
            Self::ShutdownAck | Self::CookieAck | Self::ShutdownComplete { .. } => 0,
            Self::CookieEcho(value) | Self::Unknown { value, .. } => value.len(),
        }
    }

    /// Bytes of the chunk on the wire, with its padding.
    pub fn wire_len(&self) -> usize {
        padded(CHUNK_HEADER_LEN + self.value_len())
    }

    /// The whole of it, type and length included, as a report to its sender quotes it.
    pub fn quoted(&self) -> Bytes {
        let mut out = Vec::new();
        self.emit(&mut out);
        out.truncate(CHUNK_HEADER_LEN + self.value_len());
        out.into()
    }

    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        let end = out.len() + self.wire_len();
        out.put_slice(&[self.kind(), self.flags()]);
        // A packet has at most 65,535 bytes: `Packet::emit` looks at the sum first.
        out.put_u16((CHUNK_HEADER_LEN + self.value_len()) as u16);
        match self {
            Self::Data(data) => data.emit(out),
            Self::Init(init) | Self::InitAck(init) => init.emit(out),
            Self::Sack(sack) => sack.emit(out),
            Self::Heartbeat(info) | Self::HeartbeatAck(info) => tlv::emit(HEARTBEAT_INFO, info, out),
            Self::Abort { causes, .. } | Self::Error(causes) => {
                for cause in causes {
                    cause.emit(out);
                }
            }
            Self::Shutdown { cumulative } => out.put_u32(cumulative.0),
            Self::ShutdownAck | Self::CookieAck | Self::ShutdownComplete { .. } => {}
            Self::CookieEcho(value) | Self::Unknown { value, .. } => out.put_slice(value),
        }
        out.resize(end, 0);
    }
}

/// The chunks of a packet; there is at least one.
pub(super) fn parse_all(bytes: &Bytes) -> Result<Vec<Chunk>, ParseError> {
    let (mut chunks, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        let rest = &bytes[at..];
        let Some(&[kind, flags, l0, l1]) = rest.first_chunk::<CHUNK_HEADER_LEN>() else {
            return Err(ParseError::truncated(Element::Header, CHUNK_HEADER_LEN, rest.len()));
        };
        let len = usize::from(u16::from_be_bytes([l0, l1]));
        if len < CHUNK_HEADER_LEN {
            return Err(ParseError::Length { element: Element::Chunk(kind), len });
        }
        // §3.2: the padding belongs to the packet, also behind the last chunk.
        if padded(len) > rest.len() {
            return Err(ParseError::truncated(Element::Chunk(kind), padded(len), rest.len()));
        }
        chunks.push(Chunk::parse(kind, flags, bytes.slice(at + CHUNK_HEADER_LEN..at + len))?);
        at += padded(len);
    }
    if chunks.is_empty() { Err(ParseError::Empty) } else { Ok(chunks) }
}

/// The value of HEARTBEAT and HEARTBEAT ACK: one parameter.
fn heartbeat(value: &Bytes) -> Result<Bytes, ParseError> {
    let all = tlv::parse_all(value, Element::Parameter, |kind, value| Ok((kind, value)))?;
    match <[_; 1]>::try_from(all) {
        Ok([(HEARTBEAT_INFO, info)]) => Ok(info),
        _ => Err(ParseError::Heartbeat),
    }
}
