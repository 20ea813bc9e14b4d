//! Quick-Start and capacity estimation at work ([`crate::startup`]): what goes with which segment, and when new data may leave.

use handfast_core::{BitRate, Bytes, Duration, Instant};
use handfast_wire::notification::Kind;
use handfast_wire::tcp::{Flags, RateOption, Segment};
use handfast_wire::{Notification, Payload, QuickStart as IpOption, QuickStartRate, QuickStartResponse};

use super::{Endpoint, Timer};
use crate::cc::Request;
use crate::cc::pacer::Schedule;
use crate::phase::Phase;
use crate::send::piece::{Piece, Why};
use crate::startup::{Answer, Estimator, Fresh, Hold, Path, QuickStart, SYN_RTO};
use crate::{QuickStartRequest, Transmit};

/// A train's result is waited for at least so long.
const SHORTEST_WAIT: Duration = Duration::from_millis(10);

/// What an acknowledgement finds.
struct Before {
    una: u64,
    cwnd: u64,
    in_slow_start: bool,
}

impl Endpoint {
    /// A segment has come with this IP option, and with this time to live (RFC 4782 §4.3).
    #[cold]
    pub(super) fn take_quick_start(&mut self, option: IpOption, ttl: u8) {
        let IpOption::Request { rate, ttl: qs_ttl, nonce } = option else { return };
        // §4.3: a rate of zero is not answered.
        if rate > QuickStartRate::NONE {
            let ttl_diff = ttl.wrapping_sub(qs_ttl);
            let response = QuickStartResponse { rate, ttl_diff, nonce };
            self.startup.get_or_insert_default().response = Some(response);
            self.rx.ack_now |= self.is_synchronised();
        }
    }

    /// Random bits for Quick-Start's TTLs and nonces, which the peer must not guess (RFC 4782 §3.4); without them they
    /// follow from the initial sequence number.
    pub fn seed_quick_start(&mut self, bits: u64) {
        if let Some(quick_start) = self.quick_start() {
            quick_start.seed(bits);
        }
    }

    fn quick_start(&mut self) -> Option<&mut QuickStart> {
        self.startup.as_mut()?.quick_start.as_mut()
    }

    fn path(&self) -> Path {
        Path { window: self.tx.window, srtt: self.tx.rtt.srtt() }
    }

    /// The peer's access link is told.
    pub(super) fn startup_notified(&mut self, told: &Notification) {
        let established = self.is_synchronised();
        let Some(startup) = &mut self.startup else { return };
        if startup.take_notification(told).is_none() {
            return;
        }
        let access = startup.access();
        if let Some(estimator) = &mut startup.estimator {
            estimator.on_notification(told);
        }
        if let Some(quick_start) = &mut startup.quick_start
            && established
            && !(told.kind == Kind::Start && quick_start.has_asked())
        {
            // [33] of [vho]: a request after a vertical handoff.
            quick_start.want(requested(self.config.quick_start, access));
        }
        self.stop_pacing();
        if established {
            self.begin_estimation();
        }
    }

    fn begin_estimation(&mut self) {
        let (packet, first) = (self.packet(), self.tx.max <= 1);
        if let Some(startup) = &mut self.startup
            && let Some(estimator) = &mut startup.estimator
        {
            estimator.begin(self.tx.controlled(), packet, first);
        }
    }

    /// A SYN or SYN-ACK is about to leave.
    #[cold]
    pub(super) fn startup_syn(&mut self, now: Instant, transmit: &mut Transmit) {
        let wanted = self.config.quick_start;
        let Some(startup) = &mut self.startup else { return };
        let access = startup.access();
        if let Some(quick_start) = &mut startup.quick_start
            && !quick_start.has_asked()
            // RFC 4782 §4.7.2: not on the repetition of a SYN.
            && self.tx.retries == 0
        {
            quick_start.want(requested(wanted, access));
            startup.ip_option = quick_start.ask(now, 1);
        }
        if startup.ip_option.is_some() {
            let rto = self.rto().max(SYN_RTO);
            self.timers.set(Timer::Retransmit, self.expiry(now, rto));
        }
        if let Some(startup) = &mut self.startup {
            startup.window_due = startup.response.is_some();
        }
        self.add_options(transmit);
    }

