//! What the network does for agents at nodes: it takes packets through a node's chain, sends what agents emit, wakes agents, and
//! tells them of drops and of links. `agents/chain.rs` holds the chains.

use std::net::IpAddr;

use handfast_assist::{LinkEvent, Verdict, View};
use handfast_core::Instant;
use handfast_net::{Cause, Forward, Outbox, Port};
use handfast_plan::address::Addresses;
use handfast_plan::topology::{ChannelId, Goal, channel};
use handfast_scenario::{LinkId, NodeId};
use handfast_wire::Packet;

use crate::agents::chain::{Course, Leave, Member};
use crate::engine::ids::{ConnectionId, Handle};
use crate::hosts::connections::Connections;
use crate::net::packets::{Packets, Passing};
use crate::run::network::{Network, assert_later};

/// A packet that an agent has taken.
#[derive(Clone, Copy)]
struct Taken {
    dst: IpAddr,
    /// How it was to leave the node.
    leave: Leave,
    origin: ConnectionId,
}

impl Network {
    /// Enters the agents' first deadlines.
    pub(crate) fn arm_agents(&mut self) {
        for member in &mut self.chains.members {
            if let Member::Agent { machine, timer, .. } = member {
                self.queue.arm(timer, machine.deadline());
            }
        }
    }

    /// An agent's time has come.
    #[cold]
    pub(crate) fn wake_agent(&mut self, now: Instant, id: u32) {
        let Some(Member::Agent { machine, node, .. }) = self.chains.members.get_mut(id as usize) else {
            return;
        };
        let (mut out, node) = (std::mem::take(&mut self.outbox), *node);
        if machine.deadline().is_some_and(|due| due <= now) {
            machine.on_timer(now, &mut out);
        }
        self.flush(now, node, id + 1, out, None);
        if let Some(Member::Agent { machine, timer, .. }) = self.chains.members.get_mut(id as usize) {
            let deadline = machine.deadline();
            assert_later(now, deadline.unwrap_or(Instant::MAX), "an agent");
            self.queue.settle(timer, deadline);
        }
    }

    /// Shows a packet to the members of a chain in turn, as far as they let it pass, and sends it on.
    #[inline(never)]
    pub(crate) fn consult(&mut self, now: Instant, mut course: Course, passing: Passing) {
        while let Some(id) = course.rest.next() {
            let Self { chains, packets, hosts, addresses, queue, outbox, .. } = self;
            let (machine, timer) = match &mut chains.members[id as usize] {
                Member::Agent { machine, timer, .. } => (machine, timer),
                // What a node sends itself does not come in by a port of its switch.
                Member::Switch(_) if course.port == Port::LOCAL => continue,
                &mut Member::Switch(switch) => return self.switch(now, switch as usize, course, passing),
            };
            let look = |view: &View<'_>| machine.look(now, course.port, view, outbox);
            let verdict = show(packets, &hosts.connections, addresses, passing.handle, look);
            queue.arm(timer, machine.deadline());
            if !outbox.is_empty() {
                let out = std::mem::take(outbox);
                self.flush(now, course.node, id + 1, out, None);
            }
            match verdict {
                Verdict::Pass => {}
                Verdict::Drop => return self.lose(passing.handle),
                Verdict::Take => return self.hand_over(now, &course, id, passing.handle),
            }
        }
        self.leave_chain(now, &course, passing);
    }

    /// Gives a packet to the agent that has asked for it.
    fn hand_over(&mut self, now: Instant, course: &Course, id: u32, handle: Handle) {
        let packet = self.packet(handle);
        let origin = self.packets.label(handle).origin;
        self.packets.free(handle);
        let taken = Taken { dst: packet.dst, leave: course.leave, origin };
        let mut out = std::mem::take(&mut self.outbox);
        if let Member::Agent { machine, timer, .. } = &mut self.chains.members[id as usize] {
            machine.on_packet(now, course.port, packet, &mut out);
            self.queue.arm(timer, machine.deadline());
        }
        self.flush(now, course.node, id + 1, out, Some(taken));
    }

    /// Sends on what an agent has put into its outbox: `next` is the member that comes after it. `taken`: the packet that it has
    /// taken; what it forwards to the same destination leaves likewise.
    fn flush(&mut self, now: Instant, node: NodeId, next: u32, mut out: Outbox, taken: Option<Taken>) {
        let rest = next..self.chains.at(node).end;
        for forward in out.drain() {
            let (packet, leave) = match forward {
                Forward::Routed(packet) => {
                    let likewise = taken.filter(|taken| taken.dst == packet.dst);
                    (packet, likewise.map_or(Leave::Routed, |taken| taken.leave))
                }
                Forward::To(port, packet) => (packet, Leave::By(port)),
                Forward::Dropped(packet) => {
                    let passing = self.admit(packet);
                    self.lose(passing.handle);
                    continue;
                }
            };
            let Some(packet) = self.take_report(now, packet) else { continue };
            let port = if rest.is_empty() { Port::LOCAL } else { self.port_from(node, &packet) };
            let passing = self.admit_for(packet, taken.map_or(ConnectionId::NONE, |taken| taken.origin));
            self.consult(now, Course { node, rest: rest.clone(), port, leave }, passing);
        }
        self.outbox = out;
    }

