//! Quick-Start at the data sender (RFC 4782 §4): ask, check the answer, send a window at the approved rate, and what follows if
//! one of its segments is lost.

use handfast_core::{Bytes, Duration, Instant};
use handfast_wire::{Packet, QuickStart as IpOption, QuickStartNonce, QuickStartRate, QuickStartResponse};

use crate::cc::{Controlled, Request};

/// RFC 4782 §4.7.2: the initial RTO of a SYN with a request.
pub(crate) const SYN_RTO: Duration = Duration::from_millis(3000);
/// RFC 4782 §4.4: an approved rate is used within a round trip, and within so long.
const FRESH: Duration = Duration::from_millis(3000);
/// `max_ssthresh` of limited slow start, in segments (RFC 3742 §3: 100 is recommended).
const MAX_SSTHRESH: u64 = 100;

/// Quick-Start of one connection.
#[derive(Clone, Debug)]
pub(crate) struct QuickStart {
    stage: Stage,
    /// The state of a generator for Quick-Start TTLs and nonces.
    random: u64,
    /// No more requests: an answer was forged (§4.4), or a Quick-Start packet was lost (§4.6).
    barred: bool,
    /// When the last request left.
    asked_at: Option<Instant>,
    /// A report of the approved rate to send.
    report: Option<IpOption>,
    /// Octets by which limited slow start lets cwnd grow, but not a whole segment yet.
    owed: u64,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    Idle,
    /// A request goes with the next segment of data.
    Due(QuickStartRate),
    Asked(Asked),
    /// Quick-Start mode.
    Active(Active),
    /// The window sent in Quick-Start mode is not acknowledged yet.
    Sent(QsWindow),
    /// Part of it was lost.
    Reverting(Reverting),
}

/// A request under way.
#[derive(Clone, Copy, Debug)]
struct Asked {
    rate: QuickStartRate,
    ttl_diff: u8,
    nonce: QuickStartNonce,
    at: Instant,
    /// The position whose acknowledgement answers it, with or without a response.
    end: u64,
}

#[derive(Clone, Copy, Debug)]
struct Active {
    window: QsWindow,
    /// Until when it must have begun; [`None`]: it has.
    begin_by: Option<Instant>,
    /// ssthresh as it was.
    ssthresh: u64,
}

/// The octets sent in Quick-Start mode.
#[derive(Clone, Copy, Debug)]
struct QsWindow {
    start: u64,
    /// [`u64::MAX`] while the mode lasts.
    end: u64,
    /// cwnd as it would be without Quick-Start.
    fallback: u64,
    /// The connection began with it.
    initial: bool,
}

#[derive(Clone, Copy, Debug)]
struct Reverting {
    /// cwnd, which slow start makes grow from the default.
    cwnd: u64,
    /// Octets sent in Quick-Start mode, and those sent again before it.
    sent: u64,
    repeated: u64,
}

/// What has become of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// It is approved, after that long.
    Approved(QuickStartRate, Duration),
    /// It is not.
    Denied,
}

impl QuickStart {
    pub(crate) fn new(seed: u64) -> Self {
        Self { stage: Stage::Idle, random: seed, barred: false, asked_at: None, report: None, owed: 0 }
    }

    /// Where the numbers that nobody must guess come from.
    pub(crate) fn seed(&mut self, seed: u64) {
        self.random = seed;
    }

    /// A request for `rate` goes with the next segment that may carry one. What was approved before is void.
    pub(crate) fn want(&mut self, rate: QuickStartRate) {
        if rate > QuickStartRate::NONE && !self.barred && !matches!(self.stage, Stage::Reverting(_)) {
            self.stage = Stage::Due(rate);
        }
    }

    /// Whether it has asked already.
    pub(crate) fn has_asked(&self) -> bool {
        self.asked_at.is_some()
    }

    /// Whether a request goes with the next segment of data. RFC 4782 §4.1: none within a round trip of the last.
    pub(crate) fn is_due(&self, now: Instant, rtt: Duration) -> bool {
        matches!(self.stage, Stage::Due(_)) && self.asked_at.is_none_or(|at| at + rtt <= now)
    }

