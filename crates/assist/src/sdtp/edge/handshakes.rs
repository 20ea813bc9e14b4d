//! Handshakes at an edge (`[sdtp]` §III-A): they go through the controller, and its answers make connections.

use handfast_core::Instant;
use handfast_wire::tcp::{Flags, Segment};
use handfast_wire::{Body, Packet};

use super::{Edge, Output};
use crate::sdtp::config::Config;
use crate::sdtp::connections::{Connection, connection_key};
use crate::sdtp::control::{Admission, Name, Report};
use crate::sdtp::convert;
use crate::sdtp::counters::NodeCounters;
use crate::sdtp::enforced::Enforced;
use crate::sdtp::handshake::{Opening, Redundant, only_the_client_answers};
use crate::{ConnectionKey, View};

impl Edge {
    /// A handshake passes that went past the controller: an earlier connection of the same ends is over, and must not lend the
    /// new one its number, which the other edge may not know any more.
    pub(in super::super) fn see_handshake(&mut self, view: &View<'_>, segment: &Segment) {
        if !segment.flags.contains(Flags::SYN) {
            return;
        }
        let sent = ConnectionKey::of(view, segment);
        let ConnectionKey { src, dst, src_port, dst_port } = sent;
        let came = ConnectionKey { src: dst, dst: src, src_port: dst_port, dst_port: src_port };
        self.connections.forget_host(if self.has_host(src) { &sent } else { &came });
    }

    /// `[sdtp]` §III-A steps 1 and 2, and the server's answer in step 4.
    pub(super) fn on_handshake(
        &mut self,
        now: Instant,
        mut packet: Packet,
        config: &Config,
        counters: &mut NodeCounters,
        out: &mut Output,
    ) {
        let Body::Tcp(segment) = &mut packet.body else { return };
        let answers = segment.flags.contains(Flags::ACK);
        convert::clamp_mss(segment, config.most_mss(packet.src.is_ipv6(), self.address.is_ipv6()));
        if answers && !self.on_syn_ack(now, &packet, config, out) {
            // It answers a SYN that did not come through the controller.
            out.packets.push(packet);
            return;
        }
        if !self.has_controller {
            counters.offline += 1;
            return self.go_without(packet, out);
        }
        // What has begun with a SYN before goes on.
        if self.is_overloaded && !answers || !self.packet_ins.allow(now, packet.src) {
            // Fail open: this connection is plain TCP. A flood costs the controller nothing, and the server keeps its SYN cookies.
            counters.packet_ins_refused += 1;
            if !answers {
                self.go_without(packet, out);
            }
            return;
        }
        counters.packet_ins += 1;
        out.reports.push(Report::Handshake(packet));
    }

    /// A handshake goes on as plain TCP. An answer to one that is approved has been answered here.
    fn go_without(&mut self, packet: Packet, out: &mut Output) {
        let opening = self.connections.of_host(&packet).and_then(|known| known.opening.as_ref());
        if opening.is_some_and(|opening| opening.has_answered()) {
            return;
        }
        self.forget_host_of(&packet);
        out.packets.push(packet);
    }

    pub(super) fn forget_host_of(&mut self, packet: &Packet) {
        if let Some(name) = self.connections.of_host(packet).map(|known| known.name) {
            self.connections.remove(&name);
        }
    }

    /// Whether it is of a connection that opens here.
    fn on_syn_ack(&mut self, now: Instant, packet: &Packet, config: &Config, out: &mut Output) -> bool {
        let Body::Tcp(segment) = &packet.body else { return false };
        let Some(connection) = self.connections.of_host(packet) else { return false };
        let Some(opening) = &mut connection.opening else { return false };
        connection.start = Some(segment.seq + 1);
        if connection.enforced.is_none() {
            connection.enforced = opening.enforces(connection.heard, segment, config);
        }
        connection.enforced.iter_mut().for_each(|enforced| enforced.on_answer(now));
        out.packets.extend(opening.on_syn_ack(packet));
        true
    }

    /// A SYN comes to the server's edge, or the answer to the client's.
    pub(super) fn admit(
        &mut self,
        now: Instant,
        &Admission { name, client, server }: &Admission,
        packet: Packet,
        config: &Config,
        counters: &mut NodeCounters,
        out: &mut Output,
    ) {
        let Body::Tcp(segment) = &packet.body else { return };
        let answers = segment.flags.contains(Flags::ACK);
        if !answers && let Some(answer) = self.answered(&name, &packet) {
            out.reports.push(Report::Handshake(answer));
            return;
        }
        // The client's edge holds the client's end.
        let ends = if answers { (client, server) } else { (server, client) };
        if let Some(known) = self.connections.get_mut(&name).filter(|known| known.began_with(ends, segment)) {
            // It was repeated: what has begun goes on.
            known.heard = now;
            known.enforced.iter_mut().for_each(|enforced| enforced.asked_again(now));
            if let Some(opening) = known.opening.as_mut().filter(|_| !answers) {
                opening.on_syn(&packet);
            }
            out.packets.push(packet);
            return;
        }
        if self.connections.len() >= config.connections && !self.connections.has_host(&connection_key(ends)) {
            counters.connections_refused += 1;
            out.reports.push(Report::Closed(name));
            out.packets.push(packet);
            return;
        }
        let mut connection = Connection::new(now, name, ends, segment, config.resequencing);
        connection.host = self.hosts.number(ends.0.ip());
        if answers {
            connection.start = Some(segment.ack);
            connection.redundant = (!only_the_client_answers(segment)).then(|| Redundant::answer_to(segment));
            connection.enforced =
                config.enforces().then(|| Box::new(Enforced::new(now, segment, segment, segment.ack)));
        } else {
            connection.opening = Some(Box::new(Opening::new(packet.clone())));
        }
        self.connections.insert(connection);
        counters.connections += 1;
        out.packets.push(packet);
    }

    /// The server's answer to a SYN that has come again.
    fn answered(&mut self, name: &Name, syn: &Packet) -> Option<Packet> {
        self.connections.get_mut(name)?.opening.as_ref()?.answer_again(syn).cloned()
    }

    /// `[sdtp]` §III-A step 5.
    pub(super) fn approve(&mut self, name: &Name, counters: &mut NodeCounters, out: &mut Output) {
        let opening = self.connections.get_mut(name).and_then(|known| known.opening.as_mut());
        if let Some(ack) = opening.and_then(|opening| opening.approve()) {
            counters.closing_acks += 1;
            out.packets.push(ack);
        }
    }
}
