//! What follows from the radio for the connections over it: Algorithm 1's `σ < κ`, suspensions, resumptions.

use handfast_core::{Db, Duration, Instant};
use handfast_tcp::{Radio, Resumption};

use super::{Measured, Predictor, Thresholds};

/// The parameters. The paper gives `β` alone; the others are our choice (docs/explanation/deviations.md).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// Of equations (2) and (3).
    pub thresholds: Thresholds,
    /// Whether equation (3) is asked. Otherwise connections are suspended when the link has gone.
    pub predict: bool,
    /// `κ`: a SINR below this is weak (Algorithm 1, line 21).
    pub kappa: Db,
    /// `τ` in round-trip times of the connection; "adjusted according to the channel behaviour".
    pub tau_round_trips: u32,
    /// `τ` before a round-trip time is known, and at least.
    pub least_tau: Duration,
    /// A link that is said to go and has not gone by then does not go.
    pub patience: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            thresholds: Thresholds::default(),
            predict: true,
            kappa: Db(5_000),
            tau_round_trips: 1,
            least_tau: Duration::from_millis(20),
            patience: Duration::from_secs(1),
        }
    }
}

/// What connection control is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The radio is another than it was.
    Radio(Radio),
    /// The link is about to go, or has gone.
    Suspend,
    /// The connections go on.
    Resume(Resumption),
}

/// How good the predictions were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Links that were said to go.
    pub predicted: u64,
    /// Those of them that went.
    pub came_true: u64,
    /// Those that did not.
    pub false_alarms: u64,
    /// Links that went without a prediction.
    pub missed: u64,
    /// By how long predictions were ahead of what came true, added up.
    pub ahead: Duration,
}

