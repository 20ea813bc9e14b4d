//! The `OpenFlow` 1.3 switch: a pure machine that is the simulator's switch node and the in-memory switch of unit tests.
//!
//! Section numbers are those of the `OpenFlow` Switch Specification 1.3.5 (ONF TS-023).
//!
//! ```
//! use handfast_core::Instant;
//! use handfast_net::{Switch, SwitchOutbox, SwitchOutput, SwitchSetup};
//! use handfast_wire::openflow::{Body, Message, PortNo};
//!
//! let mut switch = Switch::new(SwitchSetup::new(1, [PortNo(1), PortNo(2)]));
//! let mut out = SwitchOutbox::default();
//! switch.connected(Instant::ZERO, &mut out);
//! switch.on_message(Instant::ZERO, &Message { xid: 7, body: Body::BarrierRequest }, &mut out);
//! let last = out.drain().last();
//! assert_eq!(last, Some(SwitchOutput::Message(Message { xid: 7, body: Body::BarrierReply })));
//! ```

mod entry;
mod flow_mod;
mod found;
mod messages;
mod outbox;
mod pattern;
mod pipeline;
mod ports;
mod program;
mod refusal;
mod session;
mod table;

use handfast_core::Instant;
use handfast_wire::Packet;
use handfast_wire::openflow::{Body, Port, PortNo, PortReason, PortStatus, SwitchConfig};

use flow_mod::{Ending, Flows};
pub use outbox::{SwitchCounters, SwitchOutbox, SwitchOutput, SwitchPass};
use pipeline::Exit;
use ports::Ports;
use session::Session;

/// What a switch is made of.
#[derive(Clone, Debug)]
pub struct SwitchSetup {
    /// Its identity.
    pub datapath_id: u64,
    /// Its ports at the start. Of two with one number the last counts.
    pub ports: Vec<Port>,
    /// Its tables, numbered from 0; at least one.
    pub n_tables: u8,
    /// Most entries in all tables together: the bound on its memory. An entry takes less than 1 kB, and at most 4 kB with two
    /// full lists of actions.
    pub max_entries: usize,
}

impl SwitchSetup {
    /// Four tables, 65,536 entries, plain ports with these numbers.
    pub fn new(datapath_id: u64, ports: impl IntoIterator<Item = PortNo>) -> Self {
        let ports = ports.into_iter().map(plain_port).collect();
        Self { datapath_id, ports, n_tables: 4, max_entries: 1 << 16 }
    }
}

/// A port that is up, with a locally administered address made of its number.
fn plain_port(port_no: PortNo) -> Port {
    let [n0, n1, n2, n3] = port_no.0.to_be_bytes();
    Port::plain(port_no, [0x02, 0, n0, n1, n2, n3])
}

/// An `OpenFlow` 1.3 switch with one controller.
///
/// It keeps no packets (`n_buffers` is 0): a packet-in carries the frame, up to the `max_len` of its action. Without a controller
/// it is in fail secure mode (§6.3): entries stay and end by their timeouts, what is meant for the controller is dropped and
/// counted.
///
/// An entry whose time has come is gone before a packet or message of the same moment is handled.
#[derive(Clone, Debug)]
pub struct Switch {
    datapath_id: u64,
    ports: Ports,
    flows: Flows,
    session: Session,
    counters: SwitchCounters,
}

impl Switch {
    /// A switch without entries and without a connection to its controller.
    pub fn new(setup: SwitchSetup) -> Self {
        Self {
            datapath_id: setup.datapath_id,
            ports: Ports::new(setup.ports),
            flows: Flows::new(setup.n_tables.max(1), setup.max_entries),
            session: Session::default(),
            counters: SwitchCounters::default(),
        }
    }

    /// The connection to the controller stands: the switch greets (§6.3, connection setup).
    pub fn connected(&mut self, now: Instant, out: &mut SwitchOutbox) {
        self.on_timer(now, out);
        self.session.connect();
        out.message(0, messages::hello());
    }

