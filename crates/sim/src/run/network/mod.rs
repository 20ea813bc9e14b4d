//! The network in motion: all its machines, woken in order. What a link, a connection or an agent does then is in `hop.rs`,
//! `endpoints.rs` and `chain.rs`; what they are is in `net/`, `hosts/` and `agents/`.
//!
//! Nothing here knows a shape of topology, a number of flows, or who helps.

mod admit;
mod advertisements;
mod chain;
mod controller;
mod endpoints;
mod flight;
mod hop;
mod layer;
mod low_ack;
mod managed;
mod medium;
mod moving;
mod notify;
pub(crate) mod prefetch;
mod quick_start;
mod reconnect;
mod sdtp;
mod sessions;
mod transits;
mod transports;

use handfast_core::Instant;
use handfast_net::Outbox;
use handfast_plan::address::Addresses;
use handfast_plan::topology::{ChannelId, Topology};
use handfast_scenario::{LinkId, NodeId};
use handfast_wire::Packet;

use crate::RunError;
use crate::agents::chain::Chains;
use crate::agents::controller::Control;
use crate::agents::layer::Layers;
use crate::agents::notify::Notifiers;
use crate::agents::sdtp::SdtpControl;
use crate::engine::entry::Machine;
use crate::engine::ids::ConnectionId;
use crate::engine::ids::Handle;
use crate::engine::ids::TransportId;
use crate::engine::queue::EventQueue;
use crate::hosts::Hosts;
use crate::hosts::connection::Connection;
use crate::hosts::moving::Moving;
use crate::net::books::Books;
use crate::net::inspection::Inspection;
use crate::net::links::Links;
use crate::net::packets::{Label, Packets};

/// The controller's number among the agents.
pub(crate) const CONTROL: u32 = (1 << 24) - 1;

/// That of all stations that tell of their access links.
pub(crate) const NOTIFIERS: u32 = CONTROL - 1;

/// That of SDTP's controller.
pub(crate) const SDTP_CONTROL: u32 = CONTROL - 2;

/// That of all socket layers.
pub(crate) const LAYERS: u32 = CONTROL - 3;

/// That of all hosts that move, with their sessions.
pub(crate) const MOVING: u32 = CONTROL - 4;

/// Where a packet came from that came from no link.
pub(crate) const NO_CHANNEL: ChannelId = ChannelId::MAX;

pub(crate) struct Network {
    pub(crate) queue: EventQueue,
    pub(crate) packets: Packets,
    pub(crate) topology: Topology,
    pub(crate) addresses: Addresses,
    pub(crate) links: Links,
    /// The controller of its switches, if it has one.
    pub(crate) control: Option<Box<Control>>,
    /// SDTP's controller, if it has one.
    pub(crate) sdtp: Option<Box<SdtpControl>>,
    /// The stations that tell of their access links.
    pub(crate) notifiers: Option<Box<Notifiers>>,
    /// The stations with a socket layer.
    pub(crate) layers: Option<Box<Layers>>,
    /// The stations whose address changes, and what is above their connections.
    pub(crate) moving: Option<Box<Moving>>,
    /// The agents, and the nodes at which they see packets.
    pub(crate) chains: Chains,
    pub(crate) hosts: Hosts,
    pub(crate) books: Books,
    pub(crate) inspection: Inspection,
    pub(crate) outbox: Outbox,
    /// Whether only a controller's rules follow stations.
    pub(crate) subnets: bool,
    /// Whether so few bytes take turns that they stay in the processor's cache: only packets are fetched ahead then.
    pub(crate) fits_cache: bool,
    /// When the run ends.
    pub(crate) end: Instant,
    /// What ends the run at the next look.
    pub(crate) failed: Option<RunError>,
}

impl Network {
    /// A station has gone from one of its radio links to another.
    pub(crate) fn roam(&mut self, station: NodeId, goes: LinkId, comes: LinkId) {
        if self.subnets {
            self.topology.roam_alone(station, goes, comes);
        } else {
            self.topology.roam(station, goes, comes);
        }
        let concerned: Vec<_> = self.hosts.at(station).collect();
        for id in concerned {
            let Connection { local, remote, .. } = &mut self.hosts.connections[id];
            local.out = self.topology.towards(station, remote.goal).unwrap_or(local.out);
        }
        self.hosts.transports.roam(station, |remote| self.topology.towards(station, remote.goal));
    }

    /// Wakes machines in order, up to but not at `border`, and no more than `most` of them; false where none was left.
    #[inline(never)]
    pub(crate) fn wake_some(&mut self, most: u32, border: Instant) -> bool {
        for _ in 0..most {
            let entry = self.queue.first();
            let now = entry.at();
            if now >= border {
                return false;
            }
            match entry.machine() {
                Machine::Channel(id) => self.wake_link(now, id as usize, entry),
                Machine::Connection(id) => self.wake_connection(now, ConnectionId(id)),
                Machine::Transport(id) => self.wake_transport(now, TransportId(id)),
                Machine::Agent(CONTROL) => self.wake_control(now),
                Machine::Agent(NOTIFIERS) => self.wake_notifiers(now),
                Machine::Agent(SDTP_CONTROL) => self.wake_sdtp(now),
                Machine::Agent(LAYERS) => self.wake_layers(now),
                Machine::Agent(MOVING) => self.wake_moving(now),
                Machine::Agent(id) => self.wake_agent(now, id),
                Machine::Air(id) => self.wake_air(now, id as u16),
                Machine::Packet(handle) => self.land(now, handle, entry),
            }
        }
        true
    }

    /// The packet with all that stands around its segment.
    #[cold]
    pub(crate) fn packet(&self, handle: Handle) -> Packet {
        self.packets.whole(handle).cloned().unwrap_or_else(|| {
            let &Label { origin, corrupted, .. } = self.packets.label(handle);
            let connection = &self.hosts.connections[origin];
            let ports = (connection.local.socket.port, connection.remote.socket.port);
            let segment = self.packets.segment(handle, ports);
            Packet { corrupted, ..connection.packet(&self.addresses, segment) }
        })
    }

    /// A packet is lost.
    #[cold]
    pub(crate) fn lose(&mut self, handle: Handle) {
        let &Label { origin, has_payload, .. } = self.packets.label(handle);
        if has_payload && !self.hosts.transports.count_loss(origin) {
            self.books.count_loss(origin);
        }
        self.packets.free(handle);
    }
}

/// DESIGN: a deadline that is not in the future after the machine has acted is a bug; the run would never end.
#[inline]
pub(crate) fn assert_later(now: Instant, deadline: Instant, machine: &str) {
    if deadline <= now {
        never_ends(now, machine);
    }
}

// A function of its own: what a panic's message needs would be laid out with each event.
#[cold]
#[inline(never)]
fn never_ends(now: Instant, machine: &str) -> ! {
    panic!("{machine} at {now} wants to act at {now} again");
}
