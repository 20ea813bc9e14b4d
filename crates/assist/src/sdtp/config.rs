//! What the nodes of SDTP are told.

use handfast_core::Duration;
use handfast_tcp::DEFAULT_MSS;
use handfast_wire::Packet;
use handfast_wire::sdtp::{Carriage, OPTIONAL_LEN, SEAL_LEN};

use super::caching::{Config as Caching, Congestion};
use super::connections::Lifetimes;
use super::convert::{around, overhead};
use super::packet_ins::Limits;
use super::resequence::Bounds;
use super::seals::Sealing;
use super::thresholds::Thresholds;

/// The settings of a node, whatever its functions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// What its packets travel in.
    pub carriage: Carriage,
    /// Bytes of the largest IP packet, or of the largest native SDTP packet, that the core carries.
    pub mtu: u16,
    /// Connections that an edge converts at most, and whose data a node watches at most.
    pub connections: usize,
    /// How long silent ones are kept.
    pub lifetimes: Lifetimes,
    /// How many handshakes an edge sends to the controller.
    pub packet_ins: Limits,
    /// How a retransmission node detects losses. The round trip of its segment comes with its activation.
    pub thresholds: Thresholds,
    /// What a caching node keeps.
    pub caching: Caching,
    /// What a receiving edge holds to put it in order.
    pub resequencing: Bounds,
    /// Whether packets that no connection has are protected, too: those of any protocol.
    pub all: bool,
    /// With what RR, RI, CN, RD, PD and CM are sealed; [`None`]: nothing is, and whoever is in the core can say anything.
    pub sealing: Option<Sealing>,
}

impl Config {
    /// Whether the core carries what an edge makes of a host's packet. It does, unless a host sends more than it was told.
    pub(super) fn fits_core(&self, packet: &Packet, edges_v6: bool) -> bool {
        let longer = overhead(self.carriage, packet.src.is_ipv6(), edges_v6) + self.repeat() as i32;
        packet.ip_len() as i32 + longer <= i32::from(self.mtu)
    }

    /// The largest segment that a host behind an edge may be sent: what the other edge makes of it fits the core, and so does the
    /// RD with it.
    pub(super) fn most_mss(&self, v6: bool, edges_v6: bool) -> u16 {
        // Without options. What a sender adds of these it takes off the payload (RFC 6691 §2).
        let headers = if v6 { 60 } else { 40 };
        let more = overhead(self.carriage, v6, edges_v6) + self.repeat() as i32;
        let most = i32::from(self.mtu) - headers - more.max(0);
        u16::try_from(most).unwrap_or(0).max(DEFAULT_MSS)
    }

    /// Whether an edge says how much of its window a host may use.
    pub(super) fn enforces(&self) -> bool {
        self.caching.congestion == Congestion::Cache
    }

    /// The longest packet that can be sent whole through the core, and again as an RD.
    pub(super) fn most_whole(&self, edges_v6: bool) -> usize {
        usize::from(self.mtu).saturating_sub(around(self.carriage, edges_v6) + self.repeat())
    }

    /// Bytes that an RD has more than the data: an optional field of its own before that of the data, and a seal.
    fn repeat(&self) -> usize {
        OPTIONAL_LEN + if self.sealing.is_some() { SEAL_LEN } else { 0 }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            carriage: Carriage::default(),
            mtu: 1500,
            connections: 65_536,
            lifetimes: Lifetimes::default(),
            packet_ins: Limits::default(),
            thresholds: Thresholds::new(Duration::from_millis(20)),
            caching: Caching::default(),
            resequencing: Bounds::default(),
            all: false,
            sealing: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sdtp::auth::Key;

    #[test]
    fn a_converted_packet_fits_the_core() {
        for (carriage, v4, v6) in
            [(Carriage::Native, 1436, 1436), (Carriage::Ip, 1416, 1416), (Carriage::Udp, 1408, 1408)]
        {
            let config = Config { carriage, ..Config::default() };
            assert_eq!(
                (config.most_mss(false, false), config.most_mss(true, false)),
                (v4, v6),
                "{carriage:?}"
            );
            let sealing = Some(Sealing { key: Key::new([0; 32]), first: 0 });
            let sealed = Config { sealing, ..config.clone() };
            assert_eq!(sealed.most_mss(false, false), v4 - 28, "{carriage:?}");
            let outer = if carriage == Carriage::Native { 0 } else { 20 };
            assert_eq!(config.most_mss(false, true), v4 - outer, "{carriage:?}");
            let large = Config { mtu: 9000, ..config };
            assert_eq!(large.most_mss(false, false), v4 + 7500);
            assert_eq!(Config { mtu: 400, ..large }.most_mss(false, false), 536);
        }
    }
}
