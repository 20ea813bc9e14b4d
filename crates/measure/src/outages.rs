//! What flows make of outages: their trackers, told of what happens to the network and looking at the meters in between.

use handfast_core::Instant;
use handfast_scenario::{FlowId, LinkId};

use crate::handover::{LOOK_EVERY, Tracker};
use crate::meter::DeliveryMeter;
use crate::plan::Paths;
use crate::timeline::{Change, Timeline};

/// The flows of a run, as a backend knows them.
pub trait Flows {
    /// What the flow's receiving application got.
    fn meter(&mut self, flow: FlowId) -> &mut DeliveryMeter;

    /// Whether the sender has opened the connection and still has something to get across.
    fn is_active(&self, flow: FlowId) -> bool;
}

/// For each outage of a run the flows whose path crosses its link.
#[derive(Debug)]
pub struct Outages {
    trackers: Vec<Vec<Tracker>>,
    /// Outages with trackers that want looks, and when the next look is due.
    looks: Vec<(Instant, usize)>,
}

impl Outages {
    /// Nothing has happened yet.
    pub fn new(timeline: &Timeline, paths: &Paths) -> Self {
        let trackers = timeline.outages.iter().map(|outage| trackers_of(outage.link, paths));
        Self { trackers: trackers.collect(), looks: Vec::new() }
    }

    /// When it wants to look at the meters; [`None`]: not before something happens.
    pub fn next_look(&self) -> Option<Instant> {
        self.looks.iter().map(|&(at, _)| at).min()
    }

    /// Something happens to the network.
    pub fn on_change(&mut self, now: Instant, change: Change, flows: &mut impl Flows) {
        match change {
            Change::Probe(outage) => {
                for tracker in &mut self.trackers[outage] {
                    tracker.on_probe(now, flows.meter(tracker.flow));
                }
            }
            Change::Down(outage) => self.down(now, outage, flows),
            Change::Up(outage) => self.up(now, outage, flows),
            Change::Rate(..) | Change::Delay(..) => {}
        }
    }

    fn down(&mut self, now: Instant, outage: usize, flows: &mut impl Flows) {
        self.supersede(outage, flows);
        for tracker in &mut self.trackers[outage] {
            tracker.on_down(now, flows.meter(tracker.flow));
        }
    }

    /// What a flow makes of an earlier outage is no longer to be seen when the next one hits it.
    fn supersede(&mut self, outage: usize, flows: &mut impl Flows) {
        let hit: Vec<_> = self.trackers[outage].iter().map(|tracker| tracker.flow).collect();
        for &(_, earlier) in &self.looks {
            for tracker in self.trackers[earlier].iter_mut().filter(|t| hit.binary_search(&t.flow).is_ok()) {
                tracker.close(flows.meter(tracker.flow));
            }
        }
    }

    fn up(&mut self, now: Instant, outage: usize, flows: &mut impl Flows) {
        for tracker in &mut self.trackers[outage] {
            let active = flows.is_active(tracker.flow);
            tracker.on_up(now, flows.meter(tracker.flow), active);
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

    fn look_at(&mut self, now: Instant, outage: usize, flows: &mut impl Flows) {
        let mut wanted = false;
        for tracker in self.trackers[outage].iter_mut().filter(|t| t.is_watching()) {
            tracker.on_look(now, flows.meter(tracker.flow));
            if !flows.is_active(tracker.flow) {
                tracker.close(flows.meter(tracker.flow));
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
            tracker.close(flows.meter(tracker.flow));
        }
        self.trackers
    }
}

/// A tracker for each flow whose path crosses `link`, in either direction; in order of flow.
fn trackers_of(link: LinkId, paths: &Paths) -> Vec<Tracker> {
    let crosses = |path: &[u32]| path.iter().any(|&id| id as usize / 2 == link);
    let both = paths.forward.iter().zip(&paths.backward).enumerate();
    both.filter(|(_, (there, back))| crosses(there) || crosses(back))
        .map(|(flow, _)| Tracker::new(flow))
        .collect()
}
