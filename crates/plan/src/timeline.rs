//! What happens to the network, and when: the scenario's events with their phases drawn.

use handfast_core::{Duration, Instant, Stream};
use handfast_radio::association::{Roam, Schedule};
use handfast_radio::mobility::Motion;
use handfast_scenario::{Action, Directions, DownMode, Event, LinkId, Mobile, Radio, Scenario};

use crate::change::{Change, Outage};
use crate::fades::Fades;
use crate::radios::Radios;
use crate::signals::{Signal, signals};
use crate::topology::{ChannelId, channel};

/// "The rate before" is the mean rate of delivery over this long before the link went down, or since the flow's first
/// byte if that came later.
pub const RATE_BEFORE: Duration = Duration::from_secs(5);

/// All changes in order of time, file order where equal.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    /// All outages, in file order.
    pub outages: Vec<Outage>,
    /// What signals do about events.
    pub fades: Fades,
    changes: Vec<(Instant, Change)>,
}

impl Timeline {
    /// The events of a scenario, their phases drawn by the seed.
    pub fn new(scenario: &Scenario, seed: u64) -> Self {
        let mut this = Self::default();
        let mut radios = Radios::new(scenario);
        for (index, event) in scenario.events.iter().enumerate() {
            let drawn = |what: &str, span: Duration| {
                Duration::from_nanos(
                    Stream::new(seed, &format!("event {index} {what}")).below(span.as_nanos()),
                )
            };
            let longer = drawn("gap", event.longer);
            this.add(scenario, event.at + drawn("phase", event.phase), event, longer, &mut radios);
        }
        this.fades.sort();
        this.changes.extend(this.fades.rates(scenario));
        if let Some(radio) = &scenario.radio {
            this.roam(scenario, radio, seed, &radios);
        }
        this.changes.sort_by_key(|&(at, _)| at);
        this
    }

    /// The handovers of stations that move.
    fn roam(&mut self, scenario: &Scenario, radio: &Radio, seed: u64, radios: &Radios) {
        let aps: Vec<_> = radio.access_points.iter().map(|&(_, at)| at).collect();
        let end = Instant::ZERO + scenario.duration;
        for Mobile { node, at, mobility } in &radio.stations {
            let stream = Stream::new(seed, &format!("mobility {}", scenario.nodes[*node].name));
            let motion = Motion::new(mobility, *at, stream);
            let schedule = Schedule::new(&radio.association, &aps, &radio.propagation, motion.clone(), end);
            let link = |ap: usize| radios.link(*node, radio.access_points[ap].0);
            if !scenario.on_air.is_empty() {
                for Signal { at, ap, level } in signals(&schedule, &aps, &radio.propagation, motion, end) {
                    let link = link(ap).filter(|link| scenario.on_air.contains_key(link));
                    self.changes.extend(link.map(|link| (at, Change::Signal(link, level))));
                }
            }
            for Roam { from, to, down, up, .. } in schedule.roams {
                // A station that finds no access point within the run keeps its old link as the new one.
                let (Some(old_link), Some(new_link)) = (link(from), link(to.unwrap_or(from))) else {
                    continue;
                };
                let mode = DownMode::Drop;
                self.add_outage(Outage {
                    station: Some(*node),
                    old_link,
                    new_link,
                    mode,
                    drain: false,
                    vertical: scenario.is_vertical(old_link, new_link),
                    down,
                    up,
                });
            }
        }
    }

    /// `longer`: what the seed adds to a gap.
    fn add(
        &mut self,
        scenario: &Scenario,
        at: Instant,
        event: &Event,
        longer: Duration,
        radios: &mut Radios,
    ) {
        let mut fade = |link, gap: Duration, slowly| {
            let fade = event.fade.into_iter();
            fade.for_each(|fade| self.fades.add(link, at, at + gap + longer, fade, slowly));
        };
        match event.action {
            Action::Fade { link, gap } => fade(link, gap, true),
            Action::Outage { link, gap, mode } => {
                fade(link, gap, true);
                let up = at + gap + longer;
                let (old_link, new_link, drain, vertical) = (link, link, false, false);
                let (station, down) = (None, at);
                self.add_outage(Outage { station, old_link, new_link, mode, drain, vertical, down, up });
            }
            Action::Handover { station, to, gap, drain } => {
                let Some((old_link, new_link)) = radios.move_to(station, to) else { return };
                fade(old_link, gap, false);
                // Out of range, and not heard by the new access point before it is associated.
                let mode = DownMode::Drop;
                let (station, up) = (Some(station), at + gap + longer);
                let (vertical, down) = (scenario.is_vertical(old_link, new_link), at);
                self.add_outage(Outage { station, old_link, new_link, mode, drain, vertical, down, up });
            }
            Action::Restart { node } => self.changes.push((at, Change::Restart(node))),
            Action::SetRate { link, directions, rate } => {
                self.changes.extend(channels(link, directions).map(|id| (at, Change::Rate(id, rate))));
            }
            Action::SetDelay { link, directions, delay } => {
                self.changes.extend(channels(link, directions).map(|id| (at, Change::Delay(id, delay))));
            }
        }
    }

