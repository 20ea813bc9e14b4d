//! What one frame and its acknowledgment take of the medium, the waits before them included (DCF, RTS off).

use handfast_core::{Bytes, Duration};

use super::Rate;

/// How long a slot is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slots {
    /// 9 µs: no station of 802.11b is about.
    Short,
    /// 20 µs.
    Long,
}

/// What stands before a frame of 802.11b.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preamble {
    /// 96 µs; at 1 Mbit/s it is long all the same.
    Short,
    /// 192 µs.
    Long,
}

/// The physical layer's constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Physical {
    /// How long a slot is.
    pub slots: Slots,
    /// What stands before a frame of 802.11b.
    pub preamble: Preamble,
}

/// What an IP packet has around it in a data frame: 24 bytes of MAC header and 4 of checksum (IEEE 802.11-2020 §9.2.3, without `QoS`,
/// which b and g do not have), 8 of LLC and SNAP.
const AROUND: u64 = 24 + 4 + 8;
/// An acknowledgment frame (IEEE 802.11-2020 §9.3.1.4).
const ACKNOWLEDGMENT: u64 = 14;
/// IEEE 802.11-2020 table 18-5 (`aSIFSTime`).
const SIFS: u64 = 10;
/// IEEE 802.11-2020 §18.3.2.4: what follows an OFDM frame in the 2.4 GHz band.
const SIGNAL_EXTENSION: u64 = 6;
/// IEEE 802.11-2020 tables 15-7 and 18-5 (`aCWmax`).
const CW_MAX: u64 = 1_023;

impl Physical {
    /// 802.11g without stations of 802.11b.
    pub const G: Self = Self { slots: Slots::Short, preamble: Preamble::Long };
    /// 802.11b, and g beside it.
    pub const B: Self = Self { slots: Slots::Long, preamble: Preamble::Long };

    /// `aSlotTime` in µs.
    const fn slot(self) -> u64 {
        match self.slots {
            Slots::Short => 9,
            Slots::Long => 20,
        }
    }

    /// DIFS = SIFS + 2 slots (IEEE 802.11-2020 §10.3.7), in µs.
    const fn difs(self) -> u64 {
        SIFS + 2 * self.slot()
    }

    /// How long a frame of so many bytes is on the air, in µs.
    const fn frame(self, rate: Rate, bytes: u64) -> u64 {
        if rate.is_ofdm() {
            // IEEE 802.11-2020 §17.4.3: preamble 16 µs, SIGNAL 4 µs, symbols of 4 µs with 16 bits of SERVICE and 6 of tail.
            let symbols = (16 + 8 * bytes + 6).div_ceil(rate.bits_per_symbol());
            return 20 + 4 * symbols + SIGNAL_EXTENSION;
        }
        // IEEE 802.11-2020 §16.3.4: the length field counts whole µs.
        let preamble = match (self.preamble, rate) {
            (Preamble::Short, Rate::Dsss2 | Rate::Cck5 | Rate::Cck11) => 96,
            _ => 192,
        };
        preamble + (8 * bytes * 1_000_000).div_ceil(rate.bit_rate().as_bps())
    }

    /// The mean of the backoff before attempt number `attempt`, from 0, in µs: the contention window doubles each time (IEEE
    /// 802.11-2020 §10.3.3).
    fn backoff(self, rate: Rate, attempt: u32) -> u64 {
        // aCWmin: table 15-7, table 18-5. Half of the doubled mean is left of an odd one.
        let first: u64 = if rate.is_ofdm() { 15 } else { 31 };
        let window = ((first + 1) << attempt.min(10)).min(CW_MAX + 1) - 1;
        window * self.slot() / 2
    }
}

/// What one data frame at one rate takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    physical: Physical,
    rate: Rate,
    /// The data frame, in µs.
    data: u64,
    /// Its acknowledgment, in µs.
    acknowledgment: u64,
}