    /// The port by which a packet comes that an agent has made or held: that towards its source.
    pub(crate) fn port_from(&self, node: NodeId, packet: &Packet) -> Port {
        let source = self.addresses.node_of(packet.src).filter(|&source| source as usize != node);
        let towards =
            source.and_then(|source| self.topology.towards(node, self.topology.goal(source as usize)));
        towards.map_or(Port::LOCAL, |channel| Port(self.topology.departure(channel as usize).1))
    }

    fn leave_chain(&mut self, now: Instant, course: &Course, passing: Passing) {
        match course.leave {
            Leave::Routed => {
                let passing = self.readdress(passing);
                self.pass(now, course.node, passing);
            }
            Leave::By(port) => self.send_by(now, course.node, port, passing),
            Leave::Normal(from) => self.route(now, course.node, from, passing),
        }
    }

    /// A station may have roamed since the packet was sent: an agent's node sends on to where it is now.
    fn readdress(&mut self, passing: Passing) -> Passing {
        let goal = self.topology.goal(passing.goal.node as usize);
        if goal == passing.goal { passing } else { self.packets.readdress(passing.handle, goal) }
    }

    /// A packet was dropped at the node that it was to leave by channel `id`: its agents may keep account of that.
    pub(crate) fn dropped(&mut self, now: Instant, id: ChannelId, handle: Handle, cause: Cause) {
        let (node, port) = self.topology.departure(id);
        let Self { chains, packets, hosts, addresses, queue, .. } = self;
        for id in chains.at(node) {
            if let Member::Agent { machine, timer, .. } = &mut chains.members[id as usize] {
                show(packets, &hosts.connections, addresses, handle, |view| {
                    machine.on_drop(now, Port(port), view, cause);
                });
                queue.arm(timer, machine.deadline());
            }
        }
    }

    /// Tells the agents at both ends of a link what has happened to it.
    pub(crate) fn tell_agents(&mut self, now: Instant, link: LinkId, event: LinkEvent) {
        if self.chains.is_empty() {
            return;
        }
        for (node, port) in [0, 1].map(|end| self.topology.departure(channel(link, end))) {
            for id in self.chains.at(node) {
                let mut out = std::mem::take(&mut self.outbox);
                if let Member::Agent { machine, timer, .. } = &mut self.chains.members[id as usize] {
                    machine.on_link_event(now, Port(port), event, &mut out);
                    self.queue.arm(timer, machine.deadline());
                }
                self.flush(now, node, id + 1, out, None);
            }
        }
    }

    /// The agents of a node forget all that they know.
    pub(crate) fn restart_agents(&mut self, now: Instant, node: NodeId) {
        for id in self.chains.at(node) {
            let mut out = std::mem::take(&mut self.outbox);
            if let Member::Agent { machine, timer, .. } = &mut self.chains.members[id as usize] {
                machine.restart(now, &mut out);
                self.queue.settle(timer, machine.deadline());
            }
            self.flush(now, node, id + 1, out, None);
        }
    }

    /// Sends a packet by the port that an agent has chosen.
    pub(crate) fn send_by(&mut self, now: Instant, node: NodeId, port: Port, passing: Passing) {
        if port == Port::LOCAL {
            return self.deliver(now, node, passing.handle);
        }
        match self.topology.ports(node).get(port.0 as usize) {
            Some(attachment) => self.transmit(now, attachment.out as usize, passing),
            None => self.lose(passing.handle),
        }
    }

    /// Sends a packet by the port to which its address leads. What a host's own agents let through is the host's own.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "with each packet that passes an agent")]
    pub(crate) fn pass(&mut self, now: Instant, node: NodeId, passing: Passing) {
        if passing.goal.node as usize == node {
            return self.deliver(now, node, passing.handle);
        }
        match self.topology.towards(node, passing.goal) {
            Some(channel) if passing.goal != Goal::nowhere() => self.transmit(now, channel as usize, passing),
            _ => self.end(now, node, passing),
        }
    }
}

/// Makes a view of a packet, and hands it to `look`.
#[inline]
fn show<R>(
    packets: &Packets,
    connections: &Connections,
    addresses: &Addresses,
    handle: Handle,
    look: impl FnOnce(&View<'_>) -> R,
) -> R {
    let label = packets.label(handle);
    if label.whole
        && let Some(packet) = packets.whole(handle)
    {
        return look(&View::of(packet));
    }
    let connection = &connections[label.origin];
    let (local, remote) = (connection.local.socket, connection.remote.socket);
    let segment = packets.segment(handle, (local.port, remote.port));
    let (src, dst) = (addresses.ip(local.address), addresses.ip(remote.address));
    look(&View::of_segment(src, dst, &segment, label.ip_len(), label.corrupted))
}
