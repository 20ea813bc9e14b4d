//! What a run tells its bridges when stations roam: at each re-association where the station is now.
//!
//! An access point announces a station that associates by a frame with the station's source address, from which the
//! bridges behind it learn. Ours learn nothing, so that loops among switches are harmless; they are told instead, all at
//! that moment, as the simulator's switches are.

use std::thread;

use handfast_core::{Duration, Instant};
use handfast_io::index_of;
use handfast_plan::address::Addresses;
use handfast_plan::change::Change;
use handfast_plan::timeline::Timeline;
use handfast_plan::topology::{ChannelId, Topology};
use handfast_scenario::{NodeId, Scenario};

use crate::error::Tried;
use crate::forwarding::ForwardingTables;
use crate::names::interface_of;
use crate::traffic::Board;
use crate::{Clock, Interface, LabError, Netns};

/// How late bridges may be told, as frames may be late.
pub(crate) const BOUND: Duration = crate::lateness::BOUND;
/// How often the thread looks whether the run is over.
const NAP: Duration = Duration::from_millis(20);

/// A station has roamed: the bridges that send its frames by another channel now, and by which.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Turn {
    pub(crate) at: Instant,
    pub(crate) station: NodeId,
    pub(crate) outs: Vec<(NodeId, ChannelId)>,
}

/// What happens to the bridges' tables in the course of a run; `topology` is as at the start.
pub(crate) fn turns(scenario: &Scenario, topology: &Topology, timeline: &Timeline) -> Vec<Turn> {
    let mut topology = topology.clone();
    let bridges: Vec<_> = (0..scenario.nodes.len()).filter(|&n| scenario.nodes[n].kind.forwards()).collect();
    let mut turns = Vec::new();
    for (at, change) in timeline.changes() {
        let Change::AssociationBegins { station, old_link, new_link, .. } = change else { continue };
        let goal = topology.goal(station);
        let before: Vec<_> = bridges.iter().map(|&bridge| topology.towards(bridge, goal)).collect();
        topology.roam(station, old_link, new_link);
        let now = bridges.iter().map(|&bridge| (bridge, topology.towards(bridge, goal)));
        let changed = now.zip(before).filter(|((_, now), before)| now != before);
        let outs = changed.filter_map(|((bridge, now), _)| Some((bridge, now? as ChannelId))).collect();
        turns.push(Turn { at, station, outs });
    }
    turns
}

/// The bridges of a run, ready to be told.
pub(crate) struct Roaming {
    /// When, whose address, in which namespace, which port.
    orders: Vec<(Instant, [u8; 6], usize, Interface)>,
    /// By namespace.
    tables: Vec<ForwardingTables>,
}

impl Roaming {
    /// Opens the tables of all bridges that will be told something.
    ///
    /// # Errors
    /// Where an interface is missing.
    pub(crate) fn open(scenario: &Scenario, nodes: &[Netns], turns: &[Turn]) -> Result<Self, LabError> {
        let mut this = Self { orders: Vec::new(), tables: Vec::new() };
        let addresses = Addresses::of(scenario);
        let mut table_of = vec![None; nodes.len()];
        for Turn { at, station, outs } in turns {
            for &(bridge, out) in outs {
                let what = || format!("the bridge of `{}`", scenario.nodes[bridge].name);
                let _there = nodes[bridge].enter().tried(what)?;
                let table = if let Some(table) = table_of[bridge] {
                    table
                } else {
                    this.tables.push(ForwardingTables::open().tried(what)?);
                    this.tables.len() - 1
                };
                table_of[bridge] = Some(table);
                let port = index_of(&interface_of(scenario, out)).tried(what)?;
                this.orders.push((*at, addresses.mac_of(*station), table, port));
            }
        }
        Ok(this)
    }

    /// Tells each bridge in time, until the last one is told or the run is over; how late the latest was told.
    ///
    /// # Errors
    /// What a bridge says.
    pub(crate) fn run(self, clock: Clock, end: Instant, board: &Board) -> Result<Duration, LabError> {
        let mut latest = Duration::ZERO;
        for (at, mac, table, port) in self.orders {
            while clock.now() < at.min(end) && !board.is_stopped() {
                let left = at.min(end).since(clock.now()).min(NAP);
                thread::sleep(std::time::Duration::from_nanos(left.as_nanos()));
            }
            if at >= end || board.is_stopped() {
                break;
            }
            self.tables[table].point(mac, port).tried(|| "a bridge's table".to_owned())?;
            latest = latest.max(clock.now().since(at));
        }
        Ok(latest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use handfast_plan::testing;

    #[test]
    fn all_bridges_on_the_old_and_the_new_path_turn() {
        let scenario = testing::roam(&[(1000, 3, 500), (4000, 2, 0)]);
        let (topology, timeline) = (Topology::new(&scenario), Timeline::new(&scenario, 1));
        let turn = |ms, outs: &[(NodeId, ChannelId)]| Turn {
            at: Instant::from_millis(ms),
            station: 4,
            outs: outs.to_vec(),
        };
        // The switch to the other access point, the old access point back to the switch, the new one to its radio.
        let there = turn(1500, &[(1, 4), (2, 3), (3, 8)]);
        let back = turn(4000, &[(1, 2), (2, 6), (3, 5)]);
        assert_eq!(turns(&scenario, &topology, &timeline), [there, back]);
    }
}
