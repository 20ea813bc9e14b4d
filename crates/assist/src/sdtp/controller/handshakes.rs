//! Handshakes at the controller (`[sdtp]` §III-A).

use std::net::{IpAddr, SocketAddr};

use handfast_wire::tcp::Flags;
use handfast_wire::{Body, Packet};

use super::slice::pair;
use super::{Admitted, Controller, Instructions};
use crate::sdtp::control::{Admission, Instruction, Name, Order};

impl Controller {
    pub(super) fn on_handshake(&mut self, from: IpAddr, packet: Packet, out: &mut Instructions) {
        let Body::Tcp(segment) = &packet.body else { return };
        let source = SocketAddr::new(packet.src, segment.src_port);
        let destination = SocketAddr::new(packet.dst, segment.dst_port);
        if segment.flags.contains(Flags::ACK) {
            self.on_syn_ack(from, (destination, source), packet, out);
        } else {
            self.on_syn(from, (source, destination), packet, out);
        }
    }

    /// §III-A step 3: check that there is a path, set one up if there is none, and send the SYN on.
    fn on_syn(
        &mut self,
        from: IpAddr,
        ends: (SocketAddr, SocketAddr),
        packet: Packet,
        out: &mut Instructions,
    ) {
        let is_crossed = self.forget((ends.1, ends.0), None, out);
        // RFC 9293 §3.5, simultaneous open: neither end is the client, so the two-way handshake has no edge to close it at.
        let server_edge = self.hosts.get(&packet.dst).copied().filter(|&edge| edge != from && !is_crossed);
        let server_edge = server_edge.filter(|edge| !self.away.contains(edge));
        let admitted = server_edge.and_then(|server_edge| self.admit(ends, from, server_edge, out));
        let Some(Admitted { slice, connection, client_edge, server_edge }) = admitted else {
            self.counted.plain += 1;
            return self.packet_out(from, None, packet, out);
        };
        let name = Name { peer: client_edge, slice, connection };
        let order = Order::Admit(Admission { name, client: ends.0, server: ends.1 });
        self.packet_out(server_edge, Some(order), packet, out);
    }

    /// §III-A steps 4 and 5: the reverse path, the answer for the client, and the closing ACK for the server.
    fn on_syn_ack(
        &mut self,
        from: IpAddr,
        ends: (SocketAddr, SocketAddr),
        packet: Packet,
        out: &mut Instructions,
    ) {
        // Of one that is unknown, or whose server is elsewhere, nothing is sent on: the client's SYN comes again, and is admitted.
        let Some(&known) = self.admitted.get(&ends).filter(|known| known.server_edge == from) else { return };
        let Admitted { slice, connection, client_edge, server_edge } = known;
        let name = Name { peer: server_edge, slice, connection };
        let admission = Order::Admit(Admission { name, client: ends.0, server: ends.1 });
        self.packet_out(client_edge, Some(admission), packet, out);
        self.counted.orders += 1;
        let name = Name { peer: client_edge, slice, connection };
        out.push((server_edge, Instruction::order(Order::Approve(name))));
    }

    fn packet_out(&mut self, to: IpAddr, order: Option<Order>, packet: Packet, out: &mut Instructions) {
        self.counted.packet_outs += 1;
        out.push((to, Instruction { order, packet: Some(packet) }));
    }

    fn admit(
        &mut self,
        ends: (SocketAddr, SocketAddr),
        client_edge: IpAddr,
        server_edge: IpAddr,
        out: &mut Instructions,
    ) -> Option<Admitted> {
        let known = self.admitted.get(&ends).copied();
        if let Some(known) = known
            && (known.client_edge, known.server_edge) == (client_edge, server_edge)
        {
            return Some(known);
        }
        // A host is behind another edge now.
        self.forget(ends, None, out);
        let pair = pair(client_edge, server_edge);
        self.set_up(pair, out)?;
        let slice = self.slices.get_mut(&pair)?;
        let connection = slice.allot()?;
        let admitted = Admitted { slice: slice.number, connection, client_edge, server_edge };
        self.admitted.insert(ends, admitted);
        self.by_number.insert((pair, connection), ends);
        self.counted.admitted += 1;
        Some(admitted)
    }
}
