//! What a node does with `congestion = "cache"`: what its queue has no room for waits, and the sender is slowed down.

use std::net::IpAddr;

use handfast_core::Instant;
use handfast_net::{Cause, Outbox};
use handfast_wire::sdtp::{Congestion as Met, Content, Message, Request, Sdtp, Stream};
use handfast_wire::{Body, Ecn, Packet};

use super::Node;
use crate::View;
use crate::sdtp::cache::Cacheable;
use crate::sdtp::caching::Congestion;
use crate::sdtp::detection::Extent;
use crate::sdtp::holding::Held;

impl Node {
    /// A queue of this node has dropped a packet of a connection. Whether that is no loss that its sender has to find.
    pub(super) fn hold_dropped(
        &mut self,
        now: Instant,
        stream: &Stream,
        extent: Extent,
        view: &View<'_>,
        cause: Cause,
    ) -> bool {
        let Extent { seq, len, .. } = extent;
        if self.config.caching.congestion != Congestion::Cache
            || self.functions_for(stream).is_none()
            || !view.sdtp().is_some_and(is_of_connection)
        {
            return false;
        }
        if cause == Cause::Aqm {
            // What was behind it has left: it is repaired from a cache, when it is asked for.
            self.holding.tell(now, stream, seq + len);
            return true;
        }
        let mut packet = view.to_packet();
        let (host, is_marked) = (host_of(&packet), mark(&mut packet));
        self.hold(now, stream, Held { seq, len, packet, host, refused: true }, !is_marked).is_ok()
    }

    fn hold(&mut self, now: Instant, stream: &Stream, mut held: Held, tells: bool) -> Result<(), Box<Held>> {
        // Its driver knows how data of the stream travels, and takes one with a header for what an edge makes of its host's.
        held.packet.ethernet = None;
        let done = self.holding.push(now, stream, held, tells);
        self.counters.held += u64::from(done.as_ref().is_ok_and(|is_new| *is_new));
        self.counters.hold_overflows += u64::from(done.is_err());
        done.map(|_| ())
    }

    /// The place of a packet that passes, or ends here, if it comes behind others of its stream that wait. One that takes no sequence
    /// numbers has no place among them: a node that took it would have nowhere to send it.
    pub(super) fn place_behind(&self, dst: IpAddr, stream: &Stream, sdtp: &Sdtp) -> Option<Extent> {
        let data = sdtp.data().filter(|_| dst != self.address && self.holding.holds(stream))?;
        Extent::of(sdtp.sequence, data)
    }

    /// The same of a packet on its way out, with its stream.
    #[inline]
    pub(super) fn behind_others(&self, packet: &Packet) -> Option<(Stream, Extent)> {
        // As nearly always.
        if self.holding.is_idle() {
            return None;
        }
        let Body::Sdtp(sdtp) = &packet.body else { return None };
        let stream = sdtp.stream(packet.src, packet.dst);
        self.place_behind(packet.dst, &stream, sdtp).map(|extent| (stream, extent))
    }

    /// Such a packet waits, too, if there is room.
    pub(super) fn wait_behind(
        &mut self,
        now: Instant,
        stream: &Stream,
        extent: Extent,
        mut packet: Packet,
        out: &mut Outbox,
    ) {
        let Extent { seq, len, .. } = extent;
        let (host, is_marked) = (host_of(&packet), mark(&mut packet));
        let held = Held { seq, len, packet, host, refused: false };
        if let Err(held) = self.hold(now, stream, held, !is_marked) {
            self.note_drop(now, stream, seq, len);
            out.discard(held.packet);
        }
    }

    /// What is asked for of a stream, but for what waits here.
    pub(super) fn but_what_waits(&self, stream: &Stream, request: &Request) -> Option<Request> {
        let expected = self.holding.left_of(stream, &request.expected)?;
        Some(Request { expected, ..*request })
    }

    /// Senders are told, and what waits is sent, if that is due.
    pub(super) fn try_queues(&mut self, now: Instant, out: &mut Outbox) {
        let (mut told, mut packets, mut late) = (Vec::new(), Vec::new(), Vec::new());
        self.holding.on_timer(now, &mut told, &mut packets, &mut late);
        for (stream, met) in told {
            if stream.from == self.address {
                self.slow_down(&stream, met);
            } else {
                self.send(&stream, Message::Congestion(met), out);
            }
        }
        for (stream, Held { seq, len, packet, refused, .. }) in late {
            self.counters.hold_overflows += 1;
            self.note_drop(now, &stream, seq, len);
            if !refused {
                // Nobody has counted it as lost.
                out.discard(packet);
            }
        }
        for packet in packets {
            self.send_on(packet, out);
        }
    }

    /// A host here has sent more than its path has room for.
    pub(super) fn slow_down(&mut self, stream: &Stream, met: Met) {
        let is_reduced = self.edge.as_mut().is_some_and(|edge| edge.on_congestion(stream, met));
        self.counters.slowdowns += u64::from(is_reduced);
    }
}

/// Whether it is data of a connection: an edge has a window for no other.
fn is_of_connection(sdtp: &Sdtp) -> bool {
    sdtp.data().is_some_and(|data| matches!(data.content, Content::Segment(_)))
}

/// The number of the host that has sent what it carries.
fn host_of(packet: &Packet) -> u16 {
    match &packet.body {
        Body::Sdtp(sdtp) => sdtp.data().map_or(0, |data| data.host),
        _ => 0,
    }
}

/// Marks data whose sender does ECN: that slows down by itself. Not an RD, which is sealed.
fn mark(packet: &mut Packet) -> bool {
    let Body::Sdtp(sdtp) = &mut packet.body else { return false };
    let Message::Data(data) = &mut sdtp.message else { return false };
    let is_capable = data.ecn() != Ecn::NotCapable;
    if is_capable {
        data.mark();
    }
    is_capable
}
