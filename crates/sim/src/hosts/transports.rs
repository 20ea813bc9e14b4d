//! The state of flows that do not use TCP: the ends of each, the ways between them, and what they have lost.

use std::collections::BTreeMap;

use handfast_host::ports::Ports;
use handfast_host::transport::Transport;
use handfast_scenario::{FlowId, NodeId};

use crate::engine::entry::{Machine, Rank};
use crate::engine::ids::{ConnectionId, IS_TRANSPORT, TransportId};
use crate::engine::queue::Timer;
use crate::hosts::connection::{Remote, SocketAddress};
use crate::hosts::ids::HostIds;
use crate::hosts::ways::Way;

/// One end: its machine, and where it is.
pub(crate) struct End {
    pub(crate) machine: Box<dyn Transport>,
    /// From each of its addresses to each of the peer's; there is one at least.
    pub(crate) ways: Vec<Way>,
    pub(crate) timer: Timer,
    /// Datagrams that it sent and that never arrived.
    lost: u64,
}

/// All of them.
#[derive(Default)]
pub(crate) struct Transports {
    pub(crate) ends: Vec<End>,
    pub(crate) ports: Ports<SocketAddress, TransportId, ()>,
    /// The IDs that layers have given.
    ids: BTreeMap<NodeId, HostIds>,
    /// The sender and the receiver of each flow that has them.
    of_flow: BTreeMap<FlowId, [TransportId; 2]>,
}

impl Transports {
    /// Adds both ends of a flow, the sender first.
    pub(crate) fn open(
        &mut self,
        flow: FlowId,
        machines: [Box<dyn Transport>; 2],
        ways: [Vec<Way>; 2],
        ranks: &[Rank],
    ) -> [TransportId; 2] {
        let first = self.ends.len() as u32;
        let ids = [TransportId(first), TransportId(first + 1)];
        for ((id, machine), ways) in ids.into_iter().zip(machines).zip(ways) {
            let timer = Timer::new(ranks[id.index()], Machine::Transport(id.0));
            for (local, remote) in &ways {
                self.ports.open((local.socket, remote.socket), id);
            }
            self.ends.push(End { machine, ways, timer, lost: 0 });
        }
        self.of_flow.insert(flow, ids);
        ids
    }

    /// The sender and the receiver of a flow; [`None`]: it uses TCP.
    pub(crate) fn of_flow(&self, flow: FlowId) -> Option<[&dyn Transport; 2]> {
        let ids = self.of_flow.get(&flow)?;
        Some(ids.map(|id| &*self.ends[id.index()].machine))
    }

    /// The receiver of a flow.
    pub(crate) fn receiver_mut(&mut self, flow: FlowId) -> Option<&mut dyn Transport> {
        let [_, receiver] = *self.of_flow.get(&flow)?;
        Some(&mut *self.ends[receiver.index()].machine)
    }

    /// The IDs at a host.
    pub(crate) fn ids(&mut self, node: NodeId, seed: u64) -> &mut HostIds {
        self.ids.entry(node).or_insert_with(|| HostIds::new(seed, node))
    }

    /// The ends at a host that have a layer.
    pub(crate) fn layered_at(&self, node: NodeId) -> Vec<TransportId> {
        let here = |end: &End| end.ways.first().is_some_and(|(local, _)| local.node as NodeId == node);
        let ends = (0..).map(TransportId).zip(&self.ends);
        ends.filter(|(_, end)| end.machine.moves().is_some() && here(end)).map(|(id, _)| id).collect()
    }

    /// How often layers have moved data to another path; [`None`]: no sender has a layer.
    pub(crate) fn moves(&self) -> Option<u64> {
        let senders = self.ends.iter().step_by(2);
        let all: Vec<_> = senders.filter_map(|end| end.machine.moves()).collect();
        (!all.is_empty()).then(|| all.iter().sum())
    }

    /// Datagrams of a flow that never arrived.
    pub(crate) fn lost(&self, flow: FlowId) -> u64 {
        self.of_flow.get(&flow).map_or(0, |ids| self.ends[ids[0].index()].lost)
    }

    /// The origin of what a flow's sender sends, if that is a transport.
    pub(crate) fn sender(&self, flow: FlowId) -> Option<ConnectionId> {
        self.of_flow.get(&flow).map(|ids| ids[0].origin())
    }

    /// A packet is lost; whether a transport had sent it.
    pub(crate) fn count_loss(&mut self, origin: ConnectionId) -> bool {
        let end = self.ends.get_mut((origin.0 ^ IS_TRANSPORT) as usize);
        end.map(|end| end.lost += 1).is_some()
    }

    /// The origin of a datagram between two addresses.
    pub(crate) fn origin(&self, pair: (SocketAddress, SocketAddress)) -> Option<ConnectionId> {
        self.ports.connection(pair).map(TransportId::origin)
    }

    /// A station is elsewhere: its datagrams leave by the channel that `out` says.
    pub(crate) fn roam(&mut self, station: NodeId, out: impl Fn(&Remote) -> Option<u32>) {
        let ways = self.ends.iter_mut().flat_map(|end| &mut end.ways);
        for (local, remote) in ways.filter(|(local, _)| local.node as usize == station) {
            local.out = out(remote).unwrap_or(local.out);
        }
    }
}