    /// The acknowledgement that follows a SYN-ACK with a response.
    #[cold]
    pub(super) fn startup_window(&mut self, now: Instant) -> Option<Transmit> {
        let due = self.startup.as_mut().is_some_and(|startup| std::mem::take(&mut startup.window_due));
        (due && self.scaling).then(|| {
            self.counters.segments_sent += 1;
            self.build(now, 1, Payload::EMPTY, Flags::ACK)
        })
    }

    /// Nothing has answered the SYN.
    pub(super) fn startup_handshake_timeout(&mut self) {
        if let Some(quick_start) = self.quick_start() {
            quick_start.give_up();
        }
    }

    /// The handshake is done.
    pub(super) fn startup_established(&mut self, now: Instant, segment: &Segment) {
        if self.startup.is_some() {
            self.take_answer(now, 1, segment);
            self.ask_if_told();
            self.begin_estimation();
        }
    }

    /// What was told before the handshake was done, and after the SYN had left, is asked for now.
    fn ask_if_told(&mut self) {
        let Some(startup) = &mut self.startup else { return };
        let access = startup.access();
        if let Some(quick_start) = &mut startup.quick_start
            && !quick_start.has_asked()
        {
            quick_start.want(requested(self.config.quick_start, access));
        }
    }

    /// Octets of payload that fit beside what the next segment has to say.
    #[cold]
    pub(super) fn startup_room(&self, room: u64) -> u64 {
        let Some(startup) = &self.startup else { return room };
        let (now, rtt) = (Instant::MAX, self.tx.rtt.srtt());
        let ip = startup.quick_start.as_ref().map_or(0, |quick_start| quick_start.option_len(now, rtt));
        room.saturating_sub(ip + startup.option_len()).max(1)
    }

    /// New data from `start` on could leave: [`None`] where it must wait; the payload that a segment holds.
    #[cold]
    pub(super) fn startup_next(&mut self, now: Instant, start: u64, room: u64) -> Option<u64> {
        let room = if self.begins_train(now, start)? { self.room(now) } else { room };
        let Some(startup) = &mut self.startup else { return Some(room) };
        if let Some(due) = startup.pace.as_ref().map(Schedule::due).filter(|&due| due > now) {
            self.timers.set(Timer::Pace, due);
            self.tx.validation.cwnd_limited = true;
            return None;
        }
        if let Some(quick_start) = &mut startup.quick_start
            && !quick_start.may_use(now, self.tx.controlled())
        {
            self.stop_pacing();
        }
        Some(room)
    }

    /// Whether a train begins with what leaves next; [`None`]: that waits for it.
    fn begins_train(&mut self, now: Instant, start: u64) -> Option<bool> {
        // What is sent again measures nothing.
        if self.tx.progress.phase.repairs() || start < self.tx.max {
            return Some(false);
        }
        let cwnd_room = self.tx.window.cwnd().saturating_sub(self.in_flight());
        let fresh = Fresh {
            now,
            start,
            room: cwnd_room.min(self.tx.right_edge().saturating_sub(start)),
            unsent: self.tx.data_end().saturating_sub(start),
            idle: self.tx.una == start,
        };
        let path = self.path();
        let startup = self.startup.as_mut()?;
        let Some(estimator) = &mut startup.estimator else { return Some(false) };
        match estimator.on_fresh(&path, &fresh) {
            Hold::No => Some(false),
            Hold::Yes => {
                self.tx.validation.cwnd_limited = true;
                None
            }
            Hold::Begin(pace) => {
                startup.pace = Some(pace);
                Some(true)
            }
        }
    }

