//! Loss processes: what each decides about each packet.

use std::sync::Arc;

use handfast_core::{Instant, Stream};

use crate::Loss;
use crate::police::Policer;
use crate::trace::Trace;

/// What became of a packet, worst last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fate {
    Intact,
    Corrupted,
    Lost,
}

/// One loss process with its state.
#[derive(Debug)]
pub(crate) enum Process {
    Packet { probability: f64, stream: Stream },
    Bit { ln_intact: f64, memo: (u32, f64), stream: Stream },
    GilbertElliott { step: [f64; 2], loss: [f64; 2], bad: bool, stream: Stream },
    List { numbers: Vec<u64>, seen: u64 },
    Police(Policer),
    Traced { trace: Arc<Trace>, stream: Stream },
}

impl Process {
    pub(crate) fn new(loss: &Loss, stream: Stream) -> Self {
        match *loss {
            Loss::Packet(probability) => Self::Packet { probability, stream },
            // ln(1 - p), exact for small p.
            Loss::Bit(p) => Self::Bit { ln_intact: libm::log1p(-p), memo: (0, 0.0), stream },
            Loss::GilbertElliott { good_to_bad, bad_to_good, loss_good, loss_bad } => Self::GilbertElliott {
                step: [good_to_bad, bad_to_good],
                loss: [loss_good, loss_bad],
                bad: false,
                stream,
            },
            Loss::List(ref numbers) => {
                let mut numbers = numbers.clone();
                numbers.sort_unstable();
                Self::List { numbers, seen: 0 }
            }
            Loss::Police { rate, burst } => Self::Police(Policer::new(rate, burst)),
        }
    }

    /// What a trace says is lost.
    pub(crate) fn traced(trace: Arc<Trace>, stream: Stream) -> Self {
        Self::Traced { trace, stream }
    }

    /// The fate of the next packet; `departure`: when its last bit left.
    pub(crate) fn judge(&mut self, size: u32, has_payload: bool, departure: Instant) -> Fate {
        match self {
            Self::Packet { probability, stream } => lost_if(stream.chance(*probability)),
            Self::Bit { ln_intact, memo, stream } => {
                if memo.0 != size {
                    *memo = (size, corruption(*ln_intact, size));
                }
                if stream.chance(memo.1) { Fate::Corrupted } else { Fate::Intact }
            }
            Self::GilbertElliott { step, loss, bad, stream } => {
                let lost = stream.chance(loss[usize::from(*bad)]);
                *bad ^= stream.chance(step[usize::from(*bad)]);
                lost_if(lost)
            }
            Self::List { numbers, seen } => {
                *seen += u64::from(has_payload);
                lost_if(has_payload && numbers.binary_search(seen).is_ok())
            }
            Self::Police(policer) => lost_if(!policer.conforms(departure, size)),
            // The radio loses what leaves it: the loss of the moment at which the last bit does.
            Self::Traced { trace, stream } => lost_if(stream.chance(trace.loss(departure).unwrap_or(0.0))),
        }
    }
}

fn lost_if(lost: bool) -> Fate {
    if lost { Fate::Lost } else { Fate::Intact }
}

impl Loss {
    /// How likely it is in the long run that a packet of so many bytes does not arrive intact. A list of numbers and a policer say
    /// nothing of the long run: 0.
    pub fn mean(&self, size: u32) -> f64 {
        match *self {
            Self::Packet(p) => p,
            Self::Bit(p) => corruption(libm::log1p(-p), size),
            Self::GilbertElliott { good_to_bad, bad_to_good, loss_good, loss_bad } => {
                let both = good_to_bad + bad_to_good;
                // A chain that never moves stays where it begins: in the good state.
                let bad = if both > 0.0 { good_to_bad / both } else { 0.0 };
                loss_good * (1.0 - bad) + loss_bad * bad
            }
            Self::List(_) | Self::Police { .. } => 0.0,
        }
    }
}

