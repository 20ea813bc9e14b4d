//! The modulation and coding schemes of 802.11n (HT), ac (VHT) and ax (HE), and the rates that follow from them.

use std::fmt;

use handfast_core::{BitRate, Db, Dbm, Duration};

use super::Rate;

/// The format of a PPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// High throughput, mixed format: 802.11n (IEEE 802.11-2020 clause 19).
    Ht,
    /// Very high throughput: 802.11ac (clause 21).
    Vht,
    /// High efficiency, single user: 802.11ax (IEEE 802.11ax-2021 clause 27).
    He,
}

/// How wide a channel is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Width {
    /// 20 MHz.
    Mhz20,
    /// 40 MHz.
    Mhz40,
    /// 80 MHz.
    Mhz80,
    /// 160 MHz.
    Mhz160,
}

impl Width {
    /// All, the narrowest first.
    pub const ALL: [Self; 4] = [Self::Mhz20, Self::Mhz40, Self::Mhz80, Self::Mhz160];

    /// In MHz.
    pub const fn mhz(self) -> u64 {
        20 << self as u32
    }

    /// What a receiver needs more than in 20 MHz, noise and sensitivity alike: 3 dB each time the width doubles (IEEE
    /// 802.11-2020 tables 19-23 and 21-25).
    pub const fn penalty(self) -> Db {
        Db(3_000 * self as i32)
    }
}

/// The pause between OFDM symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Guard {
    /// 0.4 µs, the short one of 802.11n and ac.
    Ns400,
    /// 0.8 µs: the long one of n and ac, the shortest of ax.
    Ns800,
    /// 1.6 µs, of 802.11ax.
    Ns1600,
    /// 3.2 µs, of 802.11ax.
    Ns3200,
}

impl Guard {
    /// In nanoseconds.
    pub const fn nanos(self) -> u64 {
        400 << self as u32
    }
}

impl Format {
    /// The widths of its channels.
    pub const fn widths(self) -> &'static [Width] {
        match self {
            Self::Ht => &[Width::Mhz20, Width::Mhz40],
            Self::Vht | Self::He => &Width::ALL,
        }
    }

    /// Its guard intervals, the usual one first.
    pub const fn guards(self) -> &'static [Guard] {
        match self {
            Self::Ht | Self::Vht => &[Guard::Ns400, Guard::Ns800],
            Self::He => &[Guard::Ns800, Guard::Ns1600, Guard::Ns3200],
        }
    }

    /// The most spatial streams.
    pub const fn streams(self) -> u8 {
        match self {
            Self::Ht => 4,
            Self::Vht | Self::He => 8,
        }
    }

    /// How many modulations with a code it has for each number of streams.
    const fn codings(self) -> u8 {
        match self {
            Self::Ht => 8,
            Self::Vht => 10,
            Self::He => 12,
        }
    }

    /// Subcarriers that carry data, `N_SD` (IEEE 802.11-2020 tables 19-6 and 21-5; 802.11ax-2021 §27.5, RUs of 242 to 2x996 tones).
    const fn subcarriers(self, width: Width) -> u64 {
        let by_width = match self {
            Self::Ht | Self::Vht => [52, 108, 234, 468],
            Self::He => [234, 468, 980, 1_960],
        };
        by_width[width as usize]
    }

    /// A symbol without its guard interval, in ns.
    const fn symbol(self) -> u64 {
        match self {
            Self::Ht | Self::Vht => 3_200,
            Self::He => 12_800,
        }
    }
}

/// A modulation and the share of its bits that the code leaves to data: IEEE 802.11-2020 tables 19-27 and 21-30, 802.11ax-2021
/// §27.5.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Coding {
    /// Coded bits of a subcarrier, `N_BPSCS`.
    pub(crate) bits: u64,
    /// The code's rate R as a fraction.
    pub(crate) code: (u64, u64),
}

/// By index: BPSK, QPSK, QPSK, 16-QAM, 16-QAM, 64-QAM three times, 256-QAM and 1024-QAM twice each.
const CODINGS: [Coding; 12] = {
    const fn coding(bits: u64, code: (u64, u64)) -> Coding {
        Coding { bits, code }
    }
    [
        coding(1, (1, 2)),
        coding(2, (1, 2)),
        coding(2, (3, 4)),
        coding(4, (1, 2)),
        coding(4, (3, 4)),
        coding(6, (2, 3)),
        coding(6, (3, 4)),
        coding(6, (5, 6)),
        coding(8, (3, 4)),
        coding(8, (5, 6)),
        coding(10, (3, 4)),
        coding(10, (5, 6)),
    ]
};

/// The weakest signal at which a receiver must understand each of them in 20 MHz, in dBm: IEEE 802.11-2020 tables 19-23 and 21-25,
/// 802.11ax-2021 table 27-51.
const SENSITIVITIES: [i32; 12] = [-82, -79, -77, -74, -70, -66, -65, -64, -59, -57, -54, -52];

/// The non-HT reference rate of each (IEEE 802.11-2020 §10.6.11).
const REFERENCES: [Rate; 12] = [
    Rate::Ofdm6,
    Rate::Ofdm12,
    Rate::Ofdm18,
    Rate::Ofdm24,
    Rate::Ofdm36,
    Rate::Ofdm48,
    Rate::Ofdm54,
    Rate::Ofdm54,
    Rate::Ofdm54,
    Rate::Ofdm54,
    Rate::Ofdm54,
    Rate::Ofdm54,
];

