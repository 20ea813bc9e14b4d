//! What the network does with packets in flight: it sends them through channels, and lands them. Where nothing unforeseen can
//! happen to a link, a packet's arrival is known when it enters: it gets an entry of its own in the event queue, and the link is
//! not touched again. `engine/fast_path/flight.rs` holds what the queue keeps of such a packet.

use handfast_core::Instant;
use handfast_plan::topology::{ChannelId, reverse};

use crate::engine::entry::Entry;
use crate::engine::fast_path::arrival_fifos::FifoId;
use crate::engine::fast_path::flight::Flight;
use crate::engine::fast_path::transit::Transit;
use crate::engine::ids::ConnectionId;
use crate::engine::ids::Handle;
use crate::net::packets::Passing;
use crate::run::network::Network;

impl Network {
    /// Sends a packet through a channel that it flies through, and through those in tandem with it.
    #[inline(never)]
    pub(crate) fn fly(&mut self, mut now: Instant, mut id: ChannelId, passing: Passing) {
        loop {
            let Some(transit) = self.links.transit_mut(id) else { return };
            let (leads, shows) = (transit.is_tandem(), transit.lands_at_node());
            let Some((far_end, link)) = transit.parts() else { return self.propagate(now, id, passing) };
            let arrival = match link.enter(now, passing.size()) {
                Ok(arrival) => arrival,
                Err(cause) => return self.fail(now, id, passing.handle, cause),
            };
            if arrival >= self.end {
                // It is under way when the run ends: nothing becomes of it.
                return;
            }
            self.books.count_hop(passing.size());
            let (rank, node, fifo) = (far_end.rank, far_end.to, far_end.fifo);
            let next = if shows {
                Flight::NODE
            } else if passing.goal.node == node {
                Flight::HOME
            } else {
                self.topology.pass_on(node as usize, passing.goal).unwrap_or(Flight::NODE)
            };
            if !leads || next == Flight::NODE {
                let flight = self.flight(next, id, passing);
                let mut taken = fifo;
                self.queue.fly(Entry::of_packet(arrival, rank, passing.handle), flight, &mut taken);
                if taken != fifo {
                    self.change_fifo(id, taken);
                }
                return;
            }
            (now, id) = (arrival, next as usize);
        }
    }

    /// The next packet through the channel comes behind this one.
    #[cold]
    fn change_fifo(&mut self, id: ChannelId, fifo: FifoId) {
        if let Some((far_end, _)) = self.links.transit_mut(id).and_then(Transit::parts) {
            far_end.fifo = fifo;
        }
    }

    /// The flight of a packet that lands after channel `id`.
    #[inline]
    fn flight(&self, next: u32, id: ChannelId, passing: Passing) -> Flight {
        if next == Flight::NODE {
            return Flight { next, connection: ConnectionId::NONE, channel: id as u32 };
        }
        if self.fits_cache {
            return Flight { next, ..Flight::NONE };
        }
        if next == Flight::HOME {
            let connection = self.hosts.connections.peer(self.packets.label(passing.handle).origin);
            // The answer goes back by the same link.
            return Flight { next, connection, channel: reverse(id) as u32 };
        }
        let after = match self.links.transit(next as usize) {
            Some(Transit::Tandem(far_end, _)) => self.topology.pass_on(far_end.to as usize, passing.goal),
            _ => None,
        };
        Flight { next, connection: ConnectionId::NONE, channel: after.unwrap_or(next) }
    }

    /// A packet has flown.
    #[inline]
    pub(crate) fn land(&mut self, now: Instant, handle: Handle, entry: Entry) {
        let (flight, next, its) = self.queue.pop_packet(entry);
        self.prefetch_next(next, its);
        if flight.next == Flight::HOME {
            return self.deliver(now, self.packets.label(handle).goal.node as usize, handle);
        }
        let passing = self.packets.passing(handle);
        if flight.next == Flight::NODE {
            let id = flight.channel as usize;
            return self.show(now, self.links[id].to as usize, id, passing);
        }
        self.transmit(now, flight.next as usize, passing);
    }
}
