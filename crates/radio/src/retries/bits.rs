//! The probability of bit errors behind OFDM's decoder, from the ratio of signal to noise.

use handfast_core::{Db, Dbm};

use crate::airtime::{Coding, Mcs, Rate, TxRate};

/// Noise in 20 MHz: -174 dBm/Hz at room temperature, and 7 dB that a receiver adds (ns-3's default).
pub const NOISE_FLOOR: Dbm = Dbm(-93_990);

/// The modulation under an OFDM rate.
#[derive(Clone, Copy, Debug)]
enum Modulation {
    Bpsk,
    Qpsk,
    Qam16,
    Qam64,
    Qam256,
    Qam1024,
}

/// Bit errors in white noise: the model of NIST's validation of 802.11g (Pei and Henderson 2010), with the distance spectra of
/// Haccoun and Bégin 1989 and Frenger, Orten and Ottosson 1999 for the convolutional code with 133 and 171.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BitErrors {
    /// The probability of an error in one decoded bit.
    pub probability: f64,
}

impl BitErrors {
    /// At this rate with this ratio of signal to noise; [`None`] for the rates of 802.11b, of which no formula is built in.
    ///
    /// Several streams share the power of the transmitter, and each is received as if alone.
    pub fn at(rate: TxRate, ratio: Db) -> Option<Self> {
        let ((modulation, code), streams) = match rate {
            TxRate::Legacy(rate) => (scheme(rate)?, 1.0),
            TxRate::Mcs(mcs) => (scheme_of(mcs), f64::from(mcs.streams())),
        };
        let ratio = libm::pow(10.0, ratio.as_f64() / 10.0) / streams;
        Some(Self { probability: decoded(code, raw(modulation, ratio)) })
    }

    /// The probability that at least one of so many bits is wrong.
    pub fn in_frame(self, bits: u64) -> f64 {
        -libm::expm1(bits as f64 * libm::log1p(-self.probability))
    }
}

/// The distance spectrum of a punctured code: the probability of a decoded error is the sum of weights times powers of D from
/// `first` in steps of `step`, over `share`.
struct Code {
    first: f64,
    step: f64,
    share: f64,
    weights: &'static [f64],
}

const HALF: Code = Code {
    first: 10.0,
    step: 2.0,
    share: 2.0,
    weights: &[36.0, 211.0, 1_404.0, 11_633.0, 77_433.0, 502_690.0, 3_322_763.0, 21_292_910.0, 134_365_911.0],
};
const TWO_THIRDS: Code = Code {
    first: 6.0,
    step: 1.0,
    share: 4.0,
    weights: &[3.0, 70.0, 285.0, 1_276.0, 6_160.0, 27_128.0, 117_019.0, 498_860.0, 2_103_891.0, 8_784_123.0],
};
const THREE_QUARTERS: Code = Code {
    first: 5.0,
    step: 1.0,
    share: 6.0,
    weights: &[
        42.0,
        201.0,
        1_492.0,
        10_469.0,
        62_935.0,
        379_644.0,
        2_253_373.0,
        13_073_811.0,
        75_152_755.0,
        428_005_675.0,
    ],
};

/// Haccoun and Bégin 1989, table V.
const FIVE_SIXTHS: Code = Code {
    first: 4.0,
    step: 1.0,
    share: 10.0,
    weights: &[
        92.0,
        528.0,
        8_694.0,
        79_453.0,
        792_114.0,
        7_375_573.0,
        67_884_974.0,
        610_875_423.0,
        5_427_275_376.0,
        47_664_215_639.0,
    ],
};

/// IEEE 802.11-2020 table 17-4.
fn scheme(rate: Rate) -> Option<(Modulation, &'static Code)> {
    use Modulation::{Bpsk, Qam16, Qam64, Qpsk};
    Some(match rate {
        Rate::Dsss1 | Rate::Dsss2 | Rate::Cck5 | Rate::Cck11 => return None,
        Rate::Ofdm6 => (Bpsk, &HALF),
        Rate::Ofdm9 => (Bpsk, &THREE_QUARTERS),
        Rate::Ofdm12 => (Qpsk, &HALF),
        Rate::Ofdm18 => (Qpsk, &THREE_QUARTERS),
        Rate::Ofdm24 => (Qam16, &HALF),
        Rate::Ofdm36 => (Qam16, &THREE_QUARTERS),
        Rate::Ofdm48 => (Qam64, &TWO_THIRDS),
        Rate::Ofdm54 => (Qam64, &THREE_QUARTERS),
    })
}