    /// A piece leaves, with payload up to `end`.
    #[cold]
    pub(super) fn startup_sent(&mut self, now: Instant, piece: Piece, end: u64) {
        let rtt = self.tx.rtt.srtt();
        let Some(startup) = &mut self.startup else { return };
        if let Some(quick_start) = &mut startup.quick_start
            && piece.why != Why::Probe
            && quick_start.is_due(now, rtt)
        {
            startup.ip_option = quick_start.ask(now, end);
        }
        let Some(pace) = startup.pace.as_mut().filter(|_| piece.why == Why::Next) else { return };
        if let Some(estimator) = &mut startup.estimator {
            startup.probe = estimator.on_sent(now, pace.departed(), end);
        }
        match pace.sent(now) {
            Some(due) if due > now => self.timers.set(Timer::Pace, due),
            // Back to back.
            Some(_) => {}
            None => {
                self.stop_pacing();
                self.await_result(now, rtt);
            }
        }
    }

    /// New data waits for a train's result, but not for ever: if the acknowledgement that brings it is lost, nothing else would be
    /// sent until the RTO.
    fn await_result(&mut self, now: Instant, rtt: Duration) {
        let holds = self
            .startup
            .as_ref()
            .and_then(|startup| startup.estimator.as_ref())
            .is_some_and(Estimator::holds);
        if holds {
            let by = now + rtt.saturating_mul(2).max(SHORTEST_WAIT);
            self.timers.set(Timer::Pace, by);
            if let Some(startup) = &mut self.startup {
                startup.result_by = by;
            }
        }
    }

    /// A departure is due, or a result is overdue.
    pub(super) fn on_pace_timeout(&mut self, now: Instant) {
        if let Some(startup) = &mut self.startup
            && startup.pace.is_none()
            && let Some(estimator) = &mut startup.estimator
        {
            if now >= startup.result_by {
                estimator.give_up_waiting();
            } else if estimator.holds() {
                // It was the congestion control's pacer.
                self.timers.set(Timer::Pace, startup.result_by);
            }
        }
    }

    /// The segment is made, but for what goes with it.
    #[cold]
    pub(super) fn startup_built(&mut self, transmit: &mut Transmit) {
        if let Some(startup) = &mut self.startup
            && let Some(quick_start) = &mut startup.quick_start
            && startup.ip_option.is_none()
        {
            // RFC 4782 §3.1: before the first Quick-Start packet, or with it.
            startup.ip_option = quick_start.take_report();
        }
        self.add_options(transmit);
    }

    fn add_options(&mut self, transmit: &mut Transmit) {
        let Some(startup) = &mut self.startup else { return };
        let Transmit { segment, ip } = transmit;
        *ip = ip.with_quick_start(startup.ip_option.take());
        let Some(rate) = startup.take_option() else { return };
        segment.rare.get_or_insert_default().rate = Some(rate);
        // RFC 2018 §3: as many blocks as the other options leave room for.
        segment.sack.truncate(segment.sack_room());
    }

    fn stop_pacing(&mut self) {
        if let Some(startup) = &mut self.startup {
            startup.pace = None;
            self.timers.stop(Timer::Pace);
        }
    }

    /// An acknowledgement arrives while something of this may be under way.
    #[cold]
    pub(super) fn on_ack_starting_up(&mut self, now: Instant, segment: &Segment) -> bool {
        let ack = self.tx.position(segment.ack).filter(|&ack| ack <= self.tx.max);
        if let Some(ack) = ack {
            self.leave_quick_start(ack);
        }
        let window = &self.tx.window;
        let before = Before { una: self.tx.una, cwnd: window.cwnd(), in_slow_start: window.in_slow_start() };
        if !self.process_ack(now, segment) {
            return false;
        }
        self.after_ack_starting_up(&before);
        if let Some(ack) = ack {
            self.take_answer(now, ack, segment);
            self.take_estimate(now, segment);
        }
        true
    }

    fn leave_quick_start(&mut self, ack: u64) {
        let (flight, nxt) = (self.tx.flight_size(), self.tx.nxt);
        let Some(startup) = &mut self.startup else { return };
        let Some(quick_start) = &mut startup.quick_start else { return };
        if quick_start.leave(ack, flight, nxt, self.tx.controlled()) {
            self.stop_pacing();
        }
    }

