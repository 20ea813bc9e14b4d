//! Rates in octets a second, volumes in octets, gains in hundredths: integers, the same on every platform.

use handfast_core::Duration;

/// `Infinity` of the draft: no bound.
pub(super) const UNBOUNDED: u64 = u64::MAX;

/// A gain of one.
pub(super) const ONE: u64 = 100;

const NANOS: u128 = 1_000_000_000;

/// The rate of so many octets in so long.
pub(super) fn rate(octets: u64, interval: Duration) -> u64 {
    narrow(u128::from(octets) * NANOS / u128::from(interval.as_nanos().max(1)))
}

/// The octets that a rate brings in so long.
pub(super) fn volume(rate: u64, time: Duration) -> u64 {
    narrow(u128::from(rate) * u128::from(time.as_nanos()) / NANOS)
}

/// So many hundredths of it. What is unbounded stays so.
pub(super) fn percent(value: u64, hundredths: u64) -> u64 {
    if value == UNBOUNDED { value } else { narrow(u128::from(value) * u128::from(hundredths) / 100) }
}

fn narrow(value: u128) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_times_times_are_volumes() {
        let ms = Duration::from_millis;
        assert_eq!(rate(25_000, ms(10)), 2_500_000);
        assert_eq!(volume(2_500_000, ms(40)), 100_000);
        assert_eq!(percent(1001, 277), 2772);
        assert_eq!(rate(5, Duration::ZERO), 5_000_000_000);
        assert_eq!((percent(UNBOUNDED, 70), volume(u64::MAX, ms(2000))), (UNBOUNDED, u64::MAX));
    }
}
