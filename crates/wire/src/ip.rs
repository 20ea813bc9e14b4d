//! What IPv4 and IPv6 headers have in common.

use std::net::IpAddr;

use crate::quick_start::QuickStart;

/// The fields of an IP header that a packet keeps.
#[derive(Clone, Copy)]
pub(crate) struct IpHeader {
    pub(crate) src: IpAddr,
    pub(crate) dst: IpAddr,
    pub(crate) hop_limit: u8,
    pub(crate) traffic_class: u8,
    pub(crate) identification: u16,
    /// IPv4 only.
    pub(crate) quick_start: Option<QuickStart>,
    /// Protocol, or the next-header value of an IPv6 header.
    pub(crate) protocol: u8,
}

/// Protocol number of ICMP for IPv4.
pub(crate) const ICMP: u8 = 1;
/// Protocol number of TCP.
pub(crate) const TCP: u8 = 6;
