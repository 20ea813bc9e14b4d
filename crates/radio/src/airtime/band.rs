//! What a frequency band changes in the times of 802.11n, ac and ax.

use handfast_core::Duration;

/// A frequency band.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Band {
    /// Channels 1 to 13.
    Ghz2_4,
    /// Channels from 36.
    Ghz5,
}

impl Band {
    /// `aSIFSTime` (IEEE 802.11-2020 tables 17-21 and 18-5).
    pub const fn sifs(self) -> Duration {
        Duration::from_micros(match self {
            Self::Ghz2_4 => 10,
            Self::Ghz5 => 16,
        })
    }

    /// What follows every frame that is no DSSS frame (IEEE 802.11-2020 §18.3.2.4, §19.3.2).
    pub const fn signal_extension(self) -> Duration {
        Duration::from_micros(match self {
            Self::Ghz2_4 => 6,
            Self::Ghz5 => 0,
        })
    }
}
