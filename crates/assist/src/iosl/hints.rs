//! What a peer says of its windows: never more than what this end knows itself.

use handfast_core::Duration;

use super::frame::Windows;

/// What this end knows of the path, and may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Own {
    /// The least round trip that it has measured.
    pub min_rtt: Duration,
    /// The most that it has had in flight, or its estimate of the bandwidth-delay product.
    pub most_in_flight: u64,
    /// What it keeps for what comes.
    pub receive_buffer: u64,
    /// The least window that it would begin with (RFC 6928 §2).
    pub initial_window: u64,
}

/// The longest round trip that is believed (as RFC 6298 §2.5's bound of the RTO).
const MOST_RTT: Duration = Duration::from_secs(60);

/// What of a peer's hints may be used: a congestion window that this end has seen the path carry, a receive window that it can
/// fill, a round trip that is not shorter than the shortest it has measured. A peer that lies gains nothing, and loses no more than
/// the initial window that it would have had.
pub fn bounded(peer: &Windows, own: &Own) -> Windows {
    let most = own.most_in_flight.max(own.initial_window);
    Windows {
        cwnd: peer.cwnd.clamp(own.initial_window, most),
        rwnd: peer.rwnd.min(own.receive_buffer),
        rtt: peer.rtt.max(own.min_rtt).min(MOST_RTT.max(own.min_rtt)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::iosl::frame::varint;

    fn windows(cwnd: u64, rwnd: u64, rtt: u64) -> Windows {
        Windows { cwnd, rwnd, rtt: Duration::from_micros(rtt) }
    }

    const OWN: Own = Own {
        min_rtt: Duration::from_millis(20),
        most_in_flight: 1_000_000,
        receive_buffer: 4_000_000,
        initial_window: 14_600,
    };

    #[test]
    fn what_is_plausible_is_taken_as_it_is() {
        assert_eq!(bounded(&windows(500_000, 2_000_000, 30_000), &OWN), windows(500_000, 2_000_000, 30_000));
    }

    #[test]
    fn a_peer_that_lies_gets_no_more_than_was_seen() {
        let lie = windows(varint::MAX, varint::MAX, 1);
        assert_eq!(bounded(&lie, &OWN), windows(1_000_000, 4_000_000, 20_000));
        let low = windows(0, 0, 10_000_000_000);
        assert_eq!(bounded(&low, &OWN), windows(14_600, 0, 60_000_000));
    }

    proptest! {
        #[test]
        fn nothing_exceeds_what_this_end_knows(cwnd in any::<u64>(), rwnd in any::<u64>(), rtt in 0..1u64 << 40, most in any::<u64>(), own_rtt in 0..1u64 << 40) {
            let own = Own { most_in_flight: most, min_rtt: Duration::from_micros(own_rtt), ..OWN };
            let used = bounded(&windows(cwnd, rwnd, rtt), &own);
            prop_assert!(used.cwnd <= most.max(own.initial_window) && used.cwnd >= own.initial_window);
            prop_assert!(used.rwnd <= own.receive_buffer && used.rtt >= own.min_rtt);
        }
    }
}
