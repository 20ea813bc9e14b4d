//! A message: its transaction and what it says.

use bytes::{Buf, BufMut, Bytes};

use super::codec::{Reader, set_len};
use super::{
    EmitError, Error, FeaturesReply, FlowMod, FlowRemoved, Hello, MultipartReply, MultipartRequest, PacketIn,
    PacketOut, ParseError, Part, PortStatus, RoleMessage, SwitchConfig, VERSION,
};

/// Bytes of the header of every message (§7.1).
const HEADER_LEN: usize = 8;
/// Where the header states the length.
const LENGTH_AT: usize = 2;
/// The longest that it can state.
const MAX_LEN: usize = 0xffff;

/// `OFPT_*` (§7.1).
const HELLO: u8 = 0;
const ERROR: u8 = 1;
const ECHO_REQUEST: u8 = 2;
const ECHO_REPLY: u8 = 3;
const FEATURES_REQUEST: u8 = 5;
const FEATURES_REPLY: u8 = 6;
const SET_CONFIG: u8 = 9;
const PACKET_IN: u8 = 10;
const FLOW_REMOVED: u8 = 11;
const PORT_STATUS: u8 = 12;
const PACKET_OUT: u8 = 13;
const FLOW_MOD: u8 = 14;
const MULTIPART_REQUEST: u8 = 18;
const MULTIPART_REPLY: u8 = 19;
const BARRIER_REQUEST: u8 = 20;
const BARRIER_REPLY: u8 = 21;
const ROLE_REQUEST: u8 = 24;
const ROLE_REPLY: u8 = 25;

/// One message (§7.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Transaction: an answer carries that of its question.
    pub xid: u32,
    /// What it says.
    pub body: Body,
}

/// What a message says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// The versions spoken (§7.5.1).
    Hello(Hello),
    /// What went wrong (§7.4.4).
    Error(Error),
    /// Is anybody there? (§7.5.2)
    EchoRequest(Bytes),
    /// The same bytes back (§7.5.3).
    EchoReply(Bytes),
    /// What are you? (§7.3.1)
    FeaturesRequest,
    /// The switch's answer.
    FeaturesReply(FeaturesReply),
    /// How fragments are treated and how much of a packet that misses is sent (§7.3.2).
    SetConfig(SwitchConfig),
    /// A packet for the controller (§7.4.1).
    PacketIn(PacketIn),
    /// A flow entry is gone (§7.4.2).
    FlowRemoved(FlowRemoved),
    /// A port came, went or changed (§7.4.3).
    PortStatus(PortStatus),
    /// A packet from the controller (§7.3.7).
    PacketOut(PacketOut),
    /// A change of flow entries (§7.3.4.1).
    FlowMod(FlowMod),
    /// A question for statistics or descriptions (§7.3.5).
    MultipartRequest(MultipartRequest),
    /// Part of its answer.
    MultipartReply(MultipartReply),
    /// Finish what was sent before this (§7.3.8).
    BarrierRequest,
    /// Done.
    BarrierReply,
    /// Who commands (§7.3.9).
    RoleRequest(RoleMessage),
    /// Who commands now.
    RoleReply(RoleMessage),
    /// A type that is not spoken here, kept.
    Unknown {
        /// Its type.
        kind: u8,
        /// All after the header.
        body: Bytes,
    },
}

impl Message {
    /// How many bytes the first message takes of a stream that goes on with `prefix`; [`None`]: not all of it is there
    /// yet. A stream needs no more memory than the longest message, 65,535 bytes, and is refused before it has sent one
    /// that is not `OpenFlow` 1.3.
    ///
    /// # Errors
    /// A version other than 1.3 except in a hello, and a length below that of the header: where such a message ends
    /// cannot be known, so the stream is lost.
    pub fn framed_len(prefix: &[u8]) -> Result<Option<usize>, ParseError> {
        if let [version, kind, ..] = *prefix {
            check_version(version, kind)?;
        }
        let [_, _, l0, l1, ..] = *prefix else { return Ok(None) };
        let stated = usize::from(u16::from_be_bytes([l0, l1]));
        if stated < HEADER_LEN {
            return Err(ParseError::Length { part: Part::Header, stated, min: HEADER_LEN, max: MAX_LEN });
        }
        Ok((stated <= prefix.len()).then_some(stated))
    }