    /// The connection is lost.
    pub fn connection_lost(&mut self, now: Instant, out: &mut SwitchOutbox) {
        self.on_timer(now, out);
        self.session.disconnect();
    }

    /// A packet came in by `in_port`. The driver frames it first: a packet without an Ethernet header is dropped.
    pub fn on_packet(&mut self, now: Instant, in_port: PortNo, packet: Packet, out: &mut SwitchOutbox) {
        self.on_timer(now, out);
        self.counters.packets += 1;
        if !self.ports.receives(in_port) {
            return self.discard(packet, out);
        }
        let (tables, mut exit) = self.exit(in_port, out);
        exit.through(tables, now, &packet);
        if !exit.left {
            self.discard(packet, out);
        }
    }

    /// As [`Switch::on_packet`] for a packet that leaves by one port, or goes its normal way, and of which nothing else comes: it is
    /// counted, and stays with the driver. [`None`]: there is more to it, and nothing was done.
    pub fn pass(&mut self, now: Instant, in_port: PortNo, packet: &Packet) -> Option<SwitchPass> {
        if self.flows.next_end().is_some_and(|end| end <= now) || !self.ports.receives(in_port) {
            return None;
        }
        let bits = pattern::bits_of(in_port, packet)?;
        let entry = self.flows.tables.first_mut()?.lookup(&bits)?;
        let pass = match entry.program.only_output()? {
            PortNo::NORMAL => SwitchPass::Normal,
            // §7.2.5: back out of the port of arrival only by `IN_PORT`.
            port if port != in_port && self.ports.forwards(port) => SwitchPass::Forward(port),
            _ => return None,
        };
        entry.count(now, packet.wire_len());
        self.counters.packets += 1;
        Some(pass)
    }

    /// A timeout is due; afterwards the deadline is in the future.
    pub fn on_timer(&mut self, now: Instant, out: &mut SwitchOutbox) {
        self.flows.expire(now, &mut Ending { session: &self.session, out });
    }

    /// When [`Switch::on_timer`] is due.
    pub fn deadline(&self) -> Option<Instant> {
        self.flows.next_end()
    }

    /// A port came or changed. The controller is told (§7.4.3).
    pub fn set_port(&mut self, port: Port, out: &mut SwitchOutbox) {
        let before = self.ports.set(port.clone());
        let reason = if before.is_some() { PortReason::Modify } else { PortReason::Add };
        self.tell_port(reason, port, out);
    }

    /// A port went. The controller is told; entries that name the port stay, as §4.6 has it.
    pub fn remove_port(&mut self, port: PortNo, out: &mut SwitchOutbox) {
        if let Some(port) = self.ports.remove(port) {
            self.tell_port(PortReason::Delete, port, out);
        }
    }

    fn tell_port(&self, reason: PortReason, port: Port, out: &mut SwitchOutbox) {
        if self.session.is_connected() {
            out.message(0, Body::PortStatus(PortStatus { reason, port }));
        }
    }

    /// Flow entries in all tables.
    pub fn flow_count(&self) -> usize {
        self.flows.len()
    }

    /// What was counted.
    pub const fn counters(&self) -> SwitchCounters {
        self.counters
    }

    /// The configuration that the controller has set (§7.3.2).
    pub const fn config(&self) -> SwitchConfig {
        self.session.config()
    }

    fn discard(&mut self, packet: Packet, out: &mut SwitchOutbox) {
        self.counters.dropped += 1;
        out.push(SwitchOutput::Dropped(packet));
    }

    /// The tables, and all ways out of the switch for a packet that came in by `in_port`.
    fn exit<'a>(
        &'a mut self,
        in_port: PortNo,
        out: &'a mut SwitchOutbox,
    ) -> (&'a mut [table::Table], Exit<'a>) {
        let Self { ports, flows, session, counters, .. } = self;
        (&mut flows.tables, Exit { ports, session, counters, out, in_port, metadata: 0, left: false })
    }
}
