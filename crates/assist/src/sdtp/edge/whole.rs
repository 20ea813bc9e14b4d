//! What an edge does with packets that no connection has: it sends them whole, in lanes.

use std::net::IpAddr;

use handfast_core::Instant;
use handfast_net::Port;
use handfast_wire::Packet;
use handfast_wire::sdtp::{Data, Information, Outcome, Stream};

use super::{Arrived, Edge, Output};
use crate::View;
use crate::sdtp::config::Config;
use crate::sdtp::control::{Location, Report};
use crate::sdtp::convert::{self, Path};
use crate::sdtp::counters::NodeCounters;
use crate::sdtp::detection::Extent;
use crate::sdtp::lanes::{self, Known, Receivers, Routes, Senders};

/// Both ends of an edge's lanes.
#[derive(Debug)]
pub(super) struct Whole {
    routes: Routes,
    senders: Senders,
    receivers: Receivers,
}

impl Whole {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            routes: Routes::new(),
            senders: Senders::default(),
            receivers: Receivers::new(config.connections, config.resequencing),
        }
    }

    /// Another edge was here until now.
    pub(super) fn follow(&mut self, now: Instant) {
        self.receivers.follow(now);
    }

    pub(super) fn receivers(&self) -> &Receivers {
        &self.receivers
    }

    pub(super) fn on_timer(&mut self, now: Instant, out: &mut Vec<Packet>) {
        self.receivers.on_timer(now, out);
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.receivers.deadline()
    }

    /// What a node in the path says of packets in a lane that ends here.
    pub(super) fn on_information(
        &mut self,
        stream: &Stream,
        information: &Information,
        out: &mut Vec<Packet>,
    ) {
        if let (Outcome::Never, Some(end)) = (information.outcome, information.expected.end) {
            self.receivers.on_never(stream, information.expected.start, end, out);
        }
    }

    /// The controller says where a host is.
    pub(super) fn learn(&mut self, now: Instant, location: &Location) {
        self.routes.learn(now, location.host, location.edge);
    }
}

impl Edge {
    /// Whether it wants a packet that no connection has: one of its hosts for another one, of which the controller has to be asked
    /// or has said where it is.
    pub(in super::super) fn wants_whole(&mut self, now: Instant, port: Port, view: &View<'_>) -> bool {
        if !self.hosts.is_at(view.src, port) || self.hosts.has(view.dst) || is_of_many(view.dst) {
            return false;
        }
        let (known, ask) = self.whole.routes.find(now, view.dst);
        ask && self.has_controller || matches!(known, Known::At(_))
    }

    /// A packet that it [`Edge::wants_whole`], or whose connection it does not know.
    pub(super) fn send_whole(
        &mut self,
        now: Instant,
        packet: Packet,
        config: &Config,
        counters: &mut NodeCounters,
        out: &mut Output,
    ) {
        if !config.all {
            out.packets.push(packet);
            return;
        }
        let (known, ask) = self.whole.routes.find(now, packet.dst);
        if ask && self.has_controller && self.packet_ins.allow(now, packet.src) {
            self.whole.routes.asked(now, packet.dst);
            out.reports.push(Report::Locate(packet.dst));
        }
        match known {
            Known::At(route) if packet.ip_len() <= config.most_whole(self.address.is_ipv6()) => {
                let numbered = self.whole.senders.number(now, route, &packet);
                let path =
                    Path { carriage: config.carriage, edge: self.address, name: numbered.name, host: 0 };
                counters.protected += 1;
                out.packets.push(convert::whole(&path, numbered.sequence, packet));
            }
            known => {
                counters.too_long += u64::from(matches!(known, Known::At(_)));
                out.packets.push(packet);
            }
        }
    }

    /// A packet of a lane has come.
    pub(super) fn on_whole(
        &mut self,
        now: Instant,
        stream: &Stream,
        arrived: Arrived,
        data: Data,
        counters: &mut NodeCounters,
        out: &mut Output,
    ) {
        let Some(extent) = Extent::of(arrived.sequence, &data) else { return };
        let Some(packet) = convert::unwrap(arrived.outer, data) else { return };
        // From behind the other edge to a host behind this one: nobody gets a packet out of a lane that would not get it without.
        let is_ours = self.hosts.has(packet.dst) && !self.hosts.has(packet.src);
        if !is_ours || stream.connection < lanes::FIRST {
            counters.strangers += 1;
            return;
        }
        let Some(packet) = packet.out_of(arrived.outer.ecn) else {
            counters.unmarkable += 1;
            return;
        };
        counters.unwrapped += 1;
        self.whole.receivers.on_packet(now, stream, (extent, arrived.repeat), packet, &mut out.packets);
    }
}

/// Whether an address is that of many hosts, or of none in particular.
fn is_of_many(address: IpAddr) -> bool {
    let broadcast =
        matches!(address, IpAddr::V4(address) if address.is_broadcast() || address.is_link_local());
    let link = matches!(address, IpAddr::V6(address) if address.is_unicast_link_local());
    broadcast || link || address.is_multicast() || address.is_unspecified()
}
