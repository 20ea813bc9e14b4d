//! Congestion control at work on one connection: the algorithm, and what it has asked the endpoint for.

use std::ops::Range;

use handfast_core::{BitRate, Bytes, Duration, Instant};

use super::burst_pacer::BurstPacer;
use super::hystart::{self, HyStart};
use super::pacer::Pacer;
use super::rate_sample::{Delivery, RateSampler};
use super::sample::{AckSample, RttSample, Timeout, Undo};
use super::window::Window;
use super::{Algorithm, BbrReport, Pacing, PragueReport, Request};
use crate::Config;

/// As `sch_fq`: "Since socket rate can change later, clamp the delay to 1 second". A rate that was measured while the peer's window let
/// an octet through at a time would hold what follows for minutes, and nothing could show that it is too low.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// The congestion control of a connection. It alone changes the connection's [`Window`], which stands apart from it because
/// receivers read that too.
#[derive(Clone, Debug)]
pub(crate) struct Control {
    algorithm: Algorithm,
    /// The setting `hystart`, for algorithms that it applies to.
    hystart: Option<Box<HyStart>>,
    /// What the algorithm has asked for; [`None`] for most.
    tools: Option<Box<Tools>>,
}

#[derive(Clone, Debug, Default)]
struct Tools {
    sampler: Option<RateSampler>,
    /// The sampler is told what is in flight and what is lost.
    losses: bool,
    pacer: Option<Pacers>,
    /// The driver's queue paces: at this rate, and so many segments together.
    queue: Option<(BitRate, u32)>,
}

#[derive(Clone, Debug)]
enum Pacers {
    Segments(Pacer),
    Bursts(BurstPacer),
}

impl Pacers {
    fn new(pacing: Pacing) -> Option<Self> {
        match pacing {
            Pacing::Off => None,
            Pacing::Segments => Some(Self::Segments(Pacer::new(Instant::ZERO))),
            Pacing::Bursts => Some(Self::Bursts(BurstPacer::new(Instant::ZERO))),
        }
    }

    /// When the next segment may leave, as seen `now`.
    fn next(&self, now: Instant) -> Instant {
        match self {
            Self::Segments(pacer) => pacer.due(),
            Self::Bursts(pacer) => pacer.next(now),
        }
    }

    /// When what does not belong to what has just left may.
    fn due(&self) -> Instant {
        match self {
            Self::Segments(pacer) => pacer.due(),
            Self::Bursts(pacer) => pacer.due(),
        }
    }
}

/// The state before a reduction that may have to be taken back.
#[derive(Clone, Debug)]
pub(crate) struct Saved {
    pub(crate) cwnd: u64,
    pub(crate) ssthresh: u64,
    algorithm: Algorithm,
}

impl Control {
    pub(crate) fn new(config: &Config) -> Self {
        let needs = Algorithm::needs(config);
        let tools = Tools {
            sampler: needs.path_samples.then(RateSampler::default),
            losses: needs.losses,
            pacer: Pacers::new(needs.pacing),
            queue: None,
        };
        Self {
            algorithm: Algorithm::new(config),
            hystart: (config.hystart && needs.hystart).then(Box::default),
            tools: (tools.sampler.is_some() || tools.pacer.is_some()).then(|| Box::new(tools)),
        }
    }

    /// Another algorithm takes over a connection that has sent all before `una`. `rtt`: the shortest round trip, where one is known.
    pub(crate) fn replace(&mut self, now: Instant, config: &Config, una: u64, rtt: Option<Duration>) {
        let queue = self.tools.take().and_then(|tools| tools.queue);
        *self = Self::new(config);
        self.set_queue_pace(queue);
        if let Some(sampler) = self.sampler() {
            *sampler = RateSampler::begin(now, una);
        }
        if let Some(rtt) = rtt {
            self.algorithm.on_handshake(rtt);
        }
    }

