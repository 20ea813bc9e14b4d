//! What a bump does that only observes: it counts what it would do.

use handfast_core::Instant;
use handfast_wire::sdtp::Message;
use handfast_wire::tcp::{Flags, Segment};
use handfast_wire::{Body, Packet};

use super::losses::Shown;
use super::{Bump, Side};
use crate::View;

impl Bump {
    /// Nothing is converted. What the other edge has converted for a connection of before is reverted.
    pub(super) fn observe(&mut self, now: Instant, side: Side, frame: &[u8], packet: Packet) -> bool {
        match &packet.body {
            Body::Sdtp(sdtp) => {
                let stream = sdtp.stream(packet.src, packet.dst);
                let ends_here = !matches!(
                    sdtp.message,
                    Message::Request(_) | Message::Notification(_) | Message::Congestion(_)
                );
                !(ends_here && side == Side::Outside && self.node.reverts(&stream))
                    || self.show(now, side, frame, packet)
            }
            Body::Tcp(segment) => {
                self.node.see_handshake(&View::of(&packet));
                self.look_for_losses(now, side, &packet, segment);
                if side == Side::Outside || !self.node.has_host(packet.src) {
                    return true;
                }
                let counter = if segment.flags.contains(Flags::SYN) {
                    &mut self.counters.would_report
                } else if self.is_fit(&packet, frame) {
                    &mut self.counters.would_convert
                } else {
                    &mut self.counters.unfit
                };
                *counter += 1;
                true
            }
            _ => true,
        }
    }

    /// A segment between a host inside and one outside shows what was lost.
    fn look_for_losses(&mut self, now: Instant, side: Side, packet: &Packet, segment: &Segment) {
        let (host, other) = match side {
            Side::Inside => (packet.src, packet.dst),
            Side::Outside => (packet.dst, packet.src),
        };
        if !self.node.has_host(host) || self.node.has_host(other) {
            return;
        }
        let (shown, is_needless) = self.losses.on_segment(now, packet, segment);
        let counters = &mut self.counters;
        counters.needlessly_sent_again += u64::from(is_needless);
        let counter = match (shown, side) {
            (Shown::Nothing, _) => return,
            (Shown::Needless, _) => &mut counters.needlessly_sent_again,
            (Shown::Behind, Side::Inside) => &mut counters.would_repair_sent,
            (Shown::Before, Side::Outside) => &mut counters.would_repair_received,
            (Shown::Before, Side::Inside) | (Shown::Behind, Side::Outside) => &mut counters.lost_inside,
        };
        *counter += 1;
    }
}
