//! The kernel's units: rates in segments a microsecond times 2^24, gains in parts of 256.

use handfast_core::Duration;

/// `BW_UNIT`: 1 << `BW_SCALE`.
pub(super) const SCALE: u32 = 24;
pub(super) const UNIT: u64 = 1 << SCALE;

/// `BBR_UNIT`: a gain of 1.
pub(super) const GAIN_SCALE: u32 = 8;
pub(super) const GAIN: u64 = 1 << GAIN_SCALE;

/// `bbr_high_gain`: 2/ln(2), and one part more.
pub(super) const HIGH_GAIN: u64 = GAIN * 2885 / 1000 + 1;

/// `bbr_drain_gain`.
pub(super) const DRAIN_GAIN: u64 = GAIN * 1000 / 2885;

/// `bbr_cwnd_gain`.
pub(super) const CWND_GAIN: u64 = GAIN * 2;

/// `bbr_pacing_gain`: the phases of a cycle.
pub(super) const CYCLE: [u64; 8] = [GAIN * 5 / 4, GAIN * 3 / 4, GAIN, GAIN, GAIN, GAIN, GAIN, GAIN];

/// `bbr_pacing_margin_percent`: what is left of the rate.
const PACED_PERCENT: u64 = 100 - 1;

/// Microseconds, as far as the kernel counts them.
pub(super) fn micros(span: Duration) -> u32 {
    u32::try_from(span.as_nanos() / 1000).unwrap_or(u32::MAX)
}

/// The rate of so many octets in so many microseconds.
pub(super) fn rate(octets: u64, micros: u64, smss: u64) -> u64 {
    let rate = (u128::from(octets) << SCALE) / u128::from(smss) / u128::from(micros.max(1));
    u64::try_from(rate).unwrap_or(u64::MAX).min(u64::from(u32::MAX))
}

/// Segments that arrive at a rate, rounded down.
pub(super) fn segments_in(bw: u64, micros: u64) -> u64 {
    u64::try_from((u128::from(bw) * u128::from(micros)) >> SCALE).unwrap_or(u64::MAX)
}

/// `bbr_rate_bytes_per_sec`.
pub(super) fn bytes_per_second(bw: u64, gain: u64, smss: u64) -> u64 {
    let rate = (u128::from(bw) * u128::from(smss) * u128::from(gain)) >> GAIN_SCALE;
    let rate = (rate * u128::from(1_000_000 / 100 * PACED_PERCENT)) >> SCALE;
    u64::try_from(rate).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_the_kernel_s() {
        assert_eq!((HIGH_GAIN, DRAIN_GAIN, CWND_GAIN), (739, 88, 512));
        assert_eq!(CYCLE, [320, 192, 256, 256, 256, 256, 256, 256]);
    }

    #[test]
    fn rates_are_of_segments_and_are_paced_a_hundredth_slower() {
        // 10 segments in 10 ms.
        let bw = rate(14_600, 10_000, 1460);
        assert_eq!(bw, UNIT / 1000);
        assert_eq!(segments_in(bw, 3999), 3);
        assert_eq!(bytes_per_second(bw, GAIN, 1460), 1_445_381);
        assert_eq!(bytes_per_second(bw, GAIN * 5 / 4, 1460), 1_806_726);
        assert_eq!(rate(u64::MAX, 0, 1), u64::from(u32::MAX), "whatever is measured");
    }
}
