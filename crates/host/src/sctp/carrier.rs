//! What carries an association's packets: the ways between the addresses of two hosts.

use std::net::IpAddr;

use bytes::Bytes;
use handfast_sctp::{Received, Transmit};
use handfast_wire::Checksums;
use handfast_wire::sctp::Packet;

use super::Host;
use crate::transport::Way;

/// A host and its peer. Of the ways between them those of the host's first address come first, in the order of the peer's.
#[derive(Clone, Debug)]
pub(super) struct Ways {
    pub(super) local: Host,
    pub(super) remote: Host,
}

/// A packet that has come from one address to another.
pub(super) struct Arrived {
    packet: Packet,
    from: IpAddr,
    to: IpAddr,
}

impl Arrived {
    pub(super) fn received(&self) -> Received<'_> {
        Received { packet: &self.packet, from: self.from, to: self.to }
    }
}

impl Ways {
    /// What a datagram carried that has come by a way; [`None`]: no packet of SCTP, or there is no such way.
    pub(super) fn parse(&self, Way(way): Way, data: &Bytes) -> Option<Arrived> {
        let peers = self.remote.addresses.len();
        let to = *self.local.addresses.get(way.checked_div(peers)?)?;
        let from = self.remote.addresses[way % peers];
        // A wrong checksum is a packet that the network has changed (§6.8).
        let packet = Packet::parse(data, Checksums::Verify).ok()?;
        Some(Arrived { packet, from, to })
    }

    /// By which way a packet leaves, and what the datagram carries; [`None`]: it leads nowhere.
    pub(super) fn emit(&self, transmit: &Transmit) -> Option<(Way, Bytes)> {
        let find = |host: &Host, one: IpAddr| host.addresses.iter().position(|&other| other == one);
        let from = find(&self.local, transmit.from)?;
        let to = find(&self.remote, transmit.to)?;
        let data = transmit.packet.emit().ok()?;
        Some((Way(from * self.remote.addresses.len() + to), data))
    }
}
