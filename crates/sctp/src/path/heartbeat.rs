//! When a path is asked whether it is there (§8.3, §5.4).

use handfast_core::{Duration, Instant, Stream};

/// What a path waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heartbeat {
    /// For the time to ask.
    Next(Instant),
    /// For an answer.
    Sent { nonce: u64, at: Instant, until: Instant },
    /// For nothing: there are no heartbeats, or the path is suspended.
    Off,
}

impl Heartbeat {
    pub(crate) const fn deadline(&self) -> Option<Instant> {
        match *self {
            Self::Next(at) | Self::Sent { until: at, .. } => Some(at),
            Self::Off => None,
        }
    }

    /// The time to ask a path that is confirmed (§8.3): RTO and HB.interval from now on, with a jitter of half an RTO to either side.
    pub(crate) fn later(
        now: Instant,
        rto: Duration,
        interval: Option<Duration>,
        random: &mut Stream,
    ) -> Self {
        let Some(interval) = interval else { return Self::Off };
        let jittered = rto / 2 + Duration::from_nanos(random.below(rto.as_nanos() + 1));
        Self::Next(now + interval + jittered)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heartbeats_are_jittered_by_half_an_rto() {
        let mut random = Stream::new(1, "heartbeats");
        let (rto, interval) = (Duration::from_secs(2), Duration::from_secs(30));
        let all: Vec<_> = (0..200)
            .map(|_| Heartbeat::later(Instant::ZERO, rto, Some(interval), &mut random).deadline().unwrap())
            .map(|at| at.since(Instant::ZERO).as_millis())
            .collect();
        assert!(all.iter().all(|ms| (31_000..=33_000).contains(ms)));
        assert!(all.iter().any(|&ms| ms < 31_200) && all.iter().any(|&ms| ms > 32_800));
        assert_eq!(Heartbeat::later(Instant::ZERO, rto, None, &mut random), Heartbeat::Off);
    }
}
