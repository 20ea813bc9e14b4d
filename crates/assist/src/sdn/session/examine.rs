//! What a switch is asked before it gets its first entry: which ports it has, how much room, and whether it takes back what it
//! has diverted.

use bytes::Bytes;
use handfast_core::Instant;
use handfast_wire::openflow::{
    Action, Body, Error, MultipartReply, MultipartRequest, NO_BUFFER, PacketOut, PortNo, PortReason,
    PortStatus,
};

use super::{Phase, Switches};
use crate::sdn::rules::{HANDED_BACK, forget_all};
use crate::sdn::{ConnId, Mode, Outbox, Steering};

/// `OFPET_BAD_ACTION` (§7.4.4).
const BAD_ACTION: u16 = 2;
/// A frame that goes nowhere: 60 bytes of an experimental Ethernet type (IEEE 802 §9.2.4), from and to nobody.
const TRIAL: [u8; 60] = {
    let mut frame = [0; 60];
    (frame[0], frame[6], frame[12], frame[13]) = (2, 2, 0x88, 0xb5);
    frame
};
/// Ports that are remembered of a switch.
const MOST_PORTS: usize = 65_536;

impl Switches {
    /// Asks, removes what an earlier controller of ours left, and waits until all of it is done.
    pub(super) fn examine(&mut self, now: Instant, conn: ConnId, out: &mut Outbox) {
        self.tell(conn, Body::MultipartRequest(MultipartRequest::PortDescription), out);
        if self.mode == Mode::Act && self.steering == Steering::Overlay {
            self.ask_room(now, conn, out);
            let trial = self.tell(conn, trial(), out);
            if let Some(session) = self.sessions.get_mut(&conn) {
                session.trial = Some(trial);
            }
        }
        if self.mode == Mode::Act {
            let leftovers = forget_all(self.instance());
            self.tell(conn, leftovers, out);
        }
        let barrier = self.tell(conn, Body::BarrierRequest, out);
        self.set_phase(conn, Phase::Cleaning(barrier));
    }

    /// Whether a message told of ports.
    pub(super) fn on_ports(&mut self, conn: ConnId, body: &Body) -> bool {
        let Some(session) = self.sessions.get_mut(&conn) else { return false };
        match body {
            Body::MultipartReply(MultipartReply::PortDescription { ports, .. }) => {
                let room = MOST_PORTS.saturating_sub(session.ports.len());
                session.ports.extend(ports.iter().take(room).map(|port| port.port_no));
            }
            Body::PortStatus(PortStatus { reason: PortReason::Delete, port }) => {
                session.ports.remove(&port.port_no);
            }
            Body::PortStatus(PortStatus { port, .. }) if session.ports.len() < MOST_PORTS => {
                session.ports.insert(port.port_no);
            }
            Body::PortStatus(_) => {}
            _ => return false,
        }
        true
    }

    /// Whether an error says that a packet cannot be handed back.
    pub(super) fn refused_trial(&mut self, conn: ConnId, xid: u32, error: &Error) -> bool {
        let Some(session) = self.sessions.get_mut(&conn) else { return false };
        let refused = session.trial == Some(xid) && error.kind == BAD_ACTION;
        session.hands_back &= !refused;
        refused
    }

    /// Whether a switch has a port, as far as it has said.
    pub(crate) fn has_port(&self, datapath_id: u64, port: PortNo) -> bool {
        self.of(datapath_id).is_some_and(|session| session.ports.contains(&port))
    }

    /// The ports of a switch, as far as it has said.
    pub(crate) fn ports(&self, datapath_id: u64) -> impl Iterator<Item = PortNo> + '_ {
        self.of(datapath_id).into_iter().flat_map(|session| session.ports.iter().copied())
    }

    /// Whether a switch takes back what it has diverted.
    pub(crate) fn hands_back(&self, datapath_id: u64) -> bool {
        self.of(datapath_id).is_some_and(|session| session.hands_back)
    }
}

/// A packet-out with what handing back needs, that sends nothing anywhere.
fn trial() -> Body {
    let actions = vec![Action::SetMetadata(HANDED_BACK)];
    let data = Bytes::from_static(&TRIAL);
    Body::PacketOut(PacketOut { buffer_id: NO_BUFFER, in_port: PortNo::CONTROLLER, actions, data })
}
