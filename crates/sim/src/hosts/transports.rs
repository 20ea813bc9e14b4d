//! The ends of flows that do not use TCP.

use std::collections::BTreeMap;

use bytes::Bytes;
use handfast_core::Instant;
use handfast_host::ports::Ports;
use handfast_host::transport::Transport;
use handfast_scenario::{FlowId, NodeId};
use handfast_wire::tcp::Segment;
use handfast_wire::{Body, Datagram, Packet, Payload};

use crate::engine::entry::{Machine, Rank};
use crate::engine::queue::Timer;
use crate::hosts::connection::{Local, Remote, SocketAddress};
use crate::hosts::connections::ConnectionId;
use crate::net::network::{Network, assert_later};
use crate::net::packets::Handle;

/// One end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TransportId(pub(crate) u32);

/// Set in the origin of packets that a transport has sent.
const IS_TRANSPORT: u32 = 1 << 31;

impl TransportId {
    /// What its packets name as their origin.
    fn origin(self) -> ConnectionId {
        ConnectionId(IS_TRANSPORT | self.0)
    }

    fn index(self) -> usize {
        self.0 as usize
    }
}

/// One end: its machine, and where it is.
struct End {
    machine: Box<dyn Transport>,
    local: Local,
    remote: Remote,
    timer: Timer,
    /// Datagrams that it sent and that never arrived.
    lost: u64,
}

/// All of them.
#[derive(Default)]
pub(crate) struct Transports {
    ends: Vec<End>,
    ports: Ports<SocketAddress, TransportId, ()>,
    /// The sender and the receiver of each flow that has them.
    of_flow: BTreeMap<FlowId, [TransportId; 2]>,
}

impl Transports {
    /// Adds both ends of a flow, the sender first.
    pub(crate) fn open(
        &mut self,
        flow: FlowId,
        machines: [Box<dyn Transport>; 2],
        places: [(Local, Remote); 2],
        ranks: &[Rank],
    ) -> [TransportId; 2] {
        let first = self.ends.len() as u32;
        let ids = [TransportId(first), TransportId(first + 1)];
        for ((id, machine), (local, remote)) in ids.into_iter().zip(machines).zip(places) {
            let timer = Timer::new(ranks[id.index()], Machine::Transport(id.0));
            self.ports.open((local.socket, remote.socket), id);
            self.ends.push(End { machine, local, remote, timer, lost: 0 });
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

    /// Datagrams of a flow that never arrived.
    pub(crate) fn lost(&self, flow: FlowId) -> u64 {
        self.of_flow.get(&flow).map_or(0, |ids| self.ends[ids[0].index()].lost)
    }

    /// The origin of what a flow's sender sends, if that is a transport.
    pub(crate) fn sender(&self, flow: FlowId) -> Option<ConnectionId> {
        self.of_flow.get(&flow).map(|ids| ids[0].origin())
    }

    /// A packet has ended on its way; whether a transport had sent it.
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
        for end in self.ends.iter_mut().filter(|end| end.local.node as usize == station) {
            end.local.out = out(&end.remote).unwrap_or(end.local.out);
        }
    }
}

impl Network {
    /// A transport's time has come.
    #[cold]
    pub(crate) fn wake_transport(&mut self, now: Instant, id: TransportId) {
        let machine = &mut self.hosts.transports.ends[id.index()].machine;
        if machine.deadline().is_some_and(|due| due <= now) {
            machine.on_timer(now);
            self.pump_transport(now, id);
        }
        let end = &mut self.hosts.transports.ends[id.index()];
        let deadline = end.machine.deadline();
        assert_later(now, deadline.unwrap_or(Instant::MAX), "a transport");
        self.queue.settle(&mut end.timer, deadline);
    }

    /// What is no TCP has reached the node it is addressed to; false: it is for no transport there.
    pub(crate) fn deliver_datagram(&mut self, now: Instant, handle: Handle) -> bool {
        let Some(packet) = self.packets.whole(handle) else { return false };
        let Body::Udp(datagram) = &packet.body else { return false };
        let Some((src, dst)) = self.sockets(packet, (datagram.src_port, datagram.dst_port)) else {
            return false;
        };
        let Some(id) = self.hosts.transports.ports.connection((dst, src)) else { return false };
        self.hosts.transports.ends[id.index()].machine.on_datagram(now, &datagram.payload.to_bytes());
        self.books.count_arrival();
        self.packets.free(handle);
        self.pump_transport(now, id);
        self.arm_transport(id);
        true
    }

    /// Enters the deadline of a transport.
    pub(crate) fn arm_transport(&mut self, id: TransportId) {
        let end = &mut self.hosts.transports.ends[id.index()];
        let deadline = end.machine.deadline();
        self.queue.arm(&mut end.timer, deadline);
    }

    /// Sends all that a transport has to send now.
    fn pump_transport(&mut self, now: Instant, id: TransportId) {
        while let Some(data) = self.hosts.transports.ends[id.index()].machine.poll_transmit(now) {
            let &End { local, remote, .. } = &self.hosts.transports.ends[id.index()];
            let packet = self.datagram(local.socket, remote.socket, data);
            let passing = self.packets.insert_whole(packet, id.origin(), remote.goal);
            self.leave_host(now, local, passing);
        }
    }

    fn datagram(&self, local: SocketAddress, remote: SocketAddress, data: Bytes) -> Packet {
        let [src, dst] = [local, remote].map(|socket| self.addresses.ip(socket.address));
        let datagram =
            Datagram { src_port: local.port, dst_port: remote.port, payload: Payload::Bytes(data) };
        Packet { body: Body::Udp(datagram), ..Packet::tcp(src, dst, Segment::EMPTY) }
    }
}
