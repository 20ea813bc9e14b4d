//! Accurate ECN feedback (RFC 9768): how many packets came marked, in place of whether one did. The ACE field of three flags alone;
//! [`super::accecn`] has the option with octet counters too, and Linux's rules.

use handfast_wire::Ecn as Mark;
use handfast_wire::tcp::Flags;

/// §3.1.1: what a SYN says.
pub(crate) const SYN: Flags = Flags(Flags::AE.0 | Flags::CWR.0 | Flags::ECE.0);

/// The flags of ACE, and where they are.
const ACE: u16 = SYN.0;
const SHIFT: u32 = ACE.trailing_zeros();

/// The values of ACE: `divACE` of Appendix A.2.
pub(super) const CYCLE: u64 = 8;

/// §3.2.1: counters of packets begin with 5: no value of a handshake without accurate ECN.
pub(super) const FIRST: u64 = 5;

/// §3.2.2.5.1: an acknowledgement is due when so many marks have come since the last one ("n SHOULD be 2").
pub(super) const MOST_UNTOLD: u64 = 2;

/// The prevailing share of marked packets: its unit, and the gain of an acknowledgement.
const ONE: u64 = 1 << 16;
const SHIFT_G: u32 = 4;

/// Both directions of a connection whose ends have agreed.
#[derive(Clone, Debug)]
pub(crate) struct AccurateEcn {
    /// `r.cep`: packets that came marked.
    received: u64,
    /// `s.cep`: marks that the peer has told of.
    told: u64,
    /// The field has moved: something on the path marks.
    saw_mark: bool,
    /// `p` of Appendix A.2, in [`ONE`]: the share of marks in what acknowledgements of less than a cycle have delivered.
    share: Option<u64>,
    /// `r.cep` when a segment left last.
    last_sent: u64,
    /// The last packet of data was marked.
    was_marked: bool,
    /// The next segment tells of the mark of the peer's SYN-ACK in place of the counter (§3.2.2.1).
    answers: Option<Mark>,
}

/// Table 2: what a SYN-ACK says of the mark of the SYN; table 3: what the acknowledgement after it says of its own.
pub(super) fn handshake_code(mark: Mark) -> u16 {
    match mark {
        Mark::NotCapable => 0b010,
        Mark::Capable1 => 0b011,
        Mark::Capable0 => 0b100,
        Mark::Congested => 0b110,
    }
}

pub(super) fn flags(ace: u16) -> Flags {
    Flags(ace << SHIFT)
}

pub(super) fn ace_of(flags: Flags) -> u16 {
    (flags.0 & ACE) >> SHIFT
}

/// Whether a SYN asks for it.
pub(crate) fn is_asked(syn: Flags) -> bool {
    syn.contains(SYN)
}

/// What answers such a SYN, which came with this mark.
pub(crate) fn syn_ack(mark: Mark) -> Flags {
    flags(handshake_code(mark))
}

/// Table 2: whether a SYN-ACK agrees.
pub(crate) fn agrees(syn_ack: Flags) -> bool {
    matches!(ace_of(syn_ack), 0b010 | 0b011 | 0b100 | 0b110)
}

/// §3.2.2.1: the acknowledgement of the SYN-ACK has no ACE: something on the way clears it, and a sender must not be capable.
pub(crate) fn is_cleared(segment: Flags) -> bool {
    ace_of(segment) == 0
}

impl AccurateEcn {
    /// The end that asked, once a SYN-ACK with this mark agrees.
    pub(crate) fn asked(mark: Mark) -> Self {
        let received = FIRST + u64::from(mark == Mark::Congested);
        Self { received, answers: Some(mark), ..Self::granted() }
    }

    /// The end that was asked.
    pub(crate) fn granted() -> Self {
        Self {
            received: FIRST,
            told: FIRST,
            saw_mark: false,
            share: None,
            last_sent: FIRST,
            was_marked: false,
            answers: None,
        }
    }

    /// Data has come within the window; true where an acknowledgement must leave at once (§3.2.2.5.1).
    pub(crate) fn on_data(&mut self, marked: bool) -> bool {
        self.received += u64::from(marked);
        // "whenever a data packet marked CE arrives after the previous packet was not CE"
        let continues = std::mem::replace(&mut self.was_marked, marked);
        marked && !continues || self.received - self.last_sent >= MOST_UNTOLD
    }

    /// The flags of the next segment.
    pub(crate) fn on_build(&mut self) -> Flags {
        self.last_sent = self.received;
        if let Some(mark) = self.answers.take() {
            return flags(handshake_code(mark));
        }
        flags((self.received % CYCLE) as u16)
    }

    /// An acknowledgement that has delivered so many packets: how many of them it says were marked.
    pub(crate) fn newly_marked(&mut self, segment: Flags, packets: u64) -> u64 {
        let least = u64::from(ace_of(segment)).wrapping_sub(self.told) % CYCLE;
        self.saw_mark |= least > 0;
        let marked = if packets < CYCLE { least } else { self.likely(least, packets) };
        if packets < CYCLE {
            self.note_share(least.min(packets), packets);
        }
        self.told += marked;
        marked
    }