    /// Parses exactly one message. Payloads share `frame`'s memory.
    ///
    /// It keeps the contract of [`crate::Packet::parse`]: it returns whatever the bytes, never panics and never reads
    /// beyond them. What it allocates is at most 32 times as long as the message: an instruction of 4 bytes is the
    /// part that grows most.
    ///
    /// ```
    /// use bytes::Bytes;
    /// use handfast_wire::openflow::{Body, Message, ParseError, Part};
    ///
    /// let barrier = Bytes::from_static(&[4, 20, 0, 8, 0, 0, 0, 7]);
    /// assert_eq!(Message::framed_len(&barrier), Ok(Some(8)));
    /// assert_eq!(Message::parse(&barrier), Ok(Message { xid: 7, body: Body::BarrierRequest }));
    /// let error = Message::parse(&barrier.slice(..3)).unwrap_err();
    /// assert_eq!(error, ParseError::Truncated { part: Part::Header, needed: 8, have: 3 });
    /// assert_eq!(error.to_string(), "OpenFlow header: expected at least 8 bytes, 3 are there");
    /// ```
    ///
    /// # Errors
    /// What is wrong with the bytes, and what was expected.
    pub fn parse(frame: &Bytes) -> Result<Self, ParseError> {
        let mut at = Reader::new(frame);
        let mut header = at.take(HEADER_LEN, Part::Header)?;
        let (version, kind) = (header.get_u8(), header.get_u8());
        check_version(version, kind)?;
        let stated = usize::from(header.get_u16());
        if stated != frame.len() {
            let (min, max) = (frame.len(), frame.len());
            return Err(ParseError::Length { part: Part::Header, stated, min, max });
        }
        Ok(Self { xid: header.get_u32(), body: Body::parse(version, kind, at)? })
    }

    /// Appends the message to `out`.
    ///
    /// # Errors
    /// What has no form on the wire that parses back to the same message; `out` is then unchanged.
    pub fn emit(&self, out: &mut Vec<u8>) -> Result<(), EmitError> {
        let start = out.len();
        let emitted = self.write(start, out);
        if emitted.is_err() {
            out.truncate(start);
        }
        emitted
    }

    fn write(&self, start: usize, out: &mut Vec<u8>) -> Result<(), EmitError> {
        out.put_slice(&[self.body.version(), self.body.kind(), 0, 0]);
        out.put_u32(self.xid);
        self.body.emit(out)?;
        let len = out.len() - start;
        if len > MAX_LEN {
            return Err(EmitError::Length(len));
        }
        set_len(out, start, start + LENGTH_AT);
        Ok(())
    }
}

/// §6.3, connection setup: before the versions are agreed on there are only hellos, each with its sender's highest.
fn check_version(version: u8, kind: u8) -> Result<(), ParseError> {
    if version == VERSION || kind == HELLO { Ok(()) } else { Err(ParseError::Version(version)) }
}

impl Body {
    fn parse(version: u8, kind: u8, mut at: Reader) -> Result<Self, ParseError> {
        Ok(match kind {
            HELLO => Self::Hello(Hello::parse(version, at)?),
            ERROR => Self::Error(Error::parse(at)?),
            ECHO_REQUEST => Self::EchoRequest(at.rest()),
            ECHO_REPLY => Self::EchoReply(at.rest()),
            FEATURES_REQUEST => at.end(Part::FeaturesRequest).map(|()| Self::FeaturesRequest)?,
            FEATURES_REPLY => Self::FeaturesReply(FeaturesReply::parse(at)?),
            SET_CONFIG => Self::SetConfig(SwitchConfig::parse(at)?),
            PACKET_IN => Self::PacketIn(PacketIn::parse(at)?),
            FLOW_REMOVED => Self::FlowRemoved(FlowRemoved::parse(at)?),
            PORT_STATUS => Self::PortStatus(PortStatus::parse(at)?),
            PACKET_OUT => Self::PacketOut(PacketOut::parse(at)?),
            FLOW_MOD => Self::FlowMod(FlowMod::parse(at)?),
            MULTIPART_REQUEST => Self::MultipartRequest(MultipartRequest::parse(at)?),
            MULTIPART_REPLY => Self::MultipartReply(MultipartReply::parse(at)?),
            BARRIER_REQUEST => at.end(Part::BarrierRequest).map(|()| Self::BarrierRequest)?,
            BARRIER_REPLY => at.end(Part::BarrierReply).map(|()| Self::BarrierReply)?,
            ROLE_REQUEST => Self::RoleRequest(RoleMessage::parse(at)?),
            ROLE_REPLY => Self::RoleReply(RoleMessage::parse(at)?),
            _ => Self::Unknown { kind, body: at.rest() },
        })
    }