/// What a PPDU of 802.11n, ac or ax is sent with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mcs {
    channel: McsSet,
    /// The modulation and code, from 0.
    index: u8,
    /// Spatial streams, from 1.
    streams: u8,
}

/// All that a station may send with: every modulation and code on every number of streams up to the most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct McsSet {
    /// The format.
    pub format: Format,
    /// The channel's width.
    pub width: Width,
    /// The guard interval.
    pub guard: Guard,
    /// The most spatial streams that both ends have.
    pub streams: u8,
}

impl McsSet {
    /// Whether the format has such a width, guard interval, and so many streams.
    pub fn is_valid(self) -> bool {
        self.format.widths().contains(&self.width)
            && self.format.guards().contains(&self.guard)
            && (1..=self.format.streams()).contains(&self.streams)
    }

    /// The scheme of this index (of one stream's: 0 to 7, 9 or 11) on so many streams; [`None`]: the standard has none.
    pub fn mcs(self, index: u8, streams: u8) -> Option<Mcs> {
        let known = self.is_valid() && index < self.format.codings() && (1..=self.streams).contains(&streams);
        let mcs = Mcs { channel: self, index, streams };
        (known && !mcs.is_excluded()).then_some(mcs)
    }

    /// All of them, by streams and then by index.
    pub fn all(self) -> impl Iterator<Item = Mcs> {
        let indices = move |streams| (0..self.format.codings()).filter_map(move |at| self.mcs(at, streams));
        (1..=self.streams).flat_map(indices)
    }

    /// The scheme whose rate is nearest, within what tables round to, a tenth of a Mbit/s; of several that of the fewest streams.
    pub fn of_bit_rate(self, rate: BitRate) -> Option<Mcs> {
        let off = |mcs: &Mcs| mcs.bit_rate().as_bps().abs_diff(rate.as_bps());
        self.all().filter(|mcs| off(mcs) <= 100_000).min_by_key(off)
    }

    /// The fastest scheme on all streams that a receiver must understand at this signal; the slowest of all where it need understand
    /// none.
    pub fn at(self, level: Dbm) -> Mcs {
        let on_all = (0..self.format.codings()).rev().filter_map(|index| self.mcs(index, self.streams));
        on_all.into_iter().find(|mcs| level >= mcs.sensitivity()).unwrap_or(self.slowest())
    }

    /// BPSK 1/2 on one stream.
    pub const fn slowest(self) -> Mcs {
        Mcs { channel: self, index: 0, streams: 1 }
    }
}

impl Mcs {
    /// What its format, width and guard interval are.
    pub const fn channel(self) -> McsSet {
        self.channel
    }

    /// The index as a single stream has it; 802.11n counts on by 8 for each further stream.
    pub const fn index(self) -> u8 {
        self.index
    }

    /// Spatial streams.
    pub const fn streams(self) -> u8 {
        self.streams
    }

    /// IEEE 802.11-2020 §21.5: schemes whose bits do not divide evenly among the encoders.
    const fn is_excluded(self) -> bool {
        matches!(
            (self.channel.format, self.channel.width, self.index, self.streams),
            (Format::Vht, Width::Mhz20, 9, 1 | 2 | 4 | 5 | 7 | 8)
                | (Format::Vht, Width::Mhz80, 6, 3 | 7)
                | (Format::Vht, Width::Mhz80, 9, 6)
                | (Format::Vht, Width::Mhz160, 9, 3)
        )
    }

    pub(crate) const fn coding(self) -> Coding {
        CODINGS[self.index as usize]
    }

    /// Data bits of a symbol, `N_DBPS` (IEEE 802.11-2020 §19.5, §21.5; 802.11ax-2021 §27.5: rounded down).
    pub const fn bits_per_symbol(self) -> u64 {
        let Coding { bits, code } = self.coding();
        let carriers = self.channel.format.subcarriers(self.channel.width);
        carriers * bits * self.streams as u64 * code.0 / code.1
    }

    /// How long a symbol is, its guard interval included.
    pub const fn symbol(self) -> Duration {
        Duration::from_nanos(self.channel.format.symbol() + self.channel.guard.nanos())
    }

    /// In bits per second.
    pub const fn bit_rate(self) -> BitRate {
        BitRate::from_bps(self.bits_per_symbol() * 1_000_000_000 / self.symbol().as_nanos())
    }

    /// The weakest signal, at each antenna, at which a receiver must understand it.
    pub fn sensitivity(self) -> Dbm {
        Dbm(SENSITIVITIES[self.index as usize] * 1_000) + self.channel.width.penalty()
    }

    /// The rate of the acknowledgment: the fastest mandatory one up to the reference rate (IEEE 802.11-2020 §10.6.6.5.2,
    /// §10.6.11).
    pub const fn of_acknowledgment(self) -> Rate {
        REFERENCES[self.index as usize].of_acknowledgment()
    }
}

impl fmt::Display for Mcs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths = (self.bit_rate().as_bps() + 50_000) / 100_000;
        write!(f, "{}.{}Mbit/s", tenths / 10, tenths % 10)
    }
}

#[cfg(test)]
mod tests;