    /// See [`crate::Endpoint::bbr`].
    pub(crate) fn bbr_report(&self, window: &Window) -> Option<BbrReport> {
        let Algorithm::LinuxBbr(bbr) = &self.algorithm else { return None };
        Some(bbr.report(window))
    }

    /// See [`crate::Endpoint::prague`].
    pub(crate) fn prague_report(&self) -> Option<PragueReport> {
        let Algorithm::Prague(prague) = &self.algorithm else { return None };
        Some(prague.report())
    }

    /// Random bits for the algorithms that draw numbers.
    pub(crate) fn seed(&mut self, bits: u64) {
        self.algorithm.seed(bits);
    }

    /// A round-trip time was measured; the acknowledgement that brought it has not been judged yet.
    #[inline]
    pub(crate) fn on_rtt(&mut self, window: &mut Window, rtt: &RttSample) {
        // The estimate of the path may begin with the handshake; what judges congestion begins afterwards.
        if rtt.is_of_handshake() {
            self.sampler().into_iter().for_each(|sampler| sampler.on_rtt(rtt.delay));
            self.algorithm.on_handshake(rtt.delay);
            return;
        }
        self.algorithm.on_rtt(window, rtt);
        if let Some(hystart) = &mut self.hystart {
            let sample = hystart::Sample {
                now: rtt.now,
                delay: rtt.delay,
                una: rtt.una,
                nxt: rtt.nxt,
                cwnd: window.cwnd() / window.smss,
                in_slow_start: window.in_slow_start(),
            };
            if hystart.on_sample(&sample) {
                window.ssthresh = window.cwnd;
            }
        }
        if let Some(sampler) = self.sampler() {
            sampler.on_rtt(rtt.delay);
        }
    }

    /// Something was delivered.
    #[inline]
    pub(crate) fn on_ack(&mut self, window: &mut Window, ack: &AckSample) {
        self.algorithm.on_ack(window, ack);
    }

    /// Fast recovery begins, or a probe has repaired a loss. `flight`: the octets outstanding that ssthresh follows from.
    pub(crate) fn on_loss(&mut self, window: &mut Window, flight: u64) {
        self.tell_total();
        self.algorithm.on_loss(window, flight);
    }

    fn tell_total(&mut self) {
        if let Some(total) = self.sampler().map(|sampler| sampler.total()) {
            self.algorithm.on_total(total);
        }
    }

    /// Whether [`Control::on_losses`] must be told, and [`Departure::in_flight`].
    #[inline]
    pub(crate) fn watches_losses(&self) -> bool {
        self.tools.as_ref().is_some_and(|tools| tools.losses)
    }

    /// Something above `una` is newly lost, within `changed`: `is_lost` says whether an octet is.
    #[cold]
    pub(crate) fn on_losses(
        &mut self,
        now: Instant,
        window: &mut Window,
        una: u64,
        changed: Range<u64>,
        is_lost: impl Fn(u64) -> bool,
    ) {
        self.tell_total();
        let Self { algorithm, tools, .. } = self;
        if let Some(sampler) = tools.as_mut().and_then(|tools| tools.sampler.as_mut()) {
            sampler.take_lost(una, changed, is_lost, |lost| algorithm.on_lost(window, now, lost));
        }
    }

    /// The retransmission timer expired.
    pub(crate) fn on_timeout(&mut self, window: &mut Window, timeout: &Timeout) {
        self.tell_total();
        self.algorithm.on_timeout(window, timeout);
        if let Some(hystart) = &mut self.hystart
            && self.algorithm.forgets(timeout)
        {
            **hystart = HyStart::default();
        }
    }

    /// A timer has shown so many octets to be lost.
    pub(crate) fn on_overdue(&mut self, octets: u64) {
        self.algorithm.on_overdue(octets);
    }

    /// The state now, from before a reduction.
    pub(crate) fn save(&self, window: &Window) -> Saved {
        Saved { cwnd: window.cwnd, ssthresh: window.ssthresh, algorithm: self.algorithm.clone() }
    }

