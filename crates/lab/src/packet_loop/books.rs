//! What the loop counts besides what its links count.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;

use bytes::Bytes;
use handfast_wire::{Body, Checksums, LinkType, Packet};

/// Source and destination of TCP segments and UDP datagrams.
pub type FlowKey = (SocketAddr, SocketAddr);

/// Flows told apart at most; losses of others are not counted. A lab has a handful.
const MOST_FLOWS: usize = 1 << 16;

/// What must not happen in a lab: each spoils the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Frames longer than [`crate::MAX_FRAME`]: segmentation offload is on at a sender.
    pub oversized: u64,
    /// Frames without a checksum: checksum offload is on at a sender.
    pub checksum_missing: u64,
    /// Frames refused because too many were under way.
    pub no_room: u64,
    /// Frames that an interface refused.
    pub refused: u64,
    /// Frames lost before the loop read them.
    pub unread: u64,
}

impl Faults {
    /// Whether nothing happened that must not.
    pub fn is_clean(&self) -> bool {
        *self == Self::default()
    }
}

impl fmt::Display for Faults {
    /// What happened, in a few words.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = [
            (self.oversized, "too long (segmentation offload is on somewhere)"),
            (self.checksum_missing, "without a checksum (checksum offload is on somewhere)"),
            (self.no_room, "more than the loop has room for"),
            (self.refused, "refused by an interface"),
            (self.unread, "lost before the loop read them"),
        ];
        let some = counts.iter().filter(|(count, _)| *count > 0);
        let parts: Vec<_> = some.map(|(count, what)| format!("{count} frames {what}")).collect();
        f.write_str(&parts.join(", "))
    }
}

#[derive(Debug, Default)]
pub(super) struct Books {
    pub(super) lost: BTreeMap<FlowKey, u64>,
    pub(super) faults: Faults,
}

impl Books {
    /// A frame will never arrive. Counted if it is a TCP segment or a UDP datagram with payload, and not corrupted before: then
    /// it was counted already.
    pub(super) fn note_lost(&mut self, frame: &[u8]) {
        let frame = Bytes::copy_from_slice(frame);
        let Ok(packet) = Packet::parse(LinkType::Ethernet, &frame, Checksums::Verify) else { return };
        let (src_port, dst_port, payload) = match &packet.body {
            Body::Tcp(segment) => (segment.src_port, segment.dst_port, &segment.payload),
            Body::Udp(datagram) => (datagram.src_port, datagram.dst_port, &datagram.payload),
            Body::Sdtp(_) | Body::Other { .. } => return,
        };
        if packet.corrupted || payload.is_empty() {
            return;
        }
        let key = (SocketAddr::new(packet.src, src_port), SocketAddr::new(packet.dst, dst_port));
        if self.lost.len() < MOST_FLOWS || self.lost.contains_key(&key) {
            *self.lost.entry(key).or_default() += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_named() {
        assert!(Faults::default().is_clean());
        let faults = Faults { oversized: 2, unread: 1, ..Faults::default() };
        assert!(!faults.is_clean());
        let text = faults.to_string();
        assert_eq!(
            text,
            "2 frames too long (segmentation offload is on somewhere), 1 frames lost before the loop read them"
        );
    }
}
