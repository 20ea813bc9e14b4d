//! What the endpoint and its loss recovery tell each other.

use handfast_core::{Duration, Instant, ShortQueue};

use crate::event::{Counters, Event, MAX_EVENTS};
use crate::send::sender::Sender;
use crate::{Config, rtt};

/// What the endpoint lends to its loss recovery.
pub(crate) struct Context<'a> {
    pub(crate) now: Instant,
    pub(crate) config: &'a Config,
    pub(crate) tx: &'a mut Sender,
    pub(crate) events: &'a mut ShortQueue<Event>,
    pub(crate) counters: &'a mut Counters,
    /// Both sides use timestamps.
    pub(crate) timestamps: bool,
}

impl Context<'_> {
    pub(super) fn emit(&mut self, event: Event) {
        self.events.push_within(MAX_EVENTS, event);
    }

    /// The retransmission timeout.
    pub(super) fn rto(&self) -> Duration {
        self.tx.rtt.rto(self.config)
    }

    /// The `TSval` of a segment that leaves at `at`.
    pub(super) fn tsval(&self, at: Instant) -> u32 {
        rtt::timestamp(self.config, self.tx.iss, at)
    }
}

/// What an ACK's SACK blocks say that was not known.
#[derive(Clone, Copy, Default)]
pub(crate) struct SackFacts {
    /// Octets SACKed for the first time.
    pub(crate) fresh: u64,
    /// Some of them lie below `recover`.
    pub(crate) below: bool,
    /// Some of them lie at or above it.
    pub(crate) above: bool,
    /// The first block reports octets that arrived twice (RFC 2883).
    pub(crate) duplicate: bool,
    /// What is missing was lost by the radio or a handoff ([eln] §3.6): no sign of congestion.
    pub(crate) marked: bool,
}

/// What an acknowledgement says.
#[derive(Clone, Copy)]
pub(crate) struct AckFacts {
    /// SND.UNA has advanced by so many octets.
    pub(crate) octets: u64,
    pub(crate) sacks: SackFacts,
    /// It says nothing but by its acknowledgement number and SACK blocks: no data, no FIN, no other window.
    pub(crate) bare: bool,
    /// It is a duplicate: RFC 5681 §2; with SACK RFC 6675 §2, new octets are SACKed.
    pub(crate) duplicate: bool,
    /// The timestamp that it echoes.
    pub(crate) ecr: Option<u32>,
}

/// What it shows of losses.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Found {
    /// Fast recovery begins.
    pub(crate) begins: bool,
    /// Octets newly lost, where they are counted.
    pub(crate) lost: u64,
    /// Octets newly acknowledged and newly SACKed, where they are counted.
    pub(crate) delivered: u64,
    /// When to look again.
    pub(crate) recheck: Option<Instant>,
}

/// What the timer after an acknowledgement depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timing {
    /// SND.UNA has advanced, or a timeout has turned out spurious.
    pub(crate) restart: bool,
    /// Everything sent is acknowledged.
    pub(crate) all: bool,
    /// The timer is set.
    pub(crate) is_set: bool,
}

/// What becomes of the retransmission timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimerChange {
    Stays,
    Stops,
    /// It expires an RTO from now.
    Rto,
    /// It expires after so long.
    After(Duration),
}

/// What the timer stood for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Expired {
    /// The retransmission timeout.
    Timeout,
    /// A probe is due if anything is outstanding.
    Probe,
    /// The reordering window has passed; [`None`]: nothing is outstanding.
    Reordering(Option<Found>),
}
