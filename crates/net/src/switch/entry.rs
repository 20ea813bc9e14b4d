//! A flow entry: whom it is about, what it does, what it counted, when it ends.

use std::cmp::Reverse;

use handfast_core::{Duration, Instant};
use handfast_wire::openflow::{
    FlowMod, FlowModFlags, FlowRemoved, FlowRemovedReason, FlowStats, Instruction, Match,
};

use super::pattern::Pattern;
use super::program::Program;

/// Where an entry stands in its table: the highest priority first, of equal ones the oldest. (§5.3 leaves open which of several
/// entries of equal priority is taken.)
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    pub(super) priority: Reverse<u16>,
    /// Number of the entry in order of creation.
    pub(super) age: u64,
}

impl Rank {
    /// Before all entries of that priority.
    pub(super) const fn first(priority: u16) -> Self {
        Self { priority: Reverse(priority), age: 0 }
    }

    /// After all of them.
    pub(super) const fn last(priority: u16) -> Self {
        Self { priority: Reverse(priority), age: u64::MAX }
    }
}

/// A flow entry (§5.2).
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) rank: Rank,
    pub(super) pattern: Pattern,
    pub(super) program: Program,
    pub(super) cookie: u64,
    pub(super) packets: u64,
    pub(super) bytes: u64,
    /// Under which end the entry is noted among those that end.
    pub(super) noted_end: Option<Instant>,
    flags: FlowModFlags,
    idle_timeout: u16,
    hard_timeout: u16,
    created: Instant,
    used: Instant,
    matches: Match,
    instructions: Vec<Instruction>,
}

impl Entry {
    /// The entry that `request` describes, with what was already made of its match and instructions.
    pub(super) fn new(now: Instant, request: &FlowMod, age: u64, pattern: Pattern, program: Program) -> Self {
        Self {
            rank: Rank { priority: Reverse(request.priority), age },
            pattern,
            program,
            cookie: request.cookie,
            packets: 0,
            bytes: 0,
            noted_end: None,
            flags: request.flags,
            idle_timeout: request.idle_timeout,
            hard_timeout: request.hard_timeout,
            created: now,
            used: now,
            matches: request.matches.clone(),
            instructions: request.instructions.clone(),
        }
    }

    /// Counts a packet of `len` bytes (§5.8).
    pub(super) fn count(&mut self, now: Instant, len: usize) {
        self.packets = self.packets.wrapping_add(1);
        self.bytes = self.bytes.wrapping_add(len as u64);
        self.used = now;
    }

    /// §6.4: a modification changes instructions, and counters if it says so; cookie, timeouts, flags and age stay.
    pub(super) fn modify(&mut self, request: &FlowMod, program: Program) {
        self.program = program;
        self.instructions.clone_from(&request.instructions);
        if request.flags.contains(FlowModFlags::RESET_COUNTS) {
            (self.packets, self.bytes) = (0, 0);
        }
    }

    /// §5.4: the entry that matches everything at priority 0.
    pub(super) fn is_table_miss(&self) -> bool {
        self.rank.priority.0 == 0 && self.pattern.is_empty()
    }

    /// Whether the controller wants to hear of its end.
    pub(super) fn is_missed(&self) -> bool {
        self.flags.contains(FlowModFlags::SEND_FLOW_REM)
    }

    /// When it ends by itself, as things stand, and for which reason (§5.5).
    pub(super) fn end(&self) -> Option<(Instant, FlowRemovedReason)> {
        let idle = timeout(self.used, self.idle_timeout).map(|at| (at, FlowRemovedReason::IdleTimeout));
        let hard = timeout(self.created, self.hard_timeout).map(|at| (at, FlowRemovedReason::HardTimeout));
        hard.into_iter().chain(idle).min_by_key(|&(at, _)| at)
    }

    /// The message that reports its removal (§7.4.2).
    pub(super) fn removed(self, now: Instant, table_id: u8, reason: FlowRemovedReason) -> FlowRemoved {
        let (duration_sec, duration_nsec) = seconds(now.since(self.created));
        FlowRemoved {
            cookie: self.cookie,
            priority: self.rank.priority.0,
            reason,
            table_id,
            duration_sec,
            duration_nsec,
            idle_timeout: self.idle_timeout,
            hard_timeout: self.hard_timeout,
            packet_count: self.packets,
            byte_count: self.bytes,
            matches: self.matches,
        }
    }

    /// What is told of it on request (§7.3.5.2).
    pub(super) fn stats(&self, now: Instant, table_id: u8) -> FlowStats {
        let (duration_sec, duration_nsec) = seconds(now.since(self.created));
        FlowStats {
            table_id,
            duration_sec,
            duration_nsec,
            priority: self.rank.priority.0,
            idle_timeout: self.idle_timeout,
            hard_timeout: self.hard_timeout,
            flags: self.flags,
            cookie: self.cookie,
            packet_count: self.packets,
            byte_count: self.bytes,
            matches: self.matches.clone(),
            instructions: self.instructions.clone(),
        }
    }
}

/// A timeout of zero never comes.
fn timeout(from: Instant, seconds: u16) -> Option<Instant> {
    (seconds > 0).then(|| from + Duration::from_secs(seconds.into()))
}

/// Whole seconds and the nanoseconds beyond them.
fn seconds(span: Duration) -> (u32, u32) {
    const NANOS: u64 = 1_000_000_000;
    ((span.as_nanos() / NANOS) as u32, (span.as_nanos() % NANOS) as u32)
}
