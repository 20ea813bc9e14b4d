//! The accounts of one station's connections, and the test that must be passed before any of them is answered for.

use std::collections::BTreeMap;
use std::net::IpAddr;

use handfast_wire::openflow::{FlowStats, Match};
use handfast_wire::tcp::Segment;

use super::super::ConnectionKey;
use super::account::{Account, Judgement};

/// What the controller knows of how far a station's receivers have got.
#[derive(Debug, Default)]
pub(in super::super) struct Ledger {
    accounts: BTreeMap<ConnectionKey, Account>,
    /// Frames that went to the station by way of the controller, in this association.
    sent: u64,
    /// What the access point says it has delivered to the station in this association.
    delivered: Option<u64>,
    absence: Option<Absence>,
}

/// The station is away.
#[derive(Debug)]
struct Absence {
    /// The switch that knew its way, and from which its peers are answered.
    at: u64,
    /// The barrier that follows the questions for counters; [`None`]: they are answered.
    barrier: Option<u32>,
    /// What the switch says it has sent to the access point for it.
    forwarded: u64,
}

impl Ledger {
    /// A connection opens (`[sdn]` §3.4). Whether it was not known.
    pub(in super::super) fn open(&mut self, key: ConnectionKey, syn: &Segment) -> bool {
        let known = self.accounts.len();
        self.accounts.entry(key).or_insert_with(|| Account::opened(syn));
        self.accounts.len() > known
    }

    /// A connection has ended.
    pub(in super::super) fn close(&mut self, key: &ConnectionKey) {
        self.accounts.remove(key);
    }

    /// The connections of which something is known: switches are to count them.
    pub(in super::super) fn connections(&self) -> impl Iterator<Item = &ConnectionKey> {
        self.accounts.keys()
    }

    /// So many frames went to the station by way of the controller.
    pub(in super::super) fn sent(&mut self, frames: u64) {
        self.sent += frames;
    }

    /// A segment went to the station by way of the controller while it was there.
    pub(in super::super) fn passed(&mut self, key: &ConnectionKey, segment: &Segment) {
        if let Some(account) = self.accounts.get_mut(key) {
            account.passed(segment);
        }
    }

    /// The station has left; the switch is asked for its counters, and the answers are complete at `barrier`.
    pub(in super::super) fn depart(&mut self, at: u64, barrier: Option<u32>) {
        self.absence = Some(Absence { at, barrier, forwarded: 0 });
    }

    /// The access point tells how many packets it has delivered.
    pub(in super::super) fn delivered(&mut self, packets: u64) {
        self.delivered = Some(packets);
    }

    /// The switch from which peers are answered while the station is away.
    pub(in super::super) fn stand(&self) -> Option<u64> {
        self.absence.as_ref().map(|absence| absence.at)
    }

    /// The barrier that is waited for.
    pub(in super::super) fn barrier(&self) -> Option<u32> {
        self.absence.as_ref().and_then(|absence| absence.barrier)
    }

    /// What the switch has counted for one entry of the station's.
    pub(in super::super) fn count(&mut self, stats: &FlowStats) {
        let Some(absence) = self.absence.as_mut().filter(|absence| absence.barrier.is_some()) else { return };
        absence.forwarded = absence.forwarded.saturating_add(stats.packet_count);
        if let Some(account) = key_of(&stats.matches).and_then(|key| self.accounts.get_mut(&key)) {
            account.count(stats.packet_count, stats.byte_count);
        }
    }

    /// All counters are there. How many connections cannot be answered for any more.
    pub(in super::super) fn close_books(&mut self) -> u64 {
        let Some(absence) = &mut self.absence else { return 0 };
        absence.barrier = None;
        // `[sdn]` §3.1: the exact number that was transferred to the receiver. What was sent to the access point and not
        // delivered took a stale path, or stood in a queue as the station left.
        let accounted = self.delivered == Some(absence.forwarded.saturating_add(self.sent));
        if accounted { 0 } else { self.lose_all() }
    }

    /// Nothing can be answered for any more. For how many connections it could be until now.
    pub(in super::super) fn lose_all(&mut self) -> u64 {
        if let Some(absence) = &mut self.absence {
            absence.barrier = None;
        }
        let known = self.accounts.values_mut().filter(|account| **account != Account::Lost);
        known.map(|account| *account = Account::Lost).count() as u64
    }

    /// Whether a connection cannot be answered for any more.
    pub(in super::super) fn is_lost(&self, key: &ConnectionKey) -> bool {
        self.accounts.get(key).is_none_or(|account| *account == Account::Lost)
    }

    /// A segment has come for the station, which is away.
    pub(in super::super) fn judge(
        &mut self,
        key: &ConnectionKey,
        segment: &Segment,
        frame: usize,
    ) -> Judgement {
        if self.barrier().is_some() {
            // Until the counters are there nothing can be said.
            return Judgement::Hold;
        }
        match self.accounts.get_mut(key) {
            Some(account) => account.judge(segment, frame),
            // A connection that opens now is the peer's to repeat, and of one whose beginning was not seen nothing is known.
            None if segment.flags.contains(handfast_wire::tcp::Flags::SYN) => Judgement::Hold,
            None => Judgement::Drop,
        }
    }

    /// What was to be held and answered for found no room.
    pub(in super::super) fn refuse(&mut self, key: &ConnectionKey, segment: &Segment) {
        if let Some(account) = self.accounts.get_mut(key) {
            account.refuse(segment);
        }
    }

    /// The station is back: what is held is handed over, and the counters of its new path begin at zero. How many connections
    /// cannot be answered for any more.
    pub(in super::super) fn arrive(&mut self) -> u64 {
        // It is back before the answers are, or nobody has said that it was away.
        let unknown = self.barrier().is_some() || self.absence.is_none();
        let lost = if unknown { self.lose_all() } else { 0 };
        (self.absence, self.sent, self.delivered) = (None, 0, None);
        self.accounts.values_mut().for_each(Account::hand_over);
        lost
    }
}

/// The connection that an entry counts.
fn key_of(matches: &Match) -> Option<ConnectionKey> {
    let v4 = |field: &Option<handfast_wire::openflow::Masked<_>>| {
        field.as_ref().map(|address| IpAddr::V4(address.value))
    };
    let v6 = |field: &Option<handfast_wire::openflow::Masked<_>>| {
        field.as_ref().map(|address| IpAddr::V6(address.value))
    };
    Some(ConnectionKey {
        src: v4(&matches.ipv4_src).or_else(|| v6(&matches.ipv6_src))?,
        dst: v4(&matches.ipv4_dst).or_else(|| v6(&matches.ipv6_dst))?,
        src_port: matches.tcp_src?,
        dst_port: matches.tcp_dst?,
    })
}
