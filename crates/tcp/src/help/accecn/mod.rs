//! Accurate ECN feedback (RFC 9768), by the rules of Linux: all that an end keeps once both have agreed.

mod ace;
mod delivered;
mod received;

use handfast_core::{Duration, Instant};
use handfast_wire::Ecn as Mark;
use handfast_wire::tcp::{AccEcnOption, Flags, Segment};

use crate::{EcnFailures, EcnOption, EcnReport, OptionSeen};
use ace::{CYCLE, ace_of, flags, handshake_code};
pub(crate) use ace::{SYN, agrees, is_asked};
pub(crate) use delivered::AckWord;
use delivered::Delivered;
use received::Received;
pub(crate) use received::{Room, fit};

/// §3.2.1: the counters of octets begin with these: zero tells of a path that clears them.
pub(super) const fn first_octets(mark: Mark) -> u32 {
    if matches!(mark, Mark::Congested) { 0 } else { 1 }
}

/// Octets sent without an option coming back, after which counters that begin late may have gone round (Linux).
const TOO_LATE: u64 = (1 << 23) - 1;

#[derive(Clone, Debug)]
pub(crate) struct AccEcn {
    received: Received,
    delivered: Delivered,
    seen: OptionSeen,
    failures: EcnFailures,
    /// The mark of the peer's SYN or SYN-ACK, which the next segment tells of in place of the counter (§3.2.2.1).
    reflects: Option<Mark>,
    /// The mark of the peer's SYN, as of the last one: the SYN-ACK tells of it.
    syn_mark: Mark,
    /// SYN-ACKs that have left.
    answers: u32,
    /// The peer has repeated its SYN, and the SYN-ACK that answers has not left.
    asked_again: bool,
    /// The segment that is being read has a newer timestamp than all before.
    advances: bool,
    /// What changes marks on the way costs trust.
    validates: bool,
    /// Nothing tells of counters any more.
    is_silent: bool,
}

impl AccEcn {
    fn new(mark: Mark, validates: bool) -> Self {
        Self {
            validates,
            received: Received::default(),
            delivered: Delivered::default(),
            seen: OptionSeen::None,
            failures: EcnFailures::default(),
            reflects: None,
            syn_mark: mark,
            answers: 0,
            asked_again: false,
            advances: false,
            is_silent: false,
        }
    }

    /// The end that was asked, by a SYN with this mark. `validates`: see [`crate::Config::ecn_fallback`].
    pub(crate) fn granted(mark: Mark, validates: bool) -> Self {
        Self::new(mark, validates)
    }

    /// The end that asked, once a SYN-ACK with this mark agrees.
    pub(crate) fn asked(mark: Mark, syn_ack: &Segment, validates: bool) -> Self {
        let mut this = Self::new(mark, validates);
        this.reflects = Some(mark);
        // Linux takes the SYN for a packet that was acknowledged alone.
        this.delivered.note_thinning(1);
        if let Some(option) = syn_ack.accecn() {
            this.see(&option);
            // §3.2.3.3: an end that has seen the option sends it, in the acknowledgement of the handshake and once more.
            this.received.demand(2);
        }
        // The reserved row says nothing of our SYN.
        let is_trusted = ace_of(syn_ack.flags) == 0b101 || mark != Mark::Congested || {
            this.validate(ace_of(syn_ack.flags))
        };
        if mark == Mark::Congested && is_trusted {
            this.received.count_syn_ack();
        }
        this
    }

    /// What a SYN-ACK says. `timeouts`: of SYN-ACKs before this one leaves.
    pub(crate) fn on_syn_ack(&mut self, timeouts: u8) -> Flags {
        // The timeout that brings this one about does not count yet.
        let before =
            if std::mem::take(&mut self.asked_again) { timeouts } else { timeouts.saturating_sub(1) };
        self.answers += 1;
        // §3.2.3.2.2: where the repeated one is lost too, the next does without accurate ECN; and §3.1.5: then nothing is capable.
        self.failures.ace_sent |= self.answers > 2;
        if self.answers > 1 && before > 0 { Flags::NONE } else { flags(handshake_code(self.syn_mark)) }
    }

    /// The option of the SYN-ACK that is about to leave; §3.2.3.2.2: a repeated one leaves it out.
    pub(crate) fn syn_ack_option(&self) -> Option<AccEcnOption> {
        (self.answers == 0).then(|| Received::default().option(AccEcnOption::MOST_FIELDS))
    }

    /// The peer's SYN again. §3.1.4.1: without the flags it tells of a path that drops what has them, so nothing is to be capable.
    pub(crate) fn on_repeated_syn(&mut self, mark: Mark, syn: Flags) {
        self.syn_mark = mark;
        self.asked_again = true;
        self.failures.ace_received |= ace_of(syn) == 0;
    }

    /// The segment that ends the handshake for the end that was asked (§3.2.2.1, table 3).
    pub(crate) fn on_third(&mut self, third: &Segment) {
        if let Some(option) = third.accecn().filter(|_| self.seen < OptionSeen::Counters) {
            self.see(&option);
        }
        let (ace, is_bare) = (ace_of(third.flags), third.sack.is_empty());
        match ace {
            // §3.2.2.4: it was cleared on the way.
            0 if is_bare => {
                self.failures.ace_received = true;
                self.failures.option_received = true;
            }
            // Of use to nobody, and legal.
            0 | 1 | 5 | 7 => {}
            _ if third.seq_len() == 0 && is_bare && self.validate(ace) => {
                self.delivered.count_syn_ack(ace == handshake_code(Mark::Congested));
            }
            _ => {}
        }
        self.received.after_handshake(self.syn_mark);
    }

