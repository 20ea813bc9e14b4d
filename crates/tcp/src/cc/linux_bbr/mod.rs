//! BBR as the kernel has it (Linux 6.18, `net/ipv4/tcp_bbr.c`: version 1; names as there): integer arithmetic, windows in whole
//! segments. It models the path by the highest delivery rate of ten rounds and the shortest round trip of ten seconds, paces at
//! that rate, and neither losses nor delays as such make it slower.
//!
//! `units` are the kernel's, `sample` what an acknowledgement says in them; `model` has what is
//! known of the path, `aggregation` how it bunches acknowledgements, `long_term` whether it polices; `modes` go from start-up to
//! probing, `probe_rtt` looks for the shortest round trip, `target` sets cwnd.

mod aggregation;
mod long_term;
mod model;
mod modes;
mod probe_rtt;
mod sample;
mod state;
mod target;
#[cfg(test)]
mod testing;
mod units;

use handfast_core::{BitRate, Duration, Instant};

use super::{AckSample, Controller, Needs, Pacing, Request, Timeout, Undo, UndoRule, Window};
use crate::Config;
use crate::phase::Phase;
use model::Model;
use sample::Sample;
use units::{HIGH_GAIN, SCALE, UNIT, bytes_per_second, micros};

/// `struct bbr`. In a box, so that other algorithms' connections do not grow by it.
#[derive(Clone, Debug)]
pub(crate) struct LinuxBbr(Box<Model>);

impl Controller for LinuxBbr {
    fn new(_config: &Config) -> Self {
        Self(Box::default())
    }

    fn needs() -> Needs {
        Needs { path_samples: true, pacing: Pacing::Bursts, ..Needs::default() }
    }

    fn seed(&mut self, bits: u64) {
        self.0.random = Model::stream(bits);
    }

    /// `bbr_init`, which comes after the handshake: `tcp_min_rtt` knows its round trip.
    fn on_handshake(&mut self, delay: Duration) {
        let micros = micros(delay);
        self.0.min_rtt = Some(micros);
        self.0.lowest_rtt = Some(micros);
        self.0.first_rtt = Some(micros.max(1));
    }

    /// `bbr_main`.
    fn on_ack(&mut self, window: &mut Window, ack: &AckSample) {
        let Some(sample) = Sample::of(window, ack) else { return };
        let model = &mut *self.0;
        model.begin(window, &sample);
        model.update(window, &sample);
        model.set_pacing_rate(model.pacing_gain, window.smss);
        model.set_cwnd(window, &sample);
    }

    /// `bbr_ssthresh`: "Entering loss recovery, so save cwnd for when we exit or undo recovery."
    fn ssthresh(&mut self, window: &Window, _flight: u64) -> u64 {
        self.0.save_cwnd(window);
        window.ssthresh
    }

    /// `tcp_enter_loss` and `bbr_set_state (TCP_CA_Loss)`.
    fn on_timeout(&mut self, window: &mut Window, timeout: &Timeout) {
        if timeout.is_new {
            self.on_loss(window, timeout.flight);
        }
        window.set_cwnd(timeout.in_flight.next_multiple_of(window.smss) + window.smss);
        let model = &mut *self.0;
        model.previous = Phase::Loss;
        model.full_bw = 0;
        // "treat RTO like end of a round"
        model.round_start = true;
        model.sample_long_term(&Sample::of_timeout(window, model.last));
    }

    fn on_overdue(&mut self, octets: u64) {
        self.0.long_term.lost += octets;
    }

    /// `bbr_undo_cwnd`: "spurious slow-down; reset full pipe detection". The window comes back when recovery ends; by rules that
    /// the kernel does not have, it is what they want.
    fn on_spurious(&mut self, window: &mut Window, _before: &Self, undo: &Undo) {
        let model = &mut *self.0;
        model.full_bw = 0;
        model.full_bw_rounds = 0;
        model.forget_long_term();
        if undo.rule == UndoRule::Linux {
            window.ssthresh = undo.ssthresh;
        } else {
            window.set(undo.cwnd, undo.ssthresh);
        }
    }

    /// `bbr_cwnd_event (CA_EVENT_TX_START)`.
    fn on_restart(&mut self, window: &mut Window, now: Instant, app_limited: bool) {
        if app_limited {
            self.0.restart(window, now);
        }
    }

    /// Within recovery, after a pause and while the application uses little of it, cwnd is BBR's own.
    fn on_request(&mut self, window: &mut Window, request: Request) {
        if !request.presumes_losses_govern() {
            window.apply(request);
        }
    }

