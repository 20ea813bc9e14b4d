//! What a PPDU carries: one MPDU, or an A-MPDU of several.

use handfast_core::Bytes;

use crate::airtime::Format;

/// What an IP packet has around it in a `QoS` data frame: 26 bytes of MAC header and 4 of checksum (IEEE 802.11-2020 §9.2.3, without
/// HT control), 8 of LLC and SNAP.
const AROUND: u64 = 26 + 4 + 8;
/// The delimiter before each MPDU of an A-MPDU (§9.7.1).
const DELIMITER: u64 = 4;

const fn mpdu(packet: Bytes) -> u64 {
    packet.get().saturating_add(AROUND)
}

/// Bits of the MPDU around an IP packet.
pub const fn bits(packet: Bytes) -> u64 {
    8 * mpdu(packet)
}

/// A PSDU that is being filled.
#[derive(Clone, Copy, Debug)]
pub struct Psdu {
    format: Format,
    limit: u64,
    mpdus: u64,
    /// Bytes of its A-MPDU subframes, the last one without padding.
    octets: u64,
}

impl Psdu {
    /// An empty one of at most `limit` bytes.
    pub const fn new(format: Format, limit: u64) -> Self {
        Self { format, limit, mpdus: 0, octets: 0 }
    }

    /// Adds an MPDU around an IP packet, if there is room; the first is taken whatever its size.
    pub const fn push(&mut self, packet: Bytes) -> bool {
        // §9.7.1: each subframe but the last is padded to a multiple of four bytes.
        let octets = self.octets.next_multiple_of(4) + DELIMITER + mpdu(packet);
        if self.mpdus > 0 && octets > self.limit {
            return false;
        }
        (self.mpdus, self.octets) = (self.mpdus + 1, octets);
        true
    }

    /// How many MPDUs it has.
    pub const fn mpdus(&self) -> u64 {
        self.mpdus
    }

    /// Its bytes. A single MPDU of 802.11n has no delimiter; those of 802.11ac and ax have one always (§10.12.7).
    pub const fn octets(&self) -> u64 {
        match (self.format, self.mpdus) {
            (Format::Ht, 1) => self.octets - DELIMITER,
            _ => self.octets,
        }
    }
}
