//! How full a switch's table is: what diverts is not made where it could drive out what others have made.

use handfast_core::{Duration, Instant};
use handfast_wire::openflow::{Body, MultipartReply, MultipartRequest};

use super::{Phase, Switches};
use crate::sdn::{ConnId, Mode, Outbox, Steering};

/// The table in which entries are made.
const TABLE: u8 = 0;
/// How soon it is asked again: after an order of ours, and in any case.
const AFTER_ORDER: Duration = Duration::from_secs(1);
const REGULARLY: Duration = Duration::from_secs(5);
/// Entries that are left for others, for what is made between two answers, and for answers that come late: one in so many.
const RESERVED: u32 = 20;

/// How full a table is, as far as the switch has said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableUse {
    /// Entries that it has, whoever made them.
    pub entries: Option<u32>,
    /// Entries that it takes.
    pub most: Option<u32>,
}

impl TableUse {
    /// Whether so many more fit. Of what a switch does not say, there is enough: it refuses what is too much.
    fn fits(self, entries: usize) -> bool {
        let (Some(there), Some(most)) = (self.entries, self.most) else { return true };
        let free = most.saturating_sub(there).saturating_sub(most / RESERVED);
        entries <= free as usize
    }
}

/// What is known of a table, and when it is asked for next.
#[derive(Debug, Default)]
pub(super) struct Room {
    told: TableUse,
    asked: Instant,
    /// Whether an order went out since.
    stale: bool,
}

impl Room {
    fn due(&self) -> Instant {
        self.asked + if self.stale { AFTER_ORDER } else { REGULARLY }
    }
}

impl Switches {
    /// Asks how full the table is, and how much it takes.
    pub(super) fn ask_room(&mut self, now: Instant, conn: ConnId, out: &mut Outbox) {
        self.tell(conn, Body::MultipartRequest(MultipartRequest::TableFeatures), out);
        self.ask_use(now, conn, out);
    }

    fn ask_use(&mut self, now: Instant, conn: ConnId, out: &mut Outbox) {
        if let Some(session) = self.sessions.get_mut(&conn) {
            (session.room.asked, session.room.stale) = (now, false);
        }
        self.tell(conn, Body::MultipartRequest(MultipartRequest::Table), out);
    }

    /// Whether a message told of tables.
    pub(super) fn on_room(&mut self, conn: ConnId, body: &Body) -> bool {
        let Some(session) = self.sessions.get_mut(&conn) else { return false };
        match body {
            Body::MultipartReply(MultipartReply::Table { tables, .. }) => {
                let ours = tables.iter().find(|table| table.table_id == TABLE);
                session.room.told.entries =
                    ours.map(|table| table.active_count).or(session.room.told.entries);
            }
            Body::MultipartReply(MultipartReply::TableFeatures { tables, .. }) => {
                let ours = tables.iter().find(|table| table.table_id == TABLE);
                session.room.told.most = ours.map(|table| table.max_entries).or(session.room.told.most);
            }
            _ => return false,
        }
        true
    }

    /// An order went to a switch: what it said of its table may be wrong now.
    pub(super) fn use_changes(&mut self, conn: ConnId, body: &Body) {
        if let Some(session) = self.sessions.get_mut(&conn) {
            session.room.stale |= matches!(body, Body::FlowMod(_));
        }
    }

    /// The switches whose room is of interest: where entries divert and nothing else is made.
    fn roomy(&self) -> impl Iterator<Item = (ConnId, Instant)> + '_ {
        let asks = self.steering == Steering::Overlay && self.mode == Mode::Act;
        let ready = self.sessions.iter().filter(move |(_, session)| asks && session.phase == Phase::Ready);
        ready.map(|(&conn, session)| (conn, session.room.due()))
    }

    /// When a switch is asked next.
    pub(super) fn next_room(&self) -> Option<Instant> {
        self.roomy().map(|(_, due)| due).min()
    }

    /// Asks the switches whose answers are out of date.
    pub(super) fn ask_due(&mut self, now: Instant, out: &mut Outbox) {
        let due: Vec<ConnId> = self.roomy().filter(|&(_, due)| due <= now).map(|(conn, _)| conn).collect();
        for conn in due {
            self.ask_use(now, conn, out);
        }
    }

    /// How full a switch's table is.
    pub(crate) fn table_use(&self, datapath_id: u64) -> TableUse {
        self.of(datapath_id).map_or(TableUse::default(), |session| session.room.told)
    }

    /// Whether so many more entries fit into a switch's table.
    pub(crate) fn has_room(&self, datapath_id: u64, entries: usize) -> bool {
        self.table_use(datapath_id).fits(entries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_in_twenty_is_left_for_others() {
        let table = |entries, most| TableUse { entries, most };
        assert!(table(Some(85), Some(100)).fits(10));
        assert!(!table(Some(85), Some(100)).fits(11));
        assert!(!table(Some(96), Some(100)).fits(1) && table(Some(96), Some(100)).fits(0));
        assert!(!table(Some(200), Some(100)).fits(1), "it says nonsense");
        assert!(table(None, Some(1)).fits(10) && table(Some(10), None).fits(10), "it does not say");
    }
}
