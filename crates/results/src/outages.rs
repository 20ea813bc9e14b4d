//! How flows recover from outages: a tracker for each flow in each outage reads the meters at changes of the network and at
//! intervals after them.

use handfast_core::Instant;
use handfast_scenario::{FlowId, LinkId};

use crate::handover::{LOOK_EVERY, Tracker};
use crate::meter::DeliveryMeter;
use handfast_plan::change::{Change, OutageId};
use handfast_plan::timeline::Timeline;
use handfast_plan::{Paths, Reroute};

/// The flows of a run, as a backend knows them.
pub trait Flows {
    /// What the flow's receiving application got.
    fn meter(&self, flow: FlowId) -> DeliveryMeter;

    /// Notes the next delivery to it ([`DeliveryMeter::watch`]).
    fn watch(&mut self, flow: FlowId);

    /// Whether the sender has opened the connection and still has something to get across; where one end asks, whether it waits.
    fn is_active(&self, flow: FlowId) -> bool;
}

/// For each outage of a run the flows whose path crosses its link as it goes.
#[derive(Debug)]
pub struct Outages {
    trackers: Vec<Vec<Tracker>>,
    /// Outages with trackers that want looks, and when the next look is due.
    looks: Vec<(Instant, usize)>,
}

impl Outages {
    /// Nothing has happened yet.
    pub fn new(timeline: &Timeline, paths: &Paths) -> Self {
        let mut trackers: Vec<_> = timeline.outages.iter().map(|_| Vec::new()).collect();
        let mut current: Vec<[&[u32]; 2]> =
            paths.forward.iter().zip(&paths.backward).map(|(there, back)| [&there[..], &back[..]]).collect();
        for (_, change) in timeline.changes() {
            match change {
                Change::OutageBegins(id) => {
                    trackers[id] = trackers_of(timeline.outages[id].old_link, &current);
                }
                Change::AssociationBegins { handover, .. } => {
                    for Reroute { flow, forward, backward } in &paths.reroutes[handover] {
                        current[*flow] = [forward, backward];
                    }
                }
                _ => {}
            }
        }
        Self { trackers, looks: Vec::new() }
    }

    /// When it wants to look at the meters; [`None`]: not before something happens.
    pub fn next_look(&self) -> Option<Instant> {
        self.looks.iter().map(|&(at, _)| at).min()
    }

    /// Something happens to the network.
    pub fn on_change(&mut self, now: Instant, change: Change, flows: &mut impl Flows) {
        match change {
            Change::RateWindowBegins(outage) => {
                for tracker in &mut self.trackers[outage] {
                    tracker.on_probe(now, &flows.meter(tracker.flow));
                }
            }
            Change::OutageBegins(outage) => self.begin(now, outage, flows),
            Change::OutageEnds(outage) => self.end(now, outage, flows),
            _ => {}
        }
    }

    fn begin(&mut self, now: Instant, outage: OutageId, flows: &mut impl Flows) {
        self.supersede(outage, flows);
        for tracker in &mut self.trackers[outage] {
            tracker.on_down(now, &flows.meter(tracker.flow));
        }
    }

    /// The recovery of a flow from an earlier outage cannot be measured once the next outage hits it.
    fn supersede(&mut self, outage: OutageId, flows: &mut impl Flows) {
        let hit: Vec<_> = self.trackers[outage].iter().map(|tracker| tracker.flow).collect();
        for &(_, earlier) in &self.looks {
            for tracker in self.trackers[earlier].iter_mut().filter(|t| hit.binary_search(&t.flow).is_ok()) {
                tracker.close(&flows.meter(tracker.flow));
            }
        }
    }

    fn end(&mut self, now: Instant, outage: OutageId, flows: &mut impl Flows) {
        for tracker in &mut self.trackers[outage] {
            if flows.is_active(tracker.flow) {
                flows.watch(tracker.flow);
                tracker.on_up(now, &flows.meter(tracker.flow));
            }
        }
        self.looks.push((now + LOOK_EVERY, outage));
    }

    /// Looks, where that is due at `now`.
    pub fn look(&mut self, now: Instant, flows: &mut impl Flows) {
        while let Some(index) = self.looks.iter().position(|&(at, _)| at == now) {
            let (_, outage) = self.looks.swap_remove(index);
            self.look_at(now, outage, flows);
        }
    }

    fn look_at(&mut self, now: Instant, outage: OutageId, flows: &mut impl Flows) {
        let mut wanted = false;
        for tracker in self.trackers[outage].iter_mut().filter(|t| t.is_watching()) {
            tracker.on_look(now, &flows.meter(tracker.flow));
            if !flows.is_active(tracker.flow) {
                tracker.close(&flows.meter(tracker.flow));
            }
            wanted |= tracker.is_watching();
        }
        if wanted {
            self.looks.push((now + LOOK_EVERY, outage));
        }
    }

    /// The run is over: for each outage its trackers, closed.
    pub fn finish(mut self, flows: &mut impl Flows) -> Vec<Vec<Tracker>> {
        for tracker in self.trackers.iter_mut().flatten() {
            tracker.close(&flows.meter(tracker.flow));
        }
        self.trackers
    }
}

/// A tracker for each flow whose path crosses `link`, in either direction; in order of flow.
fn trackers_of(link: LinkId, paths: &[[&[u32]; 2]]) -> Vec<Tracker> {
    let crosses = |path: &[u32]| path.iter().any(|&id| id as usize / 2 == link);
    let both = paths.iter().enumerate();
    both.filter(|(_, both)| both.iter().any(|path| crosses(path)))
        .map(|(flow, _)| Tracker::new(flow))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use handfast_core::Duration;
    use handfast_plan::testing;
    use handfast_plan::topology::Topology;
    use handfast_scenario::{Action, DownMode, Event};

    #[test]
    fn who_is_hit_depends_on_where_the_station_is_then() {
        let mut scenario = testing::roam(&[(4000, 3, 1000)]);
        // The wire of the first access point, before the handover and after it.
        for at in [1000, 6000] {
            let action = Action::Outage { link: 1, gap: Duration::from_millis(500), mode: DownMode::Drop };
            scenario.events.push(Event::new(Instant::from_millis(at), action));
        }
        let (topology, timeline) = (Topology::new(&scenario), Timeline::new(&scenario, 1));
        let paths = handfast_plan::paths(&scenario, &topology, &timeline).unwrap();
        let hit: Vec<_> = Outages::new(&timeline, &paths).trackers.iter().map(Vec::len).collect();
        assert_eq!(hit, [1, 1, 0]);
    }
}
