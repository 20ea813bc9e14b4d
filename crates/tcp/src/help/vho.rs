//! A vertical handoff, and what a sender does when it is told of it: the algorithms of [vho] §3.1.
//!
//! [vho]: Daniel and Kojo, "Enhancing TCP with Cross-layer Notifications and Capacity Estimation in Heterogeneous Access
//! Networks", 2012. What it leaves open is in docs/explanation/deviations.md.

use handfast_core::{BitRate, Bytes, Duration, SeqNum};
use handfast_wire::Notification;
use handfast_wire::notification::{AccessLink, Kind};

use crate::cc::Request;
use crate::phase::Phase;
use crate::send::scoreboard::DUP_THRESH;
use crate::send::sender::Sender;
use crate::{Config, VhoRule, VhoRules};

/// [vho] §4: "with at least five packets as the minimum value".
const LEAST_BUFFER: u64 = 5;
/// RFC 5681 §3.1: ssthresh is at least two segments.
const LEAST_SSTHRESH: u64 = 2;
/// Headers of an acknowledgement: IPv4 and TCP.
const ACK: Bytes = Bytes(40);

/// What follows for the connection's timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timer {
    /// Nothing.
    Stays,
    /// It begins anew.
    Restarts,
}

/// What it must know besides the sender's state.
#[derive(Clone, Copy)]
pub(crate) struct Facts<'a> {
    pub(crate) config: &'a Config,
    /// IP bytes of a full-sized segment.
    pub(crate) packet: u64,
    /// What loss recovery takes to be in the network.
    pub(crate) in_flight: u64,
    /// After a timeout everything from SND.UNA on goes again.
    pub(crate) goes_back: bool,
}

/// State of one sender.
#[derive(Clone, Debug)]
pub(crate) struct Vho {
    rules: VhoRules,
    /// The last notification that counted.
    last: Option<u32>,
    /// What came before the handshake was done.
    early: Option<Notification>,
    /// ssthresh as the beginning of a connection has set it.
    initial_ssthresh: Option<u64>,
    /// The window was brought down to this for a link that holds less, and what was sent before ended at that position.
    narrowed: Option<(u64, u64)>,
    overtaking: Option<Overtaking>,
}

/// Segments overtake those on the old link.
#[derive(Clone, Copy, Debug)]
struct Overtaking {
    /// Until all below this position is acknowledged.
    until: u64,
    /// Fast retransmit has begun meanwhile.
    recovery: Option<Undo>,
}

/// What a fast retransmit that was not needed takes back.
#[derive(Clone, Copy, Debug)]
struct Undo {
    cwnd: u64,
    ssthresh: u64,
    /// Octets sent again that no DSACK has reported yet.
    unreported: u64,
}

impl Vho {
    pub(crate) fn new(rules: VhoRules) -> Self {
        Self { rules, last: None, early: None, initial_ssthresh: None, narrowed: None, overtaking: None }
    }

    /// Fast retransmit begins: the window is as before it.
    pub(crate) fn before_recovery(&mut self, una: u64, cwnd: u64, ssthresh: u64) {
        if let Some(overtaking) = &mut self.overtaking {
            let begins = una < overtaking.until;
            overtaking.recovery = begins.then_some(Undo { cwnd, ssthresh, unreported: 0 });
        }
    }

    /// Fast retransmit has begun with SND.UNA at `una`: what cwnd and ssthresh are then, if not what it has made them. The window is
    /// reduced once for one window of data (RFC 3168 §6.1.2): what was sent before it was brought down does not halve it again.
    pub(crate) fn narrowed(&self, una: u64) -> Option<u64> {
        self.narrowed.filter(|&(_, until)| una < until).map(|(window, _)| window)
    }

    /// So many octets go again.
    pub(crate) fn sent_again(&mut self, octets: u64) {
        if let Some(undo) = self.recovery() {
            undo.unreported += octets;
        }
    }

    /// The retransmission timer has expired: what was lost was lost.
    pub(crate) fn on_timeout(&mut self, s: &mut Sender) {
        self.end_overtaking(s);
        self.narrowed = None;
    }

    fn end_overtaking(&mut self, s: &mut Sender) {
        self.overtaking = None;
        s.patience = None;
    }

    fn recovery(&mut self) -> Option<&mut Undo> {
        self.overtaking.as_mut()?.recovery.as_mut()
    }

    fn has(&self, rule: VhoRule) -> bool {
        self.rules.has(rule)
    }
}

