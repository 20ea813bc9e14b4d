//! Packets in flight: where nothing can happen to a link that is not known, a packet's arrival is known when it enters. It has
//! an entry of its own in the event queue, and the link is not touched again.

use handfast_core::Instant;
use handfast_measure::topology::ChannelId;

use crate::network::Network;
use crate::packets::{Handle, Passing};
use crate::queue::Entry;

/// What a packet will need when it lands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flight {
    /// The channel that it enters next; [`Flight::HOME`]: it is at the node it is addressed to.
    pub(crate) next: u32,
    /// What to ask for before: the end of a flow, and a channel. [`Flight::NOTHING`]: none.
    pub(crate) side: u32,
    pub(crate) channel: u32,
}

impl Flight {
    pub(crate) const HOME: u32 = u32::MAX;
    pub(crate) const NOTHING: u32 = u32::MAX;
    /// That of what is no packet.
    pub(crate) const NONE: Self = Self { next: Self::HOME, side: Self::NOTHING, channel: Self::NOTHING };
}

impl Network {
    /// Sends a packet through a link that foresees all, and onto those in tandem with it.
    #[inline(never)]
    pub(crate) fn relay(&mut self, mut now: Instant, mut id: ChannelId, passing: Passing) {
        loop {
            let channel = &mut self.channels[id];
            now = match channel.link.relay(now, passing, passing.size(), passing.has_payload()) {
                Ok(arrival) => arrival,
                Err(cause) => return self.fail(now, id, passing.handle, cause),
            };
            if now >= self.end {
                // It is under way when the run ends: nothing becomes of it.
                return;
            }
            self.books.packet_hops += 1;
            let (node, leads) = (channel.to, channel.on_air.leads());
            let next = if passing.goal.node == node {
                Flight::HOME
            } else {
                match self.topology.pass_on(node as usize, passing.goal) {
                    Some(next) => next,
                    None => return self.stray(now, node as usize, passing),
                }
            };
            if !leads {
                let entry = Entry::of_packet(now, &channel.timer, passing.handle);
                let flight = self.flight(next, id, passing);
                return self.queue.fly(entry, flight);
            }
            id = next as usize;
            if !self.channels[id].on_air.is_foreseen() {
                return self.propagate(now, id, passing);
            }
        }
    }

    /// What will be needed where the packet goes next after channel `id`.
    #[inline]
    fn flight(&self, next: u32, id: ChannelId, passing: Passing) -> Flight {
        if self.fits_cache {
            return Flight { next, ..Flight::NONE };
        }
        if next == Flight::HOME {
            let side = self.packets.label(passing.handle).origin ^ 1;
            // The answer goes back by the same link.
            return Flight { next, side, channel: id as u32 ^ 1 };
        }
        let channel = match &self.channels[next as usize] {
            link if link.on_air.leads() => self.topology.pass_on(link.to as usize, passing.goal),
            _ => None,
        };
        Flight { next, side: Flight::NOTHING, channel: channel.unwrap_or(next) }
    }

    /// A packet has flown.
    #[inline]
    pub(crate) fn land(&mut self, now: Instant, handle: Handle, entry: Entry) {
        let flight = self.queue.pop_packet(entry);
        self.get_next_ready();
        if flight.next == Flight::HOME {
            let node = self.packets.label(handle).goal.node;
            return self.deliver(now, node as usize, handle);
        }
        let passing = self.packets.passing(handle);
        self.transmit(now, flight.next as usize, passing);
    }
}