    /// §3.2.2.3: the mark of our SYN or SYN-ACK, which was not capable, changes to none on an honest path.
    fn validate(&mut self, ace: u16) -> bool {
        let is_valid = !self.validates || ace == handshake_code(Mark::NotCapable);
        self.failures.ace_received |= !is_valid;
        is_valid
    }

    /// §3.2.3.2.4: a field that begins with 1 was cleared if it is zero.
    fn see(&mut self, option: &AccEcnOption) {
        let mut fields = option.counters();
        let (first, third) = (fields.next(), fields.nth(1));
        let is_cleared = first.into_iter().chain(third).any(|(_, counter)| counter == 0);
        self.seen = match first {
            None => OptionSeen::Empty,
            Some(_) if is_cleared => OptionSeen::Cleared,
            Some(_) => OptionSeen::Counters,
        };
        self.failures.option_received |= is_cleared;
    }

    /// A packet of an open connection has come, with so many octets of payload.
    pub(crate) fn on_packet(&mut self, mark: Mark, octets: u64) {
        self.received.on_packet(mark, octets);
    }

    /// Linux keeps little of a connection that waits for the end: no counters.
    pub(crate) fn fall_silent(&mut self) {
        self.is_silent = true;
    }

    /// What timestamps say of the acknowledgement that is being read.
    pub(crate) fn note_progress(&mut self, advances: bool) {
        self.advances = advances;
    }

    /// Payload has come: whether its acknowledgement must leave at once.
    pub(crate) fn is_due(&self) -> bool {
        self.received.is_due()
    }

    /// A SYN on an open connection, which is about to be answered.
    pub(crate) fn on_late_syn(&mut self, mark: Mark, syn: &Segment) {
        self.reflects = Some(mark);
        if let Some(option) = syn.accecn().filter(|_| self.seen < OptionSeen::Counters) {
            self.see(&option);
            self.received.demand(1);
        }
    }

    /// A segment that the peer has sent before begins at this octet. §3.2.3.2.2: if the acknowledgement that told of the same repetition
    /// had the option, it was lost, and the option may be why.
    pub(crate) fn on_old_payload(&mut self, start: u64) {
        self.failures.option_sent |= self.received.has_told_of(start);
    }

    /// An acknowledgement: how many packets it says were marked.
    pub(crate) fn newly_marked(&mut self, segment: &Segment, word: &AckWord) -> u64 {
        if word.octets == 0 && !self.advances {
            // It may be older than the last.
            return 0;
        }
        let option = segment.accecn();
        let is_read = !self.failures.option_received;
        if let Some(option) = option.filter(|_| is_read && self.seen < OptionSeen::Counters) {
            self.see(&option);
        } else if option.is_none() && self.seen == OptionSeen::None && word.sent >= TOO_LATE {
            self.seen = OptionSeen::Cleared;
            self.failures.option_received = true;
        }
        let counts = is_read && (option.is_some() || self.seen != OptionSeen::None);
        let ace = u64::from(ace_of(segment.flags));
        let marked = self.delivered.on_ack(ace, option.filter(|_| counts), counts, word);
        self.received.note_burst();
        marked
    }

    /// Whether the next segment has the option.
    pub(crate) fn wants_option(&self, how: EcnOption, now: Instant, interval: Option<Duration>) -> bool {
        let is_told = self.seen != OptionSeen::None && !self.is_silent;
        let passes = how == EcnOption::Persistent || !self.failures.option_sent;
        is_told && passes && how.is_sent() && (how >= EcnOption::Full || self.received.demands(now, interval))
    }

    /// Counters that the option must have at least: those that have changed since it left last (§3.2.3.3).
    pub(crate) fn least_fields(&self) -> usize {
        self.received.least_fields()
    }

    /// The option leaves, with so many counters; with a report of a repetition that begins at `repeated`.
    pub(crate) fn take_option(&mut self, now: Instant, fields: usize, repeated: Option<u64>) -> AccEcnOption {
        let option = self.received.option(fields);
        self.received.on_option_sent(now, repeated);
        option
    }

    /// A segment leaves without it.
    pub(crate) fn leave_option_out(&mut self) {
        self.received.forget_repetition();
    }

    /// The next segment carries payload: Table 3 is for an acknowledgement alone, what carries more has the counter.
    pub(crate) fn carries_payload(&mut self) {
        self.reflects = None;
    }

    /// The flags of the next segment, and whether it is capable: pure acknowledgements and retransmissions are too, as in Linux.
    pub(crate) fn on_build(&mut self) -> (Flags, bool) {
        let is_capable = !self.failures.ace_sent && !self.failures.ace_received;
        let reflected = self.reflects.take();
        let packets = self.received.on_build(reflected.is_some());
        let ace = reflected.map_or((packets % CYCLE) as u16, handshake_code);
        let ace = if self.is_silent { 0 } else { ace };
        (flags(ace), is_capable)
    }

    pub(crate) fn report(&self) -> EcnReport {
        let (received_packets, received_octets) = self.received.report();
        let (delivered_packets, delivered_octets) = self.delivered.report();
        EcnReport {
            received_packets,
            received_octets,
            delivered_packets,
            delivered_octets,
            saw_capable: false,
            option_seen: self.seen,
            failures: self.failures,
        }
    }
}

#[cfg(test)]
mod tests;
