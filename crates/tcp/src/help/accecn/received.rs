//! What a data receiver counts, and when and how much of it its option tells (RFC 9768 §3.2.1, §3.2.2.5, §3.2.3.3).

use handfast_core::{Duration, Instant};
use handfast_wire::Ecn as Mark;
use handfast_wire::tcp::{AccEcnOption, AccEcnOrder};

use super::ace::FIRST;
use super::first_octets;

/// §3.2.3.3: the option is sent at least once each 2^22 octets, lest a counter of 24 bits goes round in between.
const OCTETS_BETWEEN: u32 = 22;

/// §3.2.2.5.1: an acknowledgement is due when so many marks have come since the last one ("n SHOULD be 2").
const MOST_UNTOLD: u64 = 2;

/// Octets of the option field, and of one block of the SACK option.
const OPTIONS: usize = 40;
const BLOCK: usize = 8;

#[derive(Clone, Debug, Default)]
pub(super) struct Received {
    /// `r.cep`, `r.e1b`, `r.e0b` and `r.ceb` without what they begin with. The counters of octets by mark; of what is not capable none.
    packets: u64,
    octets: [u64; 4],
    /// Marked packets since a segment left.
    untold: u64,
    last: Mark,
    /// Segments that must have the option.
    demand: u8,
    /// Counters that it must have.
    least: usize,
    /// An acknowledgement is due with the next payload.
    due: bool,
    /// When the option left last.
    sent_at: Instant,
    /// The last segment had the option, and a report of a repetition that begins there.
    told_of: Option<u64>,
}

/// The place of a mark's counter in `AccECN1`, from 1.
const fn place(mark: Mark) -> usize {
    match mark {
        Mark::NotCapable => 0,
        Mark::Capable1 => 1,
        Mark::Congested => 2,
        Mark::Capable0 => 3,
    }
}

impl Received {
    pub(super) fn count_syn_ack(&mut self) {
        self.packets += 1;
        self.untold += 1;
    }

    pub(super) fn after_handshake(&mut self, syn: Mark) {
        self.last = syn;
        self.demand = 1;
    }

    pub(super) fn demand(&mut self, segments: u8) {
        self.demand = self.demand.max(segments);
    }

    pub(super) fn on_packet(&mut self, mark: Mark, octets: u64) {
        let is_marked = mark == Mark::Congested;
        // §3.2.2: "all packets", pure acknowledgements too.
        self.packets += u64::from(is_marked);
        self.untold += u64::from(is_marked);
        if mark != Mark::NotCapable && octets > 0 {
            let counter = &mut self.octets[mark as usize];
            let before = *counter >> OCTETS_BETWEEN;
            *counter += octets;
            let goes_round = *counter >> OCTETS_BETWEEN != before;
            self.least = self.least.max(place(mark));
            if goes_round {
                self.demand(1);
            }
        }
        // §3.2.3.3: what changes is told with this acknowledgement and with the next, so that both say whether it was one packet.
        let changes = self.last != mark;
        self.last = mark;
        self.due |= changes;
        if changes || is_marked {
            self.demand = 2;
        }
    }

    /// §3.2.2.5.1: so many marks are due.
    pub(super) fn note_burst(&mut self) {
        self.due |= self.untold >= MOST_UNTOLD;
    }

    pub(super) fn is_due(&self) -> bool {
        self.due
    }

    /// A segment leaves. The counter of packets as it is on the wire; `reflects`: it does not tell of it.
    pub(super) fn on_build(&mut self, reflects: bool) -> u64 {
        self.due = false;
        if !reflects {
            self.untold = 0;
        }
        FIRST + self.packets
    }

    /// Whether the option is due: for something has changed, or so long after the last (§3.2.3.3: the beacon).
    pub(super) fn demands(&self, now: Instant, interval: Option<Duration>) -> bool {
        self.demand > 0 || interval.is_some_and(|interval| now.since(self.sent_at) >= interval)
    }

    pub(super) fn least_fields(&self) -> usize {
        self.least
    }

    pub(super) fn option(&self, fields: usize) -> AccEcnOption {
        AccEcnOption::new(AccEcnOrder::Ect1First, fields, |mark| {
            first_octets(mark).wrapping_add(self.octets[mark as usize] as u32)
        })
    }

    pub(super) fn on_option_sent(&mut self, now: Instant, repeated: Option<u64>) {
        self.least = 0;
        self.sent_at = now;
        self.demand = self.demand.saturating_sub(1);
        self.told_of = repeated;
    }

    pub(super) fn forget_repetition(&mut self) {
        self.told_of = None;
    }

    pub(super) fn has_told_of(&self, start: u64) -> bool {
        self.told_of == Some(start)
    }

    /// Packets, and octets of ECT(1), ECT(0) and CE.
    pub(super) fn report(&self) -> (u64, [u64; 3]) {
        (
            self.packets,
            [Mark::Capable1, Mark::Capable0, Mark::Congested].map(|mark| self.octets[mark as usize]),
        )
    }
}

/// What a segment's options leave for this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Room {
    /// Counters.
    pub(crate) fields: usize,
    /// SACK blocks, of which one or two may give way.
    pub(crate) blocks: usize,
    /// Octets that both take, with padding.
    pub(crate) octets: usize,
}

/// How many counters fit beside `others` octets of options and so many SACK blocks; [`None`]: fewer than `least`. A counter that has
/// changed is worth a block (§3.2.3.3), as long as two are left (Linux's `tcp_options_fit_accecn`).
pub(crate) fn fit(others: usize, blocks: usize, least: usize) -> Option<Room> {
    let floor = if least > 0 { blocks.min(2) } else { blocks };
    (floor..=blocks).rev().find_map(|blocks| {
        (least..=AccEcnOption::MOST_FIELDS).rev().find_map(|fields| {
            let octets = octets(fields, blocks);
            (others + octets <= OPTIONS).then_some(Room { fields, blocks, octets })
        })
    })
}

/// Octets of the option with so many counters and of SACK with so many blocks: what ends within a word saves NOPs of the other.
fn octets(fields: usize, blocks: usize) -> usize {
    let option = AccEcnOption::len_of(fields);
    if blocks == 0 {
        return option.next_multiple_of(4);
    }
    let nops = (2 + 4 - option % 4) % 4;
    option + nops + 2 + BLOCK * blocks
}
