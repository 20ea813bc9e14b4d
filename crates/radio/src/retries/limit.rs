//! Repetitions up to a limit: how many a packet takes, and what becomes of it.

use handfast_core::{Bytes, Db, Stream};

use super::BitErrors;
use crate::airtime::{Exchange, TxRate};

/// The part of wrong frames that a checksum of 32 bits takes for right ones.
pub const UNDETECTED: f64 = 1.0 / 4_294_967_296.0;

/// What one attempt at a frame may come to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Attempt {
    /// It gets through.
    Clean,
    /// It is wrong with this probability, whatever its size.
    Frame(f64),
    /// Each bit is.
    Bits(BitErrors),
    /// Each bit is as the sender's rate makes it at this ratio of signal to noise.
    Signal(Db),
}

impl Attempt {
    /// The probability that a frame of 802.11 b or g around an IP packet of this size is wrong.
    pub fn error(self, packet: Bytes) -> f64 {
        self.error_in(Exchange::bits(packet))
    }

    /// The probability that a frame of so many bits is wrong.
    pub fn error_in(self, bits: u64) -> f64 {
        match self {
            Self::Clean => 0.0,
            Self::Frame(probability) => probability,
            Self::Bits(errors) => errors.in_frame(bits),
            // Nothing is understood at no rate: [`Attempt::at`] comes first.
            Self::Signal(_) => 1.0,
        }
    }

    /// What it is at this rate.
    #[must_use]
    pub fn at(self, rate: TxRate) -> Self {
        match self {
            Self::Signal(ratio) => BitErrors::at(rate, ratio).map_or(Self::Clean, Self::Bits),
            known => known,
        }
    }
}

/// How often a frame is sent before it is given up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Retries {
    /// So often in all, at least once (IEEE 802.11-2020 §10.3.4.4: `dot11ShortRetryLimit`, 7).
    pub limit: u32,
    /// The part of wrong frames that pass for right ones: acknowledged, handed on, and wrong. [`UNDETECTED`] by the checksum's
    /// length; more where memory or a driver corrupts what the checksum has seen.
    pub undetected: f64,
}

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// How often it was sent.
    pub attempts: u32,
    /// Whether it was acknowledged.
    pub delivered: bool,
    /// Whether it is wrong all the same: a mark for those who verify TCP's checksum.
    pub corrupted: bool,
}

impl Default for Retries {
    fn default() -> Self {
        Self { limit: 7, undetected: UNDETECTED }
    }
}

impl Retries {
    /// Sends a packet until it is acknowledged or given up. Draws nothing where nothing can go wrong.
    pub fn draw(&self, attempt: Attempt, packet: Bytes, stream: &mut Stream) -> Outcome {
        let error = attempt.error(packet);
        for attempts in 1..=self.limit.max(1) {
            if !stream.chance(error) {
                return Outcome { attempts, delivered: true, corrupted: false };
            }
            if stream.chance(self.undetected) {
                return Outcome { attempts, delivered: true, corrupted: true };
            }
        }
        Outcome { attempts: self.limit.max(1), delivered: false, corrupted: false }
    }

    /// The probability that a packet is lost after all attempts.
    pub fn loss(&self, error: f64) -> f64 {
        libm::pow(error * (1.0 - self.undetected), f64::from(self.limit.max(1)))
    }

    /// The probability that a packet is delivered wrong.
    pub fn corruption(&self, error: f64) -> f64 {
        let noticed = error * (1.0 - self.undetected);
        let attempts = if noticed < 1.0 {
            (1.0 - libm::pow(noticed, f64::from(self.limit.max(1)))) / (1.0 - noticed)
        } else {
            f64::from(self.limit.max(1))
        };
        error * self.undetected * attempts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_the_seventh_power() {
        let retries = Retries { undetected: 0.0, ..Retries::default() };
        assert!((retries.loss(0.5) - 1.0 / 128.0).abs() < 1e-12);
        assert!(retries.corruption(0.5).abs() < 1e-15);
        // A bit error rate of 1e-5 in 1,536 bytes: 11.6 % of the frames, and one packet in three and a half million.
        let error = Attempt::Bits(BitErrors { probability: 1e-5 }).error(Bytes(1_500));
        assert!((error - 0.115_63).abs() < 1e-5, "{error}");
        assert!((retries.loss(error) / 2.766e-7 - 1.0).abs() < 1e-3, "{:e}", retries.loss(error));
    }

    #[test]
    fn draws_agree_with_the_formulas() {
        let retries = Retries { limit: 3, undetected: 0.1 };
        let mut stream = Stream::new(1, "retries");
        let trials = 100_000;
        let (mut lost, mut wrong, mut attempts) = (0, 0, 0);
        for _ in 0..trials {
            let outcome = retries.draw(Attempt::Frame(0.4), Bytes(1_500), &mut stream);
            lost += u32::from(!outcome.delivered);
            wrong += u32::from(outcome.corrupted);
            attempts += outcome.attempts;
            assert!((1..=3).contains(&outcome.attempts) && outcome.delivered >= outcome.corrupted);
        }
        // 0.36³, and 0.04 in each of 1 + 0.36 + 0.1296 attempts; five standard deviations either way.
        let share = |n: u32| f64::from(n) / f64::from(trials);
        assert!((retries.loss(0.4) - 0.046_656).abs() < 1e-9 && (share(lost) - 0.046_656).abs() < 0.0034);
        assert!(
            (retries.corruption(0.4) - 0.059_584).abs() < 1e-9 && (share(wrong) - 0.059_584).abs() < 0.0038
        );
        assert!((share(attempts) - 1.4896).abs() < 0.012);
    }

    #[test]
    fn a_checksum_of_32_bits_misses_next_to_nothing() {
        let corruption = Retries::default().corruption(0.5);
        assert!((corruption / (UNDETECTED * 127.0 / 128.0) - 1.0).abs() < 1e-6, "{corruption:e}");
        assert!((Retries::default().corruption(1.0) / (7.0 * UNDETECTED) - 1.0).abs() < 1e-6);
    }
}
