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
    ecn.on_build(&mut Answers::default()).0.contains(Flags::ECE)
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
fn only_new_data_is_capable_and_the_first_tells_of_the_reduction() {
    let (mut ecn, mut answers) = (Ecn::default(), Answers::default());
    let mut sends = |fresh, answers: &mut Answers| {
        ecn.on_send(fresh);
        ecn.on_build(answers)
    };
    assert_eq!(sends(true, &mut answers), (Flags::NONE, Mark::Capable0));
    answers.on_loss(1_001);
    assert_eq!(sends(false, &mut answers), (Flags::NONE, Mark::NotCapable), "sent again");
    assert_eq!(sends(true, &mut answers), (Flags::CWR, Mark::Capable0));
    assert_eq!(sends(true, &mut answers), (Flags::NONE, Mark::Capable0));
    assert_eq!(ecn.on_build(&mut answers), (Flags::NONE, Mark::NotCapable), "an acknowledgement after it");
}

#[test]
fn what_was_sacked_before_is_not_delivered_again() {
    let mut ecn = Ecn::default();
    assert_eq!(ecn.packets(0, 9_000, 1_000), 9);
    ecn.on_advance(9_000);
    assert_eq!(ecn.packets(10_000, 500, 1_000), 2);
    assert_eq!(ecn.packets(10_000, 0, 1_000), 10);
}

#[test]
fn who_has_declined_sends_nothing_capable_and_still_echoes() {
    let mut ecn = Ecn::default();
    ecn.decline();
    brings(&mut ecn, Mark::Congested, Flags::ACK);
    ecn.on_send(true);
    assert_eq!(ecn.on_build(&mut Answers::default()), (Flags::ECE, Mark::NotCapable));
}
