//! What a PPDU of 802.11n, ac or ax and its acknowledgment take of the medium, the waits before them included.

use handfast_core::Duration;

use super::{Aggregation, Psdu};
use crate::airtime::{Band, Format, Mcs, Rate};

/// `aSlotTime` of clauses 19, 21 and 27 (IEEE 802.11-2020 tables 19-25 and 21-29): no station of 802.11b is about.
const SLOT: Duration = Duration::from_micros(9);
/// IEEE 802.11-2020 table 9-155, best effort: AIFSN, and the windows of its backoff.
const AIFSN: u64 = 3;
const CW_MIN: u64 = 15;
const CW_MAX: u64 = 1_023;
/// An acknowledgment frame, a `BlockAckReq` and a compressed `BlockAck` with a bitmap of 64 and of 256 bits (IEEE 802.11-2020 §9.3.1.4,
/// §9.3.1.7, §9.3.1.8; 802.11ax-2021 §9.3.1.8).
const ACK: u64 = 14;
const BLOCK_ACK_REQ: u64 = 24;
const BLOCK_ACK: u64 = 32;
const BLOCK_ACK_256: u64 = 56;

/// The exchange of one PSDU.
#[derive(Clone, Copy, Debug)]
pub struct AggregateExchange {
    band: Band,
    data: Duration,
    acknowledgment: Duration,
    /// A `BlockAckReq` and its answer, each after SIFS.
    request: Duration,
}

impl AggregateExchange {
    /// The exchange of `psdu`. A single MPDU is answered by an acknowledgment, several are by a block acknowledgment (IEEE
    /// 802.11-2020 §10.25.6.5).
    pub fn new(how: Aggregation, mcs: Mcs, psdu: &Psdu) -> Self {
        let (band, rate) = (how.band, mcs.of_acknowledgment());
        let wide = mcs.channel().format == Format::He && how.mpdus > 64;
        let block_ack = legacy(band, rate, if wide { BLOCK_ACK_256 } else { BLOCK_ACK });
        let single = psdu.mpdus() == 1;
        Self {
            band,
            data: mcs.ppdu(band, psdu.octets()),
            acknowledgment: if single { legacy(band, rate, ACK) } else { block_ack },
            request: band.sifs() + legacy(band, rate, BLOCK_ACK_REQ) + band.sifs() + block_ack,
        }
    }

    /// How long the PPDU itself is on the air.
    pub const fn data(&self) -> Duration {
        self.data
    }

    /// From the medium's falling idle to the end of the exchange: AIFS, the mean backoff after so many exchanges in a row that
    /// nobody answered, PPDU, SIFS, acknowledgment. One that does not come is waited for as long, and a slot. A `BlockAckReq`
    /// follows where the sender has given an MPDU up (§10.25.6.7).
    pub fn duration(&self, failures: u32, answered: bool, gives_up: bool) -> Duration {
        let wait = self.band.sifs() + SLOT.saturating_mul(AIFSN) + backoff(failures);
        let missing = if answered { Duration::default() } else { SLOT };
        let request = if gives_up { self.request } else { Duration::default() };
        wait + self.data + self.band.sifs() + self.acknowledgment + missing + request
    }

    /// What so many exchanges take that nobody answers.
    pub fn in_vain(&self, attempts: u32) -> Duration {
        (0..attempts).map(|failures| self.duration(failures, false, false)).sum()
    }
}

/// The mean of the backoff: the contention window doubles each time (IEEE 802.11-2020 §10.23.2.2).
fn backoff(failures: u32) -> Duration {
    let window = ((CW_MIN + 1) << failures.min(10)).min(CW_MAX + 1) - 1;
    Duration::from_nanos(SLOT.as_nanos() * window / 2)
}

/// A frame of clause 17 or 18 (IEEE 802.11-2020 §17.4.3): preamble and SIGNAL 20 µs, symbols of 4 µs with 16 bits of SERVICE and 6
/// of tail.
fn legacy(band: Band, rate: Rate, bytes: u64) -> Duration {
    let symbols = (16 + 8 * bytes + 6).div_ceil(rate.bits_per_symbol());
    Duration::from_micros(20 + 4 * symbols) + band.signal_extension()
}
