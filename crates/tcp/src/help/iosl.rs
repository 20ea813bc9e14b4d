//! The connection control of the ID-oriented socket layer at an endpoint: it suspends and resumes, restores what was stored, and
//! bounds cwnd by the radio's rate (Algorithm 1 of [iosl]).
//!
//! [iosl]: Arunachalam et al., "A Session-Based Cross-Layer Approach for Seamless Connectivity in Next-Generation Mobile Networks",
//! IEEE Access 2020. Who calls it and when is the layer's: `iosl` in `handfast-assist`. What the paper leaves open is in
//! docs/explanation/deviations.md.

use handfast_core::{Bytes, Duration, Instant};

use crate::cc::pacer::{Pacer, window_rate};
use crate::cc::{self, Request, Undo, UndoRule};
use crate::send::sender::Sender;
use crate::{IoslRules, Radio, StoredPath};

/// Our choice, after what RFC 5681 §3.1 asks of ssthresh: a smaller window has no duplicates to find losses by.
const LEAST_WINDOW: u64 = 2;

/// State of one connection.
#[derive(Clone, Debug)]
pub(crate) struct Iosl {
    rules: IoslRules,
    /// What the layer last said of the radio.
    radio: Option<Radio>,
    /// `rtt_min` of Algorithm 1.
    rtt_min: Option<Duration>,
    /// Since when the connection is suspended, and its window then.
    suspended: Option<(Instant, cc::Saved)>,
    /// The window before the radio took from it: what it comes back to as the radio gets strong again, unless a loss comes first.
    strong: Option<cc::Saved>,
    /// From before timeouts, and what was outstanding then: they came because nobody had suspended the connection in time.
    before_timeout: Option<(cc::Saved, u64)>,
    /// Samples of the round-trip time count once this position is acknowledged.
    ignored_until: u64,
    /// What was outstanding when the path changed: its times are of both paths, and the least one would last.
    moved_at: Option<u64>,
    /// After a return: a restored window leaves spread over a round trip, our choice, until SND.UNA goes beyond this position.
    /// Nothing is in flight that would clock it out, or an initial window at most.
    release: Option<(u64, Pacer)>,
    /// The window of a connection whose place this one takes, until this one is established.
    stored: Option<StoredPath>,
}

