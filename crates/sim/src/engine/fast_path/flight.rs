//! Packets in flight: where nothing can happen to a link that is not known, a packet's arrival is known when it enters. It has
//! an entry of its own in the event queue, and the link is not touched again.

use handfast_core::{Bytes, Instant};
use handfast_net::Foreseen;
use handfast_plan::topology::ChannelId;

use crate::engine::entry::{Entry, Rank};
use crate::engine::fast_path::lanes::Lane;
use crate::engine::prefetch::CACHE_LINE;
use crate::hosts::connections::ConnectionId;
use crate::net::links::Channel;
use crate::net::network::Network;
use crate::net::packets::{Handle, Passing};

/// The length of the shortest IP packet (RFC 791 §3.1).
const LEAST: Bytes = Bytes(20);

/// Whether packets fly through a channel.
#[derive(Debug, Default)]
#[repr(u32, align(64))]
pub(crate) enum Way {
    /// They wait in its link, and each look at that is an event.
    #[default]
    Closed,
    /// They do, and land at its far end.
    Flies(Course, Foreseen),
    /// They do, and there go on by links that nothing else enters (`tandem.rs`).
    Leads(Course, Foreseen),
    /// They do, and agents at its far end see them.
    Shows(Course, Foreseen),
}

const _: () = assert!(size_of::<Way>() == 2 * CACHE_LINE);

/// Where packets fly that enter a channel. Beside the link, not around it: so one that finds the line idle touches one cache
/// line.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Course {
    /// That of the channel.
    rank: Rank,
    /// The node at its far end.
    to: u32,
    lane: Lane,
}

impl Way {
    /// That of a channel through which nothing keeps packets from flying but, perhaps, its link. `leads`: in tandem with the
    /// next. `shows`: there are agents at its far end.
    pub(crate) fn of(channel: &Channel, leads: bool, shows: bool) -> Self {
        let Some(link) = channel.link.foreseen() else { return Self::Closed };
        let lane = if link.separates(LEAST) { Lane::ANY } else { Lane::NONE };
        let course = Course { rank: channel.timer.rank(), to: channel.to, lane };
        match (leads, shows) {
            (_, true) => Self::Shows(course, link),
            (true, false) => Self::Leads(course, link),
            (false, false) => Self::Flies(course, link),
        }
    }

    #[inline]
    fn parts(&mut self) -> Option<(&mut Course, &mut Foreseen)> {
        match self {
            Self::Closed => None,
            Self::Flies(course, link) | Self::Leads(course, link) | Self::Shows(course, link) => {
                Some((course, link))
            }
        }
    }

    /// Whether packets fly through it.
    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        !matches!(self, Self::Closed)
    }

    /// Whether agents see what has flown through it.
    #[inline]
    pub(crate) fn shows(&self) -> bool {
        matches!(self, Self::Shows(..))
    }

    /// Whether what flies through it goes on without landing.
    #[inline]
    pub(crate) fn leads(&self) -> bool {
        matches!(self, Self::Leads(..))
    }
}

/// Where a packet lands, and what it will need there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flight {
    /// The channel that it enters next; [`Flight::HOME`]: it is at the node it is addressed to; [`Flight::NODE`]: what becomes
    /// of it is found out when it lands.
    pub(crate) next: u32,
    /// What to ask for before: a connection, and a channel. [`Flight::NOTHING`]: none. Of [`Flight::NODE`] the channel is
    /// the one by which it comes.
    pub(crate) connection: ConnectionId,
    pub(crate) channel: u32,
}

impl Flight {
    pub(crate) const HOME: u32 = u32::MAX;
    pub(crate) const NODE: u32 = u32::MAX - 1;
    pub(crate) const NOTHING: u32 = u32::MAX;
    /// That of what is no packet.
    pub(crate) const NONE: Self =
        Self { next: Self::HOME, connection: ConnectionId::NONE, channel: Self::NOTHING };
}

impl Network {
    /// Sends a packet through a channel that it flies through, and through those in tandem with it.
    #[inline(never)]
    pub(crate) fn fly(&mut self, mut now: Instant, mut id: ChannelId, passing: Passing) {
        loop {
            let Some(way) = self.links.way_mut(id) else { return };
            let (leads, shows) = (way.leads(), way.shows());
            let Some((course, link)) = way.parts() else { return self.propagate(now, id, passing) };
            let arrival = match link.enter(now, passing.size()) {
                Ok(arrival) => arrival,
                Err(cause) => return self.fail(now, id, passing.handle, cause),
            };
            if arrival >= self.end {
                // It is under way when the run ends: nothing becomes of it.
                return;
            }
            self.books.count_hop();
            let (rank, node, lane) = (course.rank, course.to, course.lane);
            let next = if shows {
                Flight::NODE
            } else if passing.goal.node == node {
                Flight::HOME
            } else {
                self.topology.pass_on(node as usize, passing.goal).unwrap_or(Flight::NODE)
            };
            if !leads || next == Flight::NODE {
                let flight = self.flight(next, id, passing);
                let mut taken = lane;
                self.queue.fly(Entry::of_packet(arrival, rank, passing.handle), flight, &mut taken);
                if taken != lane {
                    self.change_lane(id, taken);
                }
                return;
            }
            (now, id) = (arrival, next as usize);
        }
    }

    /// The next packet through the channel comes behind this one.
    #[cold]
    fn change_lane(&mut self, id: ChannelId, lane: Lane) {
        if let Some((course, _)) = self.links.way_mut(id).and_then(Way::parts) {
            course.lane = lane;
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
            return Flight { next, connection, channel: id as u32 ^ 1 };
        }
        let after = match self.links.way(next as usize) {
            Some(Way::Leads(course, _)) => self.topology.pass_on(course.to as usize, passing.goal),
            _ => None,
        };
        Flight { next, connection: ConnectionId::NONE, channel: after.unwrap_or(next) }
    }

    /// A packet has flown.
    #[inline]
    pub(crate) fn land(&mut self, now: Instant, handle: Handle, entry: Entry) {
        let (flight, next, its) = self.queue.pop_packet(entry);
        self.get_next_ready(next, its);
        let passing = self.packets.passing(handle);
        if flight.next == Flight::HOME {
            return self.deliver(now, passing.goal.node as usize, handle);
        }
        if flight.next == Flight::NODE {
            let id = flight.channel as usize;
            return self.show(now, self.links[id].to as usize, id, passing);
        }
        self.transmit(now, flight.next as usize, passing);
    }
}
