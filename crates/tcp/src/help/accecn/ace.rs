//! The field ACE of three flags, and what it says in a handshake (RFC 9768 §3.1, §3.2.2).

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

pub(super) fn flags(ace: u16) -> Flags {
    Flags(ace << SHIFT)
}

pub(super) fn ace_of(flags: Flags) -> u16 {
    (flags.0 & ACE) >> SHIFT
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

/// §3.1.3: a SYN with any flags but none and those of RFC 3168 asks for accurate feedback.
pub(crate) fn is_asked(syn: Flags) -> bool {
    !matches!(ace_of(syn), 0 | 0b011)
}

/// Table 2: whether a SYN-ACK agrees. §3.1.3: the reserved row, 0b101, answers who has `asked`.
pub(crate) fn agrees(syn_ack: Flags, asked: bool) -> bool {
    match ace_of(syn_ack) {
        0 | 0b001 | 0b111 => false,
        ace => asked || ace != 0b101,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_handshake_says_what_it_saw() {
        assert_eq!(SYN, Flags(0b111 << 6));
        let marks = [Mark::NotCapable, Mark::Capable1, Mark::Capable0, Mark::Congested];
        assert_eq!(marks.map(handshake_code), [0b010, 0b011, 0b100, 0b110]);
        assert!(marks.map(|mark| flags(handshake_code(mark))).into_iter().all(|code| agrees(code, false)));
    }

    #[test]
    fn only_none_classic_ecn_and_a_reflected_syn_do_not_agree() {
        let answers = |asked| (0..8).filter(move |&ace| agrees(flags(ace), asked)).collect::<Vec<_>>();
        assert_eq!(answers(true), [0b010, 0b011, 0b100, 0b101, 0b110]);
        assert_eq!(answers(false), [0b010, 0b011, 0b100, 0b110], "the reserved row");
        assert!((0..8).filter(|&ace| is_asked(flags(ace) | Flags::SYN)).eq([1, 2, 4, 5, 6, 7]));
    }
}