    fn pacing_rate(&self, window: &Window, _srtt: Duration) -> Option<BitRate> {
        let bytes = if self.0.has_begun { self.0.pacing_rate } else { self.0.first_rate(window) };
        Some(BitRate::from_bps(bytes.saturating_mul(8)))
    }

    /// `tcp_tso_segs`.
    fn burst(&self, window: &Window) -> u32 {
        self.0.burst(window)
    }

    fn is_limiting(&self) -> bool {
        self.0.mode == state::Mode::ProbeRtt
    }

    fn counts_segments(&self) -> bool {
        true
    }
}

/// `struct tcp_bbr_info`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BbrReport {
    /// `bbr_bw`: what the path is taken to carry.
    pub bandwidth: BitRate,
    /// `bbr_min_rtt`; [`None`] before the first.
    pub min_rtt: Option<Duration>,
    /// `bbr_pacing_gain`, in parts of 256.
    pub pacing_gain: u32,
    /// `bbr_cwnd_gain`, in parts of 256.
    pub cwnd_gain: u32,
}

impl LinuxBbr {
    /// `bbr_get_info`. `bbr_init` leaves the gains to the first acknowledgement.
    pub(super) fn report(&self, window: &Window) -> BbrReport {
        let model = &*self.0;
        let gain = |gain: u64| if model.has_begun { gain as u32 } else { 0 };
        let octets = (u128::from(model.bw()) * u128::from(window.smss) * 1_000_000) >> SCALE;
        BbrReport {
            bandwidth: BitRate::from_bps(u64::try_from(octets).unwrap_or(u64::MAX).saturating_mul(8)),
            min_rtt: model.min_rtt.map(|micros| Duration::from_micros(micros.into())),
            pacing_gain: gain(model.pacing_gain),
            cwnd_gain: gain(model.cwnd_gain),
        }
    }
}

impl Model {
    /// What `bbr_init` has done with the window at hand.
    fn begin(&mut self, window: &Window, sample: &Sample) {
        if !self.has_begun {
            self.has_begun = true;
            self.pacing_rate = self.first_rate(window);
            self.min_rtt_at = sample.now;
            self.aggregation.begin(sample.now);
            self.forget_long_term();
        }
        if self.first_rtt.is_none() && sample.srtt > Duration::ZERO {
            // `bbr_set_pacing_rate`: "has_seen_rtt".
            self.first_rtt = Some(micros(sample.srtt).max(1));
            self.pacing_rate = self.first_rate(window);
        }
    }

    /// `bbr_init_pacing_rate_from_rtt`: "`high_gain` * `init_cwnd` / RTT"; "use nominal default RTT" is a millisecond.
    fn first_rate(&self, window: &Window) -> u64 {
        let rtt = u64::from(self.first_rtt.unwrap_or(1000));
        let bw = window.cwnd / window.smss * UNIT / rtt;
        bytes_per_second(bw, HIGH_GAIN, window.smss)
    }

    /// `bbr_update_model`.
    fn update(&mut self, window: &mut Window, sample: &Sample) {
        self.last = sample.last();
        self.long_term.lost += sample.lost_octets;
        self.update_bw(sample);
        self.update_aggregation(window, sample);
        self.update_cycle(window.smss, sample);
        self.check_full_bw(sample);
        self.check_drain(window, sample);
        self.update_min_rtt(window, sample);
        self.update_gains();
    }

