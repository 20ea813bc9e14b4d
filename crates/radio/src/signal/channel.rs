//! Channels and their frequencies.

/// A channel of 20 MHz, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Channel(u8);

impl Channel {
    /// The channels of the 2.4 GHz band that are in use outside Japan.
    pub const BAND_2_4_GHZ: std::ops::RangeInclusive<u8> = 1..=13;

    /// Channel `number`; [`None`] where 802.11 has no such channel of 20 MHz in the 2.4 GHz and 5 GHz bands.
    pub fn new(number: u8) -> Option<Self> {
        // IEEE 802.11-2020 §15.4.4.3 and annex E, table E-4 (global operating classes 115 to 125).
        let known = match number {
            1..=13 => true,
            36..=64 | 100..=144 => number.is_multiple_of(4),
            149..=177 => number % 4 == 1,
            _ => false,
        };
        known.then_some(Self(number))
    }

    /// Its number.
    pub const fn number(self) -> u8 {
        self.0
    }

    /// Its centre frequency in Hz.
    pub const fn frequency(self) -> u64 {
        // IEEE 802.11-2020 §15.4.4.3: 2412 MHz and 5 MHz a channel. §17.3.8.4.2: 5000 MHz and 5 MHz a channel.
        let start = if self.0 <= *Self::BAND_2_4_GHZ.end() { 2_407 } else { 5_000 };
        (start + 5 * self.0 as u64) * 1_000_000
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_have_the_frequencies_of_the_standard() {
        let mhz = |number| Channel::new(number).map(|channel| channel.frequency() / 1_000_000);
        assert_eq!([1, 6, 11, 13].map(mhz), [2412, 2437, 2462, 2472].map(Some));
        assert_eq!([36, 64, 100, 144, 149, 165].map(mhz), [5180, 5320, 5500, 5720, 5745, 5825].map(Some));
        assert_eq!([0, 14, 37, 65, 148, 150, 181, 255].map(mhz), [None; 8]);
    }
}