impl Vho {
    /// A DSACK reports so many octets. [vho] §3.1: "use this information along with DSACK for detecting unnecessary
    /// retransmissions". Once each octet that went again is reported, nothing was lost (RFC 3708 §2): cwnd and ssthresh become what
    /// they were. Returns whether that ends a recovery.
    pub(crate) fn on_dsack(&mut self, s: &mut Sender, octets: u64) -> bool {
        let Some(undo) = self.recovery() else { return false };
        // A duplicate that is none of ours says nothing.
        let last = undo.unreported > 0 && undo.unreported <= octets;
        undo.unreported = undo.unreported.saturating_sub(octets);
        let Undo { cwnd, ssthresh, .. } = *undo;
        if !last {
            return false;
        }
        self.end_overtaking(s);
        s.request(Request::AtLeast { cwnd, ssthresh });
        let recovering = s.progress.phase == Phase::Recovery;
        if recovering {
            s.progress.leave();
        }
        recovering
    }

    /// A notification has come.
    pub(crate) fn on_notification(
        &mut self,
        s: &mut Sender,
        facts: &Facts<'_>,
        told: &Notification,
    ) -> Timer {
        if s.una == 0 {
            self.early = Some(*told);
            return Timer::Stays;
        }
        self.take(s, facts, told)
    }

    /// The connection is established: what came before counts now, when the size of segments is known.
    pub(crate) fn on_established(&mut self, s: &mut Sender, facts: &Facts<'_>) {
        if let Some(early) = self.early.take() {
            self.take(s, facts, &early);
        }
    }

    fn take(&mut self, s: &mut Sender, facts: &Facts<'_>, told: &Notification) -> Timer {
        let &Facts { config, packet, .. } = facts;
        if self.last.is_some_and(|last| !SeqNum(told.number).after(SeqNum(last))) {
            // A repetition, or it was overtaken.
            return Timer::Stays;
        }
        self.last = Some(told.number);
        let new = Access::of(told, packet);
        match told.kind {
            Kind::Start => self.begin(s, config, &new),
            Kind::MakeBeforeBreak => {
                let old = told.old.map(|link| Access { link, ..new });
                self.expect_overtaking(s, facts.in_flight, old.as_ref(), &new);
                self.narrow(s, &new);
                return self.expect_later_answers(s, config, old.as_ref(), &new);
            }
            Kind::BreakBeforeMake => {
                self.end_overtaking(s);
                self.narrow(s, &new);
                return self.send_at_once(s, facts.goes_back, &new);
            }
            Kind::Resumed => return self.send_at_once(s, facts.goes_back, &new),
        }
        Timer::Stays
    }

    /// [vho] §4: "Vho TCP sets the initial ssthresh to the product of the access link bandwidth and delay".
    fn begin(&mut self, s: &mut Sender, config: &Config, new: &Access) {
        let initial = config.initial_ssthresh.map_or(u64::MAX, Bytes::get);
        // Of flows that begin one after the other the first hear again, with a smaller share; what a loss has set stands.
        let untouched = s.window.ssthresh() == self.initial_ssthresh.unwrap_or(initial);
        if self.has(VhoRule::InitialSsthresh) && untouched {
            s.request(Request::Ssthresh(new.ssthresh(s.window.smss)));
            self.initial_ssthresh = Some(s.window.ssthresh());
        }
    }

    /// [vho] §3.1: "find the traversal time for a Data-ACK pair at the time of handoff and if it is greater than the current RTO,
    /// there is a possibility of the occurrence of spurious RTOs".
    fn expect_later_answers(
        &self,
        s: &mut Sender,
        config: &Config,
        old: Option<&Access>,
        new: &Access,
    ) -> Timer {
        let (Some(old), true) = (old, self.has(VhoRule::MinRto)) else { return Timer::Stays };
        // What was for the old link is for the new one.
        let beyond = s.rtt.srtt().saturating_sub(old.round_trip());
        let traversal = beyond + new.round_trip();
        // Of an earlier handoff nothing is left.
        s.rtt.set_floor(config, Duration::ZERO);
        // "The algorithm calculates the minimum RTO, minrto, based on the new access link delay and update the RTO timer
        // immediately": the link's buffer holds a round trip more.
        let minrto = traversal + new.link.delay.saturating_mul(2);
        // Beyond the longest RTO it cannot be true.
        if traversal <= s.rtt.rto(config) || minrto > config.rto_max {
            return Timer::Stays;
        }
        s.rtt.set_floor(config, minrto);
        Timer::Restarts
    }

