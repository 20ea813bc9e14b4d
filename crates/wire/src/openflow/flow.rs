//! Flow entries: changes of them, and their end.

use bytes::{Buf, BufMut};

use super::codec::{Reader, value};
use super::{EmitError, Instruction, Match, ParseError, Part, PortNo};

/// Bytes before the match, without the header, of a flow-mod and of a flow-removed.
const FIXED_LEN: usize = 40;

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

impl FlowModCommand {
    /// In the order of `OFPFC_*`.
    const ALL: [Self; 5] = [Self::Add, Self::Modify, Self::ModifyStrict, Self::Delete, Self::DeleteStrict];
}

impl FlowRemovedReason {
    /// In the order of `OFPRR_*`.
    const ALL: [Self; 4] = [Self::IdleTimeout, Self::HardTimeout, Self::Delete, Self::GroupDelete];
}

impl FlowMod {
    pub(super) fn parse(mut at: Reader) -> Result<Self, ParseError> {
        let mut fixed = at.take(FIXED_LEN, Part::FlowMod)?;
        Ok(Self {
            cookie: fixed.get_u64(),
            cookie_mask: fixed.get_u64(),
            table_id: fixed.get_u8(),
            command: value(&FlowModCommand::ALL, fixed.get_u8().into(), Part::FlowMod)?,
            idle_timeout: fixed.get_u16(),
            hard_timeout: fixed.get_u16(),
            priority: fixed.get_u16(),
            buffer_id: fixed.get_u32(),
            out_port: PortNo(fixed.get_u32()),
            out_group: fixed.get_u32(),
            flags: FlowModFlags(fixed.get_u16()),
            matches: Match::parse(&mut at)?,
            instructions: Instruction::parse_all(at)?,
        })
    }

    pub(super) fn emit(&self, out: &mut Vec<u8>) -> Result<(), EmitError> {
        out.put_u64(self.cookie);
        out.put_u64(self.cookie_mask);
        out.put_slice(&[self.table_id, self.command as u8]);
        for field in [self.idle_timeout, self.hard_timeout, self.priority] {
            out.put_u16(field);
        }
        for field in [self.buffer_id, self.out_port.0, self.out_group] {
            out.put_u32(field);
        }
        out.put_u16(self.flags.0);
        out.put_bytes(0, 2);
        self.matches.emit(out)?;
        Instruction::emit_all(&self.instructions, out)
    }
}

impl FlowRemoved {
    pub(super) fn parse(mut at: Reader) -> Result<Self, ParseError> {
        let mut fixed = at.take(FIXED_LEN, Part::FlowRemoved)?;
        let removed = Self {
            cookie: fixed.get_u64(),
            priority: fixed.get_u16(),
            reason: value(&FlowRemovedReason::ALL, fixed.get_u8().into(), Part::FlowRemoved)?,
            table_id: fixed.get_u8(),
            duration_sec: fixed.get_u32(),
            duration_nsec: fixed.get_u32(),
            idle_timeout: fixed.get_u16(),
            hard_timeout: fixed.get_u16(),
            packet_count: fixed.get_u64(),
            byte_count: fixed.get_u64(),
            matches: Match::parse(&mut at)?,
        };
        at.end(Part::FlowRemoved)?;
        Ok(removed)
    }

    pub(super) fn emit(&self, out: &mut Vec<u8>) -> Result<(), EmitError> {
        out.put_u64(self.cookie);
        out.put_u16(self.priority);
        out.put_slice(&[self.reason as u8, self.table_id]);
        out.put_u32(self.duration_sec);
        out.put_u32(self.duration_nsec);
        out.put_u16(self.idle_timeout);
        out.put_u16(self.hard_timeout);
        out.put_u64(self.packet_count);
        out.put_u64(self.byte_count);
        self.matches.emit(out)
    }
}
