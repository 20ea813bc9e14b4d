//! What all stations share.

use super::frame::{Frame, Origin};
use super::rules::{Band, handed_in};
use super::sender_ports::SenderPorts;
use super::session::Switches;
use super::{ApId, Config, Counters, Outbox};

/// What all stations share.
pub(crate) struct Shared {
    pub(crate) config: Config,
    pub(crate) switches: Switches,
    pub(crate) counters: Counters,
    /// What is held of TCP in all.
    pub(crate) held: u64,
    /// And of datagrams.
    pub(crate) datagrams: u64,
    /// Whether as many stations are away, besides the one that is spoken of, as may be.
    pub(crate) full: bool,
    /// Whether the one that is spoken of has its address to itself.
    pub(crate) alone: bool,
    /// By which ports the frames of senders come in.
    pub(crate) sender_ports: SenderPorts,
}

impl Shared {
    pub(crate) fn band(&self) -> Band {
        let Config { priority: lowest, path_timeout, hold_expiry, divert_timeout, .. } = self.config;
        let instance = self.switches.instance();
        Band { lowest, instance, path_timeout, hold_expiry, divert_timeout }
    }

    /// Whether the switch to which an access point is attached takes orders.
    pub(super) fn reaches(&self, ap: ApId) -> bool {
        let at = self.config.fabric.access_point(ap);
        at.is_some_and(|at| self.switches.is_ready(at.datapath_id))
    }

    /// A frame goes on where it came in; whether it could.
    pub(super) fn hand_back(&mut self, frame: &Frame, out: &mut Outbox) -> bool {
        let Origin { datapath_id, in_port } = frame.origin;
        self.switches.order(datapath_id, handed_in(in_port, frame.bytes.clone()), out)
    }
}
