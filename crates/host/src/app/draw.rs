//! What applications draw.

use handfast_core::{Duration, Stream};

/// From the standard normal distribution (Box and Muller 1958, its first value).
pub(super) fn normal(stream: &mut Stream) -> f64 {
    let (radius, angle) = (1.0 - stream.unit(), stream.unit());
    libm::sqrt(-2.0 * libm::log(radius)) * libm::cos(2.0 * std::f64::consts::PI * angle)
}

/// From the lognormal distribution with mean 1 whose logarithm has the standard deviation `sigma`.
pub(super) fn lognormal(stream: &mut Stream, sigma: f64) -> f64 {
    libm::exp(sigma * normal(stream) - sigma * sigma / 2.0)
}

/// From the exponential distribution with mean 1.
pub(super) fn exponential(stream: &mut Stream) -> f64 {
    -libm::log(1.0 - stream.unit())
}

/// So many times `mean`, to the nanosecond; at least one, so that what is drawn takes time.
pub(super) fn times(mean: Duration, factor: f64) -> Duration {
    Duration::from_nanos((mean.as_nanos() as f64 * factor) as u64).max(Duration::from_nanos(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean and standard deviation of so many draws.
    fn moments(draw: impl Fn(&mut Stream) -> f64) -> (f64, f64) {
        let mut stream = Stream::new(1, "draws");
        let all: Vec<f64> = (0..100_000).map(|_| draw(&mut stream)).collect();
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        let variance = all.iter().map(|one| (one - mean) * (one - mean)).sum::<f64>() / all.len() as f64;
        (mean, libm::sqrt(variance))
    }

    #[test]
    fn draws_have_the_moments_of_their_distributions() {
        let near = |(mean, deviation): (f64, f64), expected: (f64, f64)| {
            assert!((mean - expected.0).abs() < 0.02, "{mean} {expected:?}");
            assert!((deviation - expected.1).abs() < 0.02, "{deviation} {expected:?}");
        };
        near(moments(normal), (0.0, 1.0));
        near(moments(exponential), (1.0, 1.0));
        // The variance of a lognormal with mean 1: e^(sigma^2) - 1.
        near(moments(|stream| lognormal(stream, 0.5)), (1.0, libm::sqrt(libm::exp(0.25) - 1.0)));
    }

    #[test]
    fn what_is_drawn_takes_time() {
        assert_eq!(times(Duration::from_millis(10), 1.5), Duration::from_millis(15));
        assert_eq!(times(Duration::from_millis(10), 0.0), Duration::from_nanos(1));
    }
}