    /// A reduction was not needed.
    pub(crate) fn on_spurious(&mut self, window: &mut Window, before: &Saved, undo: &Undo) {
        self.tell_total();
        self.algorithm.on_spurious(window, &before.algorithm, undo);
    }

    /// The connection begins to send again after a pause.
    pub(crate) fn on_idle(&mut self, now: Instant, idle: Duration) {
        self.algorithm.on_idle(now, idle);
    }

    /// Somebody asks for another window.
    #[inline]
    pub(crate) fn request(&mut self, window: &mut Window, request: Request) {
        self.algorithm.on_request(window, request);
    }

    /// cwnd counts whole segments, and a fraction of one would be dropped.
    pub(crate) fn counts_segments(&self) -> bool {
        self.algorithm.counts_segments()
    }

    #[inline]
    fn sampler(&mut self) -> Option<&mut RateSampler> {
        self.tools.as_mut()?.sampler.as_mut()
    }

    /// Whether deliveries must be told to [`Control::on_delivered`], and acknowledgements carry [`AckSample::path`].
    #[inline]
    pub(crate) fn samples_path(&self) -> bool {
        self.tools.as_ref().is_some_and(|tools| tools.sampler.is_some())
    }

    /// The octets `start .. end` have arrived, and had not before.
    pub(crate) fn on_delivered(&mut self, now: Instant, start: u64, end: u64) {
        if let Some(sampler) = self.sampler() {
            sampler.on_delivered(now, start, end);
        }
    }

    /// What an acknowledgement has delivered, once that is told.
    pub(crate) fn take_delivery(&mut self, una: u64) -> Delivery {
        self.sampler().map_or_else(Delivery::default, |sampler| sampler.take_delivery(una))
    }

    /// As [`Control::on_ack`], where it has a path.
    pub(crate) fn on_path(&mut self, window: &mut Window, ack: &AckSample, in_flight: u64) {
        self.algorithm.on_ack(window, ack);
        if self.algorithm.is_limiting() {
            // `bbr_update_min_rtt`: "Ignore low rate samples during this mode."
            self.on_app_limited(in_flight);
        }
    }

    /// Nothing waits to be sent, though the window has room.
    #[inline]
    pub(crate) fn on_app_limited(&mut self, in_flight: u64) {
        if let Some(sampler) = self.sampler() {
            sampler.on_app_limited(in_flight);
        }
    }

    /// Whether departures must be told to [`Control::on_sent`].
    #[inline]
    pub(crate) fn watches_departures(&self) -> bool {
        self.tools.is_some()
    }

    /// A segment of data leaves.
    pub(crate) fn on_sent(&mut self, now: Instant, window: &mut Window, departure: &Departure) {
        let Some(tools) = &mut self.tools else { return };
        if let Some(sampler) = &mut tools.sampler {
            if departure.idle {
                self.algorithm.on_restart(window, now, sampler.is_app_limited());
            }
            let start = departure.end - departure.size.0;
            sampler.on_sent(now, start..departure.end, departure.idle);
            if tools.losses {
                let fills = departure.in_flight + window.smss > window.cwnd;
                sampler.note_flight(departure.end, departure.in_flight, fills);
            }
        }
        let own = self.algorithm.pacing_rate(window, departure.srtt);
        let Some(rate) = own.or(tools.queue.map(|(rate, _)| rate)) else { return };
        match &mut tools.pacer {
            Some(Pacers::Segments(pacer)) => {
                pacer.sent(now, rate, departure.size);
                pacer.bound(now + LONGEST_WAIT);
            }
            Some(Pacers::Bursts(pacer)) => {
                // `tcp_xmit_retransmit_queue`: what is lost one by one are buffers of one segment.
                let most = match tools.queue {
                    _ if departure.again => 1,
                    Some((_, most)) if own.is_none() => most,
                    _ => self.algorithm.burst(window),
                };
                pacer.sent(now, rate, departure.size, most);
                pacer.bound(now + LONGEST_WAIT);
            }
            None => {}
        }
    }

