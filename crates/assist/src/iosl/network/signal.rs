//! A radio of which only the signal's power is known: when its peers are away, for who has no connection of its own to suspend.

use handfast_core::{Db, Dbm, Duration, Instant};

use super::{Config, Counters, Measured, Monitor, Notice};

/// A SINR at which no frame is understood: the link has gone (our choice, docs/explanation/deviations.md).
const GONE: Db = Db(0);

/// Whether the peers behind the radio are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// They are away, or about to go.
    Away,
    /// They are back, or have not gone after all.
    Back,
}

/// The signal of one link.
#[derive(Clone, Debug)]
pub struct Signal {
    monitor: Monitor,
    noise: Dbm,
    /// A link that is back has this SINR at least.
    back: Db,
    is_gone: bool,
}

impl Signal {
    /// A link that is up. `noise`: what the radio hears where nobody sends.
    pub fn new(config: Config, noise: Dbm) -> Self {
        Self { monitor: Monitor::new(config), noise, back: config.thresholds.epsilon, is_gone: false }
    }

    /// How good its predictions were.
    pub fn counters(&self) -> Counters {
        self.monitor.counters()
    }

    /// The smoothed round-trip time of connections over it.
    pub fn on_rtt(&mut self, srtt: Duration) {
        self.monitor.on_rtt(srtt);
    }

    /// A report; [`None`]: there is no signal at all.
    pub fn on_report(&mut self, now: Instant, power: Option<Dbm>) -> Option<Change> {
        let sinr = power.map(|power| Db(power.0.saturating_sub(self.noise.0)));
        let measured = Measured { sinr, ..Measured::default() };
        let mut notices = Vec::new();
        match sinr {
            Some(sinr) if self.is_gone && sinr >= self.back => {
                self.is_gone = false;
                self.monitor.on_back(now, &measured, false, &mut notices);
            }
            Some(_) if self.is_gone => {}
            Some(sinr) if sinr > GONE => self.monitor.on_measured(now, &measured, &mut notices),
            _ => {
                self.is_gone = true;
                self.monitor.on_gone(now, &mut notices);
            }
        }
        change(&notices)
    }

    /// When [`Signal::on_timer`] is due.
    pub fn deadline(&self) -> Option<Instant> {
        self.monitor.deadline()
    }

    /// A link that was to go has not gone.
    pub fn on_timer(&mut self, now: Instant) -> Option<Change> {
        let mut notices = Vec::new();
        self.monitor.on_timer(now, &mut notices);
        change(&notices)
    }
}

fn change(notices: &[Notice]) -> Option<Change> {
    notices.iter().rev().find_map(|notice| match notice {
        Notice::Suspend => Some(Change::Away),
        Notice::Resume(_) => Some(Change::Back),
        Notice::Radio(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What becomes of reports 10 ms apart over a noise of -95 dBm, with the time of each change.
    fn changes(reports: impl IntoIterator<Item = Option<i32>>) -> (Vec<(u64, Change)>, Signal) {
        let mut signal = Signal::new(Config::default(), Dbm(-95_000));
        signal.on_rtt(Duration::from_millis(50));
        let mut found = Vec::new();
        for (ms, report) in (0..).step_by(10).zip(reports) {
            let power = report.map(|dbm| Dbm(dbm * 1000));
            found.extend(signal.on_report(Instant::from_millis(ms), power).map(|change| (ms, change)));
        }
        (found, signal)
    }

    #[test]
    fn a_signal_that_falls_is_predicted_and_one_that_returns_ends_it() {
        let fall = (0..20).map(|n| Some(-60 - 2 * n));
        let away = [None; 5];
        let reports =
            std::iter::repeat_n(Some(-60), 10).chain(fall).chain(away).chain([Some(-94), Some(-70)]);
        let (changes, signal) = changes(reports);
        // -60 - 2 n + 95 < 3 + lag at n = 17, where SINR is 1 dB.
        assert_eq!(changes, [(270, Change::Away), (360, Change::Back)]);
        let counters = signal.counters();
        assert_eq!((counters.predicted, counters.came_true, counters.missed), (1, 1, 0));
    }

    #[test]
    fn a_link_that_goes_at_once_is_noticed_when_it_has_gone() {
        let (changes, signal) = changes([Some(-60), Some(-60), None, None, Some(-60)]);
        assert_eq!(changes, [(20, Change::Away), (40, Change::Back)]);
        assert_eq!(signal.counters().missed, 1);
    }

    #[test]
    fn a_false_alarm_ends_by_the_signal_and_by_time() {
        let fall = || std::iter::repeat_n(Some(-60), 10).chain((0..18).map(|n| Some(-60 - 2 * n)));
        let (found, _) = changes(fall().chain([Some(-60), Some(-60)]));
        assert_eq!(found.iter().map(|(_, change)| *change).collect::<Vec<_>>(), [Change::Away, Change::Back]);
        let (found, mut signal) = changes(fall());
        assert_eq!(found.len(), 1);
        let due = signal.deadline().unwrap();
        assert_eq!(signal.on_timer(due), Some(Change::Back));
        assert_eq!((signal.deadline(), signal.counters().false_alarms), (None, 1));
    }

    #[test]
    fn absurd_reports_do_no_harm() {
        let (found, _) = changes([Some(i32::MAX / 1000), Some(i32::MIN / 1000), Some(0)]);
        assert_eq!(found.len(), 2);
    }
}
