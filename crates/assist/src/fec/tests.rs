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
        let message = Message::Repair { index: 0, count: 64, repairs: 64, symbol };
        deliver(&mut far, at(0), &[Outgoing { shim: Shim { sequence: SeqNum(64 * n), message }, class: 0 }]);
        let message = Message::Source(packet(n));
        deliver(&mut far, at(0), &[Outgoing { shim: Shim { sequence: SeqNum(n), message }, class: 0 }]);
    }
    assert!(far.far.kept() <= (256, 16));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Every packet that arrives is delivered once and in order, and so is every one that is alone lost of its block.
    #[test]
    fn every_packet_is_delivered_once_and_in_order(lost in loss(90)) {
        let config = Config { hold: Duration::from_secs(9), ..config() };
        let (mut near, mut far) = (Fec::new(config), Fec::new(config));
        let sent = relay(&mut near, &mut far, 60, Duration::from_millis(3), &lost);
        prop_assert!(sent.delivered.windows(2).all(|pair| pair[0] < pair[1]));
        prop_assert!(sent.arrived.iter().all(|number| sent.delivered.contains(number)));
        prop_assert_eq!(sent.delivered.len() as u64, sent.arrived.len() as u64 + far.far.counters.recovered);
    }
}
