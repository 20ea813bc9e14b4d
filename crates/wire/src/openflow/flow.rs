//! Flow entries: changes of them, and their end.

use super::{Instruction, Match, PortNo};

/// What a change does (§7.3.4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowModCommand {
    /// A new entry; one with the same match and priority is replaced.
    Add,
    /// New instructions for all entries that match.
    Modify,
    /// New instructions for the entry with exactly this match and priority.
    ModifyStrict,
    /// Away with all entries that match.
    Delete,
    /// Away with the entry with exactly this match and priority.
    DeleteStrict,
}

/// `OFPFF_*`: 1 `SEND_FLOW_REM`, 2 `CHECK_OVERLAP`, 4 `RESET_COUNTS`, 8 `NO_PKT_COUNTS`, 16 `NO_BYT_COUNTS`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowModFlags(pub u16);

impl FlowModFlags {
    /// The switch says when the entry is gone.
    pub const SEND_FLOW_REM: Self = Self(1);
    /// The entry is refused if another of its priority overlaps.
    pub const CHECK_OVERLAP: Self = Self(2);
    /// Counters begin again.
    pub const RESET_COUNTS: Self = Self(4);

    /// Whether all of `other` is set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// A change of flow entries (§7.3.4.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowMod {
    /// Whose entry it is: the controller's own mark.
    pub cookie: u64,
    /// Modify and delete: which bits of the cookie must agree; 0: it does not count.
    pub cookie_mask: u64,
    /// The table; [`super::ALL_TABLES`] for deletions.
    pub table_id: u8,
    /// What to do.
    pub command: FlowModCommand,
    /// Seconds without a packet after which the entry goes; 0: never.
    pub idle_timeout: u16,
    /// Seconds after which the entry goes; 0: never.
    pub hard_timeout: u16,
    /// The highest that matches counts.
    pub priority: u16,
    /// A packet kept at the switch to which this applies, or [`super::NO_BUFFER`].
    pub buffer_id: u32,
    /// Deletions: only entries that send there; [`PortNo::ANY`].
    pub out_port: PortNo,
    /// Deletions: only entries with that group; [`super::ANY_GROUP`].
    pub out_group: u32,
    /// See there.
    pub flags: FlowModFlags,
    /// Which packets.
    pub matches: Match,
    /// What becomes of them; none: they are dropped.
    pub instructions: Vec<Instruction>,
}

/// Why an entry is gone (§7.4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowRemovedReason {
    /// No packet for too long.
    IdleTimeout,
    /// Its time was over.
    HardTimeout,
    /// It was deleted.
    Delete,
    /// Its group was deleted.
    GroupDelete,
}

/// A flow entry is gone (§7.4.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowRemoved {
    /// Its mark.
    pub cookie: u64,
    /// Its priority.
    pub priority: u16,
    /// Why.
    pub reason: FlowRemovedReason,
    /// Its table.
    pub table_id: u8,
    /// How long it lived: seconds.
    pub duration_sec: u32,
    /// And nanoseconds beyond them.
    pub duration_nsec: u32,
    /// Its idle timeout, s.
    pub idle_timeout: u16,
    /// Its hard timeout, s.
    pub hard_timeout: u16,
    /// Packets that it matched.
    pub packet_count: u64,
    /// Their bytes.
    pub byte_count: u64,
    /// Its match.
    pub matches: Match,
}