impl Iosl {
    pub(crate) fn new(rules: IoslRules) -> Self {
        Self {
            rules,
            radio: None,
            rtt_min: None,
            suspended: None,
            strong: None,
            before_timeout: None,
            ignored_until: 0,
            moved_at: None,
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

    /// The connection takes another path: what was measured of the old one says nothing of it.
    pub(crate) fn on_moved(&mut self, tx: &Sender) {
        self.radio = None;
        self.rtt_min = None;
        self.moved_at = Some(tx.max);
    }

    /// [iosl] §VI.A: "It stores the transport layer parameters". A connection that is suspended already stays as it is.
    pub(crate) fn suspend(&mut self, now: Instant, tx: &Sender) -> bool {
        let anew = self.suspended.is_none();
        if anew {
            self.suspended = Some((now, settled(tx)));
        }
        anew
    }

    /// The retransmission timer has expired, and nothing is changed yet. What a second timeout finds is not what the path carried.
    #[cold]
    pub(crate) fn before_timeout(&mut self, tx: &Sender) {
        let frozen = self.before_timeout.take().filter(|&(_, recover)| tx.una < recover);
        let strong = self.strong.take();
        self.before_timeout = Some(frozen.unwrap_or_else(|| (strong.unwrap_or_else(|| settled(tx)), tx.max)));
    }

    /// Fast recovery begins: what congestion takes (RFC 5681 §3.2) the radio does not give back.
    pub(crate) fn before_recovery(&mut self) {
        self.strong = None;
    }

    /// What the connection had before its path failed, if that is not what it has.
    pub(crate) fn windows_before(&self, tx: &Sender) -> Option<cc::Saved> {
        let timed_out = self
            .before_timeout
            .as_ref()
            .filter(|&&(_, recover)| tx.progress.after_loss() && tx.una < recover)
            .map(|(saved, _)| saved);
        let suspended = self.suspended.as_ref().map(|(_, saved)| saved);
        self.strong.as_ref().or(suspended).or(timed_out).cloned()
    }

    /// It goes on, with its timers. For how long it was suspended; [`None`]: it was not.
    pub(crate) fn unfreeze(&mut self, now: Instant) -> Option<Duration> {
        self.suspended.take().map(|(since, _)| now.since(since))
    }

    /// cwnd and ssthresh become what they were: "restoring the congestion window values as they were before the link disruption"
    /// ([iosl] §VI.B), cwnd no more than the radio carries now. Then it grows with the radio.
    pub(crate) fn restore(&mut self, now: Instant, tx: &mut Sender, saved: &cc::Saved, packet: u64) {
        let undo = Undo { rule: UndoRule::Handoff, cwnd: saved.cwnd, ssthresh: saved.ssthresh };
        tx.cc.on_spurious(&mut tx.window, saved, &undo);
        self.before_timeout = None;
        if let Some(bdp) = self.bdp(tx, packet) {
            self.bound_to(tx, bdp);
        }
        self.strong = (tx.window.cwnd() < saved.cwnd).then(|| saved.clone());
        self.ignored_until = tx.max;
        self.release = Some((tx.una, Pacer::new(now)));
    }

    /// Algorithm 1 of [iosl], lines 12 to 29, after the conventional algorithm has had the acknowledgement. Within a reduction cwnd
    /// does not rise: what was lost has been answered; nor while data is outstanding that was sent before a mark reduced the window
    /// (RFC 3168 §6.1.2: "just as a congestion loss").
    pub(crate) fn on_ack(&mut self, tx: &mut Sender, packet: u64) {
        let Some((radio, bdp)) = self.radio.zip(self.bdp(tx, packet)) else { return };
        let may_rise = !tx.progress.phase.reduces() && !tx.answers.has_answered(tx.una);
        if radio.is_weak {
            self.strong.get_or_insert_with(|| settled(tx));
            // Lines 21 and 22.
            let cwnd = at_least_two(tx, permille(bdp, self.rules.alpha_permille));
            if may_rise || cwnd < tx.window.cwnd() {
                tx.request(Request::Radio { cwnd });
            }
        } else if let Some(before) = self.strong.as_ref().filter(|_| may_rise).map(|strong| strong.cwnd) {
            // [iosl] §VI.A: "When the link condition improves […] IoSL uses these stored parameters to resume".
            let cwnd = at_least_two(tx, before.min(bdp));
            if cwnd > tx.window.cwnd() {
                tx.request(Request::Radio { cwnd });
            }
            if tx.window.cwnd() >= before {
                self.strong = None;
            }
        }
        self.bound_to(tx, bdp);
    }

    /// Lines 26 to 28.
    fn bound_to(&self, tx: &mut Sender, bdp: u64) {
        if tx.window.cwnd() > bdp + permille(bdp, self.rules.mu_permille) {
            tx.request(Request::Radio { cwnd: at_least_two(tx, bdp) });
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
    pub(crate) fn counts(&mut self, tx: &mut Sender, sample: Duration) -> bool {
        self.moved_at = self.moved_at.filter(|&outstanding| tx.una <= outstanding);
        let least = self.rtt_min.is_none_or(|least| sample < least);
        if least && self.moved_at.is_none() {
            self.rtt_min = Some(sample);
        }
        let is_weak = self.radio.is_some_and(|radio| radio.is_weak);
        let fluctuates = is_weak || self.is_suspended() || tx.una <= self.ignored_until;
        // Without any sample there is no estimate to keep.
        let counts = !fluctuates || tx.rtt.srtt() == Duration::ZERO;
        if !counts {
            // RFC 6298 §5: what is acknowledged ends the backoff, whether or not its time counts.
            tx.rtt.forget_backoff();
        }
        counts
    }

    /// When the next segment may leave; [`None`]: now.
    pub(crate) fn release_due(&mut self, now: Instant, tx: &Sender) -> Option<Instant> {
        self.release = self.release.filter(|&(until, _)| tx.una <= until && tx.una < tx.stream_end());
        self.release.map(|(_, pacer)| pacer.due()).filter(|&due| due > now)
    }

    /// So many octets leave.
    pub(crate) fn on_sent(&mut self, now: Instant, tx: &Sender, octets: u64) {
        let Some((_, pacer)) = &mut self.release else { return };
        if let Some(rate) = window_rate(tx.window.cwnd(), 100, tx.rtt.srtt()) {
            pacer.sent(now, rate, Bytes(octets));
        }
    }

    /// This connection takes the place of one that had this window.
    pub(crate) fn store(&mut self, stored: StoredPath) {
        self.stored = Some(stored);
    }

    /// The size of segments is known.
    pub(crate) fn on_established(&mut self, now: Instant, tx: &mut Sender, packet: u64) {
        // One that was suspended during the handshake has a window only now.
        self.suspended = self.suspended.take().map(|(since, _)| (since, settled(tx)));
        let Some(StoredPath { cwnd, ssthresh }) = self.stored.take() else { return };
        let (cwnd, ssthresh) = (at_least_two(tx, cwnd), at_least_two(tx, ssthresh));
        tx.request(Request::Back { cwnd, ssthresh });
        if let Some(bdp) = self.bdp(tx, packet) {
            self.bound_to(tx, bdp);
        }
        self.release = Some((tx.max, Pacer::new(now)));
    }
}

/// The window, or what a reduction will leave of it: within one cwnd is inflated (RFC 5681 §3.2), or follows what is in flight
/// (RFC 6937).
fn settled(tx: &Sender) -> cc::Saved {
    let mut saved = tx.cc.save(&tx.window);
    if tx.progress.phase.reduces() {
        saved.cwnd = saved.ssthresh;
    }
    saved
}

fn at_least_two(tx: &Sender, octets: u64) -> u64 {
    octets.max(LEAST_WINDOW * tx.window.smss)
}

fn permille(octets: u64, permille: u16) -> u64 {
    octets / 1000 * u64::from(permille) + octets % 1000 * u64::from(permille) / 1000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_permille_does_not_overflow() {
        assert_eq!(permille(u64::MAX / 1001 * 1000, 900), u64::MAX / 1001 * 900);
        assert_eq!(permille(1999, 900), 1799);
    }
}
