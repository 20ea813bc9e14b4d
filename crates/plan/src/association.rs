//! Which access point each station is associated with, and when.

use std::collections::BTreeMap;

use handfast_core::{Duration, Instant};
use handfast_scenario::{EndNotice, NodeId, Scenario};

use crate::change::Change;
use crate::timeline::Timeline;

/// An association begins or ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Association {
    /// When.
    pub at: Instant,
    /// The station.
    pub station: NodeId,
    /// The access point of the association that begins; [`None`]: the one before has ended.
    pub ap: Option<NodeId>,
    /// Counts the station's associations from 1, that of the start: it rises with each one that begins.
    pub epoch: u64,
}

/// The associations of every station over time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Associations {
    start: Vec<Association>,
    changes: Vec<Association>,
}

impl Associations {
    /// Those of a run.
    pub fn new(scenario: &Scenario, timeline: &Timeline) -> Self {
        let stations = scenario.nodes.iter().enumerate().filter(|(_, node)| node.ap.is_some());
        let first = |(station, node): (NodeId, &handfast_scenario::Node)| Association {
            at: Instant::ZERO,
            station,
            ap: node.ap,
            epoch: 1,
        };
        let mut this = Self { start: stations.map(first).collect(), changes: Vec::new() };
        let mut epochs: BTreeMap<NodeId, u64> = this.start.iter().map(|a| (a.station, a.epoch)).collect();
        for (at, change) in timeline.changes() {
            let (station, new_link) = match change {
                Change::AssociationEnds { station, .. } => (station, None),
                Change::AssociationBegins { station, new_link, .. } => (station, Some(new_link)),
                _ => continue,
            };
            let epoch = epochs.entry(station).or_default();
            *epoch += u64::from(new_link.is_some());
            let ap = new_link.and_then(|link| scenario.radio(link)).map(|(_, ap)| ap);
            this.changes.push(Association { at, station, ap, epoch: *epoch });
        }
        this
    }

    /// Those with which the run begins, by station.
    pub fn at_start(&self) -> &[Association] {
        &self.start
    }

    /// Every beginning and end after that, in order of time: at one moment an end stands before the beginning that follows it.
    pub fn changes(&self) -> &[Association] {
        &self.changes
    }
}

/// What an access point reports of a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StationEvent {
    /// When a controller hears of it.
    pub at: Instant,
    /// The station.
    pub station: NodeId,
    /// The access point of the association that it is about.
    pub ap: NodeId,
    /// The association's number.
    pub epoch: u64,
    /// Whether it began; else it has ended.
    pub began: bool,
}

impl Associations {
    /// All that a controller hears in a run, in order of time: of beginnings `delay` after they happened (T2-T3 of Figure 5 of
    /// the SDN paper), of ends as its access points tell them (T0-T1). Who is there at the start was there before.
    pub fn station_events(&self, delay: Duration, end_notice: EndNotice) -> Vec<StationEvent> {
        let mut at: BTreeMap<NodeId, NodeId> = BTreeMap::new();
        let mut events = Vec::new();
        let starts = self.start.iter().map(|association| (association, Duration::ZERO));
        for (association, delay) in starts.chain(self.changes.iter().map(|change| (change, delay))) {
            let &Association { at: when, station, ap, epoch } = association;
            // An end is about the association that ends.
            let Some(about) = ap.or_else(|| at.get(&station).copied()) else { continue };
            at.insert(station, about);
            let began = ap.is_some();
            let told =
                if began { Some(when + delay) } else { self.told_of_end(station, when, delay, end_notice) };
            events.extend(told.map(|at| StationEvent { at, station, ap: about, epoch, began }));
        }
        // The sort is stable: at one moment, an end that is reported after the next arrival follows that.
        events.sort_by_key(|event| {
            (event.at, matches!(end_notice, EndNotice::AfterArrival(_)) && !event.began)
        });
        events
    }

    /// When a controller hears that a station's association ended at `ended`; [`None`]: never.
    fn told_of_end(
        &self,
        station: NodeId,
        ended: Instant,
        delay: Duration,
        end_notice: EndNotice,
    ) -> Option<Instant> {
        match end_notice {
            EndNotice::Announced => Some(ended + delay),
            EndNotice::Late(by) => Some(ended + delay + by),
            EndNotice::AfterArrival(by) => {
                let from = self.changes.partition_point(|change| change.at < ended);
                let begins = |change: &&Association| change.station == station && change.ap.is_some();
                let next = self.changes[from..].iter().find(begins)?;
                Some(next.at + delay + by)
            }
            EndNotice::Never => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn epochs_rise_with_each_association_and_ends_keep_them() {
        let scenario = testing::roam(&[(10_000, 3, 3000), (20_000, 2, 0)]);
        let all = Associations::new(&scenario, &Timeline::new(&scenario, 1));
        let first = Association { at: Instant::ZERO, station: 4, ap: Some(2), epoch: 1 };
        assert_eq!(all.at_start(), [first]);
        let seen: Vec<_> = all
            .changes()
            .iter()
            .map(|a| (a.at.since(Instant::ZERO).as_millis(), a.station, a.ap, a.epoch))
            .collect();
        let expected =
            [(10_000, 4, None, 1), (13_000, 4, Some(3), 2), (20_000, 4, None, 2), (20_000, 4, Some(2), 3)];
        assert_eq!(seen, expected);
    }

    #[test]
    fn events_are_late_and_name_the_access_point_that_reports_them() {
        let scenario = testing::roam(&[(10_000, 3, 3000)]);
        let all = Associations::new(&scenario, &Timeline::new(&scenario, 1));
        let events = all.station_events(Duration::from_millis(70), EndNotice::Announced);
        let told: Vec<_> =
            events.iter().map(|n| (n.at.as_nanos() / 1_000_000, n.ap, n.epoch, n.began)).collect();
        assert_eq!(told, [(0, 2, 1, true), (10_070, 2, 1, false), (13_070, 3, 2, true)]);
    }

    /// Of two roams in a row: when what is told, in milliseconds.
    fn told(end_notice: EndNotice) -> Vec<(u64, u64, bool)> {
        let scenario = testing::roam(&[(10_000, 3, 3000), (20_000, 2, 50)]);
        let all = Associations::new(&scenario, &Timeline::new(&scenario, 1));
        let events = all.station_events(Duration::from_millis(70), end_notice);
        assert!(events.is_sorted_by_key(|event| event.at));
        events.iter().skip(1).map(|n| (n.at.as_nanos() / 1_000_000, n.epoch, n.began)).collect()
    }

    #[test]
    fn ends_are_told_late_or_after_the_arrival_or_never() {
        let begins = [(13_070, 2, true), (20_120, 3, true)];
        assert_eq!(told(EndNotice::Never), begins);
        let late = told(EndNotice::Late(Duration::from_millis(500)));
        assert_eq!(late, [(10_570, 1, false), begins[0], begins[1], (20_570, 2, false)]);
        let after = told(EndNotice::AfterArrival(Duration::ZERO));
        assert_eq!(after, [begins[0], (13_070, 1, false), begins[1], (20_120, 2, false)]);
    }
}
