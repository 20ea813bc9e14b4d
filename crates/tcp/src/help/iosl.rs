//! The connection control of the ID-oriented socket layer at an endpoint: it suspends and resumes, restores what was stored, and
//! bounds cwnd by the radio's rate (Algorithm 1 of [iosl]).
//!
//! [iosl]: Arunachalam et al., "A Session-Based Cross-Layer Approach for Seamless Connectivity in Next-Generation Mobile Networks",
//! IEEE Access 2020. Who calls it and when is the layer's: `iosl` in `handfast-assist`. What the paper leaves open is in
//! docs/explanation/deviations.md.

use handfast_core::{Duration, Instant};

use crate::cc::{self, Request, Undo, UndoRule};
use crate::phase::Phase;
use crate::send::sender::Sender;
use crate::{IoslRules, Radio, StoredPath};

/// RFC 5681 §3.1: ssthresh is at least two segments; a window below that has no duplicates to find losses by.
const LEAST_WINDOW: u64 = 2;

/// State of one connection.
#[derive(Clone, Debug)]
pub(crate) struct Iosl {
    rules: IoslRules,
    /// What the layer last said of the radio.
    radio: Option<Radio>,
    /// `rtt_min` of Algorithm 1.
    rtt_min: Option<Duration>,
    /// Suspended, and what was in force then.
    suspended: Option<cc::Saved>,
    /// From before timeouts, and what was outstanding then: they came because nobody had suspended the connection in time.
    before_timeout: Option<(cc::Saved, u64)>,
    /// Samples of the round-trip time count once this position is acknowledged.
    ignored_until: u64,
    /// After a return: when the next segment may leave, until SND.UNA is no longer what it was then.
    release: Option<Release>,
    /// Of another connection, for when this one is established.
    stored: Option<StoredPath>,
}

/// A restored window leaves spread over a round trip: nothing is in flight that would clock it out.
#[derive(Clone, Copy, Debug)]
struct Release {
    una: u64,
    due: Instant,
}

impl Iosl {
    pub(crate) fn new(rules: IoslRules) -> Self {
        Self {
            rules,
            radio: None,
            rtt_min: None,
            suspended: None,
            before_timeout: None,
            ignored_until: 0,
            release: None,
            stored: None,
        }
    }

    pub(crate) fn is_suspended(&self) -> bool {
        self.suspended.is_some()
    }

    /// The layer says how the radio is.
    pub(crate) fn on_radio(&mut self, radio: Radio) {
        self.radio = Some(radio);
    }

    /// [iosl] §VI.A: "It stores the transport layer parameters". A connection that is suspended already stays as it is.
    pub(crate) fn suspend(&mut self, tx: &Sender) -> bool {
        let anew = self.suspended.is_none();
        if anew {
            self.suspended = Some(self.before(tx));
        }
        anew
    }

    /// What was in force before the path failed: before the timeouts, if it had failed already.
    fn before(&self, tx: &Sender) -> cc::Saved {
        let timed_out =
            self.before_timeout.filter(|&(_, recover)| tx.progress.after_loss() && tx.una < recover);
        timed_out.map_or_else(|| tx.cc.save(&tx.window), |(saved, _)| saved)
    }

    /// The retransmission timer has expired, and nothing is changed yet. What a second timeout finds is not what the path carried.
    #[cold]
    pub(crate) fn before_timeout(&mut self, tx: &Sender) {
        let frozen = self.before_timeout.filter(|&(_, recover)| tx.una < recover);
        self.before_timeout = Some(frozen.unwrap_or_else(|| (tx.cc.save(&tx.window), tx.max)));
    }

    /// cwnd and ssthresh before it was suspended, or before the timeouts of a path that failed.
    pub(crate) fn windows_before(&self, tx: &Sender) -> Option<(u64, u64)> {
        let saved = self.suspended.or_else(|| (tx.progress.phase == Phase::Loss).then(|| self.before(tx)))?;
        Some((saved.cwnd, saved.ssthresh))
    }

    /// It goes on. What was in force is what the connection gets back, if it was suspended or had timed out.
    pub(crate) fn resume(&mut self, tx: &Sender) -> Option<cc::Saved> {
        let saved = self.suspended.take();
        let timed_out = tx.progress.phase == Phase::Loss;
        let saved = saved.or_else(|| timed_out.then(|| self.before(tx)));
        self.before_timeout = None;
        saved
    }

    /// cwnd and ssthresh become what they were: "restoring the congestion window values as they were before the link disruption"
    /// ([iosl] §VI.B), cwnd no more than the path holds now.
    pub(crate) fn restore(&mut self, now: Instant, tx: &mut Sender, saved: &cc::Saved, packet: u64) {
        let undo = Undo { rule: UndoRule::Handoff, cwnd: saved.cwnd, ssthresh: saved.ssthresh };
        tx.cc.on_spurious(&mut tx.window, saved, &undo);
        self.bound(tx, packet);
        self.ignored_until = tx.max;
        self.release = Some(Release { una: tx.una, due: now });
    }