    fn after_ack_starting_up(&mut self, before: &Before) {
        let (una, phase) = (self.tx.una, self.tx.progress.phase);
        let repeated = self.counters.retransmitted_bytes;
        let Some(startup) = &mut self.startup else { return };
        let Some(quick_start) = &mut startup.quick_start else { return };
        if before.in_slow_start {
            quick_start.limit_slow_start(before.cwnd, self.tx.controlled());
        }
        match phase {
            Phase::Recovery => quick_start.repair(una - before.una, self.tx.controlled()),
            Phase::Open | Phase::Cwr => quick_start.repaired(repeated, self.tx.controlled()),
            Phase::Loss => {}
        }
        quick_start.settle(una);
    }

    /// What an acknowledgement says of a Quick-Start request.
    fn take_answer(&mut self, now: Instant, ack: u64, segment: &Segment) {
        let response = match segment.rate_option() {
            Some(RateOption::QuickStart(response)) => Some(*response),
            _ => None,
        };
        let packet = Bytes(self.packet());
        let Some(startup) = &mut self.startup else { return };
        let Some(quick_start) = &mut startup.quick_start else { return };
        let Some(Answer::Approved(rate, rtt)) = quick_start.on_answer(now, ack, response) else { return };
        let nxt = self.tx.nxt;
        if quick_start.begin(now, self.tx.controlled(), nxt, rtt, (rate, packet)) {
            // RFC 4782 §4.4: rate-based pacing at the approved rate.
            startup.pace = Some(Schedule::at_rate(now, rate.rate(), packet));
        }
    }

    /// What an acknowledgement says of a train.
    fn take_estimate(&mut self, now: Instant, segment: &Segment) {
        let result = match segment.rate_option() {
            Some(RateOption::Estimate(estimate)) => Some(*estimate),
            _ => None,
        };
        let (path, una) = (self.path(), self.tx.una);
        let Some(startup) = &mut self.startup else { return };
        let Some(estimator) = &mut startup.estimator else { return };
        if let Some(ssthresh) = estimator.on_ack(now, una, result, &path) {
            self.tx.request(Request::Ssthresh(ssthresh));
        }
    }

    /// Something is lost: recovery has begun, or a timeout has come.
    pub(super) fn startup_loss(&mut self) {
        if self.startup.is_some() {
            self.startup_lost();
        }
    }

    #[cold]
    fn startup_lost(&mut self) {
        let (una, max, repeated) = (self.tx.una, self.tx.max, self.counters.retransmitted_bytes);
        let Some(startup) = &mut self.startup else { return };
        let mut ends = false;
        if let Some(estimator) = &mut startup.estimator {
            let was_leaving = estimator.is_leaving();
            // After a timeout all that is outstanding goes again.
            estimator.on_loss(if self.tx.progress.phase == Phase::Loss { max } else { una });
            ends = was_leaving && !estimator.is_leaving();
        }
        if let Some(quick_start) = &mut startup.quick_start {
            ends |= quick_start.on_loss(una, max, repeated, self.tx.controlled());
        }
        if ends {
            self.stop_pacing();
        }
    }

    /// A segment of the peer's arrives that may be part of a train.
    #[cold]
    pub(super) fn startup_measure(&mut self, now: Instant, segment: &Segment) {
        let Some(RateOption::Probe(probe)) = segment.rate_option() else { return };
        let startup = self.startup.get_or_insert_default();
        let estimate = startup.measure.on_probe(now, probe, Bytes(segment.payload.len() as u64));
        if estimate.is_some() {
            startup.estimate = estimate;
            self.rx.ack_now = true;
        }
    }
}

/// What to ask for; `access`: a flow's share of the peer's link.
fn requested(wanted: QuickStartRequest, access: Option<BitRate>) -> QuickStartRate {
    match wanted {
        QuickStartRequest::Off => QuickStartRate::NONE,
        QuickStartRequest::Rate(rate) => QuickStartRate::at_least(rate),
        // A share: with more than that the others' would not fit.
        QuickStartRequest::Access => access.map_or(QuickStartRate::NONE, QuickStartRate::at_most),
    }
}
