//! What the network does for flows that do not use TCP: it wakes their ends, sends their datagrams, and delivers them.
//! `hosts/transports.rs` holds the ends.

use bytes::Bytes;
use handfast_core::{BitRate, Instant};
use handfast_host::transport::Way;
use handfast_plan::topology::channel;
use handfast_scenario::LinkId;
use handfast_tcp::Received;
use handfast_wire::tcp::Segment;
use handfast_wire::{Body, Datagram, Packet, Payload};

use crate::engine::ids::Handle;
use crate::engine::ids::TransportId;
use crate::hosts::connection::{Local, Remote, SocketAddress};
use crate::hosts::transports::End;
use crate::run::network::{Network, assert_later};

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
        let End { machine, ways, .. } = &mut self.hosts.transports.ends[id.index()];
        let by = |(local, remote): &(Local, Remote)| (local.socket, remote.socket) == (dst, src);
        let Some(way) = ways.iter().position(by) else { return false };
        machine.on_datagram(now, Way(way), &datagram.payload.to_bytes());
        self.books.count_arrival();
        self.packets.free(handle);
        self.pump_transport(now, id);
        self.arm_transport(id);
        true
    }

    /// A segment has reached the node it is addressed to, and belongs to no connection there; false: to no transport either.
    #[cold]
    pub(crate) fn deliver_segment(&mut self, now: Instant, handle: Handle) -> bool {
        let Some(packet) = self.packets.whole(handle) else { return false };
        let Body::Tcp(segment) = &packet.body else { return false };
        let Some((src, dst)) = self.sockets(packet, (segment.src_port, segment.dst_port)) else {
            return false;
        };
        let Some(id) = self.hosts.transports.ports.connection((dst, src)) else { return false };
        let End { machine, ways, .. } = &mut self.hosts.transports.ends[id.index()];
        let by = |(local, remote): &(Local, Remote)| (local.socket, remote.socket) == (dst, src);
        let Some(way) = ways.iter().position(by) else { return false };
        machine.on_segment(now, Way(way), &Received { segment, ip: packet.ip_facts() });
        self.books.count_arrival();
        self.packets.free(handle);
        self.pump_transport(now, id);
        self.arm_transport(id);
        true
    }

    /// A radio link of a station with a layer is there or has gone: the layer tells the station's transports, each with its share of the
    /// rate in the direction of its data.
    #[cold]
    pub(crate) fn tell_transports(&mut self, now: Instant, link: LinkId, is_there: bool) {
        let Some(all) = &self.layers else { return };
        let Some((node, address)) = all.address_on(link) else { return };
        let end = usize::from(self.topology.departure(channel(link, 0)).0 != node);
        let concerned = self.hosts.transports.layered_at(node);
        for &id in &concerned {
            let end = if id.sends() { end } else { 1 - end };
            let rate = self.reported_rate(node, channel(link, end)).as_bps();
            let rate = BitRate::from_bps((rate / concerned.len() as u64).max(1));
            self.hosts.transports.ends[id.index()].machine.on_radio(now, address, is_there.then_some(rate));
            self.pump_transport(now, id);
            self.arm_transport(id);
        }
    }

    /// At the start layers tell of the radio links that are there.
    pub(crate) fn introduce_radios(&mut self) {
        let links: Vec<_> = self.layers.iter().flat_map(|all| all.links()).collect();
        for link in links {
            if !self.links[channel(link, 0)].link.is_gone() {
                self.tell_transports(Instant::ZERO, link, true);
            }
        }
    }

    /// Enters the deadline of a transport.
    pub(crate) fn arm_transport(&mut self, id: TransportId) {
        let end = &mut self.hosts.transports.ends[id.index()];
        let deadline = end.machine.deadline();
        self.queue.arm(&mut end.timer, deadline);
    }

    /// Sends all that a transport has to send now.
    fn pump_transport(&mut self, now: Instant, id: TransportId) {
        while let Some((Way(way), data)) = self.hosts.transports.ends[id.index()].machine.poll_transmit(now) {
            let Some(&(local, remote)) = self.hosts.transports.ends[id.index()].ways.get(way) else {
                continue;
            };
            let packet = self.datagram(local.socket, remote.socket, data);
            self.leave_by(now, id, (local, remote), packet);
        }
        while let Some((Way(way), transmit)) =
            self.hosts.transports.ends[id.index()].machine.poll_segment(now)
        {
            let Some(&(local, remote)) = self.hosts.transports.ends[id.index()].ways.get(way) else {
                continue;
            };
            let [src, dst] = [local.socket, remote.socket].map(|socket| self.addresses.ip(socket.address));
            let packet = Packet::tcp(src, dst, transmit.segment);
            self.leave_by(now, id, (local, remote), packet);
        }
    }

    fn leave_by(&mut self, now: Instant, id: TransportId, (local, remote): (Local, Remote), packet: Packet) {
        let passing = self.packets.insert_whole(packet, id.origin(), remote.goal);
        self.leave_host(now, local, passing);
    }

    fn datagram(&self, local: SocketAddress, remote: SocketAddress, data: Bytes) -> Packet {
        let [src, dst] = [local, remote].map(|socket| self.addresses.ip(socket.address));
        let datagram =
            Datagram { src_port: local.port, dst_port: remote.port, payload: Payload::Bytes(data) };
        Packet { body: Body::Udp(datagram), ..Packet::tcp(src, dst, Segment::EMPTY) }
    }
}
