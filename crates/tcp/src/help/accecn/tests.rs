use handfast_core::SeqNum;
use handfast_wire::tcp::{AccEcnOrder, RareOptions, SackBlock};

use super::*;

const NOW: Instant = Instant::from_millis(1000);

/// A segment with this field and these counters of ECT(1), CE and ECT(0).
fn segment(ace: u16, counters: Option<[u32; 3]>) -> Segment {
    let option = counters.map(|[e1, ce, e0]| {
        AccEcnOption::new(AccEcnOrder::Ect1First, 3, |mark| match mark {
            Mark::Capable1 => e1,
            Mark::Congested => ce,
            _ => e0,
        })
    });
    let rare = option.map(|option| Box::new(RareOptions { accecn: Some(option), ..RareOptions::default() }));
    Segment { flags: Flags::ACK | flags(ace), rare, ..Segment::EMPTY }
}

fn word(packets: u64) -> AckWord {
    AckWord { packets, octets: 1000 * packets, smss: 1000, is_sure: true, sent: 1 }
}

/// The end that asked, of a peer whose option was seen.
fn client() -> AccEcn {
    let mut client = AccEcn::asked(Mark::NotCapable, &segment(0b010, Some([1, 0, 1])), true);
    client.on_build();
    client
}

fn counters(option: AccEcnOption) -> Vec<u32> {
    option.counters().map(|(_, counter)| counter).collect()
}

#[test]
fn any_flags_but_those_of_others_ask() {
    let asked = |ace| is_asked(Flags::SYN | flags(ace));
    assert_eq!([0, 1, 2, 3, 4, 5, 6, 7].map(asked), [false, true, true, false, true, true, true, true]);
    let agreed = |asked| [0, 1, 2, 3, 4, 5, 6, 7].map(|ace| agrees(flags(ace), asked));
    assert_eq!(agreed(true), [false, false, true, true, true, true, true, false]);
    assert!(!agreed(false)[5], "who asked for classic ECN has a classic answer");
}

#[test]
fn a_repeated_syn_ack_says_less_each_time() {
    let mut server = AccEcn::granted(Mark::Capable0, true);
    assert_eq!(server.syn_ack_option().map(counters), Some(vec![1, 0, 1]));
    assert_eq!(server.on_syn_ack(0), flags(0b100));
    assert_eq!((server.syn_ack_option(), server.on_syn_ack(1)), (None, flags(0b100)));
    assert!(server.on_build().1);
    assert_eq!(server.on_syn_ack(2), Flags::NONE);
    assert!(!server.on_build().1 && server.failures.ace_sent, "§3.1.5");
    // Asked again before a timeout, it tells of the new mark.
    let mut server = AccEcn::granted(Mark::Capable0, true);
    server.on_syn_ack(0);
    server.on_repeated_syn(Mark::Congested, flags(7));
    assert_eq!((server.on_syn_ack(0), server.on_build().1), (flags(0b110), true));
    server.on_repeated_syn(Mark::NotCapable, Flags::NONE);
    assert!(!server.on_build().1, "§3.1.4.1");
}

#[test]
fn the_third_segment_is_judged() {
    let third = |third: &Segment| {
        let mut server = AccEcn::granted(Mark::NotCapable, true);
        server.on_third(third);
        (server.failures, server.delivered.report().0)
    };
    let cleared = EcnFailures { ace_received: true, option_received: true, ..EcnFailures::default() };
    let changed = EcnFailures { ace_received: true, ..EcnFailures::default() };
    assert_eq!(third(&segment(0, None)), (cleared, 0));
    assert_eq!(third(&segment(0b010, None)), (EcnFailures::default(), 0));
    assert_eq!(third(&segment(0b110, None)), (changed, 0), "it was not capable, and came marked");
    let mut data = segment(0b110, None);
    data.payload = handfast_wire::Payload::Synthetic { stream: 0, offset: 0, len: 1 };
    assert_eq!(third(&data).0, EcnFailures::default(), "a counter");
    let mut holes = segment(0, None);
    holes.sack.push(SackBlock { start: SeqNum(1), end: SeqNum(2) });
    assert_eq!(third(&holes).0, EcnFailures::default());
}

#[test]
fn a_marked_syn_ack_counts_where_it_can_be_believed() {
    let received = |ace, validates| {
        AccEcn::asked(Mark::Congested, &segment(ace, None), validates).report().received_packets
    };
    assert_eq!([0b010, 0b100, 0b101].map(|ace| received(ace, true)), [1, 0, 1]);
    assert_eq!(received(0b100, false), 1);
}

#[test]
fn counters_that_begin_with_zero_were_cleared() {
    for (told, seen) in [([1, 0, 1], OptionSeen::Counters), ([0, 0, 1], OptionSeen::Cleared)] {
        let mut client = AccEcn::asked(Mark::NotCapable, &segment(0b010, Some(told)), true);
        assert_eq!(client.seen, seen);
        let marked = client.newly_marked(&segment(6, Some([1, 900, 1])), &word(1));
        assert_eq!((marked, client.report().delivered_octets[2] > 0), (1, seen == OptionSeen::Counters));
    }
    let mut late = AccEcn::asked(Mark::NotCapable, &segment(0b010, None), true);
    late.newly_marked(&segment(5, None), &AckWord { sent: TOO_LATE, ..word(1) });
    assert!(late.failures.option_received, "counters may have gone round");
}

