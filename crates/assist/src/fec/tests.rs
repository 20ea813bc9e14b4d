use super::*;
use crate::shim::Outgoing;
use crate::shim::testing::{deliver, loss, packet, relay};
use handfast_core::SeqNum;
use proptest::prelude::*;

fn at(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

fn config() -> Config {
    Config { packets: 4, ..Config::default() }
}

/// What goes to the far end when packets come: the numbers 0 to `count`, one a millisecond.
fn sent(near: &mut Fec, count: u32) -> Vec<Outgoing> {
    let mut made = Made::default();
    (0..count).for_each(|number| near.send(at(number.into()), packet(number), 0, &mut made));
    made.out
}

fn kinds(sent: &[Outgoing]) -> String {
    let kind = |sent: &Outgoing| match sent.shim.message {
        Message::Source(_) => 's',
        Message::Repair { .. } => 'r',
        Message::Report { .. } => 'l',
        _ => '?',
    };
    sent.iter().map(kind).collect()
}

fn reported(near: &mut Fec, number: u32, received: u32, lost: u32) {
    let shim = Shim { sequence: SeqNum(number), message: Message::Report { received, lost } };
    assert!(near.receive(at(0), &shim, Ecn::NotCapable, &mut Made::default()));
}

#[test]
fn a_block_ends_after_so_many_packets() {
    assert_eq!(kinds(&sent(&mut Fec::new(config()), 9)), "ssssrssssrs");
}

#[test]
fn a_block_ends_after_so_much_time() {
    let mut near = Fec::new(config());
    sent(&mut near, 2);
    assert_eq!(near.deadline(), Some(at(50)));
    let mut made = Made::default();
    near.on_timer(at(50), &mut made);
    assert_eq!((kinds(&made.out).as_str(), near.deadline()), ("r", None));
    let Message::Repair { count, .. } = made.out[0].shim.message else { panic!() };
    assert_eq!((count, made.out[0].shim.sequence), (2, SeqNum(0)));
}

fn interleaved() -> Config {
    Config { packets: 3, interleave: 4, ..Config::default() }
}

/// The numbers of the packets that each symbol protects.
fn protected(sent: &[Outgoing]) -> Vec<Vec<u32>> {
    let of = |sent: &Outgoing| match sent.shim.message {
        Message::Repair { count, stride, .. } => {
            Some((0..count).map(|n| sent.shim.sequence.0 + u32::from(n * stride)).collect())
        }
        _ => None,
    };
    sent.iter().filter_map(of).collect()
}

#[test]
fn packets_belong_to_interleaved_blocks_in_turn_and_each_ends_when_it_is_full() {
    let sent = sent(&mut Fec::new(interleaved()), 16);
    // As far behind the last packet of its block as that is behind the one before.
    assert_eq!(kinds(&sent), "sssssssssssssrsrsrsr");
    assert_eq!(protected(&sent), [[0, 4, 8], [1, 5, 9], [2, 6, 10], [3, 7, 11]]);
}

#[test]
fn a_symbol_waits_for_its_place_no_longer_than_so() {
    let mut near = Fec::new(interleaved());
    assert_eq!(protected(&sent(&mut near, 12)), Vec::<Vec<u32>>::new());
    // Block 0 was full at 8 ms, block 3 at 11 ms.
    assert_eq!(near.deadline(), Some(at(58)));
    let mut made = Made::default();
    near.on_timer(at(59), &mut made);
    assert_eq!(protected(&made.out), [[0, 4, 8], [1, 5, 9]]);
    assert_eq!(near.deadline(), Some(at(60)));
}

/// Of several symbols each is as far from the one before.
#[test]
fn symbols_of_a_block_are_spread_as_its_packets_are() {
    let mut near = Fec::new(Config { interleave: 2, packets: 2, ..Config::default() });
    reported(&mut near, 0, 90, 10);
    let sent = sent(&mut near, 8);
    assert_eq!(protected(&sent[..4]), Vec::<Vec<u32>>::new());
    let behind: Vec<_> = sent
        .iter()
        .map(|sent| match sent.shim.message {
            Message::Repair { index, .. } => format!("r{}.{index}", sent.shim.sequence.0),
            _ => sent.shim.sequence.0.to_string(),
        })
        .collect();
    assert_eq!(behind.join(" "), "0 1 2 3 4 r0.0 5 r1.0 6 r0.1 7 r1.1");
}

#[test]
fn interleaved_blocks_end_together_when_the_time_is_over() {
    let mut near = Fec::new(interleaved());
    sent(&mut near, 6);
    assert_eq!(near.deadline(), Some(at(50)), "of the first packet of the first block");
    let mut made = Made::default();
    near.on_timer(at(50), &mut made);
    assert_eq!(protected(&made.out), [vec![0, 4], vec![1, 5], vec![2], vec![3]]);
    // The next packet is the first of the next first block.
    near.send(at(60), packet(6), 0, &mut made);
    assert_eq!((near.deadline(), made.out.last().unwrap().shim.sequence), (Some(at(110)), SeqNum(6)));
}

/// The blocks that are full have ended already: the timer ends the others.
#[test]
fn a_block_ends_once() {
    let mut near = Fec::new(interleaved());
    assert_eq!(kinds(&sent(&mut near, 10)), "ssssssssss");
    let mut made = Made::default();
    near.on_timer(at(50), &mut made);
    assert_eq!(protected(&made.out), [vec![0, 4, 8], vec![1, 5, 9], vec![2, 6], vec![3, 7]]);
}

/// A burst as long as the interleaving takes one of each block, whatever it takes of symbols; without, it takes more than a symbol
/// makes up for.
#[test]
fn a_burst_is_shared_among_interleaved_blocks() {
    for burst in 0..12 {
        let recovered = |config| {
            let (mut near, mut far) = (Fec::new(config), Fec::new(config));
            let sent = sent(&mut near, 32);
            let is_source = |sent: &Outgoing| matches!(sent.shim.message, Message::Source(_));
            let place = |number| {
                sent.iter().position(|sent| is_source(sent) && sent.shim.sequence == SeqNum(number)).unwrap()
            };
            // Four packets, and all that goes between them.
            let (from, to) = (place(burst), place(burst + 3));
            deliver(&mut far, at(32), &[&sent[..from], &sent[to + 1..]].concat());
            far.far.counters.recovered
        };
        assert_eq!(recovered(interleaved()), 4, "{burst}");
        assert!(recovered(Config { interleave: 1, ..interleaved() }) <= 2, "{burst}");
    }
}

#[test]
fn a_lost_packet_comes_back_in_its_place() {
    let (mut near, mut far) = (Fec::new(config()), Fec::new(config()));
    let sent = sent(&mut near, 6);
    assert_eq!(deliver(&mut far, at(1), &sent[..1]), [0]);
    assert!(deliver(&mut far, at(2), &sent[2..4]).is_empty());
    assert_eq!(deliver(&mut far, at(3), &sent[4..]), [1, 2, 3, 4, 5]);
    assert_eq!(far.far.counters.recovered, 1);
}

#[test]
fn a_symbol_that_overtakes_the_last_packet_is_used_when_that_comes() {
    let (mut near, mut far) = (Fec::new(config()), Fec::new(config()));
    let sent = sent(&mut near, 4);
    assert_eq!(deliver(&mut far, at(1), &[sent[0].clone(), sent[4].clone()]), [0]);
    assert!(deliver(&mut far, at(2), &sent[2..3]).is_empty());
    assert_eq!(deliver(&mut far, at(3), &sent[3..4]), [1, 2, 3]);
}

#[test]
fn two_losses_are_beyond_one_symbol_and_within_two() {
    for (reports, symbols, delivered) in [(0, 1, vec![0]), (1, 2, vec![0, 1, 2, 3])] {
        let (mut near, mut far) = (Fec::new(config()), Fec::new(config()));
        if reports > 0 {
            reported(&mut near, 0, 98, 2);
        }
        let sent = sent(&mut near, 4);
        assert_eq!(sent.len(), 4 + symbols);
        assert_eq!(deliver(&mut far, at(4), &[&sent[..1], &sent[3..]].concat()), delivered);
    }
}

#[test]
fn losses_are_reported_not_more_often_than_so() {
    let (mut near, mut far) = (Fec::new(config()), Fec::new(config()));
    let sent = sent(&mut near, 8);
    let mut made = Made::default();
    for (ms, place) in [(0, 0), (50, 1), (99, 3), (100, 5)] {
        far.receive(at(ms), &sent[place].shim, Ecn::NotCapable, &mut made);
    }
    let reports: Vec<_> =
        made.out.iter().map(|out| (out.shim.sequence.0, out.shim.message.clone())).collect();
    let report = |received, lost| Message::Report { received, lost };
    // Of 0 to 4 one has not come.
    assert_eq!(reports, [(0, report(1, 0)), (1, report(4, 1))]);
}

#[test]
fn an_old_report_changes_nothing() {
    let mut near = Fec::new(config());
    reported(&mut near, 5, 50, 50);
    reported(&mut near, 4, 0, 0);
    assert_eq!(sent(&mut near, 4).len(), 4 + 4);
}

#[test]
fn what_is_kept_is_bounded_whatever_comes() {
    let mut far = Fec::new(config());
    for n in 0..2_000_u32 {
        let symbol = Bytes::from(vec![1; 40]);
        let message = Message::Repair { index: 0, count: 64, repairs: 64, stride: 1, symbol };
        deliver(&mut far, at(0), &[Outgoing { shim: Shim { sequence: SeqNum(64 * n), message }, class: 0 }]);
        let message = Message::Source(packet(n));
        deliver(&mut far, at(0), &[Outgoing { shim: Shim { sequence: SeqNum(n), message }, class: 0 }]);
    }
    let (sources, blocks) = far.far.kept();
    assert_eq!((sources, blocks), (256, 32));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Every packet that arrives is delivered once and in order, and so is every one that is alone lost of its block.
    #[test]
    fn every_packet_is_delivered_once_and_in_order(lost in loss(90), interleave in 1_u8..5) {
        let config = Config { hold: Duration::from_secs(9), interleave, ..config() };
        let (mut near, mut far) = (Fec::new(config), Fec::new(config));
        let sent = relay(&mut near, &mut far, 60, Duration::from_millis(3), &lost);
        prop_assert!(sent.delivered.windows(2).all(|pair| pair[0] < pair[1]));
        prop_assert!(sent.arrived.iter().all(|number| sent.delivered.contains(number)));
        prop_assert_eq!(sent.delivered.len() as u64, sent.arrived.len() as u64 + far.far.counters.recovered);
    }
}