    fn add_outage(&mut self, outage: Outage) {
        let id = self.outages.len();
        self.changes.push((outage.down - RATE_BEFORE, Change::RateWindowBegins(id)));
        self.changes.extend(outage.begins(id).map(|change| (outage.down, change)));
        self.changes.extend(outage.ends(id).map(|change| (outage.up, change)));
        self.outages.push(outage);
    }

    /// Each change and when it is due, in order.
    pub fn changes(&self) -> impl Iterator<Item = (Instant, Change)> {
        self.changes.iter().copied()
    }

    /// For each of so many channels whether something is done to its link within the run.
    pub fn changing(&self, channels: usize) -> Vec<bool> {
        let mut changing = vec![false; channels];
        for channel in self.changes.iter().flat_map(|(_, change)| change.channels()) {
            changing[channel] = true;
        }
        changing
    }

    /// Change number `index`.
    pub fn change(&self, index: usize) -> Change {
        self.changes[index].1
    }

    /// When change number `index` is due.
    pub fn due(&self, index: usize) -> Option<Instant> {
        self.changes.get(index).map(|&(at, _)| at)
    }
}

fn channels(link: LinkId, directions: Directions) -> impl Iterator<Item = ChannelId> {
    let ends: &[usize] = match directions {
        Directions::Both => &[0, 1],
        Directions::Forward => &[0],
        Directions::Backward => &[1],
    };
    ends.iter().map(move |&end| channel(link, end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Net;
    use handfast_core::{BitRate, Db};
    use handfast_scenario::{Event, Fade};

    fn scenario(phase: Duration) -> Scenario {
        let mut scenario = Net::new("hh").link(0, 1).build();
        let outage = Action::Outage { link: 0, gap: Duration::from_secs(3), mode: DownMode::Drop };
        let rate = Action::SetRate { link: 0, directions: Directions::Both, rate: BitRate::from_bps(1) };
        scenario.events = [(10, outage), (11, rate)]
            .map(|(s, action)| Event { phase, ..Event::new(Instant::from_millis(s * 1000), action) })
            .into();
        scenario
    }

    #[test]
    fn changes_are_in_order_of_time() {
        let timeline = Timeline::new(&scenario(Duration::ZERO), 1);
        let seconds: Vec<u64> = timeline.changes().map(|(at, _)| at.as_nanos() / 1_000_000_000).collect();
        assert_eq!(seconds, [5, 10, 10, 11, 11, 13, 13]);
        assert_eq!(timeline.change(4), Change::Rate(1, BitRate::from_bps(1)));
        assert_eq!(timeline.changing(4), [true, true, false, false]);
    }

    #[test]
    fn a_signal_falls_before_its_link_goes_and_takes_the_rate_with_it() {
        let mut scenario = scenario(Duration::from_secs(1));
        let fade = Fade { ramp: Duration::from_millis(200), sinr: Db(0) };
        scenario.events.truncate(1);
        scenario.events[0].fade = Some(fade);
        let timeline = Timeline::new(&scenario, 1);
        let Outage { down, up, .. } = timeline.outages[0];
        assert_eq!((timeline.fades.sinr(0, down), timeline.fades.sinr(0, up)), (Db(0), Db(0)));
        let rates: Vec<_> =
            timeline.changes().filter(|(_, change)| matches!(change, Change::Rate(..))).collect();
        // 20 decibels down and up, both directions.
        assert_eq!(rates.len(), 80);
        assert_eq!(rates[39].0, down);
        assert_eq!(rates[79], (up + fade.ramp, Change::Rate(1, scenario.links[0].backward.rate)));
        scenario.events[0].fade = None;
        let without = Timeline::new(&scenario, 1);
        assert!(
            without.fades.is_empty() && without.outages[0].down == down,
            "the fade leaves the outage alone"
        );
    }

    #[test]
    fn a_gap_is_drawn_from_its_range() {
        let mut scenario = scenario(Duration::ZERO);
        scenario.events[0].longer = Duration::from_secs(2);
        let gap = |seed| {
            let outage = Timeline::new(&scenario, seed).outages.remove(0);
            assert_eq!(outage.down, Instant::from_millis(10_000), "when it begins does not depend on it");
            outage.up.since(outage.down).as_millis()
        };
        let gaps: Vec<u64> = (0..100).map(gap).collect();
        assert!(gaps.iter().all(|gap| (3000..5000).contains(gap)));
        let in_quarter = |quarter| gaps.iter().filter(|&gap| (gap - 3000) / 500 == quarter).count();
        assert!((0..4).all(|quarter| in_quarter(quarter) > 10), "uniformly: {gaps:?}");
        assert_eq!(gap(7), gap(7));
    }

    #[test]
    fn the_phase_is_drawn_from_the_seed() {
        let scenario = scenario(Duration::from_secs(1));
        let down = |seed| Timeline::new(&scenario, seed).outages[0].down;
        assert_eq!(down(1), down(1));
        assert_ne!(down(1), down(2));
        for seed in 0..20 {
            let after = down(seed).since(Instant::from_millis(10_000));
            assert!(after < Duration::from_secs(1), "{after}");
        }
    }
}
