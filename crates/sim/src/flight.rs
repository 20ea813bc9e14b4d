//! Packets in flight: where nothing can happen to a link that is not known, a packet's arrival is known when it enters. It has
//! an entry of its own in the event queue, and the link is not touched again.

use handfast_core::Instant;
use handfast_measure::topology::ChannelId;
use handfast_net::Foreseen;

use crate::network::{Channel, Network};
use crate::packets::{Handle, Passing};
use crate::prefetch::CACHE_LINE;
use crate::queue::{Entry, Rank};

/// Whether packets fly through a channel.
#[derive(Debug, Default)]
#[repr(u32, align(64))]
pub(crate) enum Way {
    /// They wait in its link, and each look at that is an event.
    #[default]
    Closed,
    /// They do, and land at its far end.
    Flies(Course),
    /// They do, and there go on by links that nothing else enters (`tandem.rs`).
    Leads(Course),
}

const _: () = assert!(size_of::<Way>() == 2 * CACHE_LINE);

/// How packets fly through a channel. In the order of the fields: one that finds the line idle touches one cache line.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Course {
    /// That of the channel.
    rank: Rank,
    /// The node at its far end.
    to: u32,
    link: Foreseen,
}

impl Course {
    /// That of a channel whose link foresees all.
    pub(crate) fn of(channel: &Channel) -> Option<Self> {
        let link = channel.link.foreseen()?;
        Some(Self { rank: channel.timer.rank(), to: channel.to, link })
    }
}

impl Way {
    #[inline]
    fn course(&mut self) -> Option<&mut Course> {
        match self {
            Self::Closed => None,
            Self::Flies(course) | Self::Leads(course) => Some(course),
        }
    }

    /// Whether packets fly through it.
    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        !matches!(self, Self::Closed)
    }

    /// Whether what flies through it goes on without landing.
    #[inline]
    pub(crate) fn leads(&self) -> bool {
        matches!(self, Self::Leads(_))
    }
}

/// Where a packet lands, and what it will need there.
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
    /// Sends a packet through a channel that it flies through, and through those in tandem with it.
    #[inline(never)]
    pub(crate) fn fly(&mut self, mut now: Instant, mut id: ChannelId, passing: Passing) {
        loop {
            let Some(way) = self.ways.get_mut(id) else { return };
            let leads = way.leads();
            let Some(course) = way.course() else { return self.propagate(now, id, passing) };
            let Ok(arrival) = course.link.enter(now, passing.size()) else {
                return self.lose(passing.handle);
            };
            if arrival >= self.end {
                // It is under way when the run ends: nothing becomes of it.
                return;
            }
            self.books.packet_hops += 1;
            let (rank, node) = (course.rank, course.to);
            let next = if passing.goal.node == node {
                Flight::HOME
            } else {
                match self.topology.pass_on(node as usize, passing.goal) {
                    Some(next) => next,
                    None => return self.stray(arrival, node as usize, passing),
                }
            };
            if !leads {
                let flight = self.flight(next, id, passing);
                return self.queue.fly(Entry::of_packet(arrival, rank, passing.handle), flight);
            }
            (now, id) = (arrival, next as usize);
        }
    }

    /// The flight of a packet that lands after channel `id`.
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
        let after = match self.ways.get(next as usize) {
            Some(Way::Leads(course)) => self.topology.pass_on(course.to as usize, passing.goal),
            _ => None,
        };
        Flight { next, side: Flight::NOTHING, channel: after.unwrap_or(next) }
    }

    /// A packet has flown.
    #[inline]
    pub(crate) fn land(&mut self, now: Instant, handle: Handle, entry: Entry) {
        let flight = self.queue.pop_packet(entry);
        self.get_next_ready();
        let passing = self.packets.passing(handle);
        if flight.next == Flight::HOME {
            return self.deliver(now, passing.goal.node as usize, handle);
        }
        self.transmit(now, flight.next as usize, passing);
    }
}