    fn restart(&mut self, window: &mut Window, now: Instant) {
        self.idle_restart = true;
        self.aggregation.begin(now);
        match self.mode {
            // "pace at est. bw if we don't need more speed"
            state::Mode::ProbeBw => self.set_pacing_rate(units::GAIN, window.smss),
            state::Mode::ProbeRtt => self.check_probe_rtt_done(window, now),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::testing::{MS, Path, SMSS, ack, window};
    use super::*;
    use crate::cc::PathSample;

    fn mbps(path: &Path) -> u64 {
        let rate = path.bbr.pacing_rate(&path.window, Duration::ZERO).unwrap();
        rate.as_bps() / 1_000_000
    }

    #[test]
    fn the_first_window_leaves_at_high_gain_times_its_rate() {
        // 10 * 1000 octets in 40 ms are 2 Mbit/s: times 2.885, less a hundredth.
        let (mut bbr, window) = (LinuxBbr(Box::default()), window(10));
        bbr.on_handshake(Duration::from_millis(40));
        let rate = bbr.pacing_rate(&window, Duration::ZERO).unwrap().as_bps();
        assert_eq!(rate / 10_000, 2_000_000 * 2885 / 1000 * 99 / 100 / 10_000);
        // Without a round trip that of a millisecond, until there is one.
        let mut bbr = LinuxBbr(Box::default());
        let nominal = bbr.pacing_rate(&window, Duration::ZERO).unwrap().as_bps();
        assert_eq!(nominal / 10_000_000, 80_000_000 * 2885 / 1000 * 99 / 100 / 10_000_000);
        let mut w = self::window(10);
        let path = Some(PathSample::of(1000));
        let srtt = Duration::from_millis(40);
        bbr.on_ack(&mut w, &AckSample { path, ..AckSample::of(MS(40), 1000, srtt) });
        assert_eq!(bbr.pacing_rate(&w, Duration::ZERO).unwrap().as_bps() / 10_000, rate / 10_000);
    }

    #[test]
    fn it_finds_the_rate_of_a_path_and_keeps_little_in_its_queue() {
        let mut path = Path::new(8_000_000, Duration::from_millis(40));
        path.run(Duration::from_secs(2));
        assert_eq!(path.bbr.0.mode, state::Mode::ProbeBw);
        // A segment of 1000 octets a millisecond: 40 of them in the shortest round trip, 80 with the gain of the window.
        assert!((38..=42).contains(&path.in_pipe()), "{}", path.in_pipe());
        assert!((5..=10).contains(&mbps(&path)), "{}", mbps(&path));
        assert!(path.window.cwnd >= 80 * SMSS && path.window.cwnd <= 96 * SMSS, "{}", path.window.cwnd);
    }

    #[test]
    fn a_timeout_leaves_a_segment_more_than_is_in_flight_and_recovery_s_end_brings_the_window_back() {
        let mut path = Path::new(8_000_000, Duration::from_millis(40));
        path.run(Duration::from_secs(2));
        let before = path.window.cwnd;
        let timeout = Timeout { is_new: true, flight: before, in_recovery: false, in_flight: 2 * SMSS };
        path.bbr.on_timeout(&mut path.window, &timeout);
        assert_eq!(path.window.cwnd, 3 * SMSS);
        assert_eq!((path.bbr.0.full_bw, path.bbr.0.round_start), (0, true));
        // "slow start cwnd toward target cwnd", of four segments at least.
        let lossy = AckSample { phase: Phase::Loss, ..ack(MS(2100), 1000) };
        path.bbr.on_ack(&mut path.window, &lossy);
        assert_eq!(path.window.cwnd, 4 * SMSS);
        path.bbr.on_ack(&mut path.window, &ack(MS(2101), 1000));
        assert!(path.window.cwnd + 16 * SMSS >= before, "{} of {before}", path.window.cwnd);
    }

    #[test]
    fn what_turns_out_spurious_begins_the_search_for_a_full_pipe_anew_and_leaves_cwnd() {
        let (mut bbr, mut w) = (LinuxBbr(Box::default()), window(7));
        let model = &mut *bbr.0;
        (model.full_bw, model.full_bw_rounds, model.long_term.in_use) = (5, 2, true);
        let undo = Undo { rule: UndoRule::Linux, cwnd: 70 * SMSS, ssthresh: 60 * SMSS };
        bbr.on_spurious(&mut w, &LinuxBbr(Box::default()), &undo);
        assert_eq!((w.cwnd, w.ssthresh), (7 * SMSS, 60 * SMSS));
        assert_eq!((bbr.0.full_bw, bbr.0.full_bw_rounds, bbr.0.long_term.in_use), (0, 0, false));
    }

    #[test]
    fn recovery_and_validation_ask_in_vain() {
        let (mut bbr, mut w) = (LinuxBbr(Box::default()), window(20));
        for request in [
            Request::ToSsthresh,
            Request::Proportional { cwnd: 3000 },
            Request::Idle { halvings: 3, restart: 1000 },
            Request::Unused { used: 1000 },
        ] {
            bbr.on_request(&mut w, request);
            assert_eq!(w.cwnd, 20 * SMSS, "{request:?}");
        }
        bbr.on_request(&mut w, Request::OneSegment);
        assert_eq!(w.cwnd, SMSS, "RFC 5681 §3.1 after a lost SYN");
    }

    #[test]
    fn after_a_pause_of_the_application_it_paces_at_the_rate_itself() {
        let mut path = Path::new(8_000_000, Duration::from_millis(40));
        path.run(Duration::from_secs(2));
        path.bbr.0.pacing_rate = 9_999_999;
        path.bbr.on_restart(&mut path.window, MS(3000), false);
        assert!(!path.bbr.0.idle_restart, "the windows were the limit");
        path.bbr.on_restart(&mut path.window, MS(3000), true);
        assert!(path.bbr.0.idle_restart);
        assert_eq!(mbps(&path), 7, "99 % of 8 Mbit/s");
    }
}
