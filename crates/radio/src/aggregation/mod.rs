//! A-MPDU aggregation and block acknowledgment (IEEE 802.11-2020 §9.7, §10.12, §10.25): what an A-MPDU may hold, what its exchange
//! takes, which MPDUs are sent again, and in which order the recipient hands packets up.

mod agreement;
mod exchange;
mod psdu;
mod recipient;

pub(crate) use agreement::{Agreement, Mpdu};
pub use exchange::AggregateExchange;
pub use psdu::{Psdu, bits};
pub(crate) use recipient::Recipient;

use handfast_core::{Bytes, Duration};

use crate::airtime::{Band, Format, LONGEST, Mcs};

/// How a transmit queue aggregates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aggregation {
    /// Where its channel is.
    pub band: Band,
    /// The most MPDUs of an A-MPDU, and the block acknowledgment's window; 1: a frame at a time.
    pub mpdus: u16,
    /// The longest PPDU.
    pub longest: Duration,
}

impl Aggregation {
    /// A frame at a time, as 802.11 b and g have it.
    pub const NONE: Self = Self { band: Band::Ghz2_4, mpdus: 1, longest: LONGEST };

    /// As much as the format has.
    pub const fn usual(format: Format, band: Band) -> Self {
        Self { band, mpdus: Self::most(format), longest: LONGEST }
    }

    /// The most MPDUs that a block acknowledgment acknowledges: 64, and 256 of 802.11ax (IEEE 802.11-2020 §9.3.1.8.2;
    /// 802.11ax-2021 §9.3.1.8).
    pub const fn most(format: Format) -> u16 {
        match format {
            Format::Ht | Format::Vht => 64,
            Format::He => 256,
        }
    }

    /// The longest A-MPDU in bytes: 2^16 - 1 of 802.11n, 2^20 - 1 of 802.11ac (IEEE 802.11-2020 §9.4.2.55.3, §9.4.2.157.2). With
    /// 802.11ax that suffices for 256 MPDUs.
    const fn octets(format: Format) -> u64 {
        match format {
            Format::Ht => 65_535,
            Format::Vht | Format::He => 1_048_575,
        }
    }

    /// An empty PSDU to be sent with this scheme.
    pub fn psdu(&self, mcs: Mcs) -> Psdu {
        let limit = mcs.fits(self.band, self.longest).min(Self::octets(mcs.channel().format));
        Psdu::new(mcs.channel().format, limit)
    }

    /// From idle to idle of a full A-MPDU of packets of this size that all arrive, and how many they are.
    pub fn saturated(&self, mcs: Mcs, packet: Bytes) -> (Duration, u64) {
        let mut psdu = self.psdu(mcs);
        while psdu.mpdus() < u64::from(self.mpdus) && psdu.push(packet) {}
        (AggregateExchange::new(*self, mcs, &psdu).duration(0, true, false), psdu.mpdus())
    }
}

#[cfg(test)]
mod tests;