impl Exchange {
    /// The exchange of an IP packet of this size.
    pub const fn new(physical: Physical, rate: Rate, packet: Bytes) -> Self {
        let data = physical.frame(rate, packet.get().saturating_add(AROUND));
        let acknowledgment = physical.frame(rate.of_acknowledgment(), ACKNOWLEDGMENT);
        Self { physical, rate, data, acknowledgment }
    }

    /// Bits of the frame, headers and checksum included.
    pub const fn bits(packet: Bytes) -> u64 {
        8 * packet.get().saturating_add(AROUND)
    }

    /// How long the data frame itself is on the air.
    pub const fn data(&self) -> Duration {
        Duration::from_micros(self.data)
    }

    /// From the medium's falling idle until attempt number `attempt`, from 0, has ended, acknowledged or given up: DIFS, mean
    /// backoff, frame, SIFS, acknowledgment. An acknowledgment that does not come is waited for as long, and a slot.
    pub fn attempt(&self, attempt: u32, acknowledged: bool) -> Duration {
        let wait = self.physical.difs() + self.physical.backoff(self.rate, attempt);
        let slot = if acknowledged { 0 } else { self.physical.slot() };
        Duration::from_micros(wait + self.data + SIFS + self.acknowledgment + slot)
    }

    /// What `attempts` of them take together, the last one acknowledged or not.
    pub fn attempts(&self, attempts: u32, acknowledged: bool) -> Duration {
        let last = attempts.saturating_sub(1);
        (0..last).map(|attempt| self.attempt(attempt, false)).sum::<Duration>()
            + self.attempt(last, acknowledged)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exchange(physical: Physical, rate: Rate) -> Exchange {
        Exchange::new(physical, rate, Bytes(1_500))
    }

    #[test]
    fn frames_take_what_the_standard_says() {
        // 1,536 bytes and 22 bits are 57 symbols of 216 bits: 248 µs, and the signal extension.
        assert_eq!(exchange(Physical::G, Rate::Ofdm54).data(), Duration::from_micros(248 + 6));
        // 513 symbols of 24 bits.
        assert_eq!(exchange(Physical::G, Rate::Ofdm6).data(), Duration::from_micros(20 + 4 * 513 + 6));
        // 12,288 bits at 11 Mbit/s are 1,117.1 µs.
        assert_eq!(exchange(Physical::B, Rate::Cck11).data(), Duration::from_micros(192 + 1_118));
        let short = Physical { preamble: Preamble::Short, ..Physical::B };
        assert_eq!(exchange(short, Rate::Cck11).data(), Duration::from_micros(96 + 1_118));
        assert_eq!(exchange(short, Rate::Dsss1).data(), Duration::from_micros(192 + 12_288));
    }

    #[test]
    fn a_packet_of_1500_bytes_costs_what_is_known() {
        // 28 DIFS + 67 backoff + 254 + 10 SIFS + 34 acknowledgment (2 symbols of 96 bits): 30.5 Mbit/s of IP, the known bound
        // of 802.11g alone.
        assert_eq!(exchange(Physical::G, Rate::Ofdm54).attempt(0, true), Duration::from_micros(393));
        // 50 + 310 + 1310 + 10 + 248 (14 bytes at 2 Mbit/s): 6.2 Mbit/s of IP, that of 802.11b.
        assert_eq!(exchange(Physical::B, Rate::Cck11).attempt(0, true), Duration::from_micros(1_928));
    }

    #[test]
    fn repetitions_wait_ever_longer_up_to_the_bound() {
        let exchange = exchange(Physical::G, Rate::Ofdm54);
        let micros = |attempt| exchange.attempt(attempt, false).as_nanos() / 1_000;
        let waits = [0, 1, 2, 6, 7, 30].map(|attempt| micros(attempt) - micros(0));
        // Windows of 15, 31, 63, 1,023 slots of 9 µs, halved.
        assert_eq!(waits, [0, 72, 216, 4_536, 4_536, 4_536]);
        assert_eq!(micros(0), 393 + 9);
        let two = exchange.attempts(2, true);
        assert_eq!(two, exchange.attempt(0, false) + exchange.attempt(1, true));
    }
}
