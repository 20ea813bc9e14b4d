//! What can be wrong with the fields of an SDTP packet.

use std::fmt;

/// A field of received bytes that holds what it may not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The protocol is none that SDTP carries, or not one that the type has.
    Protocol(u8),
    /// No type has this number.
    Type(u8),
    /// No trigger has this number.
    Trigger(u8),
    /// The Flag field has bits that its type does not have.
    Flag(u16),
    /// A field that must be zero is not.
    Zeros,
    /// The edges are not the addresses of the IP header.
    Edges,
    /// The edges' ports are not the ports of the UDP header.
    Ports,
    /// A segment with urgent data, for whose pointer there is no field.
    Urgent,
    /// The packet is no UDP datagram.
    NoDatagram,
    /// Parity of no packets, of too many, or of none of any length.
    Parity,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Protocol(found) => {
                write!(f, "protocol {found}: expected 4, 6 or 41 with data, 253 without")
            }
            Self::Type(found) => write!(f, "type {found}: expected 0 to 5"),
            Self::Trigger(found) => write!(f, "trigger {found}: expected 0 to 2"),
            Self::Flag(found) => write!(f, "Flag {found:#06x}: expected only bits that its type has"),
            Self::Zeros => f.write_str("reserved field: expected zeros"),
            Self::Edges => f.write_str("edges: expected the addresses of the IP header"),
            Self::Ports => f.write_str("edges' ports: expected those of the UDP header"),
            Self::Urgent => f.write_str("TCP segment: expected one without urgent data"),
            Self::NoDatagram => f.write_str("packet: expected a UDP datagram"),
            Self::Parity => f.write_str("parity: expected 1 to 16 packets, and an end behind the start"),
        }
    }
}

/// Why an SDTP packet has no form on the wire that parses back to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// A flow label of more than 20 bits.
    FlowLabel(u32),
    /// A number of the host of more than 11 bits.
    Host(u16),
    /// The segment has ports, which SDTP does not carry.
    Ports,
    /// The segment's sequence number is not that of the packet.
    Sequence,
    /// The segment has urgent data, for whose pointer there is no field.
    Urgent,
    /// The whole packet is of the other IP version than [`crate::sdtp::InnerIp::v6`] says.
    Version,
    /// The whole packet has an Ethernet header.
    Framed,
    /// The whole packet is SDTP itself.
    Nested,
    /// The edges of [`crate::sdtp::Carriage::Native`] have IPv6 addresses, for which the header has no room.
    NativeAddress,
    /// A packet of [`crate::sdtp::Carriage::Native`] has what only an IP header has.
    NativeHeader,
    /// The packet has no seal.
    Unsealed,
    /// Parity of no packets, of too many, or of none of any length.
    Parity,
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FlowLabel(found) => return write!(f, "flow label {found:#x}: expected at most 20 bits"),
            Self::Host(found) => return write!(f, "number of the host {found}: expected at most 2047"),
            _ => {}
        }
        f.write_str(match self {
            Self::FlowLabel(_) | Self::Host(_) | Self::Ports => {
                "TCP segment: expected ports of 0, both edges know them"
            }
            Self::Sequence => "TCP segment: expected the sequence number of its SDTP packet",
            Self::Urgent => "TCP segment: expected one without urgent data",
            Self::Version => "whole IP packet: expected the version that the packet's fields say",
            Self::Framed => "whole IP packet: expected none with an Ethernet header",
            Self::Nested => "whole IP packet: expected none that is SDTP itself",
            Self::NativeAddress => "edges: expected IPv4 addresses, native SDTP has no room for others",
            Self::NativeHeader => {
                "IP header: expected a hop limit of 64 and of the rest only ECN, native SDTP has no fields for more"
            }
            Self::Unsealed => "packet: expected one with a seal",
            Self::Parity => "parity: expected 1 to 16 packets, and an end behind the start",
        })
    }
}
