//! Explicit congestion notification (RFC 3168): one connection's marks, at both of its ends.
//!
//! The endpoint makes one where [`crate::Config::ecn`] is on, and drops it where the peer declines.

use handfast_wire::Ecn as Mark;
use handfast_wire::tcp::Flags;

/// What an end keeps: as a receiver what it echoes, as a sender what it has answered.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ecn {
    /// A packet with the mark CE has come, and no CWR since.
    echoes: bool,
    /// What the packet of the segment that is being read says.
    arrived: bool,
    /// The window was reduced: the next new data says so.
    cwr_due: bool,
    /// SND.NXT when it was: marks of data from before are answered.
    answered: u64,
    /// The same of the last one that a mark was the reason for.
    reduced: u64,
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

impl Ecn {
    /// A packet has come, with a segment that has not been judged yet.
    pub(crate) fn on_packet(&mut self, mark: Mark) {
        self.arrived = mark == Mark::Congested;
    }

    /// Its segment carries data within the window (§6.1.3; what lies outside says nothing, §6.1.5); true where an acknowledgement
    /// must tell of it at once, as Linux does (`__tcp_ecn_check_ce`, `tcp_ecn_accept_cwr`).
    pub(crate) fn on_data(&mut self, flags: Flags) -> bool {
        let echoed = self.echoes;
        if flags.contains(Flags::CWR) {
            // "After the receipt of the CWR packet, acknowledgments for subsequent non-CE data packets do not have the ECN-Echo
            // flag set."
            self.echoes = false;
        }
        self.echoes |= std::mem::take(&mut self.arrived);
        self.echoes != echoed || self.echoes && flags.contains(Flags::CWR)
    }

    /// An acknowledgement of everything before `ack` has ECE; whether the window must be reduced. `max`: SND.MAX.
    pub(crate) fn on_echo(&mut self, ack: u64, max: u64) -> bool {
        // §6.1.2: "TCP should not react to congestion indications more than once every window of data". As in Linux, what acknowledges
        // the first octet sent since then begins the next window.
        if ack <= self.answered {
            return false;
        }
        self.reduced = max;
        self.on_reduction(max);
        true
    }

    /// The octet at `position` was sent before a mark reduced the window: its loss is the same indication of congestion.
    pub(crate) fn has_answered(&self, position: u64) -> bool {
        position < self.reduced
    }

    /// The window is reduced, for whatever reason (§6.1.2: CWR goes with the first new data after it).
    pub(crate) fn on_reduction(&mut self, max: u64) {
        self.answered = max;
        self.cwr_due = true;
    }

    /// A segment is about to be built. `fresh`: it carries data, all of it new.
    pub(crate) fn on_send(&mut self, fresh: bool) {
        self.carries_new = fresh;
    }

    /// The flags of a segment besides its own, and the mark of its packet: pure acknowledgements, retransmissions and probes are not
    /// capable (§6.1.4 to §6.1.6).
    pub(crate) fn on_build(&mut self) -> (Flags, Mark) {
        let mut flags = if self.echoes { Flags::ECE } else { Flags::NONE };
        if !std::mem::take(&mut self.carries_new) {
            return (flags, Mark::NotCapable);
        }
        if std::mem::take(&mut self.cwr_due) {
            flags = flags | Flags::CWR;
        }
        // §6.1.2: of the two, ECT(0) SHOULD be used.
        (flags, Mark::Capable0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_reflects_reserved_bits_does_not_agree() {
        let syn = Flags::SYN;
        let syn_ack = Flags::SYN | Flags::ACK;
        assert!(agrees(syn | SYN));
        assert!(agrees(syn_ack | SYN_ACK));
        assert!(!agrees(syn) && !agrees(syn_ack));
        assert!(!agrees(syn | Flags::ECE) && !agrees(syn | Flags::CWR));
        assert!(!agrees(syn_ack | SYN) && !agrees(syn_ack | Flags::CWR));
    }

    /// A packet with this mark brings data with these flags.
    fn brings(ecn: &mut Ecn, mark: Mark, flags: Flags) -> bool {
        ecn.on_packet(mark);
        ecn.on_data(flags)
    }

    fn echoes(ecn: &mut Ecn) -> bool {
        ecn.on_build().0.contains(Flags::ECE)
    }

    #[test]
    fn a_mark_is_echoed_until_the_peer_has_reduced_its_window() {
        let mut ecn = Ecn::default();
        assert!(!brings(&mut ecn, Mark::Capable0, Flags::ACK));
        assert!(!echoes(&mut ecn));
        assert!(brings(&mut ecn, Mark::Congested, Flags::ACK), "it is told at once");
        assert!(echoes(&mut ecn));
        assert!(!brings(&mut ecn, Mark::Congested, Flags::ACK), "it is told already");
        assert!(!brings(&mut ecn, Mark::Capable0, Flags::ACK));
        assert!(echoes(&mut ecn), "each acknowledgement, for one may be lost");
        assert!(brings(&mut ecn, Mark::Capable0, Flags::ACK | Flags::CWR));
        assert!(!echoes(&mut ecn));
    }

    #[test]
    fn a_mark_on_the_packet_with_cwr_is_another_one() {
        let mut ecn = Ecn::default();
        brings(&mut ecn, Mark::Congested, Flags::ACK);
        assert!(brings(&mut ecn, Mark::Congested, Flags::ACK | Flags::CWR));
        assert!(echoes(&mut ecn));
    }

    #[test]
    fn the_mark_of_a_segment_that_was_dropped_is_none() {
        let mut ecn = Ecn::default();
        ecn.on_packet(Mark::Congested);
        assert!(!brings(&mut ecn, Mark::Capable1, Flags::ACK));
        assert!(!echoes(&mut ecn));
    }

    #[test]
    fn a_window_of_data_is_answered_once() {
        let mut ecn = Ecn::default();
        assert!(ecn.on_echo(1_001, 10_001));
        assert!(!ecn.on_echo(2_001, 11_001));
        assert!(!ecn.on_echo(10_001, 11_001));
        assert!(ecn.on_echo(10_002, 12_001));
        assert!(ecn.has_answered(12_000) && !ecn.has_answered(12_001));
        ecn.on_reduction(20_001);
        assert!(!ecn.on_echo(20_001, 30_001));
        assert!(!ecn.has_answered(19_000), "a loss was the reason");
    }

    #[test]
    fn only_new_data_is_capable_and_the_first_tells_of_the_reduction() {
        let mut ecn = Ecn::default();
        assert_eq!(ecn.on_build(), (Flags::NONE, Mark::NotCapable));
        ecn.on_send(true);
        assert_eq!(ecn.on_build(), (Flags::NONE, Mark::Capable0));
        ecn.on_reduction(1_001);
        ecn.on_send(false);
        assert_eq!(ecn.on_build(), (Flags::NONE, Mark::NotCapable), "sent again");
        ecn.on_send(true);
        assert_eq!(ecn.on_build(), (Flags::CWR, Mark::Capable0));
        ecn.on_send(true);
        assert_eq!(ecn.on_build(), (Flags::NONE, Mark::Capable0));
        assert_eq!(ecn.on_build(), (Flags::NONE, Mark::NotCapable), "an acknowledgement after it");
    }
}
