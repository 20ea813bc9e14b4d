//! What can be wrong with bytes from outside, and with a packet that is to become bytes.

pub(crate) mod sdtp;

use std::error::Error;
use std::fmt;

use sdtp::{Fault, Unfit};

/// A header, for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the headers' own")]
pub enum Header {
    Ethernet,
    Vlan,
    Ipv4,
    Ipv6,
    Tcp,
    Sdtp,
    SdtpOptional,
    SdtpSeal,
}

impl fmt::Display for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ethernet => "Ethernet header",
            Self::Vlan => "802.1Q tag",
            Self::Ipv4 => "IPv4 header",
            Self::Ipv6 => "IPv6 header",
            Self::Tcp => "TCP header",
            Self::Sdtp => "SDTP header",
            Self::SdtpOptional => "SDTP optional field",
            Self::SdtpSeal => "SDTP seal",
        })
    }
}

/// Why bytes are not a packet that this crate can hold. Its text says what was expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParseError {
    /// The bytes end inside a header.
    Truncated {
        /// Which header.
        header: Header,
        /// Bytes it needs.
        needed: usize,
        /// Bytes there are.
        have: usize,
    },
    /// An Ethernet type that is neither IPv4, IPv6, SDTP nor one 802.1Q tag before these.
    EtherType(u16),
    /// A version field that is not the one the Ethernet type announces, or neither 4 nor 6.
    IpVersion(u8),
    /// A header length field below the fixed header's length or beyond the packet's end.
    HeaderLength {
        /// Which header.
        header: Header,
        /// The length it states, in bytes.
        stated: usize,
        /// The least it may state, in bytes.
        min: usize,
        /// The most it may state, in bytes.
        max: usize,
    },
    /// A total (IPv4) or payload (IPv6) length that goes beyond the bytes there are, or ends inside the header.
    PacketLength {
        /// Which header states it.
        header: Header,
        /// The length it states, in bytes.
        stated: usize,
        /// The least it may state, in bytes.
        min: usize,
        /// The most it may state, in bytes.
        max: usize,
    },
    /// An IPv4 header whose checksum is wrong.
    Ipv4Checksum {
        /// The checksum that stands there.
        found: u16,
        /// The checksum these bytes should have.
        expected: u16,
    },
    /// A fragment of an IPv4 datagram: its body has no header of its own, or not all of its bytes.
    Fragment {
        /// Position in the datagram, in bytes.
        offset: u16,
        /// Whether more fragments follow.
        more: bool,
    },
    /// An IPv6 jumbogram (RFC 2675): its length stands in a hop-by-hop option.
    Jumbogram,
    /// A TCP option whose length is below 2 or beyond the header's end (RFC 9293 §3.1, MUST-7).
    TcpOption {
        /// The option's kind.
        kind: u8,
        /// The length it states, in bytes; 0 where the length itself is cut off.
        stated: u8,
        /// Bytes from its kind to the end of the options.
        room: u8,
    },
    /// A field of an SDTP packet.
    Sdtp(Fault),
}

impl From<Fault> for ParseError {
    fn from(fault: Fault) -> Self {
        Self::Sdtp(fault)
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Truncated { header, needed, have } => {
                write!(f, "{header}: expected at least {needed} bytes, {have} are there")
            }
            Self::EtherType(found) => write!(
                f,
                "Ethernet type {found:#06x}: expected IPv4 (0x0800), IPv6 (0x86dd) or SDTP (0x88b5), after at most one 802.1Q tag (0x8100)"
            ),
            Self::IpVersion(found) => {
                write!(f, "IP version {found}: expected 4 or 6, and the one the Ethernet type announces")
            }
            Self::HeaderLength { header, stated, min, max } => {
                write!(f, "{header}: states its length as {stated} bytes, expected {min} to {max}")
            }
            Self::PacketLength { header, stated, min, max } => {
                write!(f, "{header}: states a packet length of {stated} bytes, expected {min} to {max}")
            }
            Self::Ipv4Checksum { found, expected } => {
                write!(f, "IPv4 header: checksum {found:#06x}, expected {expected:#06x}")
            }
            Self::Fragment { offset, more } => write!(
                f,
                "IPv4 fragment at byte {offset}{}: expected a whole datagram",
                if more { ", more follow" } else { ", the last" }
            ),
            Self::Jumbogram => f.write_str("IPv6 jumbogram: expected a payload of at most 65535 bytes"),
            Self::TcpOption { kind, stated, room } => {
                write!(f, "TCP option {kind}: states its length as {stated} bytes, expected 2 to {room}")
            }
            Self::Sdtp(fault) => write!(f, "SDTP {fault}"),
        }
    }
}