/// The modulation and code of an HT, VHT or HE scheme.
const fn scheme_of(mcs: Mcs) -> (Modulation, &'static Code) {
    let Coding { bits, code } = mcs.coding();
    let modulation = match bits {
        1 => Modulation::Bpsk,
        2 => Modulation::Qpsk,
        4 => Modulation::Qam16,
        6 => Modulation::Qam64,
        8 => Modulation::Qam256,
        _ => Modulation::Qam1024,
    };
    let code = match code {
        (1, _) => &HALF,
        (2, _) => &TWO_THIRDS,
        (3, _) => &THREE_QUARTERS,
        _ => &FIVE_SIXTHS,
    };
    (modulation, code)
}

/// Errors before the decoder (Proakis, Digital Communications, §5.2).
fn raw(modulation: Modulation, ratio: f64) -> f64 {
    let tail = |divisor: f64| libm::erfc(libm::sqrt(ratio / divisor));
    match modulation {
        Modulation::Bpsk => tail(1.0) / 2.0,
        Modulation::Qpsk => tail(2.0) / 2.0,
        Modulation::Qam16 => tail(10.0) * 3.0 / 8.0,
        Modulation::Qam64 => tail(42.0) * 7.0 / 24.0,
        // 4 / log2(M) (1 - 1 / sqrt(M)) / 2, and 2 (M - 1) / 3.
        Modulation::Qam256 => tail(170.0) * 15.0 / 64.0,
        Modulation::Qam1024 => tail(682.0) * 31.0 / 160.0,
    }
}

