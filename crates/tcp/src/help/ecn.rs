//! Explicit congestion notification (RFC 3168): one connection's marks, at both of its ends.
//!
//! The endpoint makes one where [`crate::Config::ecn`] is on, and drops it where the peer declines.

use handfast_wire::Ecn as Mark;
use handfast_wire::tcp::Flags;

use super::accecn::AccEcn;
use crate::send::answers::Answers;

/// What an end keeps of marks: as a receiver what it echoes, as a sender whether it asks for them. What it has answered is kept where
/// the window is reduced ([`Answers`]).
#[derive(Clone, Debug, Default)]
pub(crate) struct Ecn {
    /// A packet with the mark CE has come, and no CWR since.
    echoes: bool,
    /// What the packet of the segment that is being read says.
    arrived: Mark,
    /// Feedback is accurate (RFC 9768); [`None`]: that of RFC 3168.
    counting: Option<Box<AccEcn>>,
    /// Marks that the acknowledgement under way tells of, where the congestion control counts them.
    newly_marked: u64,
    /// Packets that acknowledgements with ECE have delivered (Linux's `delivered_ce`).
    echoed: u64,
    /// Something that was capable has come.
    saw_capable: bool,
    /// What this end sends is for the queue of L4S: ECT(1).
    scalable: bool,
    /// Of what the acknowledgement under way acknowledges, octets that were SACKed before.
    sacked: u64,
    /// A SYN or SYN-ACK without ECN was sent or received: what this end sends is not capable.
    declined: bool,
    /// The next segment carries new data.
    carries_new: bool,
}

/// What a SYN says to a peer that may do ECN (§6.1.1: "ECN-setup SYN packet").
pub(crate) const SYN: Flags = Flags(Flags::ECE.0 | Flags::CWR.0);
/// What the SYN-ACK answers ("ECN-setup SYN-ACK packet").
pub(crate) const SYN_ACK: Flags = Flags::ECE;

/// Whether a peer's SYN or SYN-ACK agrees (§6.1.1). A SYN-ACK with both flags comes from an end that reflects what it does not know.
pub(crate) fn agrees(flags: Flags) -> bool {
    let answers = flags.contains(Flags::ACK);
    flags.contains(Flags::ECE) && flags.contains(Flags::CWR) != answers
}

/// §6.1.1: "A host MUST NOT set ECT on SYN". One that is capable or marked all the same is not trusted, unless it asks for more
/// (Linux's `tcp_ecn_create_request`).
pub(crate) fn refuses_marked(syn: Flags, mark: Mark) -> bool {
    let asks_for_more = syn.0 >> 8 != 0;
    !syn.contains(Flags::ACK) && mark != Mark::NotCapable && !asks_for_more
}

impl Ecn {
    /// A packet has come, with a segment that has not been judged yet.
    pub(crate) fn on_packet(&mut self, mark: Mark) {
        self.arrived = mark;
    }

    /// Its segment carries data within the window (§6.1.3; what lies outside says nothing, §6.1.5); true where an acknowledgement
    /// must tell of it at once, as Linux does (`__tcp_ecn_check_ce`, `tcp_ecn_accept_cwr`).
    pub(crate) fn on_data(&mut self, flags: Flags) -> bool {
        self.saw_capable |= self.arrived != Mark::NotCapable;
        let marked = std::mem::take(&mut self.arrived) == Mark::Congested;
        if let Some(counting) = &self.counting {
            return counting.is_due();
        }
        let echoed = self.echoes;
        if flags.contains(Flags::CWR) {
            // "After the receipt of the CWR packet, acknowledgments for subsequent non-CE data packets do not have the ECN-Echo
            // flag set."
            self.echoes = false;
        }
        self.echoes |= marked;
        self.echoes != echoed || self.echoes && flags.contains(Flags::CWR)
    }

