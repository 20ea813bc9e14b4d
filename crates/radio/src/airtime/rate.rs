//! The rates of 802.11 b and g.

use handfast_core::{BitRate, Dbm};

/// A rate of 802.11b (DSSS, CCK) or 802.11g (OFDM).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rate {
    /// 1 Mbit/s, DBPSK.
    Dsss1,
    /// 2 Mbit/s, DQPSK.
    Dsss2,
    /// 5.5 Mbit/s, CCK.
    Cck5,
    /// 11 Mbit/s, CCK.
    Cck11,
    /// 6 Mbit/s, BPSK 1/2.
    Ofdm6,
    /// 9 Mbit/s, BPSK 3/4.
    Ofdm9,
    /// 12 Mbit/s, QPSK 1/2.
    Ofdm12,
    /// 18 Mbit/s, QPSK 3/4.
    Ofdm18,
    /// 24 Mbit/s, 16-QAM 1/2.
    Ofdm24,
    /// 36 Mbit/s, 16-QAM 3/4.
    Ofdm36,
    /// 48 Mbit/s, 64-QAM 2/3.
    Ofdm48,
    /// 54 Mbit/s, 64-QAM 3/4.
    Ofdm54,
}

use Rate::{Cck5, Cck11, Dsss1, Dsss2, Ofdm6, Ofdm9, Ofdm12, Ofdm18, Ofdm24, Ofdm36, Ofdm48, Ofdm54};

/// Which rates a station may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rates {
    /// Those of 802.11b.
    B,
    /// Those that 802.11g adds.
    G,
}

impl Rates {
    /// Each rate and the weakest signal at which a receiver must understand it, the fastest first.
    ///
    /// IEEE 802.11-2020 §15.4.6.2, §16.3.8.2 (the standard asks nothing of 1 and 5.5 Mbit/s; they have the bound of the next
    /// faster rate, and so are never chosen by signal) and table 17-18.
    const fn sensitivities(self) -> &'static [(Rate, Dbm)] {
        match self {
            Self::B => &[(Cck11, Dbm(-76_000)), (Dsss2, Dbm(-80_000))],
            Self::G => &[
                (Ofdm54, Dbm(-65_000)),
                (Ofdm48, Dbm(-66_000)),
                (Ofdm36, Dbm(-70_000)),
                (Ofdm24, Dbm(-74_000)),
                (Ofdm18, Dbm(-77_000)),
                (Ofdm12, Dbm(-79_000)),
                (Ofdm9, Dbm(-81_000)),
                (Ofdm6, Dbm(-82_000)),
            ],
        }
    }

    /// The fastest rate that a receiver must understand at this signal; the slowest where it need understand none.
    pub fn at(self, level: Dbm) -> Rate {
        let table = self.sensitivities();
        let found = table.iter().find(|&&(_, minimum)| level >= minimum).or(table.last());
        found.map_or(Ofdm6, |&(rate, _)| rate)
    }

    /// The weakest signal at which the slowest of them must be understood.
    pub fn minimum(self) -> Dbm {
        self.sensitivities().last().map_or(Dbm(0), |&(_, minimum)| minimum)
    }
}

impl Rate {
    /// All rates, the slowest of each kind first.
    pub const ALL: [Self; 12] =
        [Dsss1, Dsss2, Cck5, Cck11, Ofdm6, Ofdm9, Ofdm12, Ofdm18, Ofdm24, Ofdm36, Ofdm48, Ofdm54];

    /// In bits per second.
    pub const fn bit_rate(self) -> BitRate {
        let kbps = match self {
            Dsss1 => 1_000,
            Dsss2 => 2_000,
            Cck5 => 5_500,
            Cck11 => 11_000,
            // IEEE 802.11-2020 table 17-4: a symbol takes 4 µs.
            ofdm => ofdm.bits_per_symbol() * 250,
        };
        BitRate::from_bps(kbps * 1_000)
    }

    /// The rate of so many bits per second.
    pub fn of_bit_rate(rate: BitRate) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.bit_rate() == rate)
    }

    /// Whether it is one of 802.11g's.
    pub const fn is_ofdm(self) -> bool {
        !matches!(self, Dsss1 | Dsss2 | Cck5 | Cck11)
    }

    /// Data bits in an OFDM symbol (IEEE 802.11-2020 table 17-4: `N_DBPS`); zero for others.
    pub const fn bits_per_symbol(self) -> u64 {
        match self {
            Dsss1 | Dsss2 | Cck5 | Cck11 => 0,
            Ofdm6 => 24,
            Ofdm9 => 36,
            Ofdm12 => 48,
            Ofdm18 => 72,
            Ofdm24 => 96,
            Ofdm36 => 144,
            Ofdm48 => 192,
            Ofdm54 => 216,
        }
    }

    /// The rate of the acknowledgment: the fastest mandatory one that is no faster (IEEE 802.11-2020 §10.6.6.5.2).
    #[must_use]
    pub const fn of_acknowledgment(self) -> Self {
        match self {
            Dsss1 => Dsss1,
            Dsss2 | Cck5 | Cck11 => Dsss2,
            Ofdm6 | Ofdm9 => Ofdm6,
            Ofdm12 | Ofdm18 => Ofdm12,
            Ofdm24 | Ofdm36 | Ofdm48 | Ofdm54 => Ofdm24,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_those_of_the_standard() {
        let kbps = Rate::ALL.map(|rate| rate.bit_rate().as_bps() / 1_000);
        let expected =
            [1_000, 2_000, 5_500, 11_000, 6_000, 9_000, 12_000, 18_000, 24_000, 36_000, 48_000, 54_000];
        assert_eq!(kbps, expected);
        for rate in Rate::ALL {
            assert_eq!(Rate::of_bit_rate(rate.bit_rate()), Some(rate));
            assert!(rate.of_acknowledgment().bit_rate() <= rate.bit_rate());
            assert_eq!(rate.of_acknowledgment().is_ofdm(), rate.is_ofdm());
        }
        assert_eq!(Rate::of_bit_rate(BitRate::from_bps(20_000_000)), None);
    }

    #[test]
    fn a_weaker_signal_never_means_a_faster_rate() {
        for rates in [Rates::B, Rates::G] {
            let chosen: Vec<u64> =
                (-95..-40).map(|dbm| rates.at(Dbm(dbm * 1_000)).bit_rate().as_bps()).collect();
            assert!(chosen.is_sorted(), "{chosen:?}");
        }
        assert_eq!(Rates::G.at(Dbm(-65_000)), Ofdm54);
        assert_eq!(Rates::G.at(Dbm(-65_001)), Ofdm48);
        assert_eq!(Rates::G.at(Dbm(-99_000)), Ofdm6);
        assert_eq!(Rates::B.at(Dbm(-76_000)), Cck11);
        assert_eq!(Rates::G.minimum(), Dbm(-82_000));
    }
}
