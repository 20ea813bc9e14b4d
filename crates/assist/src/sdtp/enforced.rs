//! The window that a sending edge lets its host use of the one that the receiver advertises (`congestion = "cache"`): what the path
//! has room for. The edge sees the host's data and what acknowledges it, so it knows what a congestion window would be there (He and
//! others, "AC/DC TCP", 2016). A host that reduces its own window further is not held up.

use handfast_core::{Duration, Instant, SeqNum};
use handfast_tcp::{DEFAULT_MSS, MAX_SHIFT, ShadowWindow};
use handfast_wire::sdtp::Congestion;
use handfast_wire::tcp::{Flags, Segment};

/// Bytes of the timestamps in each segment (RFC 7323 §3.2, appendix A).
const TIMESTAMPS_LEN: u16 = 12;

/// RFC 6928: what a host may send at once after it has sent nothing for a while.
const AT_ONCE: u64 = 10;

/// The window of one host towards another.
#[derive(Debug)]
pub(super) struct Enforced {
    /// By how many bits the receiver's windows are shifted.
    scale: u8,
    shadow: ShadowWindow,
    una: SeqNum,
    /// Behind all that the host has sent.
    sent: SeqNum,
    /// The right edge that the host knows of: it never moves left (RFC 9293 §3.8.6).
    edge: SeqNum,
    /// Congestion that data before this has met is answered (RFC 3168 §6.1.2: once for a window of data). A host would hear of it a
    /// round trip later than this edge, and takes all until then for one event.
    answered: SeqNum,
    /// The window does not grow before this is acknowledged: it was in flight when the window fell.
    draining: SeqNum,
    /// What is timed: the number behind it, and when it was sent.
    timed: Option<(SeqNum, Instant)>,
    srtt: Option<Duration>,
    /// From a packet that leaves for the host until its answer has come here: what is on its way there is in flight, too.
    to_host: Duration,
    /// When the handshake's last packet left for the host, until that has answered.
    asked: Option<Instant>,
}

impl Enforced {
    /// The receiver has sent this SYN or SYN-ACK, which has left for the host at `asked`; `answer` is the SYN-ACK of the two. `start`: the
    /// first number of the host.
    pub(super) fn new(asked: Instant, receivers: &Segment, answer: &Segment, start: SeqNum) -> Self {
        let options = if answer.timestamps.is_some() { TIMESTAMPS_LEN } else { 0 };
        let smss = receivers.mss.unwrap_or(DEFAULT_MSS).saturating_sub(options).max(1);
        // RFC 7323 §2.2: only if both have sent the option, and not in the segment with it.
        let scale = receivers.window_scale.filter(|_| answer.window_scale.is_some()).unwrap_or(0);
        Self {
            scale: scale.min(MAX_SHIFT),
            shadow: ShadowWindow::new(smss.into()),
            una: start,
            sent: start,
            edge: start + u32::from(receivers.window),
            answered: start,
            draining: start,
            timed: None,
            srtt: None,
            to_host: Duration::ZERO,
            asked: Some(asked),
        }
    }

    /// What the host has in flight: what is between here and the receiver, and as much more as the way to the host is longer.
    fn flight(&self) -> u64 {
        let seen = u64::from(self.sent.distance(self.una).unsigned_abs());
        let beyond = self.srtt.filter(|srtt| *srtt > Duration::ZERO).map_or(0, |srtt| {
            u128::from(seen) * u128::from(self.to_host.as_nanos()) / u128::from(srtt.as_nanos())
        });
        seen + beyond as u64
    }

    /// The host answers what the handshake has brought it, unless it has before.
    pub(super) fn on_answer(&mut self, now: Instant) {
        if let Some(asked) = self.asked.take() {
            self.to_host = now.since(asked);
        }
    }

    /// What the handshake brings the host has left for it again. Karn's algorithm (RFC 6298 §3): an answer is timed from the last one
    /// at most, for the wait before that is the sender's.
    pub(super) fn asked_again(&mut self, now: Instant) {
        self.asked = self.asked.map(|_| now);
    }