impl Counters {
    /// Each with its name.
    pub fn totals(self) -> impl Iterator<Item = (&'static str, u64)> {
        let Self { predicted, came_true, false_alarms, missed, ahead } = self;
        [
            ("links_predicted", predicted),
            ("predictions_true", came_true),
            ("false_alarms", false_alarms),
            ("links_missed", missed),
            ("predicted_ahead_us", ahead.as_nanos() / 1000),
        ]
        .into_iter()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Link {
    Up,
    /// Since when it is said to go.
    Going(Instant),
    Gone,
}

/// The monitor of one link.
#[derive(Clone, Debug)]
pub struct Monitor {
    config: Config,
    predictor: Predictor,
    link: Link,
    radio: Option<Radio>,
    tau: Duration,
    counters: Counters,
}

impl Monitor {
    /// A link that is up.
    pub fn new(config: Config) -> Self {
        Self {
            config,
            predictor: Predictor::new(config.thresholds),
            link: Link::Up,
            radio: None,
            tau: config.least_tau,
            counters: Counters::default(),
        }
    }

    /// How good its predictions were.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// The smoothed round-trip time of a connection over it.
    pub fn on_rtt(&mut self, srtt: Duration) {
        let tau = srtt.saturating_mul(u64::from(self.config.tau_round_trips));
        self.tau = tau.max(self.config.least_tau);
    }

    /// The radio reports.
    pub fn on_measured(&mut self, now: Instant, measured: &Measured, notices: &mut Vec<Notice>) {
        if self.link == Link::Gone {
            return;
        }
        let Some(sinr) = measured.sinr() else { return };
        let predicted = self.config.predict && self.predictor.on_sinr(now, sinr, self.tau);
        match self.link {
            Link::Up if predicted => {
                self.counters.predicted += 1;
                self.link = Link::Going(now);
                notices.push(Notice::Suspend);
            }
            Link::Up => self.tell_radio(sinr, measured, notices),
            Link::Going(since) if self.is_false(now, since) => {
                self.tell_radio(sinr, measured, notices);
                self.resume_after_false_alarm(notices);
            }
            Link::Going(_) | Link::Gone => {}
        }
    }

    /// What the connections are told before they go on.
    fn tell_radio(&mut self, sinr: Db, measured: &Measured, notices: &mut Vec<Notice>) {
        let radio = measured.rate.map(|rate| Radio { rate, is_weak: sinr < self.config.kappa });
        if radio != self.radio {
            self.radio = radio;
            notices.extend(radio.map(Notice::Radio));
        }
    }

    /// What a connection has to know that is opened now.
    pub fn now(&self) -> impl Iterator<Item = Notice> {
        let radio = self.radio.map(Notice::Radio);
        radio.into_iter().chain((self.link != Link::Up).then_some(Notice::Suspend))
    }

    /// Whether a link that was said to go does not: the signal is back, or falls no more, or it has taken too long.
    fn is_false(&self, now: Instant, since: Instant) -> bool {
        // Against the fall that it was predicted by it cannot steady within this time.
        let steadied = now >= since + self.tau && self.predictor.has_steadied(now, self.tau);
        !self.predictor.is_low() || steadied || now >= since + self.config.patience
    }

    fn resume_after_false_alarm(&mut self, notices: &mut Vec<Notice>) {
        self.counters.false_alarms += 1;
        self.link = Link::Up;
        notices.push(Notice::Resume(Resumption::FalseAlarm));
    }

    /// The link has gone: a blockage, or the beginning of a handover.
    pub fn on_gone(&mut self, now: Instant, notices: &mut Vec<Notice>) {
        match self.link {
            Link::Gone => return,
            Link::Going(since) => {
                self.counters.came_true += 1;
                self.counters.ahead += now.since(since);
            }
            Link::Up => {
                self.counters.missed += 1;
                notices.push(Notice::Suspend);
            }
        }
        self.link = Link::Gone;
    }

    /// The link is back, or another is there in its place, and its radio reports. `kept`: what was on its way has waited, and arrives.
    pub fn on_back(&mut self, now: Instant, measured: &Measured, kept: bool, notices: &mut Vec<Notice>) {
        if self.link != Link::Gone {
            return;
        }
        self.link = Link::Up;
        self.radio = None;
        self.predictor.restart();
        if let Some(sinr) = measured.sinr() {
            self.predictor.on_sinr(now, sinr, self.tau);
            self.tell_radio(sinr, measured, notices);
        }
        notices.push(Notice::Resume(if kept { Resumption::FalseAlarm } else { Resumption::Back }));
    }

    /// When [`Monitor::on_timer`] is due: reports may have ceased.
    pub fn deadline(&self) -> Option<Instant> {
        match self.link {
            Link::Going(since) => Some(since + self.config.patience),
            Link::Up | Link::Gone => None,
        }
    }

    /// Patience has run out.
    pub fn on_timer(&mut self, now: Instant, notices: &mut Vec<Notice>) {
        if self.deadline().is_some_and(|due| due <= now) {
            self.resume_after_false_alarm(notices);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use handfast_core::BitRate;

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    fn monitor() -> Monitor {
        let mut monitor = Monitor::new(Config::default());
        monitor.on_rtt(Duration::from_millis(50));
        monitor
    }

    fn report(monitor: &mut Monitor, ms: u64, db: i32) -> Vec<Notice> {
        let mut notices = Vec::new();
        let measured = Measured { sinr: Some(Db(db * 1000)), ..Measured::default() };
        monitor.on_measured(at(ms), &measured, &mut notices);
        notices
    }

    /// 20 dB for 100 ms, then a fall of 2 dB every 10 ms until it is predicted; when that is.
    fn fall(monitor: &mut Monitor) -> u64 {
        for n in 0..10 {
            assert_eq!(report(monitor, 10 * n, 20), []);
        }
        let fall = (1..100).find(|&n| report(monitor, 90 + 10 * n, 20 - 2 * n as i32) == [Notice::Suspend]);
        90 + 10 * fall.unwrap()
    }

    #[test]
    fn a_fall_suspends_once_and_the_return_resumes() {
        let mut monitor = monitor();
        assert_eq!(fall(&mut monitor), 180, "the average passes 3 dB");
        assert_eq!(report(&mut monitor, 190, 0), []);
        let mut notices = Vec::new();
        monitor.on_gone(at(200), &mut notices);
        assert_eq!(
            (notices.as_slice(), monitor.deadline()),
            ([].as_slice(), None),
            "it is suspended already"
        );
        monitor.on_gone(at(210), &mut notices);
        assert_eq!(report(&mut monitor, 220, 30), [], "a report from before");
        let measured =
            Measured { sinr: Some(Db(4_000)), rate: Some(BitRate::from_bps(7)), ..Measured::default() };
        monitor.on_back(at(225), &measured, false, &mut notices);
        monitor.on_back(at(226), &measured, false, &mut notices);
        let radio = Radio { rate: BitRate::from_bps(7), is_weak: true };
        assert_eq!(notices, [Notice::Radio(radio), Notice::Resume(Resumption::Back)], "the radio first");
        let counters =
            Counters { predicted: 1, came_true: 1, ahead: Duration::from_millis(20), ..Counters::default() };
        assert_eq!(monitor.counters(), counters);
        assert_eq!(report(&mut monitor, 230, 0), [], "the old link's average is forgotten");
    }

    #[test]
    fn one_that_goes_without_a_word_is_suspended_then() {
        let mut monitor = monitor();
        let mut notices = Vec::new();
        monitor.on_gone(at(0), &mut notices);
        assert_eq!(notices, [Notice::Suspend]);
        assert_eq!(monitor.counters(), Counters { missed: 1, ..Counters::default() });
    }

    #[test]
    fn one_whose_packets_have_waited_resumes_as_if_it_had_not_gone() {
        let mut monitor = monitor();
        let mut notices = Vec::new();
        monitor.on_gone(at(0), &mut notices);
        monitor.on_back(at(10), &Measured::default(), true, &mut notices);
        assert_eq!(notices, [Notice::Suspend, Notice::Resume(Resumption::FalseAlarm)]);
    }

    #[test]
    fn what_is_opened_later_hears_how_things_are() {
        let mut monitor = monitor();
        assert_eq!(monitor.now().count(), 0);
        let measured =
            Measured { sinr: Some(Db(9_000)), rate: Some(BitRate::from_bps(7)), ..Measured::default() };
        let mut notices = Vec::new();
        monitor.on_measured(at(0), &measured, &mut notices);
        let radio = Notice::Radio(Radio { rate: BitRate::from_bps(7), is_weak: false });
        assert_eq!((monitor.now().collect::<Vec<_>>(), notices), (vec![radio], vec![radio]));
        monitor.on_gone(at(1), &mut Vec::new());
        assert_eq!(monitor.now().collect::<Vec<_>>(), [radio, Notice::Suspend]);
    }

    #[test]
    fn one_that_does_not_predict_hears_of_the_radio_alone() {
        let mut monitor = Monitor::new(Config { predict: false, ..Config::default() });
        assert!((0..20).all(|n| report(&mut monitor, 10 * n, 20 - 2 * n as i32).is_empty()));
        assert_eq!(monitor.counters(), Counters::default());
    }

    #[test]
    fn a_signal_that_comes_back_was_a_false_alarm() {
        let mut monitor = monitor();
        let since = fall(&mut monitor);
        assert_eq!(report(&mut monitor, since + 10, 1), []);
        let resumed = [Notice::Resume(Resumption::FalseAlarm)];
        assert_eq!(report(&mut monitor, since + 20, 10), resumed);
        assert_eq!(monitor.counters().false_alarms, 1);
    }

    #[test]
    fn a_signal_that_falls_no_more_was_one_too() {
        let mut monitor = monitor();
        let since = fall(&mut monitor);
        // Low, and steady: it still carries something.
        let resumed = (1..100).find(|&n| !report(&mut monitor, since + 10 * n, 0).is_empty()).unwrap();
        assert!((5..=20).contains(&resumed), "{resumed}");
        assert_eq!(monitor.counters().false_alarms, 1);
        assert_eq!(report(&mut monitor, since + 10 * (resumed + 1), 0), [], "no fall, no alarm");
    }

    #[test]
    fn patience_ends_where_reports_cease() {
        let mut monitor = monitor();
        let since = fall(&mut monitor);
        assert_eq!(monitor.deadline(), Some(at(since + 1000)));
        let mut notices = Vec::new();
        monitor.on_timer(at(since + 999), &mut notices);
        assert_eq!(notices, []);
        monitor.on_timer(at(since + 1000), &mut notices);
        assert_eq!(
            (notices.as_slice(), monitor.deadline()),
            ([Notice::Resume(Resumption::FalseAlarm)].as_slice(), None)
        );
        monitor.on_timer(at(since + 2000), &mut notices);
        assert_eq!(notices.len(), 1);
    }

    #[test]
    fn the_radio_is_told_when_it_is_another() {
        let mut monitor = monitor();
        let mut report = |ms, db: i32, mbps: Option<u64>| {
            let mut notices = Vec::new();
            let rate = mbps.map(|mbps| BitRate::from_bps(mbps * 1_000_000));
            monitor.on_measured(
                at(ms),
                &Measured { sinr: Some(Db(db)), rate, ..Measured::default() },
                &mut notices,
            );
            notices
        };
        let radio = |mbps: u64, is_weak| {
            [Notice::Radio(Radio { rate: BitRate::from_bps(mbps * 1_000_000), is_weak })]
        };
        assert_eq!(report(0, 5_000, None), []);
        assert_eq!(report(10, 5_000, Some(20)), radio(20, false), "kappa itself is not weak");
        assert_eq!(report(20, 5_000, Some(20)), []);
        assert_eq!(report(30, 4_999, Some(20)), radio(20, true));
        assert_eq!(report(40, 4_999, Some(10)), radio(10, true));
    }

    #[test]
    fn tau_follows_the_round_trip_and_has_a_least_value() {
        let mut monitor = Monitor::new(Config { tau_round_trips: 2, ..Config::default() });
        assert_eq!(monitor.tau, Duration::from_millis(20));
        monitor.on_rtt(Duration::from_millis(50));
        assert_eq!(monitor.tau, Duration::from_millis(100));
        monitor.on_rtt(Duration::from_millis(1));
        assert_eq!(monitor.tau, Duration::from_millis(20));
    }

    #[test]
    fn without_a_sinr_there_is_no_judgement() {
        let mut monitor = monitor();
        let mut notices = Vec::new();
        monitor.on_measured(at(0), &Measured::default(), &mut notices);
        assert_eq!(notices, []);
    }
}