#[test]
fn what_changes_is_told_twice_and_at_once() {
    let mut client = client();
    let option = |client: &mut AccEcn| {
        let wants = client.wants_option(EcnOption::Minimum, NOW, None);
        let option = wants.then(|| counters(client.take_option(NOW, 3, None)));
        client.on_build();
        option
    };
    assert!(option(&mut client).is_some() && option(&mut client).is_some(), "the handshake");
    assert_eq!(option(&mut client), None);
    client.on_packet(Mark::Capable0, 100);
    assert!(client.is_due());
    assert_eq!(option(&mut client), Some(vec![1, 0, 101]));
    client.on_packet(Mark::Capable0, 100);
    assert!(!client.is_due());
    assert_eq!(option(&mut client), Some(vec![1, 0, 201]));
    client.on_packet(Mark::Capable0, 100);
    assert_eq!(option(&mut client), None);
    // 2^22 octets later it is due, whatever has changed.
    client.on_packet(Mark::Capable0, 1 << 22);
    assert!(option(&mut client).is_some());
}

#[test]
fn the_option_is_sent_as_it_was_asked_for() {
    let mut client = client();
    let wants = |client: &AccEcn| {
        EcnOption::ALL.map(|how| client.wants_option(how, NOW, Some(Duration::from_millis(10))))
    };
    assert_eq!(wants(&client), [false, true, true, true]);
    client.take_option(NOW, 3, None);
    client.take_option(NOW, 3, Some(7));
    assert_eq!(wants(&client), [false, false, true, true], "not so soon again");
    client.on_old_payload(8);
    assert!(wants(&client)[3]);
    client.on_old_payload(7);
    assert_eq!(wants(&client), [false, false, false, true], "§3.2.3.2.2");
    let unseen = AccEcn::asked(Mark::NotCapable, &segment(0b010, None), true);
    assert!(!wants(&unseen).contains(&true));
}

#[test]
fn a_counter_that_has_changed_is_worth_a_block() {
    let room = |others, blocks, least| fit(others, blocks, least).map(|room| (room.fields, room.blocks));
    assert_eq!(room(0, 0, 0), Some((3, 0)));
    assert_eq!(room(12, 1, 3), Some((3, 1)));
    assert_eq!(room(12, 2, 2), Some((2, 2)));
    assert_eq!(room(12, 2, 3), None, "two blocks stay");
    assert_eq!(room(12, 3, 2), Some((2, 2)));
    assert_eq!(room(12, 3, 0), Some((0, 3)));
    assert_eq!(room(0, 4, 0), Some((1, 4)));
    assert_eq!(room(0, 4, 3), Some((3, 3)));
}

#[test]
fn an_old_acknowledgement_tells_nothing() {
    let mut client = client();
    assert_eq!(client.newly_marked(&segment(7, None), &word(0)), 0);
    client.note_progress(true);
    assert_eq!(client.newly_marked(&segment(7, None), &word(0)), 2);
}

#[test]
fn octets_say_how_often_the_field_has_gone_round() {
    for (packets, counters, marked) in [
        (10, None, 9),
        (10, Some([1, 0, 9001]), 1),
        (10, Some([1, 1000, 8001]), 1),
        (10, Some([1, 4499, 5502]), 9),
        (10, Some([1, 9000, 1001]), 9),
        (20, Some([1, 9000, 11_001]), 9),
        (20, Some([1, 17_000, 3001]), 17),
        (20, Some([1, 20_000, 1]), 17),
        (7, None, 1),
    ] {
        let mut client = client();
        // One counter is known to grow.
        client.newly_marked(&segment(5, Some([1, 0, 1001])), &word(1));
        let counters = counters.map(|[e1, ce, e0]: [u32; 3]| [e1, ce, e0 + 1000]);
        if counters.is_none() {
            client.delivered = Delivered::default();
            client.delivered.note_thinning(1);
            client.seen = OptionSeen::None;
        }
        assert_eq!(
            client.newly_marked(&segment(6, counters), &word(packets)),
            marked,
            "{packets} {counters:?}"
        );
    }
    // Acknowledgements are as large as that all the time.
    let mut client = AccEcn::asked(Mark::NotCapable, &segment(0b010, None), true);
    (0..100).for_each(|_| _ = client.newly_marked(&segment(5, None), &word(9)));
    assert_eq!(client.newly_marked(&segment(6, None), &word(9)), 1);
}

#[test]
fn counters_of_24_bits_go_round() {
    let mut client = client();
    let mut told = 1_u32;
    for _ in 0..40 {
        told += 1_000_000;
        client.newly_marked(&segment(5, Some([1, 0, told % AccEcnOption::CYCLE])), &word(1));
    }
    assert_eq!(client.report().delivered_octets, [0, 40_000_000, 0]);
}

#[test]
fn two_marks_on_acknowledgements_are_due_with_the_next_payload() {
    let mut client = client();
    client.on_packet(Mark::Congested, 0);
    client.on_build();
    client.on_packet(Mark::Congested, 0);
    client.newly_marked(&segment(5, None), &word(1));
    assert!(!client.is_due());
    client.on_packet(Mark::Congested, 0);
    client.newly_marked(&segment(5, None), &word(1));
    assert!(client.is_due());
    assert_eq!(client.on_build().0, flags(0));
}