    /// A SYN or SYN-ACK without ECN is sent, or has come. §6.1.1: a host "MUST NOT set ECT on data packets unless […] it has sent no
    /// non-ECN-setup SYN", and SHOULD NOT where it has received one. It goes on to echo marks: the peer may have agreed before.
    pub(crate) fn decline(&mut self) {
        self.declined = true;
    }

    /// Whether [`Ecn::decline`] was called.
    pub(crate) fn has_declined(&self) -> bool {
        self.declined
    }

    /// A segment is about to be built. `fresh`: it carries data, all of it new.
    pub(crate) fn on_send(&mut self, fresh: bool) {
        self.carries_new = fresh;
    }

    /// The flags of a segment besides its own, and the mark of its packet: pure acknowledgements, retransmissions and probes are not
    /// capable (§6.1.4 to §6.1.6), but with accurate ECN.
    pub(crate) fn on_build(&mut self, answers: &mut Answers) -> (Flags, Mark) {
        if let Some(counting) = &mut self.counting {
            // RFC 9331 §4.1.
            let capable = if self.scalable { Mark::Capable1 } else { Mark::Capable0 };
            let (flags, is_capable) = counting.on_build();
            return (flags, if is_capable { capable } else { Mark::NotCapable });
        }
        let mut flags = if self.echoes { Flags::ECE } else { Flags::NONE };
        if !std::mem::take(&mut self.carries_new) || self.declined {
            return (flags, Mark::NotCapable);
        }
        if answers.take_cwr() {
            flags = flags | Flags::CWR;
        }
        // §6.1.2: of the two, ECT(0) SHOULD be used.
        (flags, Mark::Capable0)
    }

    /// What the packet of the segment that is being read says.
    pub(crate) fn arrived(&self) -> Mark {
        self.arrived
    }

    /// Packets that acknowledgements with ECE have delivered, and whether something capable has come.
    pub(crate) fn facts(&self) -> (u64, bool) {
        (self.echoed, self.saw_capable)
    }

    /// Both ends have agreed on accurate feedback.
    pub(crate) fn count(&mut self, counting: AccEcn, scalable: bool) {
        self.counting = Some(Box::new(counting));
        self.scalable = scalable;
    }

    pub(crate) fn counting(&self) -> Option<&AccEcn> {
        self.counting.as_deref()
    }

    pub(crate) fn counting_mut(&mut self) -> Option<&mut AccEcn> {
        self.counting.as_deref_mut()
    }

    /// Marks that the counters have told of: whether a congestion control that does not count marks is to react.
    pub(crate) fn heed(&mut self, marked: u64) -> bool {
        self.newly_marked += if self.scalable { marked } else { 0 };
        marked > 0 && !self.scalable
    }

    /// SND.UNA is about to advance over so many octets that were SACKed.
    pub(crate) fn on_advance(&mut self, sacked: u64) {
        self.sacked = sacked;
    }

    /// Whether something of what the acknowledgement under way acknowledges was SACKed before.
    pub(crate) fn has_sacked(&self) -> bool {
        self.sacked > 0
    }

    /// How many packets an acknowledgement has delivered, of `octets` acknowledged and `fresh` ones SACKed.
    pub(crate) fn packets(&mut self, octets: u64, fresh: u64, smss: u64) -> u64 {
        (octets.saturating_sub(std::mem::take(&mut self.sacked)) + fresh).div_ceil(smss)
    }

    /// Whether the flag ECE is an echo (RFC 3168), and no bit of a counter.
    pub(crate) fn echoes_by_flag(&self) -> bool {
        self.counting.is_none()
    }

    /// An acknowledgement that delivers so many packets, without counters: whether it echoes a mark.
    pub(crate) fn on_delivered(&mut self, flags: Flags, packets: u64) -> bool {
        let echoes = flags.contains(Flags::ECE);
        self.echoed += if echoes { packets } else { 0 };
        echoes
    }

    /// Marks that a scalable congestion control has not been told of.
    pub(crate) fn take_newly_marked(&mut self) -> u64 {
        std::mem::take(&mut self.newly_marked)
    }
}

#[cfg(test)]
mod tests;
