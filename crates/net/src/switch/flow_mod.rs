//! Changes of flow entries (§6.4) and their end (§5.5).

use std::collections::BTreeSet;

use bytes::Bytes;
use handfast_core::Instant;
use handfast_wire::openflow::{
    ALL_TABLES, ANY_GROUP, Body, FlowMod, FlowModCommand, FlowModFlags, FlowRemovedReason, FlowStatsRequest,
    NO_BUFFER, PortNo, TableFeatures, TableStats,
};

use super::entry::{Entry, Rank};
use super::outbox::SwitchOutbox;
use super::pattern::Pattern;
use super::program::Program;
use super::refusal::Refusal;
use super::session::Session;
use super::table::Table;

/// `OFPFF_*` bits that are known.
const FLAGS: u16 = 0x1f;

/// Which entries a request is about.
pub(super) struct Selection {
    pattern: Pattern,
    /// Strict: exactly this match, and this priority.
    priority: Option<u16>,
    cookie: u64,
    cookie_mask: u64,
    out_port: PortNo,
    out_group: u32,
}

impl Selection {
    /// What statistics are asked of (§7.3.5.2).
    pub(super) fn of_stats(request: &FlowStatsRequest) -> Result<Self, Refusal> {
        Ok(Self {
            pattern: Pattern::new(&request.matches)?,
            priority: None,
            cookie: request.cookie,
            cookie_mask: request.cookie_mask,
            out_port: request.out_port,
            out_group: request.out_group,
        })
    }

    /// What a modification is about: output filters are for deletions only (§6.4).
    fn of_modify(request: &FlowMod, pattern: Pattern) -> Self {
        let strict = matches!(request.command, FlowModCommand::ModifyStrict | FlowModCommand::DeleteStrict);
        Self {
            pattern,
            priority: strict.then_some(request.priority),
            cookie: request.cookie,
            cookie_mask: request.cookie_mask,
            out_port: PortNo::ANY,
            out_group: ANY_GROUP,
        }
    }

    fn of_delete(request: &FlowMod, pattern: Pattern) -> Self {
        let (out_port, out_group) = (request.out_port, request.out_group);
        Self { out_port, out_group, ..Self::of_modify(request, pattern) }
    }

    /// Whether an entry is meant.
    pub(super) fn selects(&self, entry: &Entry) -> bool {
        let matches = match self.priority {
            Some(priority) => entry.rank.priority.0 == priority && entry.pattern == self.pattern,
            None => self.pattern.covers(&entry.pattern),
        };
        matches
            && (entry.cookie ^ self.cookie) & self.cookie_mask == 0
            && (self.out_port == PortNo::ANY || entry.program.sends_to(self.out_port))
            // There are no groups: no entry sends to one.
            && self.out_group == ANY_GROUP
    }
}

/// The tables and when their entries end.
#[derive(Clone, Debug)]
pub(super) struct Flows {
    pub(super) tables: Vec<Table>,
    /// For each entry with a timeout: not after the end that it has now.
    ends: BTreeSet<(Instant, u8, Rank)>,
    max_entries: usize,
    next_age: u64,
}

impl Flows {
    pub(super) fn new(n_tables: u8, max_entries: usize) -> Self {
        let tables = vec![Table::default(); usize::from(n_tables)];
        Self { tables, ends: BTreeSet::new(), max_entries, next_age: 0 }
    }

    /// Carries out a request (§6.4), or refuses it and changes nothing.
    pub(super) fn change(
        &mut self,
        now: Instant,
        request: &FlowMod,
        ending: &mut Ending<'_>,
    ) -> Result<(), Refusal> {
        if request.flags.0 & !FLAGS != 0 {
            return Err(Refusal::BAD_FLOW_FLAGS);
        }
        let pattern = Pattern::new(&request.matches)?;
        match request.command {
            FlowModCommand::Add => self.add(now, request, pattern),
            FlowModCommand::Modify | FlowModCommand::ModifyStrict => self.modify(request, pattern),
            FlowModCommand::Delete | FlowModCommand::DeleteStrict => {
                self.delete(now, request, pattern, ending)
            }
        }
    }

    fn add(&mut self, now: Instant, request: &FlowMod, pattern: Pattern) -> Result<(), Refusal> {
        let program = self.program(request)?;
        let (id, priority) = (request.table_id, request.priority);
        let table = &self.tables[usize::from(id)];
        if request.flags.contains(FlowModFlags::CHECK_OVERLAP) && table.overlaps(&pattern, priority) {
            return Err(Refusal::OVERLAP);
        }
        let same = table.find(&pattern, priority);
        if same.is_none() && self.len() >= self.max_entries {
            return Err(Refusal::TABLE_FULL);
        }
        let mut entry = Entry::new(now, request, self.next_age, pattern, program);
        self.next_age += 1;
        // §6.4: the old entry goes without a message, its counters stay unless they are to begin again.
        if let Some(old) = same.and_then(|rank| self.remove(id, rank))
            && !request.flags.contains(FlowModFlags::RESET_COUNTS)
        {
            (entry.packets, entry.bytes) = (old.packets, old.bytes);
        }
        entry.noted_end = entry.end().map(|(at, _)| at);
        self.ends.extend(entry.noted_end.map(|at| (at, id, entry.rank)));
        self.tables[usize::from(id)].insert(entry);
        Ok(())
    }