impl Error for ParseError {}

/// Why a packet has no form on the wire, or none that parses back to the same packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmitError {
    /// The caller's buffer is too small.
    Buffer {
        /// Bytes the frame needs.
        needed: usize,
        /// Bytes the buffer has.
        have: usize,
    },
    /// Source and destination are of different families.
    AddressFamilies,
    /// The packet is longer than its IP length field can say: its length in bytes.
    PacketLength(usize),
    /// A VLAN identifier above 4095.
    VlanId(u16),
    /// A VLAN priority above 7.
    VlanPriority(u8),
    /// An identification that is not 0 in an IPv6 packet, whose header has no such field.
    Ipv6Identification(u16),
    /// A flow label of more than 20 bits, or one in an IPv4 packet.
    FlowLabel(u32),
    /// Leave to fragment an IPv6 packet, which routers never do.
    Ipv6Fragment,
    /// The Quick-Start option in an IPv6 packet, where it is a hop-by-hop option.
    Ipv6QuickStart,
    /// [`crate::Body::Other`] with a protocol whose parse gives something else: TCP, a UDP datagram, SDTP, or an empty hop-by-hop header.
    Protocol(u8),
    /// Flag bits above the twelve of the TCP header.
    Flags(u16),
    /// Options other than SACK take more than 40 bytes: how many.
    OptionsLength(usize),
    /// [`crate::tcp::RareOptions`] are empty, or the unknown ones malformed or padded, or holds an option this crate speaks.
    UnknownOptions,
    /// An SDTP packet.
    Sdtp(Unfit),
}

impl From<Unfit> for EmitError {
    fn from(unfit: Unfit) -> Self {
        Self::Sdtp(unfit)
    }
}

impl fmt::Display for EmitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Buffer { needed, have } => {
                write!(f, "buffer: expected at least {needed} bytes, it has {have}")
            }
            Self::AddressFamilies => {
                f.write_str("addresses: expected two of IPv4 or two of IPv6, they are of different families")
            }
            Self::PacketLength(len) => write!(f, "packet of {len} bytes: expected what an IP header can state"),
            Self::VlanId(id) => write!(f, "VLAN identifier {id}: expected 0 to 4095"),
            Self::VlanPriority(priority) => write!(f, "VLAN priority {priority}: expected 0 to 7"),
            Self::Ipv6Identification(id) => {
                write!(f, "identification {id}: expected 0 in an IPv6 packet, which has no such field")
            }
            Self::FlowLabel(label) => {
                write!(f, "flow label {label:#x}: expected at most 20 bits, in an IPv6 packet")
            }
            Self::Ipv6Fragment => f.write_str("leave to fragment: expected an IPv4 packet"),
            Self::Ipv6QuickStart => f.write_str("Quick-Start option: expected an IPv4 packet"),
            Self::Protocol(protocol) => {
                write!(f, "protocol {protocol}: expected one that does not parse as something else")
            }
            Self::Flags(flags) => write!(f, "TCP flags {flags:#06x}: expected at most 0x0fff"),
            Self::OptionsLength(len) => {
                write!(f, "TCP options of {len} bytes: expected at most 40 besides SACK")
            }
            Self::UnknownOptions => f.write_str(
                "unknown TCP options: expected whole options (kind, length, value) of kinds not parsed, without padding",
            ),
            Self::Sdtp(unfit) => write!(f, "SDTP: {unfit}"),
        }
    }
}

impl Error for EmitError {}

/// Why a packet did not come through [`crate::Packet::through_wire`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThroughWireError {
    /// It could not be emitted.
    Emit(EmitError),
    /// What was emitted does not parse.
    Parse(ParseError),
    /// The parsed payload is not the synthetic payload that was emitted.
    Payload,
}

impl fmt::Display for ThroughWireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Emit(error) => error.fmt(f),
            Self::Parse(error) => error.fmt(f),
            Self::Payload => {
                f.write_str("payload: expected the bytes of the synthetic stream that were emitted")
            }
        }
    }
}

impl Error for ThroughWireError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Emit(error) => Some(error),
            Self::Parse(error) => Some(error),
            Self::Payload => None,
        }
    }
}

impl From<EmitError> for ThroughWireError {
    fn from(error: EmitError) -> Self {
        Self::Emit(error)
    }
}

impl From<ParseError> for ThroughWireError {
    fn from(error: ParseError) -> Self {
        Self::Parse(error)
    }
}
