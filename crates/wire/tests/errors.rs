//! What errors say: the layer, what stood there, what was expected.

use std::error::Error;

use handfast_wire::{EmitError, Header, ParseError, ThroughWireError};

#[test]
fn parse_errors_say_what_was_expected() {
    let texts = [
        (
            ParseError::Truncated { header: Header::Ethernet, needed: 14, have: 3 },
            "Ethernet header: expected at least 14 bytes, 3 are there",
        ),
        (
            ParseError::Truncated { header: Header::Vlan, needed: 4, have: 0 },
            "802.1Q tag: expected at least 4 bytes, 0 are there",
        ),
        (
            ParseError::EtherType(0x0806),
            "Ethernet type 0x0806: expected IPv4 (0x0800), IPv6 (0x86dd) or SDTP (0x88b5), after at most one 802.1Q tag (0x8100)",
        ),
        (ParseError::IpVersion(5), "IP version 5: expected 4 or 6, and the one the Ethernet type announces"),
        (
            ParseError::HeaderLength { header: Header::Tcp, stated: 16, min: 20, max: 60 },
            "TCP header: states its length as 16 bytes, expected 20 to 60",
        ),
        (
            ParseError::PacketLength { header: Header::Ipv6, stated: 9, min: 0, max: 8 },
            "IPv6 header: states a packet length of 9 bytes, expected 0 to 8",
        ),
        (
            ParseError::Ipv4Checksum { found: 0x12, expected: 0xabcd },
            "IPv4 header: checksum 0x0012, expected 0xabcd",
        ),
        (
            ParseError::Fragment { offset: 8, more: true },
            "IPv4 fragment at byte 8, more follow: expected a whole datagram",
        ),
        (
            ParseError::Fragment { offset: 16, more: false },
            "IPv4 fragment at byte 16, the last: expected a whole datagram",
        ),
        (ParseError::Jumbogram, "IPv6 jumbogram: expected a payload of at most 65535 bytes"),
        (
            ParseError::TcpOption { kind: 8, stated: 10, room: 4 },
            "TCP option 8: states its length as 10 bytes, expected 2 to 4",
        ),
    ];
    for (error, text) in texts {
        assert_eq!(error.to_string(), text);
    }
}

#[test]
fn emit_errors_say_what_was_expected() {
    let texts = [
        (EmitError::Buffer { needed: 40, have: 39 }, "buffer: expected at least 40 bytes, it has 39"),
        (
            EmitError::AddressFamilies,
            "addresses: expected two of IPv4 or two of IPv6, they are of different families",
        ),
        (EmitError::PacketLength(70_000), "packet of 70000 bytes: expected what an IP header can state"),
        (EmitError::VlanId(4096), "VLAN identifier 4096: expected 0 to 4095"),
        (EmitError::VlanPriority(8), "VLAN priority 8: expected 0 to 7"),
        (
            EmitError::Ipv6Identification(1),
            "identification 1: expected 0 in an IPv6 packet, which has no such field",
        ),
        (EmitError::FlowLabel(0x10_0000), "flow label 0x100000: expected at most 20 bits, in an IPv6 packet"),
        (EmitError::Ipv6Fragment, "leave to fragment: expected an IPv4 packet"),
        (EmitError::Ipv6QuickStart, "Quick-Start option: expected an IPv4 packet"),
        (EmitError::Protocol(6), "protocol 6: expected one that does not parse as something else"),
        (EmitError::Flags(0x1000), "TCP flags 0x1000: expected at most 0x0fff"),
        (EmitError::OptionsLength(44), "TCP options of 44 bytes: expected at most 40 besides SACK"),
        (
            EmitError::UnknownOptions,
            "unknown TCP options: expected whole options (kind, length, value) of kinds not parsed, without padding",
        ),
    ];
    for (error, text) in texts {
        assert_eq!(error.to_string(), text);
        let wrapped = ThroughWireError::from(error);
        assert_eq!(wrapped.to_string(), text);
        assert_eq!(wrapped.source().map(ToString::to_string).as_deref(), Some(text));
    }
}
