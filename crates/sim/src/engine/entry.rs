//! Entries of the event queue: which machine acts, and when.

use handfast_core::Instant;

use crate::engine::ids::Handle;

/// A machine's place in the order of events at equal times: first by node, then by the machine's number in that node.
pub(crate) type Rank = u32;

/// What acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Machine {
    /// One direction of a link.
    Channel(u32),
    /// A connection at its host: application and endpoint.
    Connection(u32),
    /// A forwarder that a scheme attached.
    Agent(u32),
    /// The medium of an access point.
    Air(u32),
    /// One end of a flow that does not use TCP.
    Transport(u32),
    /// Not a machine, but a packet that has flown ([`crate::engine::fast_path::flight::Flight`]).
    Packet(Handle),
}

/// A [`Machine`] in four bytes, so that an entry takes sixteen and four of them share a cache line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Packed(u32);

impl Packed {
    const KIND_SHIFT: u32 = 29;

    fn new(machine: Machine) -> Self {
        let (kind, index) = match machine {
            Machine::Channel(index) => (0, index),
            Machine::Connection(index) => (1, index),
            Machine::Agent(index) => (2, index),
            Machine::Air(index) => (3, index),
            Machine::Packet(index) => (4, index),
            Machine::Transport(index) => (5, index),
        };
        assert!(index >> Self::KIND_SHIFT == 0, "no scenario has 2^29 machines of a kind");
        Self(kind << Self::KIND_SHIFT | index)
    }

    #[inline]
    fn is_link(self) -> bool {
        self.0 >> Self::KIND_SHIFT == 0
    }

    #[inline]
    fn machine(self) -> Machine {
        let index = self.0 & ((1 << Self::KIND_SHIFT) - 1);
        match self.0 >> Self::KIND_SHIFT {
            0 => Machine::Channel(index),
            1 => Machine::Connection(index),
            2 => Machine::Agent(index),
            3 => Machine::Air(index),
            4 => Machine::Packet(index),
            _ => Machine::Transport(index),
        }
    }
}

/// Rank and [`Packed`] machine: the lower half of an entry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key(u64);

impl Key {
    pub(crate) fn new(rank: Rank, machine: Machine) -> Self {
        Self(u64::from(rank) << 32 | u64::from(Packed::new(machine).0))
    }

    #[inline]
    pub(crate) fn rank(self) -> Rank {
        (self.0 >> 32) as Rank
    }

    #[inline]
    pub(crate) fn is_link(self) -> bool {
        Packed(self.0 as u32).is_link()
    }
}

/// (time, rank, machine) as one number: entries compare without branches, which a heap's random order would mispredict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Entry(u128);

impl Entry {
    /// After every entry that there can be.
    pub(crate) const NEVER: Self = Self(u128::MAX);
    /// Before every entry that there can be.
    pub(crate) const ALWAYS: Self = Self(0);

    #[inline]
    pub(crate) fn new(at: Instant, key: Key) -> Self {
        Self(u128::from(at.as_nanos()) << 64 | u128::from(key.0))
    }

    /// That of a packet which arrives by the link of that rank.
    #[inline]
    pub(crate) fn of_packet(at: Instant, rank: Rank, handle: Handle) -> Self {
        Self::new(at, Key::new(rank, Machine::Packet(handle)))
    }

    /// The same machine's at another time.
    #[inline]
    pub(crate) fn moved_to(self, at: Instant) -> Self {
        Self::new(at, Key(self.0 as u64))
    }

    /// Time and rank: all that matters. Only packets that arrive by one link at the same time have it in common.
    #[inline]
    pub(crate) fn order(self) -> u128 {
        self.0 >> 32
    }

    /// Whether it comes after `earlier`, which was there before.
    #[inline]
    pub(crate) fn is_after(self, earlier: Self) -> bool {
        earlier.0 <= self.0 | u128::from(u32::MAX)
    }

    /// When; [`Instant::MAX`] for [`Entry::NEVER`].
    #[inline]
    pub(crate) fn at(self) -> Instant {
        Instant::from_nanos((self.0 >> 64) as u64)
    }

    #[inline]
    pub(crate) fn rank(self) -> usize {
        (self.0 >> 32) as u32 as usize
    }

    #[inline]
    pub(crate) fn machine(self) -> Machine {
        Packed(self.0 as u32).machine()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_keeps_its_kind() {
        for machine in [
            Machine::Channel(7),
            Machine::Connection(0),
            Machine::Agent(12),
            Machine::Air(3),
            Machine::Packet(5),
            Machine::Transport(9),
        ] {
            assert_eq!(Packed::new(machine).machine(), machine);
        }
    }
}