    fn modify(&mut self, request: &FlowMod, pattern: Pattern) -> Result<(), Refusal> {
        let program = self.program(request)?;
        let selection = Selection::of_modify(request, pattern);
        for entry in self.tables[usize::from(request.table_id)].entries_mut() {
            if selection.selects(entry) {
                entry.modify(request, program.clone());
            }
        }
        Ok(())
    }

    fn delete(
        &mut self,
        now: Instant,
        request: &FlowMod,
        pattern: Pattern,
        ending: &mut Ending<'_>,
    ) -> Result<(), Refusal> {
        let ids = self.ids(request.table_id).ok_or(Refusal::BAD_TABLE_ID)?;
        let selection = Selection::of_delete(request, pattern);
        for id in ids {
            let entries = self.tables[usize::from(id)].entries();
            let meant = entries.filter(|entry| selection.selects(entry)).map(|entry| entry.rank);
            for rank in meant.collect::<Vec<_>>() {
                if let Some(entry) = self.remove(id, rank) {
                    ending.tell(now, id, entry, FlowRemovedReason::Delete);
                }
            }
        }
        Ok(())
    }

    /// What an addition or modification puts into entries of its table, which is one table and exists.
    fn program(&self, request: &FlowMod) -> Result<Program, Refusal> {
        if usize::from(request.table_id) >= self.tables.len() {
            return Err(Refusal::BAD_TABLE_ID);
        }
        // Nothing is kept here (§7.4.1).
        if request.buffer_id != NO_BUFFER {
            return Err(Refusal::BUFFER_UNKNOWN);
        }
        Program::new(&request.instructions, request.table_id, self.tables.len() as u8)
    }

    /// The tables that a request means by a number.
    pub(super) fn ids(&self, table_id: u8) -> Option<std::ops::Range<u8>> {
        let n_tables = self.tables.len() as u8;
        match table_id {
            ALL_TABLES => Some(0..n_tables),
            id if id < n_tables => Some(id..id + 1),
            _ => None,
        }
    }

    /// How full each table is (§7.3.5.3). Packets are not counted by table.
    pub(super) fn stats(&self) -> impl Iterator<Item = TableStats> + '_ {
        self.tables.iter().zip(0..).map(|(table, table_id)| TableStats {
            table_id,
            active_count: table.len() as u32,
            lookup_count: 0,
            matched_count: 0,
        })
    }

    /// What each table can do (§7.3.5.5). They share the room for entries.
    pub(super) fn features(&self) -> impl Iterator<Item = TableFeatures> + '_ {
        let max_entries = u32::try_from(self.max_entries).unwrap_or(u32::MAX);
        self.tables.iter().zip(0..).map(move |(_, table_id)| TableFeatures {
            table_id,
            name: [0; 32],
            metadata_match: u32::MAX.into(),
            metadata_write: 0,
            config: 0,
            max_entries,
            properties: Bytes::new(),
        })
    }

    /// How many entries there are, in all tables.
    pub(super) fn len(&self) -> usize {
        self.tables.iter().map(Table::len).sum()
    }

    fn remove(&mut self, table_id: u8, rank: Rank) -> Option<Entry> {
        let entry = self.tables[usize::from(table_id)].remove(rank)?;
        if let Some(at) = entry.noted_end {
            self.ends.remove(&(at, table_id, rank));
        }
        Some(entry)
    }

    /// No entry ends before this.
    pub(super) fn next_end(&self) -> Option<Instant> {
        self.ends.first().map(|&(at, _, _)| at)
    }

    /// Ends the entries whose time is over (§5.5).
    pub(super) fn expire(&mut self, now: Instant, ending: &mut Ending<'_>) {
        while let Some(&(noted, id, rank)) = self.ends.first()
            && noted <= now
        {
            self.ends.pop_first();
            // Packets have put off the end of an idle entry since it was noted.
            self.expire_or_note(now, id, rank, ending);
        }
    }

    fn expire_or_note(&mut self, now: Instant, id: u8, rank: Rank, ending: &mut Ending<'_>) {
        let table = &mut self.tables[usize::from(id)];
        let Some(entry) = table.get_mut(rank) else { return };
        let end = entry.end();
        entry.noted_end = end.map(|(at, _)| at);
        match end {
            Some((at, reason)) if at <= now => {
                if let Some(entry) = table.remove(rank) {
                    ending.tell(now, id, entry, reason);
                }
            }
            Some((at, _)) => drop(self.ends.insert((at, id, rank))),
            None => {}
        }
    }
}

/// Where the ends of entries are told.
pub(super) struct Ending<'a> {
    pub(super) session: &'a Session,
    pub(super) out: &'a mut SwitchOutbox,
}

impl Ending<'_> {
    /// §7.4.2: to a controller that hears it, of entries that ask for it.
    fn tell(&mut self, now: Instant, table_id: u8, entry: Entry, reason: FlowRemovedReason) {
        if entry.is_missed() && self.session.hears_packets() {
            self.out.message(0, Body::FlowRemoved(entry.removed(now, table_id, reason)));
        }
    }
}