    fn version(&self) -> u8 {
        if let Self::Hello(hello) = self { hello.version } else { VERSION }
    }

    fn kind(&self) -> u8 {
        match self {
            Self::Hello(_) => HELLO,
            Self::Error(_) => ERROR,
            Self::EchoRequest(_) => ECHO_REQUEST,
            Self::EchoReply(_) => ECHO_REPLY,
            Self::FeaturesRequest => FEATURES_REQUEST,
            Self::FeaturesReply(_) => FEATURES_REPLY,
            Self::SetConfig(_) => SET_CONFIG,
            Self::PacketIn(_) => PACKET_IN,
            Self::FlowRemoved(_) => FLOW_REMOVED,
            Self::PortStatus(_) => PORT_STATUS,
            Self::PacketOut(_) => PACKET_OUT,
            Self::FlowMod(_) => FLOW_MOD,
            Self::MultipartRequest(_) => MULTIPART_REQUEST,
            Self::MultipartReply(_) => MULTIPART_REPLY,
            Self::BarrierRequest => BARRIER_REQUEST,
            Self::BarrierReply => BARRIER_REPLY,
            Self::RoleRequest(_) => ROLE_REQUEST,
            Self::RoleReply(_) => ROLE_REPLY,
            Self::Unknown { kind, .. } => *kind,
        }
    }

    fn emit(&self, out: &mut Vec<u8>) -> Result<(), EmitError> {
        match self {
            Self::Hello(hello) => hello.emit(out)?,
            Self::Error(error) => error.emit(out),
            Self::EchoRequest(data) | Self::EchoReply(data) => out.put_slice(data),
            Self::FeaturesRequest | Self::BarrierRequest | Self::BarrierReply => {}
            Self::FeaturesReply(features) => features.emit(out),
            Self::SetConfig(config) => config.emit(out),
            Self::PacketIn(packet) => packet.emit(out)?,
            Self::FlowRemoved(removed) => removed.emit(out)?,
            Self::PortStatus(status) => status.emit(out),
            Self::PacketOut(packet) => packet.emit(out)?,
            Self::FlowMod(change) => change.emit(out)?,
            Self::MultipartRequest(request) => request.emit(out)?,
            Self::MultipartReply(reply) => reply.emit(out)?,
            Self::RoleRequest(role) | Self::RoleReply(role) => role.emit(out),
            Self::Unknown { kind, body } => {
                check_unknown(*kind)?;
                out.put_slice(body);
            }
        }
        Ok(())
    }
}

/// A type that has a form of its own is no unknown one.
fn check_unknown(kind: u8) -> Result<(), EmitError> {
    let is_known = matches!(
        kind,
        HELLO
            | ERROR
            | ECHO_REQUEST
            | ECHO_REPLY
            | FEATURES_REQUEST
            | FEATURES_REPLY
            | SET_CONFIG
            | PACKET_IN
            | FLOW_REMOVED
            | PORT_STATUS
            | PACKET_OUT
            | FLOW_MOD
            | MULTIPART_REQUEST
            | MULTIPART_REPLY
            | BARRIER_REQUEST
            | BARRIER_REPLY
            | ROLE_REQUEST
            | ROLE_REPLY
    );
    if is_known { Err(EmitError::Known { part: Part::Message, kind: kind.into() }) } else { Ok(()) }
}