    /// Whether segments of data wait for their turn.
    #[inline]
    pub(crate) fn paces(&self) -> bool {
        self.tools.as_ref().is_some_and(|tools| tools.pacer.is_some())
    }

    /// From now on the driver's queue paces, unless the algorithm does: at this rate, so many segments together.
    pub(crate) fn set_queue_pace(&mut self, pace: Option<(BitRate, u32)>) {
        let paced = self.tools.as_ref().is_some_and(|tools| tools.queue.is_some());
        if pace.is_none() && !paced {
            return;
        }
        let tools = self.tools.get_or_insert_default();
        match (&tools.pacer, pace) {
            (None, Some(_)) => tools.pacer = Pacers::new(Pacing::Bursts),
            (Some(_), None) => tools.pacer = None,
            // Its own pacer.
            (Some(_), Some(_)) if !paced => return,
            _ => {}
        }
        tools.queue = pace;
    }

    /// When the next segment of data may leave, as seen `now`; [`None`]: nothing is paced.
    #[inline]
    pub(crate) fn pacing_due(&self, now: Instant) -> Option<Instant> {
        Some(self.tools.as_ref()?.pacer.as_ref()?.next(now))
    }

    /// How long what does not belong to what has just left has to wait.
    pub(crate) fn pacing_wait(&self, now: Instant) -> Duration {
        let due = self.tools.as_ref().and_then(|tools| Some(tools.pacer.as_ref()?.due()));
        due.map_or(Duration::ZERO, |due| due.since(now))
    }
}

#[cfg(test)]
impl Control {
    /// All octets that it was told are lost.
    pub(crate) fn lost(&self) -> u64 {
        self.tools.as_ref().and_then(|tools| tools.sampler.as_ref()).map_or(0, RateSampler::lost)
    }

    /// The algorithm as it stands, where it is that.
    pub(super) fn bbr(&self) -> super::linux_bbr::LinuxBbr {
        let Algorithm::LinuxBbr(bbr) = &self.algorithm else { panic!("{:?}", self.algorithm) };
        bbr.clone()
    }

    /// The same.
    pub(super) fn bbr3(&self) -> super::bbr3::Bbr3 {
        let Algorithm::Bbr3(bbr) = &self.algorithm else { panic!("{:?}", self.algorithm) };
        bbr.clone()
    }
}

/// A segment of data leaves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Departure {
    pub(crate) srtt: Duration,
    /// One past its last octet.
    pub(crate) end: u64,
    /// Its octets, as cwnd counts them.
    pub(crate) size: Bytes,
    /// Nothing is in flight.
    pub(crate) idle: bool,
    /// It has left before.
    pub(crate) again: bool,
    /// Octets in the network with it; zero where nobody [watches losses](Control::watches_losses).
    pub(crate) in_flight: u64,
}

/// A connection's window together with the congestion control that owns it: for those who ask for another window.
pub(crate) struct Controlled<'a> {
    pub(crate) window: &'a mut Window,
    pub(crate) control: &'a mut Control,
}

impl Controlled<'_> {
    /// Asks for another window.
    #[inline]
    pub(crate) fn request(&mut self, request: Request) {
        self.control.request(self.window, request);
    }
}

