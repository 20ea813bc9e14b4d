//! What a modem reports, and the SINR and the rate that follow where it does not say them.

use handfast_core::{BitRate, Db, Dbm};

/// Thermal noise in a subcarrier of 15 kHz at 290 K, -174 dBm/Hz + 41.8 dB, with a noise figure of 7 dB (3GPP TR 36.942 §4.4).
const NOISE: f64 = -174.0 + 41.8 + 7.0;
/// Subcarriers of a resource block (3GPP TS 36.211 §6.2.3).
const SUBCARRIERS: f64 = 12.0;

/// Bits that a resource element carries, in 1/1024, by CQI (3GPP TS 36.213 table 7.2.3-1): modulation order times code rate. A CQI of
/// 0 is out of range.
const EFFICIENCY: [u64; 16] = [
    0,
    2 * 78,
    2 * 120,
    2 * 193,
    2 * 308,
    2 * 449,
    2 * 602,
    4 * 378,
    4 * 490,
    4 * 616,
    6 * 466,
    6 * 567,
    6 * 666,
    6 * 772,
    6 * 873,
    6 * 948,
];

/// What the radio reports of a moment; what it does not report is [`None`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Measured {
    /// Signal to interference and noise.
    pub sinr: Option<Db>,
    /// Reference signal received power (3GPP TS 36.214 §5.1.1).
    pub rsrp: Option<Dbm>,
    /// Reference signal received quality (3GPP TS 36.214 §5.1.3).
    pub rsrq: Option<Db>,
    /// What the link carries now, headers included, both directions together or the one that counts here.
    pub rate: Option<BitRate>,
}

impl Measured {
    /// The SINR: as it is reported; or of RSRQ; or of RSRP over thermal noise, which knows no interference.
    pub fn sinr(&self) -> Option<Db> {
        self.sinr.or_else(|| self.rsrq.and_then(of_rsrq)).or_else(|| self.rsrp.map(of_rsrp))
    }
}

/// RSRQ is N · RSRP / RSSI over N resource blocks, and RSSI all that 12 N subcarriers receive. If the cell sends on all of them, that is
/// 12 N (S + I + N), and S / (I + N) = 1 / (1 / (12 RSRQ) - 1). [`None`] where RSRQ is more than a cell under load can have.
fn of_rsrq(rsrq: Db) -> Option<Db> {
    let share = SUBCARRIERS * linear(rsrq.as_f64());
    (share < 1.0).then(|| decibels(share / (1.0 - share)))
}

fn of_rsrp(rsrp: Dbm) -> Db {
    millidecibels(rsrp.as_f64() - NOISE)
}

fn linear(db: f64) -> f64 {
    libm::pow(10.0, db / 10.0)
}

fn decibels(ratio: f64) -> Db {
    millidecibels(10.0 * libm::log10(ratio))
}

/// Beyond what 32 bits hold it is as far as they reach.
fn millidecibels(db: f64) -> Db {
    Db(libm::round(db * 1e3) as i32)
}

/// What a carrier of `symbols` resource elements a second carries at a CQI, without overhead: what an LTE modem that reports its CQI
/// says of the rate. [`None`]: no such CQI.
pub fn rate_of_cqi(cqi: u8, symbols: u64) -> Option<BitRate> {
    let efficiency = EFFICIENCY.get(usize::from(cqi))?;
    Some(BitRate::from_bps(symbols.saturating_mul(*efficiency) / 1024))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_reported_goes_before_what_follows() {
        let all = Measured { sinr: Some(Db(1)), rsrp: Some(Dbm(0)), rsrq: Some(Db(-12_000)), rate: None };
        assert_eq!(all.sinr(), Some(Db(1)));
        let none = Measured::default();
        assert_eq!(none.sinr(), None);
    }

    #[test]
    fn sinr_follows_from_rsrq_of_a_loaded_cell() {
        // Without noise and interference all power is the signal's: RSRQ is 1/12, -10.79 dB.
        let sinr = |rsrq| Measured { rsrq: Some(Db(rsrq)), ..Measured::default() }.sinr();
        assert_eq!(sinr(-10_000), None);
        // As much of the others as of the signal: 1/24, -13.802 dB.
        let even = sinr(-13_802).unwrap();
        assert!(even.0.abs() <= 1, "{even:?}");
        // A tenth: 10 dB more of the others; 1 / (12 * 11), -21.206 dB.
        let tenth = sinr(-21_206).unwrap();
        assert!((tenth.0 + 10_000).abs() <= 1, "{tenth:?}");
    }

    #[test]
    fn sinr_follows_from_rsrp_over_thermal_noise() {
        let sinr = Measured { rsrp: Some(Dbm(-100_000)), ..Measured::default() }.sinr();
        assert_eq!(sinr, Some(Db(25_200)), "-100 dBm over -125.2 dBm");
    }

    #[test]
    fn a_cqi_is_an_efficiency() {
        // 20 MHz of LTE: 1,200 subcarriers, 14,000 symbols a second: 16.8 million elements. CQI 15 has 5.5547 bits each.
        let rate = |cqi| rate_of_cqi(cqi, 16_800_000);
        assert_eq!(rate(15), Some(BitRate::from_bps(93_318_750)));
        assert_eq!(rate(1), Some(BitRate::from_bps(2_559_375)));
        assert_eq!((rate(0), rate(16)), (Some(BitRate::from_bps(0)), None));
        let rising = (0..16).map(|cqi| rate(cqi).unwrap());
        assert!(rising.is_sorted());
    }

    #[test]
    fn absurd_reports_do_no_harm() {
        for db in [i32::MIN, i32::MAX] {
            let measured = Measured { rsrp: Some(Dbm(db)), rsrq: Some(Db(db)), ..Measured::default() };
            assert!(measured.sinr().is_some());
        }
        assert_eq!(rate_of_cqi(15, u64::MAX), Some(BitRate::from_bps(u64::MAX / 1024)));
    }
}
