//! What a packet must be like to match a flow entry (§7.2.2), in OXM fields (§7.2.3).

use std::net::{Ipv4Addr, Ipv6Addr};

use bytes::Bytes;

use super::PortNo;

/// An Ethernet address.
pub type EthAddr = [u8; 6];

/// A value of which only the bits of the mask count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Masked<T> {
    /// The value.
    pub value: T,
    /// The bits that count; [`None`]: all.
    pub mask: Option<T>,
}

impl<T> Masked<T> {
    /// All bits count.
    pub const fn exact(value: T) -> Self {
        Self { value, mask: None }
    }
}

/// The fields used here, in the order in which they are emitted; [`None`] matches everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Match {
    /// Where it arrived.
    pub in_port: Option<PortNo>,
    /// Ethernet destination.
    pub eth_dst: Option<Masked<EthAddr>>,
    /// Ethernet source.
    pub eth_src: Option<Masked<EthAddr>>,
    /// Ethernet type, after VLAN tags.
    pub eth_type: Option<u16>,
    /// VLAN identifier with `OFPVID_PRESENT`.
    pub vlan_vid: Option<Masked<u16>>,
    /// IP protocol.
    pub ip_proto: Option<u8>,
    /// IPv4 source.
    pub ipv4_src: Option<Masked<Ipv4Addr>>,
    /// IPv4 destination.
    pub ipv4_dst: Option<Masked<Ipv4Addr>>,
    /// TCP source port.
    pub tcp_src: Option<u16>,
    /// TCP destination port.
    pub tcp_dst: Option<u16>,
    /// UDP source port.
    pub udp_src: Option<u16>,
    /// UDP destination port.
    pub udp_dst: Option<u16>,
    /// ARP: the address that is asked for.
    pub arp_tpa: Option<Masked<Ipv4Addr>>,
    /// IPv6 source.
    pub ipv6_src: Option<Masked<Ipv6Addr>>,
    /// IPv6 destination.
    pub ipv6_dst: Option<Masked<Ipv6Addr>>,
    /// TCP flags: `ONFOXM_ET_TCP_FLAGS`, an extension that Open vSwitch has for 1.3.
    pub tcp_flags: Option<Masked<u16>>,
    /// Fields that are not known here, as they came.
    pub other: Bytes,
}
