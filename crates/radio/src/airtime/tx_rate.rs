//! Any rate that a transmit queue may have.

use handfast_core::{BitRate, Db, Dbm};

use super::{Mcs, McsSet, Rate, Rates};

/// What frames are sent with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TxRate {
    /// A rate of 802.11 b or g.
    Legacy(Rate),
    /// A scheme of 802.11n, ac or ax.
    Mcs(Mcs),
}

/// From which rates a station chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TxRates {
    /// Those of 802.11 b or g.
    Legacy(Rates),
    /// Those of 802.11n, ac or ax.
    Mcs(McsSet),
}

impl TxRates {
    /// The fastest rate that a receiver must understand at this signal; the slowest where it need understand none.
    pub fn at(self, level: Dbm) -> TxRate {
        match self {
            Self::Legacy(rates) => TxRate::Legacy(rates.at(level)),
            Self::Mcs(set) => TxRate::Mcs(set.at(level)),
        }
    }

    /// The rate of so many bits per second.
    pub fn of_bit_rate(self, rate: BitRate) -> Option<TxRate> {
        match self {
            Self::Legacy(_) => Rate::of_bit_rate(rate).map(TxRate::Legacy),
            Self::Mcs(set) => set.of_bit_rate(rate).map(TxRate::Mcs),
        }
    }

    /// The slowest.
    pub const fn slowest(self) -> TxRate {
        match self {
            Self::Legacy(Rates::B) => TxRate::Legacy(Rate::Dsss1),
            Self::Legacy(Rates::G) => TxRate::Legacy(Rate::Ofdm6),
            Self::Mcs(set) => TxRate::Mcs(set.slowest()),
        }
    }

    /// How much more noise the channel has than one of 20 MHz.
    pub const fn noise(self) -> Db {
        match self {
            Self::Legacy(_) => Db(0),
            Self::Mcs(set) => set.width.penalty(),
        }
    }
}