    /// [vho] §3.1: "if the `FlightSize` at the time of handoff is greater than the buffering capacity of the new link […], the
    /// algorithm sets the cwnd and ssthresh to the BDP of the new access link". §4.2: ssthresh in any case.
    fn narrow(&mut self, s: &mut Sender, new: &Access) {
        let ssthresh = new.ssthresh(s.window.smss);
        if self.has(VhoRule::HandoffSsthresh) {
            s.request(Request::Ssthresh(ssthresh));
        }
        self.narrowed = None;
        let buffer = new.buffer() / new.flows * s.window.smss;
        if self.has(VhoRule::BdpWindow) && s.flight_size() > buffer {
            s.request(Request::Ssthresh(ssthresh));
            s.request(Request::AtMost { cwnd: ssthresh, ssthresh });
            self.narrowed = Some((s.window.cwnd(), s.max));
        }
    }

    /// [vho] §3.1: "determine how likely packet reordering occurs given the bandwidth of the two access links". The rule is ours:
    /// `DupThresh` (RFC 6675 §2) rises by the segments that come over the new link before the last one over the old.
    fn expect_overtaking(&mut self, s: &mut Sender, in_flight: u64, old: Option<&Access>, new: &Access) {
        self.end_overtaking(s);
        let (Some(old), true) = (old, self.has(VhoRule::Reordering)) else { return };
        let flight = in_flight / s.window.smss;
        let queued = flight.saturating_mul(old.flows).min(old.buffer());
        let last = old.link.delay + serialisation(old.link.rate, Bytes(queued.saturating_mul(old.packet)));
        let ahead = last.saturating_sub(new.link.delay + serialisation(new.link.rate, Bytes(new.packet)));
        let overtaking = new.link.rate.bytes_in(ahead).get().div_ceil(new.packet).min(flight);
        if overtaking > 0 {
            let more = u32::try_from(overtaking).unwrap_or(u32::MAX);
            let dup_thresh = DUP_THRESH.saturating_add(more);
            s.patience = Some((dup_thresh, s.max));
            self.overtaking = Some(Overtaking { until: s.max, recovery: None });
        }
    }

    /// [vho] §3.1: "the TCP sender immediately retransmits the first unacknowledged packet if it is already in RTO recovery when the
    /// handoff notification arrives. Also the ssthresh variable is set to the BDP of the new link".
    fn send_at_once(&self, s: &mut Sender, goes_back: bool, new: &Access) -> Timer {
        let recovering = s.progress.phase == Phase::Loss && s.una < s.max;
        if !self.has(VhoRule::Retransmit) || !recovering {
            return Timer::Stays;
        }
        s.request(Request::Ssthresh(new.ssthresh(s.window.smss)));
        if goes_back {
            // What went after it since the timeout went into the void, as after one more timeout.
            s.request(Request::OneSegment);
            s.nxt = s.una;
        }
        s.retransmit_head();
        Timer::Restarts
    }
}

/// An access link as one of several flows sees it.
struct Access {
    link: AccessLink,
    flows: u64,
    /// IP bytes of a full-sized segment.
    packet: u64,
}

impl Access {
    fn of(told: &Notification, packet: u64) -> Self {
        Self { link: told.new, flows: u64::from(told.flows).max(1), packet }
    }

    /// The bandwidth-delay product in packets, of a round trip over the link: [vho] §4.2 gives 10, 50 and 125 for 200 kbit/s and
    /// 300 ms, 6 Mbit/s and 50 ms, 50 Mbit/s and 15 ms.
    fn bdp(&self) -> u64 {
        self.link.rate.bytes_in(self.link.delay.saturating_mul(2)).get() / self.packet
    }

    /// [vho] §4: "The router buffer size of each link is set to the BDP of the access link".
    fn buffer(&self) -> u64 {
        self.bdp().max(LEAST_BUFFER)
    }

    /// A flow's share of the BDP, in octets of payload.
    fn ssthresh(&self, smss: u64) -> u64 {
        (self.bdp() / self.flows).max(LEAST_SSTHRESH).saturating_mul(smss)
    }

    /// A full-sized segment one way, its acknowledgement the other.
    fn round_trip(&self) -> Duration {
        let sizes = [Bytes(self.packet), ACK].map(|size| serialisation(self.link.rate, size));
        self.link.delay.saturating_mul(2) + sizes[0] + sizes[1]
    }
}

/// A link of no rate never gets it across.
fn serialisation(rate: BitRate, size: Bytes) -> Duration {
    rate.serialisation(size).map_or(Duration::MAX, |(time, _)| time)
}