impl std::ops::Deref for Controlled<'_> {
    type Target = Window;

    fn deref(&self) -> &Window {
        self.window
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CongestionControl;

    const MS: fn(u64) -> Instant = Instant::from_millis;

    fn with(congestion_control: CongestionControl) -> Control {
        Control::new(&Config { congestion_control, ..Config::default() })
    }

    #[test]
    fn hystart_counts_the_window_in_segments() {
        // It leaves a window below 16 segments alone, and a train of acknowledgements ends slow start.
        for (segments, ends) in [(15, false), (16, true)] {
            let mut control = Control::new(&Config { hystart: true, ..Config::default() });
            let mut window = Window::of(1460, segments, 1000);
            for ms in 0..50 {
                let delay = Duration::from_millis(40);
                control.on_rtt(&mut window, &RttSample { now: MS(ms), delay, una: 1, nxt: 1000 });
            }
            assert_eq!(!window.in_slow_start(), ends, "{segments} segments");
        }
    }

    /// A handshake that goes another way, as by a controller, may be shorter than the way of data.
    #[test]
    fn hystart_knows_nothing_of_the_handshake() {
        for (nxt, ends) in [(1, false), (2, true)] {
            let mut control = Control::new(&Config { hystart: true, ..Config::default() });
            let mut window = Window::of(1460, 16, 1000);
            let sample = |ms, delay, nxt| {
                let delay = Duration::from_millis(delay);
                RttSample { now: MS(ms), delay, una: nxt, nxt }
            };
            control.on_rtt(&mut window, &sample(0, 100, nxt));
            for round in 1..20 {
                control.on_rtt(&mut window, &RttSample { una: 1000, ..sample(120 * round, 120, 2000) });
            }
            assert_eq!(!window.in_slow_start(), ends, "SND.NXT {nxt}");
        }
    }

    #[test]
    fn an_algorithm_that_asks_for_no_tool_has_none() {
        let tools = |control: &Control| {
            (
                control.samples_path(),
                control.watches_departures(),
                control.pacing_due(Instant::ZERO).is_some(),
            )
        };
        assert_eq!(tools(&with(CongestionControl::Reno)), (false, false, false));
        assert_eq!(tools(&with(CongestionControl::Vegas)), (true, true, true));
    }

    #[test]
    fn only_who_asks_hears_of_losses() {
        for (name, hears) in [(CongestionControl::LinuxBbr, false), (CongestionControl::Bbr3, true)] {
            let (mut control, mut window) = (with(name), Window::of(1000, 10, 1000));
            let departure = Departure {
                srtt: Duration::ZERO,
                end: 1000,
                size: Bytes(1000),
                idle: true,
                again: false,
                in_flight: 1000,
            };
            control.on_sent(MS(10), &mut window, &departure);
            assert_eq!(control.watches_losses(), hears);
            let before = format!("{:?}", control.algorithm);
            control.on_losses(MS(110), &mut window, 0, 0..u64::MAX, |_| true);
            assert_eq!(format!("{:?}", control.algorithm) != before, hears, "{name:?}");
        }
    }

    #[test]
    fn the_kernels_algorithms_count_segments() {
        let counts = |algorithm| with(algorithm).counts_segments();
        assert!(!counts(CongestionControl::Reno) && !counts(CongestionControl::Cubic));
        assert!(counts(CongestionControl::LinuxReno) && counts(CongestionControl::LinuxCubic));
    }

    #[test]
    fn samples_tell_when_the_application_was_the_limit() {
        let mut window = Window::of(1000, 10, 1000);
        let mut limited = |app_limited: bool| {
            let mut control = with(CongestionControl::Vegas);
            let mut leave = |ms, end, idle| {
                let departure = Departure {
                    srtt: Duration::ZERO,
                    end,
                    size: Bytes(1000),
                    idle,
                    again: false,
                    in_flight: 0,
                };
                control.on_sent(MS(ms), &mut window, &departure);
                if app_limited {
                    control.on_app_limited(1000);
                }
            };
            leave(10, 1000, true);
            leave(20, 2000, false);
            control.on_delivered(MS(110), 0, 2000);
            let delivery = control.take_delivery(2000);
            assert_eq!(delivery.octets, 2000);
            delivery.rate.unwrap().app_limited
        };
        assert_eq!([limited(false), limited(true)], [false, true]);
    }
}