    /// The host sends.
    pub(super) fn on_sent(&mut self, now: Instant, segment: &Segment) {
        let end = segment.seq + segment.seq_len();
        if end.after(self.sent) {
            self.sent = end;
            self.timed.get_or_insert((end, now));
        } else if segment.seq_len() > 0 {
            // Karn's algorithm (RFC 6298 §3): which one is acknowledged is not known.
            self.timed = None;
        }
    }

    /// What the receiver says goes to the host, with the window that it may use.
    pub(super) fn on_ack(&mut self, now: Instant, segment: &mut Segment) {
        if !segment.flags.contains(Flags::ACK) || segment.flags.contains(Flags::RST) {
            return;
        }
        let ack = segment.ack;
        // What the host sends goes past this edge: it does not know the flight, so nothing that it could hold the host to.
        let is_blind = ack.after(self.sent);
        let acked = self.acknowledge(now, ack);
        let theirs = ack + (u32::from(segment.window) << self.scale);
        let ours = self.allowed(acked);
        if theirs.after(ours) && !is_blind {
            let octets = ours.distance(ack).unsigned_abs();
            // Rounded up: the edge must not move left by what the shift cuts off.
            let field = octets.div_ceil(1 << self.scale);
            segment.window = u16::try_from(field).unwrap_or(u16::MAX).min(segment.window);
        }
        let told = ack + (u32::from(segment.window) << self.scale);
        if told.after(self.edge) {
            self.edge = told;
        }
    }

    /// Takes an acknowledgment into account: how many octets are new.
    fn acknowledge(&mut self, now: Instant, ack: SeqNum) -> u64 {
        if !ack.after(self.una) {
            return 0;
        }
        // What went past this edge is sent, too.
        self.sent = if ack.after(self.sent) { ack } else { self.sent };
        let (acked, flight) = (u64::from(ack.distance(self.una).unsigned_abs()), self.flight());
        self.una = ack;
        if let Some((_, then)) = self.timed.take_if(|&mut (end, _)| !end.after(ack)) {
            self.sample(now, now.since(then));
        }
        // Until what was in flight has left the path, growth would be that of the window before.
        if !self.draining.after(ack) {
            self.shadow.on_ack(now, acked, flight, self.srtt.unwrap_or(Duration::ZERO));
        }
        // Numbers wrap: what lies 2 GiB behind would be taken for what is to come.
        self.draining = if self.draining.after(ack) { self.draining } else { ack };
        self.answered = if self.answered.before(ack) { ack } else { self.answered };
        acked
    }

    /// RFC 6298 §2.3.
    fn sample(&mut self, now: Instant, rtt: Duration) {
        self.srtt = Some(self.srtt.map_or(rtt, |srtt| srtt.saturating_sub(srtt / 8) + rtt / 8));
        self.shadow.on_rtt(now, rtt);
    }

    /// The right edge of the window that the host may use, after `acked` new octets.
    fn allowed(&self, acked: u64) -> SeqNum {
        // What an ACK lets slow start send, and a segment more; a host that was idle begins with the initial window. A window far
        // ahead of what was sent could not be taken back.
        let smss = self.shadow.smss();
        let next = (self.flight() + 2 * acked + 2 * smss).max(AT_ONCE * smss);
        let window = next.min(self.shadow.cwnd()).min(1 << 30);
        let right = self.una + window as u32;
        if right.after(self.edge) { right } else { self.edge }
    }

    /// A node says what has met a full queue. Whether that is a new event.
    pub(super) fn on_congestion(&mut self, Congestion { until, held }: Congestion) -> bool {
        // More than was sent cannot have met it, nor what was acknowledged.
        if until.after(self.sent) || !until.after(self.una) {
            return false;
        }
        let (is_new, flight) = (until.after(self.answered), self.flight());
        if is_new {
            self.shadow.on_congestion(flight);
            self.draining = self.sent;
            self.answered = self.sent + self.shadow.cwnd().min(1 << 30) as u32;
        }
        // What waits is more than the path holds, whatever share of the flight it is.
        self.shadow.at_most(flight.saturating_sub(held.into()));
        is_new
    }
}

#[cfg(test)]
mod tests;
