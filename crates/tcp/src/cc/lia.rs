//! The coupled congestion control of Multipath TCP (RFC 6356, "Linked Increases"): paths of one connection together grow as one TCP
//! on the best of them would. Slow start, recovery and the decrease are RFC 5681's (§3).

use handfast_core::Duration;

use super::{AckSample, Controller, Request, Window};
use crate::Config;

/// One path. Alone it is Reno.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lia {
    /// Octets acknowledged since cwnd last grew.
    credit: u64,
    /// `cwnd_total / alpha`, where the connection has other paths.
    others: Option<u64>,
}

impl Controller for Lia {
    fn new(_config: &Config) -> Self {
        Self::default()
    }

    #[inline]
    fn avoid_congestion(&mut self, window: &mut Window, octets: u64, _ack: &AckSample) {
        // RFC 6356 §3 (1): cwnd_i grows by min (alpha * bytes_acked * MSS_i / cwnd_total, bytes_acked * MSS_i / cwnd_i). That is one
        // segment whenever as much is acknowledged as the larger one of the two divisors says.
        let needed = self.others.unwrap_or(0).max(window.cwnd);
        self.credit += octets;
        if self.credit >= needed {
            self.credit -= needed;
            window.set_cwnd(window.cwnd + window.smss);
        }
    }

    fn ssthresh(&mut self, window: &Window, flight: u64) -> u64 {
        self.credit = 0;
        // RFC 6356 §3: "the minimum ssthresh" is one segment where there is more than one path.
        let least = if self.others.is_some() { 1 } else { 2 };
        (flight / 2).max(least * window.smss)
    }

    #[inline]
    fn on_request(&mut self, window: &mut Window, request: Request) {
        match request {
            Request::Couple { octets } => self.others = octets,
            request => window.apply(request),
        }
    }

    /// What was learnt of the other paths meanwhile stays.
    fn on_spurious(&mut self, window: &mut Window, before: &Self, undo: &super::Undo) {
        window.set(undo.cwnd, undo.ssthresh);
        self.credit = before.credit;
    }
}

/// `cwnd_total / alpha` of paths with these windows, in octets, and smoothed round-trip times: so many octets the connection has to
/// get acknowledged for one segment more. RFC 6356 §3 (2): `alpha = cwnd_total * MAX (cwnd_i/rtt_i^2) / (SUM (cwnd_i/rtt_i))^2`, of
/// which the total cancels out. [`None`]: fewer than two paths have a round-trip time.
pub fn coupling(paths: impl Iterator<Item = (u64, Duration)>) -> Option<u64> {
    const SECOND: u128 = 1_000_000_000;
    let (mut sum, mut most, mut count) = (0_u128, 0_u128, 0);
    for (cwnd, rtt) in paths.filter(|&(_, rtt)| rtt > Duration::ZERO) {
        // No path holds 2^40 octets, and none answers within a microsecond: with that nothing overflows.
        let (cwnd, rtt) = (u128::from(cwnd.min(1 << 40)), u128::from(rtt.as_nanos().max(1000)));
        sum += cwnd * SECOND / rtt;
        most = most.max(cwnd * SECOND * SECOND / (rtt * rtt));
        count += 1;
    }
    let octets = || sum.saturating_mul(sum) / most.max(1);
    (count > 1).then(|| u64::try_from(octets()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use handfast_core::Instant;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    fn of(paths: &[(u64, u64)]) -> Option<u64> {
        coupling(paths.iter().map(|&(cwnd, rtt)| (cwnd, ms(rtt))))
    }

    /// Octets acknowledged until a window of 10 segments, of 1,000 octets each, has grown.
    fn until_it_grows(others: Option<u64>) -> u64 {
        let mut window = Window::of(1000, 10, 10);
        let mut lia = Lia::default();
        lia.on_request(&mut window, Request::Couple { octets: others });
        let ack = AckSample::of(Instant::ZERO, 1000, Duration::ZERO);
        let acks = (1..1000).find(|_| {
            lia.grow(&mut window, &ack);
            window.cwnd() > 10_000
        });
        acks.unwrap_or(0) * 1000
    }

    #[test]
    fn alone_it_is_reno() {
        assert_eq!(until_it_grows(None), 10_000);
        assert_eq!(of(&[(10_000, 20)]), None);
        assert_eq!(of(&[(10_000, 20), (10_000, 0)]), None, "nothing is known of the other");
        let window = Window::of(1000, 10, 10);
        assert_eq!(Lia::default().ssthresh(&window, 3000), 2000);
    }

    #[test]
    fn two_equal_paths_together_grow_as_one() {
        // alpha = 20,000 * (10,000 / rtt^2) / (20,000 / rtt)^2 = 1/2, and cwnd_total / alpha = 40,000: a quarter of what one alone
        // has in a round trip, so that both together take half a segment a round trip each window of 20 segments.
        assert_eq!(of(&[(10_000, 20), (10_000, 20)]), Some(40_000));
        assert_eq!(until_it_grows(Some(40_000)), 40_000);
    }

    #[test]
    fn no_path_grows_faster_than_a_tcp_on_it_would() {
        // A path of 1 s beside one of 10 ms: alpha is near cwnd_total / cwnd of the fast one.
        let octets = of(&[(10_000, 10), (100_000, 1000)]).unwrap_or(0);
        assert!((10_000..13_000).contains(&octets), "{octets}");
        // The second minimum of (1).
        assert_eq!(until_it_grows(Some(5000)), 10_000);
    }

    #[test]
    fn ssthresh_is_one_segment_at_least_beside_other_paths() {
        let mut window = Window::of(1000, 10, 10);
        let mut lia = Lia::default();
        lia.on_request(&mut window, Request::Couple { octets: Some(40_000) });
        assert_eq!(lia.ssthresh(&window, 1500), 1000);
        assert_eq!(lia.ssthresh(&window, 9000), 4500);
    }

    #[test]
    fn nothing_overflows() {
        assert!(of(&[(u64::MAX, 1), (u64::MAX, 1)]).is_some());
        let least = Duration::from_nanos(1);
        assert_eq!(coupling([(u64::MAX, least), (u64::MAX, least)].into_iter()), Some(1 << 42));
    }
}