/// 1 - (1 - p)^bits, given ln(1 - p); exact where p is far below the spacing of numbers near 1.
fn corruption(ln_intact: f64, size: u32) -> f64 {
    -libm::expm1(ln_intact * f64::from(size) * 8.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(loss: &Loss) -> Process {
        Process::new(loss, Stream::new(1, "loss"))
    }

    fn losses(loss: &Loss, n: u64) -> u64 {
        let mut process = process(loss);
        (0..n).map(|_| u64::from(process.judge(1000, true, Instant::ZERO) != Fate::Intact)).sum()
    }

    #[test]
    fn packets_are_lost_with_their_probability() {
        // 100,000 trials at 1 %: standard deviation 31.5; five of them either way.
        let lost = losses(&Loss::Packet(0.01), 100_000);
        assert!((843..=1157).contains(&lost), "{lost}");
        assert_eq!(losses(&Loss::Packet(0.0), 1000), 0);
        assert_eq!(losses(&Loss::Packet(1.0), 1000), 1000);
    }

    #[test]
    fn the_mean_is_what_is_lost_in_the_long_run() {
        let burst = |good_to_bad, bad_to_good| Loss::GilbertElliott {
            good_to_bad,
            bad_to_good,
            loss_good: 0.01,
            loss_bad: 0.5,
        };
        for loss in [Loss::Packet(0.02), Loss::Bit(1e-5), burst(0.01, 0.1)] {
            let (mean, lost) = (loss.mean(1000), losses(&loss, 100_000) as f64 / 1e5);
            assert!((lost / mean - 1.0).abs() < 0.15, "{loss:?}: {mean} {lost}");
        }
        assert_eq!((burst(0.0, 0.0).mean(1), Loss::List(vec![1]).mean(1)), (0.01, 0.0));
    }

    #[test]
    fn a_longer_packet_is_corrupted_more_often() {
        let Process::Bit { ln_intact, .. } = process(&Loss::Bit(1e-6)) else { panic!("a bit process") };
        assert!((corruption(ln_intact, 125) - 0.000_999_5).abs() < 1e-8);
        assert!((corruption(ln_intact, 1250) - 0.009_950_2).abs() < 1e-7);
        // Below the spacing of floating-point numbers near 1, where 1 - (1 - p)^n would say 0.
        let Process::Bit { ln_intact, .. } = process(&Loss::Bit(1e-18)) else { panic!("a bit process") };
        assert!((corruption(ln_intact, 125) / 1e-15 - 1.0).abs() < 1e-9);
        assert_eq!(losses(&Loss::Bit(1.0), 100), 100);
        assert_eq!(losses(&Loss::Bit(0.0), 100), 0);
    }

    #[test]
    fn bit_errors_corrupt_and_do_not_lose() {
        assert_eq!(process(&Loss::Bit(1.0)).judge(100, false, Instant::ZERO), Fate::Corrupted);
    }

    #[test]
    fn a_list_counts_packets_with_payload_from_one() {
        let mut list = process(&Loss::List(vec![3, 1]));
        let fates: Vec<bool> = [true, false, true, false, true, true]
            .map(|has_payload| list.judge(1000, has_payload, Instant::ZERO) == Fate::Lost)
            .to_vec();
        assert_eq!(fates, [true, false, false, false, true, false]);
    }

    #[test]
    fn gilbert_elliott_loses_its_stationary_mean_in_bursts() {
        let loss =
            Loss::GilbertElliott { good_to_bad: 0.01, bad_to_good: 0.2, loss_good: 0.001, loss_bad: 0.5 };
        // Stationary share of the bad state: 0.01 / 0.21. Mean loss 0.02476; its standard deviation over 200,000
        // packets is 0.00087 (autocorrelation 0.79^k in the state's part); five of them either way.
        let mean = losses(&loss, 200_000) as f64 / 200_000.0;
        assert!((mean - 0.024_762).abs() < 0.0044, "{mean}");
        // Bursts: after a loss the next packet is lost far more often than on average.
        let mut process = process(&loss);
        let lost: Vec<bool> =
            (0..200_000).map(|_| process.judge(1000, true, Instant::ZERO) == Fate::Lost).collect();
        let pairs = lost.windows(2).filter(|pair| pair[0] && pair[1]).count();
        let singles = lost.iter().filter(|&&lost| lost).count();
        assert!(pairs as f64 / singles as f64 > 0.3, "{pairs} of {singles}");
    }

    #[test]
    fn gilbert_elliott_starts_good() {
        let loss = Loss::GilbertElliott { good_to_bad: 0.0, bad_to_good: 0.5, loss_good: 0.0, loss_bad: 1.0 };
        assert_eq!(losses(&loss, 1000), 0);
    }
}
