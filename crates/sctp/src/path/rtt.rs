//! Round-trip time and RTO of a path (§6.3.1).

use handfast_core::Duration;

use crate::Config;

/// G, the clock's granularity; ours counts nanoseconds, so any that a timer can keep will do.
const GRANULARITY: Duration = Duration::from_millis(1);

#[derive(Clone, Copy, Debug)]
pub(crate) struct Rtt {
    smoothed: Option<Smoothed>,
    rto: Duration,
    min: Duration,
    max: Duration,
}

#[derive(Clone, Copy, Debug)]
struct Smoothed {
    srtt: Duration,
    rttvar: Duration,
}

impl Rtt {
    /// C1: until there is a sample the RTO is RTO.Initial.
    pub(crate) fn new(config: &Config) -> Self {
        let max = config.rto_max.max(GRANULARITY);
        Self { smoothed: None, rto: config.rto_initial.max(GRANULARITY).min(max), min: config.rto_min, max }
    }

    /// A round trip took so long.
    pub(crate) fn on_sample(&mut self, rtt: Duration) {
        let (srtt, rttvar) = match self.smoothed {
            // C2.
            None => (rtt, rtt / 2),
            // C3, with RTO.Beta 1/4 and RTO.Alpha 1/8.
            Some(Smoothed { srtt, rttvar }) => ((srtt * 7 + rtt) / 8, (rttvar * 3 + srtt.abs_diff(rtt)) / 4),
        };
        self.set(srtt, rttvar);
    }

    /// Takes over what was measured before.
    pub(crate) fn set(&mut self, srtt: Duration, rttvar: Duration) {
        // G1: a variance of zero becomes the granularity.
        let rttvar = if rttvar == Duration::ZERO { GRANULARITY } else { rttvar };
        self.smoothed = Some(Smoothed { srtt, rttvar });
        // C2, C3; C6: at least RTO.Min; C7: at most RTO.Max.
        self.rto = (srtt + rttvar * 4).max(self.min).min(self.max);
    }

    /// E2 of §6.3.3.
    pub(crate) fn back_off(&mut self) {
        self.rto = (self.rto * 2).min(self.max);
    }

    pub(crate) const fn rto(&self) -> Duration {
        self.rto
    }

    pub(crate) fn srtt(&self) -> Option<Duration> {
        self.smoothed.map(|smoothed| smoothed.srtt)
    }

    pub(crate) fn rttvar(&self) -> Option<Duration> {
        self.smoothed.map(|smoothed| smoothed.rttvar)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn the_rto_follows_section_6_3_1() {
        let config = Config { rto_min: ms(1), ..Config::default() };
        let mut rtt = Rtt::new(&config);
        assert_eq!(rtt.rto(), ms(1000));
        rtt.on_sample(ms(100));
        assert_eq!((rtt.srtt(), rtt.rttvar(), rtt.rto()), (Some(ms(100)), Some(ms(50)), ms(300)));
        rtt.on_sample(ms(180));
        // RTTVAR = 3/4 * 50 + 1/4 * 80, with the SRTT of before; SRTT = 7/8 * 100 + 1/8 * 180.
        assert_eq!(rtt.rttvar(), Some(Duration::from_micros(57_500)));
        assert_eq!((rtt.srtt(), rtt.rto()), (Some(ms(110)), ms(340)));
    }

    #[test]
    fn the_rto_stays_between_its_bounds() {
        let mut rtt = Rtt::new(&Config::default());
        rtt.on_sample(ms(10));
        assert_eq!(rtt.rto(), ms(1000));
        for _ in 0..10 {
            rtt.back_off();
        }
        assert_eq!(rtt.rto(), ms(60_000));
        rtt.on_sample(ms(10));
        assert_eq!(rtt.rto(), ms(1000), "a sample ends the back-off");
    }
}