    /// The request, in a segment whose acknowledgement is `end`.
    pub(crate) fn ask(&mut self, now: Instant, end: u64) -> Option<IpOption> {
        let Stage::Due(rate) = self.stage else { return None };
        // RFC 4782 §3.1 and §3.4: both are random.
        let bits = self.bits();
        let (ttl, nonce) = (bits as u8, QuickStartNonce::new((bits >> 32) as u32));
        let ttl_diff = Packet::HOP_LIMIT.wrapping_sub(ttl);
        self.stage = Stage::Asked(Asked { rate, ttl_diff, nonce, at: now, end });
        self.asked_at = Some(now);
        Some(IpOption::Request { rate, ttl, nonce })
    }

    /// `SplitMix64` (Steele, Lea and Flood 2014).
    fn bits(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.random ^ (self.random >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// The segment with the request was not answered in time: it goes again without.
    pub(crate) fn give_up(&mut self) {
        if let Stage::Asked(asked) = self.stage {
            self.deny(&asked);
        }
    }

    /// An acknowledgement of `ack`, perhaps with a response; [`None`]: it answers no request.
    pub(crate) fn on_answer(
        &mut self,
        now: Instant,
        ack: u64,
        response: Option<QuickStartResponse>,
    ) -> Option<Answer> {
        let Stage::Asked(asked) = self.stage else { return None };
        let Some(response) = response else {
            if ack < asked.end {
                return None;
            }
            // RFC 4782 §4: acknowledged without a response is a refusal.
            self.deny(&asked);
            return Some(Answer::Denied);
        };
        let honest = response.nonce.agrees_below(asked.nonce, response.rate);
        // RFC 4782 §4.4: the rightmost 2K bits differ: no more requests on this connection.
        self.barred |= !honest;
        let valid = honest
            && response.ttl_diff == asked.ttl_diff
            && response.rate <= asked.rate
            && response.rate > QuickStartRate::NONE;
        if !valid {
            self.deny(&asked);
            return Some(Answer::Denied);
        }
        self.stage = Stage::Idle;
        self.report = Some(IpOption::Report { rate: response.rate, nonce: asked.nonce });
        Some(Answer::Approved(response.rate, now.since(asked.at)))
    }

    /// RFC 4782 §3.1: a denied request is reported with rate zero; §4.4: nothing else follows.
    fn deny(&mut self, asked: &Asked) {
        self.stage = Stage::Idle;
        self.report = Some(IpOption::Report { rate: QuickStartRate::NONE, nonce: asked.nonce });
    }

    /// The report that goes with the next segment.
    pub(crate) fn take_report(&mut self) -> Option<IpOption> {
        self.report.take()
    }

    /// Bytes that the next segment gives up to an IP option.
    pub(crate) fn option_len(&self, now: Instant, rtt: Duration) -> u64 {
        if self.report.is_some() || self.is_due(now, rtt) { 8 } else { 0 }
    }

    /// RFC 4782 §4.4: the window that the approved rate fills, if it is wider than cwnd. `nxt`: SND.NXT.
    pub(crate) fn begin(
        &mut self,
        now: Instant,
        mut window: Controlled<'_>,
        nxt: u64,
        rtt: Duration,
        (rate, packet): (QuickStartRate, Bytes),
    ) -> bool {
        // Equation (3): QS-cwnd = R * T / (MSS + H), in segments; cwnd counts the payload of each.
        let bytes = u128::from(rate.rate().bytes_in(rtt).get());
        let octets = bytes * u128::from(window.smss) / u128::from(packet.get().max(1));
        let qs_cwnd = u64::try_from(octets).unwrap_or(u64::MAX);
        if qs_cwnd <= window.cwnd() {
            return false;
        }
        let (fallback, initial) = (window.cwnd(), nxt <= 1);
        self.stage = Stage::Active(Active {
            window: QsWindow { start: nxt, end: u64::MAX, fallback, initial },
            begin_by: Some(now + rtt.min(FRESH)),
            ssthresh: window.ssthresh(),
        });
        window.request(Request::QuickStart { cwnd: qs_cwnd });
        true
    }

    /// New data leaves; false where the approval has been waiting too long, and the window is the default again.
    pub(crate) fn may_use(&mut self, now: Instant, mut window: Controlled<'_>) -> bool {
        let Stage::Active(active) = &mut self.stage else { return true };
        let stale = active.begin_by.take().is_some_and(|by| now > by);
        if stale {
            window.request(Request::Back { cwnd: active.window.fallback, ssthresh: active.ssthresh });
            self.stage = Stage::Idle;
        }
        !stale
    }

    /// Before an acknowledgement of `ack` is processed, with `flight` octets outstanding and SND.NXT at `nxt`; whether
    /// Quick-Start mode ends with it.
    pub(crate) fn leave(&mut self, ack: u64, flight: u64, nxt: u64, mut window: Controlled<'_>) -> bool {
        match &mut self.stage {
            Stage::Active(active) if ack > active.window.start => {
                // RFC 4782 §4.4: the first ACK of a Quick-Start packet reduces cwnd to what has been used.
                if flight + window.smss <= window.cwnd() {
                    let cwnd = flight.max(active.window.fallback).min(window.cwnd());
                    window.request(Request::SlowStart { cwnd });
                }
                self.stage = Stage::Sent(QsWindow { end: nxt.max(ack), ..active.window });
                true
            }
            _ => false,
        }
    }

    /// After an acknowledgement: the window sent in Quick-Start mode may have arrived.
    pub(crate) fn settle(&mut self, una: u64) {
        if matches!(self.stage, Stage::Sent(qs) if una >= qs.end) {
            self.stage = Stage::Idle;
        }
    }

    /// The segment at `una` is lost, and recovery has set the window; whether Quick-Start mode ends with it.
    pub(crate) fn on_loss(&mut self, una: u64, max: u64, repeated: u64, mut window: Controlled<'_>) -> bool {
        let (qs, was_active) = match self.stage {
            Stage::Active(active) => (QsWindow { end: max, ..active.window }, true),
            Stage::Sent(qs) => (qs, false),
            _ => return false,
        };
        if una < qs.start || una >= qs.end {
            return false;
        }
        // RFC 4782 §4.6: no more requests.
        self.barred = true;
        let sent = qs.end - qs.start;
        // §4.6: the default initial window; §4.8 (3): in the middle half the Quick-Start window, if that is less.
        let cwnd = if qs.initial { qs.fallback } else { qs.fallback.min(sent / 2) };
        window.request(Request::AtMost { cwnd, ssthresh: u64::MAX });
        self.stage = Stage::Reverting(Reverting { cwnd: window.cwnd(), sent, repeated });
        was_active
    }

    /// RFC 4782 §4.6: slow start from the default window, while what was lost is repaired. `octets`: newly acknowledged.
    pub(crate) fn repair(&mut self, octets: u64, mut window: Controlled<'_>) {
        let Stage::Reverting(reverting) = &mut self.stage else { return };
        if octets > 0 && reverting.cwnd < window.ssthresh() {
            reverting.cwnd += octets.min(window.smss);
        }
        window.request(Request::SlowStart { cwnd: reverting.cwnd });
    }

    /// Recovery is over; `repeated`: octets sent again so far.
    pub(crate) fn repaired(&mut self, repeated: u64, mut window: Controlled<'_>) {
        let Stage::Reverting(reverting) = self.stage else { return };
        self.stage = Stage::Idle;
        // RFC 4782 §4.6: at most half of what got through.
        let got_through = reverting.sent.saturating_sub(repeated - reverting.repeated);
        let ssthresh = (got_through / 2).max(2 * window.smss);
        window.request(Request::AtMost { cwnd: reverting.cwnd, ssthresh });
    }

    /// RFC 3742 §3, which RFC 4782 §4.4 demands: what an acknowledgement that made cwnd grow from `before` in slow start may
    /// leave. A controller that counts whole segments would drop a fraction of one, so that is kept here.
    pub(crate) fn limit_slow_start(&mut self, before: u64, mut window: Controlled<'_>) {
        let bound = MAX_SSTHRESH * window.smss;
        if before <= bound || window.cwnd() <= before {
            return;
        }
        let k = before / (bound / 2);
        let grown = (window.cwnd() - before) / k + self.owed;
        self.owed = if window.control.counts_segments() { grown % window.smss } else { 0 };
        window.request(Request::SlowStart { cwnd: before + grown - self.owed });
    }
}