    /// Algorithm 1 of [iosl], lines 12 to 29, after the conventional algorithm has had the acknowledgement. Within a recovery cwnd
    /// does not rise: what was lost has been answered.
    pub(crate) fn on_ack(&mut self, tx: &mut Sender, packet: u64) {
        let Some((radio, bdp)) = self.radio.zip(self.bdp(tx, packet)) else { return };
        if radio.is_weak {
            // Lines 21 and 22.
            let cwnd = at_least_two(tx, permille(bdp, self.rules.alpha_permille));
            if tx.progress.phase == Phase::Open || cwnd < tx.window.cwnd() {
                tx.request(Request::Radio { cwnd });
            }
        }
        self.bound_to(tx, bdp);
    }

    /// Lines 26 to 28.
    fn bound(&self, tx: &mut Sender, packet: u64) {
        if let Some(bdp) = self.bdp(tx, packet) {
            self.bound_to(tx, bdp);
        }
    }

    fn bound_to(&self, tx: &mut Sender, bdp: u64) {
        if tx.window.cwnd() > bdp + permille(bdp, self.rules.mu_permille) {
            let cwnd = at_least_two(tx, bdp);
            tx.request(Request::Radio { cwnd });
        }
    }

    /// `bw_est · rtt_min` in octets of payload ([iosl] equation (1)). `packet`: IP bytes of a full-sized segment.
    fn bdp(&self, tx: &Sender, packet: u64) -> Option<u64> {
        let (radio, rtt) = self.radio.zip(self.rtt_min)?;
        let packets = radio.rate.bytes_in(rtt).get() / packet;
        Some(packets.saturating_mul(tx.window.smss))
    }

    /// A round-trip time was measured. Whether it counts: [iosl] §V.B, "`IoSL` ignores the RTT value calculated during the temporary
    /// radio signal fluctuations". The least one counts in any case: fluctuation only delays.
    pub(crate) fn counts(&mut self, tx: &Sender, sample: Duration) -> bool {
        let least = self.rtt_min.is_none_or(|least| sample < least);
        if least {
            self.rtt_min = Some(sample);
        }
        let is_weak = self.radio.is_some_and(|radio| radio.is_weak);
        let fluctuates = is_weak || self.is_suspended() || tx.una <= self.ignored_until;
        // The first one has nothing to stand in for it.
        !fluctuates || tx.rtt.srtt() == Duration::ZERO
    }

    /// When the next segment may leave; [`None`]: now.
    pub(crate) fn release_due(&mut self, now: Instant, tx: &Sender) -> Option<Instant> {
        let Release { una, due } = self.release?;
        if tx.una != una || tx.una == tx.stream_end() {
            self.release = None;
            return None;
        }
        (due > now).then_some(due)
    }

    /// So many octets leave: the window leaves within a round trip.
    pub(crate) fn on_sent(&mut self, now: Instant, tx: &Sender, octets: u64) {
        let Some(release) = &mut self.release else { return };
        let rate = tx.window.cwnd().max(1);
        release.due = now.max(release.due) + share(tx.rtt.srtt(), octets, rate);
    }

    /// What another connection had is for this one, once it is established.
    pub(crate) fn store(&mut self, stored: StoredPath) {
        self.stored = Some(stored);
    }

    /// The size of segments is known.
    pub(crate) fn on_established(&mut self, now: Instant, tx: &mut Sender, packet: u64) {
        // One that is suspended during the handshake has a window only now.
        self.suspended = self.suspended.map(|_| tx.cc.save(&tx.window));
        let Some(StoredPath { cwnd, ssthresh }) = self.stored.take() else { return };
        let (cwnd, ssthresh) = (at_least_two(tx, cwnd), at_least_two(tx, ssthresh));
        tx.request(Request::Back { cwnd, ssthresh });
        self.bound(tx, packet);
        self.release = Some(Release { una: tx.una, due: now });
    }
}

fn at_least_two(tx: &Sender, octets: u64) -> u64 {
    octets.max(LEAST_WINDOW * tx.window.smss)
}

fn permille(octets: u64, permille: u16) -> u64 {
    octets / 1000 * u64::from(permille) + octets % 1000 * u64::from(permille) / 1000
}

/// The part of a time that is `octets` of `all`.
fn share(time: Duration, octets: u64, all: u64) -> Duration {
    let nanos = u128::from(time.as_nanos()) * u128::from(octets) / u128::from(all);
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_and_a_permille_do_not_overflow() {
        assert_eq!(permille(u64::MAX / 1001 * 1000, 900), u64::MAX / 1001 * 900);
        assert_eq!(permille(1999, 900), 1799);
        assert_eq!(share(Duration::MAX, u64::MAX, u64::MAX), Duration::MAX);
        assert_eq!(share(Duration::from_millis(100), 1000, 20_000), Duration::from_millis(5));
    }
}