/// The union bound behind a Viterbi decoder with hard decisions.
fn decoded(code: &Code, raw: f64) -> f64 {
    let distance = libm::sqrt(4.0 * raw * (1.0 - raw));
    let powers = (0..code.weights.len()).map(|index| code.first + code.step * index as f64);
    let terms = code.weights.iter().zip(powers).map(|(weight, power)| weight * libm::pow(distance, power));
    (terms.sum::<f64>() / code.share).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::airtime::{Format, Guard, McsSet, Width};

    const OFDM: [Rate; 8] = [
        Rate::Ofdm6,
        Rate::Ofdm9,
        Rate::Ofdm12,
        Rate::Ofdm18,
        Rate::Ofdm24,
        Rate::Ofdm36,
        Rate::Ofdm48,
        Rate::Ofdm54,
    ];

    fn at(rate: Rate, ratio: Db) -> Option<BitErrors> {
        BitErrors::at(TxRate::Legacy(rate), ratio)
    }

    #[test]
    fn a_stronger_signal_has_fewer_errors_and_a_faster_rate_more() {
        for rate in OFDM {
            let errors: Vec<f64> = (0..40).map(|db| at(rate, Db(db * 1_000)).unwrap().probability).collect();
            assert!(errors.windows(2).all(|pair| pair[1] <= pair[0]), "{rate:?}: {errors:?}");
            assert!(errors.iter().all(|p| (0.0..=1.0).contains(p)));
        }
        // The strongest first code of each modulation; 9 and 12 Mbit/s are alike in white noise.
        for [slow, fast] in
            [[Rate::Ofdm6, Rate::Ofdm12], [Rate::Ofdm12, Rate::Ofdm24], [Rate::Ofdm24, Rate::Ofdm54]]
        {
            for db in 0..25 {
                let at = |rate| at(rate, Db(db * 1_000)).unwrap().probability;
                assert!(at(slow) <= at(fast), "{slow:?} and {fast:?} at {db} dB");
            }
        }
        assert_eq!(at(Rate::Cck11, Db(0)), None);
    }

    #[test]
    fn uncoded_errors_are_those_of_the_textbook() {
        // Proakis, figure 5.2-4: BPSK has 1e-5 at 9.6 dB.
        let ratio = libm::pow(10.0, 0.96);
        assert!((raw(Modulation::Bpsk, ratio) / 1e-5 - 1.0).abs() < 0.05);
        // Twice the power for the same errors in twice the bits.
        assert!((raw(Modulation::Qpsk, 2.0 * ratio) - raw(Modulation::Bpsk, ratio)).abs() < 1e-18);
    }

    #[test]
    fn the_standards_sensitivities_carry_a_frame() {
        // IEEE 802.11-2020 §17.3.10.2: at most one frame of 1,000 bytes in ten is lost at the sensitivity, with 10 dB of noise
        // figure and 5 dB of implementation margin; with 7 dB and no margin hardly any is.
        for (rate, dbm) in [(Rate::Ofdm6, -82), (Rate::Ofdm24, -74), (Rate::Ofdm54, -65)] {
            let ratio = Dbm(dbm * 1_000) - NOISE_FLOOR;
            let lost = at(rate, ratio).unwrap().in_frame(8_000);
            assert!(lost < 0.1, "{rate:?}: {lost}");
        }
    }

    fn he(width: Width, streams: u8) -> McsSet {
        McsSet { format: Format::He, width, guard: Guard::Ns800, streams }
    }

    #[test]
    fn a_faster_scheme_has_more_errors_and_a_stream_more_half_the_power() {
        for db in 0..45 {
            let errors = |mcs| BitErrors::at(TxRate::Mcs(mcs), Db(db * 1_000)).unwrap().probability;
            let of: Vec<f64> = he(Width::Mhz20, 1).all().map(errors).collect();
            // Union bounds are no probabilities where nearly all is wrong, and 802.11's order is not that of the errors where the
            // code changes with the modulation; from one modulation to the next with the same code it is.
            for (slow, fast) in
                [(0, 1), (1, 3), (3, 4), (4, 6), (5, 6), (6, 7), (6, 8), (7, 9), (8, 10), (9, 11)]
            {
                assert!(of[slow] <= of[fast] || of[fast] > 0.1, "{slow} and {fast} at {db} dB: {of:?}");
            }
        }
        // Legacy rates are the same modulations.
        let mcs = he(Width::Mhz20, 1).mcs(6, 1).unwrap();
        assert_eq!(BitErrors::at(TxRate::Mcs(mcs), Db(20_000)), at(Rate::Ofdm54, Db(20_000)));
        let two = he(Width::Mhz20, 2).mcs(6, 2).unwrap();
        let ratio = |db| BitErrors::at(TxRate::Mcs(two), Db(db)).unwrap().probability;
        let one = at(Rate::Ofdm54, Db(20_000)).unwrap().probability;
        // 10 lg 2 = 3.0103 dB.
        assert!((ratio(23_010) / one - 1.0).abs() < 0.01, "{} {one}", ratio(23_010));
    }

    #[test]
    fn sensitivities_of_ax_carry_a_frame_on_one_and_two_streams() {
        // 802.11ax-2021 §27.3.20.2: at most one PPDU of 4,096 bytes in ten is lost at the sensitivity.
        for width in Width::ALL {
            for mcs in he(width, 2).all() {
                let ratio = mcs.sensitivity() - (NOISE_FLOOR + width.penalty());
                let lost = BitErrors::at(TxRate::Mcs(mcs), ratio).unwrap().in_frame(8 * 4_096);
                assert!(lost < 0.1, "{mcs:?}: {lost}");
            }
        }
    }

    #[test]
    fn frames_are_lost_by_their_length() {
        let errors = BitErrors { probability: 1e-6 };
        assert!((errors.in_frame(12_288) - 0.012_212_8).abs() < 1e-7);
        assert!((BitErrors { probability: 1e-18 }.in_frame(1_000) / 1e-15 - 1.0).abs() < 1e-9);
        assert!((BitErrors { probability: 1.0 }.in_frame(1) - 1.0).abs() < 1e-12);
    }
}