    /// §3.2.2.5.2: where the field may have gone round, "the safest likely case under the prevailing conditions". Appendix A.2: the most
    /// that fits into `newlyAckedPktHeur`, which is `newlyAckedPkt * p`. A path that has never marked has no marks; where the share of one
    /// that marks is not known, all packets may be marked.
    fn likely(&self, least: u64, packets: u64) -> u64 {
        let unknown = if self.saw_mark { ONE } else { 0 };
        let most = (packets * self.share.unwrap_or(unknown)).div_ceil(ONE);
        if most < least { least } else { most - (most - least) % CYCLE }
    }

    fn note_share(&mut self, marked: u64, packets: u64) {
        let sample = marked * ONE / packets.max(1);
        let share = self.share.unwrap_or(sample);
        self.share = Some(share - (share >> SHIFT_G) + (sample >> SHIFT_G));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_handshake_says_what_it_saw() {
        assert_eq!(SYN, Flags(0b111 << 6));
        let marks = [Mark::NotCapable, Mark::Capable1, Mark::Capable0, Mark::Congested];
        assert_eq!(marks.map(|mark| syn_ack(mark).0 >> 6), [0b010, 0b011, 0b100, 0b110]);
        assert!(marks.into_iter().all(|mark| agrees(syn_ack(mark))));
        // Classic ECN, the reserved row, no ECN, and a peer that reflects the bits of the SYN.
        assert!([0b001, 0b101, 0b000, 0b111].into_iter().all(|ace| !agrees(flags(ace))));
        assert!(is_asked(SYN | Flags::SYN) && !is_asked(Flags::ECE | Flags::CWR));
        let mut client = AccurateEcn::asked(Mark::Capable1);
        assert_eq!(client.on_build(), flags(0b011), "table 3, once");
        assert_eq!(client.on_build(), flags(0b101));
        assert_eq!(AccurateEcn::asked(Mark::Congested).received, 6);
        assert!(is_cleared(Flags::ACK) && !is_cleared(flags(0b010)));
    }

    #[test]
    fn each_mark_counts_and_the_field_goes_round() {
        let (mut receiver, mut sender) = (AccurateEcn::granted(), AccurateEcn::granted());
        let mut marked = 0;
        for k in 0..100_u64 {
            let fresh = k * k % 8;
            for _ in 0..fresh {
                receiver.on_data(true);
            }
            marked += sender.newly_marked(receiver.on_build(), 7);
        }
        assert_eq!(marked, (0..100).map(|k| k * k % 8).sum::<u64>());
    }

    /// The field after so many marks.
    fn after(marks: u64) -> Flags {
        flags(((FIRST + marks) % CYCLE) as u16)
    }

    #[test]
    fn where_it_may_have_gone_round_the_most_is_assumed() {
        // Nothing is known of the path but that it marks.
        for (packets, said, marked) in [(7, 1, 1), (8, 1, 1), (9, 1, 9), (16, 1, 9), (20, 4, 20), (20, 5, 13)]
        {
            let mut sender = AccurateEcn::granted();
            assert_eq!(sender.newly_marked(after(said), packets), marked, "{packets} {said}");
            assert_eq!(sender.newly_marked(after(said), 1), 0, "counted");
        }
    }

    #[test]
    fn a_path_that_never_marks_has_not_made_it_go_round() {
        let mut sender = AccurateEcn::granted();
        assert!([8, 3, 8, 40].iter().all(|&packets| sender.newly_marked(after(0), packets) == 0));
        // It has marked since: one packet of a hundred, then all.
        let mut sender = AccurateEcn::granted();
        (0..99).for_each(|_| _ = sender.newly_marked(after(0), 1));
        assert_eq!([sender.newly_marked(after(1), 1), sender.newly_marked(after(1), 8)], [1, 0]);
        (2..60).for_each(|k| _ = sender.newly_marked(after(k), 1));
        assert_eq!(sender.newly_marked(after(59), 9), 8, "as many as all before them");
    }

    #[test]
    fn as_many_marks_are_assumed_as_prevail() {
        // Every second packet comes marked.
        let mut sender = AccurateEcn::granted();
        (1..100).for_each(|k| _ = sender.newly_marked(after(k), 2));
        for (packets, more, marked) in
            [(16, 0, 8), (15, 0, 8), (14, 0, 0), (14, 3, 3), (20, 1, 9), (20, 3, 3)]
        {
            assert_eq!(sender.clone().newly_marked(after(99 + more), packets), marked, "{packets} {more}");
        }
    }

    #[test]
    fn the_first_of_several_marks_and_every_second_are_told_at_once() {
        let mut receiver = AccurateEcn::granted();
        let due = [false, true, true, false, true].map(|marked| receiver.on_data(marked));
        assert_eq!(due, [false, true, true, true, true], "nothing has left");
        receiver.on_build();
        assert_eq!([true, true, false].map(|marked| receiver.on_data(marked)), [false, true, true]);
        receiver.on_build();
        assert!(!receiver.on_data(false));
        let mut receiver = AccurateEcn::granted();
        let due = [true, false, true, true].map(|marked| {
            receiver.on_build();
            receiver.on_data(marked)
        });
        assert_eq!(due, [true, false, true, false], "marks begin twice");
    }
}
