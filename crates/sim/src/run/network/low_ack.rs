//! What the network tells `agents/low_ack.rs`: stations leave and return, and frames to them fail.

use handfast_core::Instant;
use handfast_plan::topology::ChannelId;
use handfast_scenario::{LinkId, Scenario};

use crate::run::network::Network;

impl Network {
    /// A station leaves its access point.
    pub(crate) fn left(&mut self, now: Instant, scenario: &Scenario, old_link: LinkId) {
        if let Some(control) = &mut self.control
            && let Some(low_acks) = &mut control.low_acks
        {
            low_acks.left(now, scenario, &self.addresses, old_link);
        }
    }

    /// It is somewhere again.
    pub(crate) fn found(&mut self, old_link: LinkId) {
        if let Some(control) = &mut self.control
            && let Some(low_acks) = &mut control.low_acks
        {
            low_acks.watched.retain(|&id, _| id / 2 != old_link);
        }
    }

    /// A packet has found nobody at the end of a channel.
    pub(crate) fn unheard(&mut self, now: Instant, id: ChannelId) {
        let Some(control) = &mut self.control else { return };
        let Some(low_acks) = &mut control.low_acks else { return };
        if let Some((at, notice)) = low_acks.unheard(now, id) {
            control.announce(at, notice);
            let deadline = control.deadline();
            self.queue.arm(&mut control.timer, deadline);
        }
    }
}
