//! What the network prefetches: what the next events will touch. With thousands of flows nearly none of it is in the cache
//! (`engine/fast_path/README.md`). The instruction itself is in `core`.

use handfast_core::prefetch::{CACHE_LINE, prefetch};
use handfast_plan::topology::{ChannelId, reverse};
use handfast_tcp::Touch;

use crate::engine::entry::{Entry, Machine};
use crate::engine::fast_path::flight::Flight;
use crate::engine::ids::ConnectionId;
use crate::hosts::connection::Connection;
use crate::hosts::connections::Connections;
use crate::net::links::Channel;
use crate::net::packets::Passing;
use crate::run::network::Network;

impl Network {
    /// Prefetches what the event after this one is likely to touch first: a packet that lands and what it will need there, or a
    /// link and the packet in front of it. That packet may not be at the link's end yet; fetching it in vain costs less than
    /// finding out.
    #[inline]
    pub(crate) fn prefetch_next(&self, next: Entry, Flight { connection, channel, .. }: Flight) {
        match next.machine() {
            Machine::Packet(handle) => {
                self.packets.prefetch(handle);
                if !self.fits_cache {
                    self.queue.prefetch_ahead();
                    self.packets.prefetch_sacks(handle);
                    prefetch_connection(&self.hosts.connections, connection);
                    self.prefetch_channel(channel as usize);
                }
            }
            Machine::Channel(id) => {
                self.prefetch_channel(id as usize);
                if let Some(passing) = self.links.get(id as usize).and_then(|channel| channel.link.front()) {
                    self.packets.prefetch(passing.handle);
                }
            }
            _ => {}
        }
    }

    /// Prefetches what a packet will touch at the far end of a channel.
    #[inline(never)]
    pub(crate) fn prefetch_hop(&self, id: ChannelId, passing: Passing) {
        let channel = &self.links[id];
        if passing.goal.node == channel.to {
            let connections = &self.hosts.connections;
            let receiver = connections.peer(self.packets.label(passing.handle).origin);
            prefetch_connection(connections, receiver);
            // The answer goes back by the same link.
            self.prefetch_channel(reverse(id));
        } else if let Some(next) = self.topology.pass_on(channel.to as usize, passing.goal) {
            self.prefetch_channel(next as usize);
        }
    }

    /// Where packets fly, they need the first line of its transit.
    #[inline]
    fn prefetch_channel(&self, id: ChannelId) {
        match self.links.transit(id) {
            Some(transit) => prefetch(Some(transit), 0..1),
            None => prefetch(self.links.get(id).map(|channel| &channel.timer), 0..CHANNEL_LINES),
        }
    }

    /// Prefetches the link by which a connection sends: its timer has come up.
    #[inline]
    pub(crate) fn prefetch_departure(&self, id: ConnectionId) {
        self.prefetch_channel(self.hosts.connections[id].local.out as usize);
    }

    /// Prefetches the connection whose timer is likely to come up next.
    #[inline]
    pub(crate) fn prefetch_next_timer(&self) {
        if let Some(Machine::Connection(next)) = self.queue.next_timer() {
            prefetch_connection(&self.hosts.connections, ConnectionId(next));
        }
    }
}

#[inline]
fn prefetch_connection(connections: &Connections, id: ConnectionId) {
    let Some(connection) = connections.get(id) else { return };
    if connections.sends(id) {
        connection.prefetch(Touch::Acknowledgment);
    } else {
        connection.prefetch(Touch::Segment);
    }
}

/// What is taken to stay in the second level of a core's cache, where there is nothing else: half of what is common.
const CACHED: usize = 1 << 20;

/// Whether the tables of so many connections and channels fit there.
pub(crate) fn fits_cache(connections: usize, channels: usize) -> bool {
    connections * size_of::<Connection>() + channels * size_of::<Channel>() <= CACHED
}

/// Cache lines of a channel.
const CHANNEL_LINES: usize = size_of::<Channel>().div_ceil(CACHE_LINE);
const _: () = assert!(CHANNEL_LINES <= 3);
