//! The frames in which the packets of connections travel, learnt from their data: a node has no neighbours that it could ask.

use handfast_core::Instant;
use handfast_wire::sdtp::{Message, Stream};
use handfast_wire::{Body, Ethernet, Packet};

use super::Side;
use crate::recent::Recent;

/// How the data of a stream travels.
#[derive(Clone, Copy, Debug)]
struct Known {
    ethernet: Ethernet,
    /// Where it comes from.
    from: Side,
}

/// The frames of streams.
#[derive(Debug)]
pub(super) struct Frames(Recent<Known, Stream>);

impl Frames {
    /// Of so many streams; beyond, the one that was silent longest is forgotten.
    pub(super) fn new(most: usize) -> Self {
        Self(Recent::new(most))
    }

    /// A packet comes from a side, or is made of one that came there.
    pub(super) fn note(&mut self, now: Instant, from: Side, packet: &Packet) {
        let Body::Sdtp(sdtp) = &packet.body else { return };
        let (Some(ethernet), Some(_), false) = (packet.ethernet, sdtp.data(), packet.corrupted) else {
            return;
        };
        let (stream, known) = (sdtp.stream(packet.src, packet.dst), Known { ethernet, from });
        if let Some(place) = self.0.find(&stream) {
            *self.0.touch(now, place) = known;
            return;
        }
        if let Some(silent) = self.0.in_the_way() {
            self.0.remove(&silent);
        }
        self.0.insert(now, stream, known);
    }

    /// The side by which a packet about a stream leaves. It gets the frame of the data, or that of an answer to it.
    pub(super) fn frame(&mut self, packet: &mut Packet) -> Option<Side> {
        let Body::Sdtp(sdtp) = &packet.body else { return None };
        let place = self.0.find(&sdtp.stream(packet.src, packet.dst))?;
        let &mut Known { ethernet, from } = self.0.get_mut(place);
        let (side, ethernet) = match sdtp.message {
            Message::Request(_) | Message::Notification(_) | Message::Congestion(_) => {
                (from, Ethernet { dst: ethernet.src, src: ethernet.dst, ..ethernet })
            }
            Message::Data(_) | Message::Repeat(_) | Message::Information(_) | Message::Parity(_) => {
                (from.other(), ethernet)
            }
        };
        packet.ethernet = Some(ethernet);
        Some(side)
    }
}
