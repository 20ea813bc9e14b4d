//! `[sdtp]` §III-C 4: an RR climbs the caches of its CR segment, and no further.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use handfast_assist::sdtp::{Activation, Config, Instruction, Node, Order};
use handfast_assist::{Verdict, View};
use handfast_core::{Duration, Instant, SeqNum};
use handfast_net::{Forward, Outbox, Port};
use handfast_wire::sdtp::{
    Carriage, Content, Data, Expected, InnerIp, Message, Outcome, Parity, Request, Sdtp, Trigger,
};
use handfast_wire::tcp::{Flags, Segment};
use handfast_wire::{Body, Packet, Payload};

const FROM: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
const HERE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));
const TO: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 5));
const LEN: u32 = 1_000;
const NOW: Instant = Instant::from_millis(1);

/// The `place`-th packet begins here.
fn seq(place: u32) -> SeqNum {
    SeqNum(7) + place * LEN
}

fn packet(src: IpAddr, dst: IpAddr, sequence: SeqNum, message: Message) -> Packet {
    let carriage = Carriage::default();
    Packet::sdtp(src, dst, Sdtp { carriage, slice: 1, connection: 1, sequence, message, seal: None })
}

fn data(place: u32) -> Packet {
    let payload = Payload::Synthetic { stream: 0, offset: u64::from(place * LEN), len: LEN };
    let content = Content::Segment(Segment { seq: seq(place), flags: Flags::ACK, payload, ..Segment::EMPTY });
    let since_start = (place * LEN) as u16;
    packet(
        FROM,
        TO,
        seq(place),
        Message::Data(Data { ip: InnerIp::default(), since_start, host: 0, content }),
    )
}

/// Packets from `first` to before `end` are asked for.
fn rr(first: u32, end: u32) -> Packet {
    let expected = Expected { start: seq(first), end: Some(seq(end)), start_num: 0 };
    let request = Request { trigger: Trigger::Count, expected, timestamp: 3 };
    packet(TO, FROM, expected.start, Message::Request(request))
}

/// A node between the edges, through which these packets have come.
fn node(retransmission: bool, packets: impl IntoIterator<Item = u32>) -> Node {
    let mut node = Node::new(HERE, BTreeMap::new(), Config::default());
    let round_trip = Duration::from_millis(10);
    let activation = Activation { from: FROM, to: TO, slice: 1, caching: true, retransmission, round_trip };
    node.on_instruction(NOW, Instruction::order(Order::Activate(activation)), &mut Outbox::default());
    for place in packets {
        assert_eq!(pass(&mut node, &data(place)).0, Verdict::Pass);
    }
    node
}

fn pass(node: &mut Node, packet: &Packet) -> (Verdict, Vec<Message>) {
    let mut out = Outbox::default();
    let verdict = node.look(NOW, Port(0), &View::of(packet), &mut out);
    let sent = out.drain().map(|forward| match forward {
        Forward::Routed(Packet { body: Body::Sdtp(sdtp), .. }) => sdtp.message,
        other => panic!("{other:?}"),
    });
    (verdict, sent.collect())
}

/// What of its requests climbed, and what nobody could answer.
fn counted(node: &Node) -> (u64, u64) {
    let counters = node.counters();
    (counters.requests_climbed, counters.requests_unserved)
}

#[test]
fn a_cache_that_has_all_answers_and_the_request_ends() {
    let mut node = node(false, 0..4);
    let (verdict, sent) = pass(&mut node, &rr(1, 3));
    assert_eq!(verdict, Verdict::Drop);
    let places: Vec<_> = sent.iter().filter(|sent| matches!(sent, Message::Repeat(_))).collect();
    assert_eq!((places.len(), sent.len(), counted(&node)), (2, 2, (0, 0)));
}

#[test]
fn a_request_climbs_past_a_cache_that_has_nothing() {
    let mut node = node(false, [0, 3]);
    assert_eq!(pass(&mut node, &rr(1, 3)), (Verdict::Pass, vec![]));
    assert_eq!(counted(&node), (1, 0));
}

#[test]
fn what_a_cache_lacks_climbs_on() {
    let mut node = node(false, [0, 2, 3]);
    let (verdict, sent) = pass(&mut node, &rr(1, 3));
    assert_eq!(verdict, Verdict::Drop);
    let [Message::Repeat(repeat), Message::Request(rest)] = &sent[..] else { panic!("{sent:?}") };
    assert_eq!(repeat.data.seq_len(), LEN);
    assert_eq!((rest.expected.start, rest.expected.end), (seq(1), Some(seq(2))));
    assert_eq!(counted(&node), (1, 0));
}

#[test]
fn a_request_climbs_no_further_than_its_segment() {
    // The retransmission node of the segment before is the first cache of this one (§II-C).
    let mut node = node(true, [0, 3]);
    let (verdict, sent) = pass(&mut node, &rr(1, 3));
    assert_eq!(verdict, Verdict::Drop);
    let [Message::Information(never)] = &sent[..] else { panic!("{sent:?}") };
    assert_eq!((never.outcome, never.expected.start), (Outcome::Never, seq(1)));
    assert_eq!(counted(&node), (0, 1));
}

#[test]
fn a_node_without_functions_lets_all_pass() {
    let mut node = Node::new(HERE, BTreeMap::new(), Config::default());
    for one in [data(0), rr(0, 1)] {
        assert_eq!(pass(&mut node, &one), (Verdict::Pass, vec![]));
    }
    assert_eq!(counted(&node), (0, 0));
}

/// A node that sends parity, or takes it, through which these packets have come.
fn with_parity(retransmission: bool, packets: impl IntoIterator<Item = u32>) -> Node {
    let mut config = Config::default();
    config.caching.parity = true;
    let mut node = Node::new(HERE, BTreeMap::new(), config);
    let round_trip = Duration::from_millis(10);
    let activation = Activation { from: FROM, to: TO, slice: 1, caching: true, retransmission, round_trip };
    node.on_instruction(NOW, Instruction::order(Order::Activate(activation)), &mut Outbox::default());
    for place in packets {
        pass(&mut node, &data(place));
    }
    node
}

/// The parity among what was sent.
fn parity(sent: Vec<Message>) -> Option<Parity> {
    sent.into_iter().find_map(|message| match message {
        Message::Parity(parity) => Some(parity),
        _ => None,
    })
}

#[test]
fn with_what_is_sent_again_goes_parity_over_it_and_what_came_after() {
    let (_, sent) = pass(&mut with_parity(false, 0..5), &rr(1, 3));
    let kinds: Vec<_> = sent.iter().map(|message| matches!(message, Message::Repeat(_))).collect();
    assert_eq!(kinds, [true, true, false]);
    let parity = parity(sent).unwrap();
    assert_eq!((parity.start, parity.end, parity.count, parity.timestamp), (seq(1), seq(5), 4, 3));
    // Without a packet that is sent again there is none: of one that was asked for before, and of one that is not here.
    let mut node = with_parity(false, 0..5);
    pass(&mut node, &rr(1, 3));
    for request in [rr(1, 3), rr(7, 8)] {
        assert!(pass(&mut node, &request).1.iter().all(|sent| !matches!(sent, Message::Parity(_))));
    }
    assert_eq!(node.counters().parities, 1);
}

#[test]
fn parity_ends_where_a_packet_is_missing_and_has_so_many_at_most() {
    let (_, sent) = pass(&mut with_parity(false, [0, 1, 2, 4, 5]), &rr(1, 2));
    assert_eq!(parity(sent).map(|parity| (parity.start, parity.end)), Some((seq(1), seq(3))));
    let (_, sent) = pass(&mut with_parity(false, 0..40), &rr(1, 2));
    assert_eq!(parity(sent).map(|parity| parity.count), Some(16));
}

#[test]
fn a_retransmission_node_recovers_what_parity_has_and_passes_it_on() {
    let (_, sent) = pass(&mut with_parity(false, 0..5), &rr(1, 2));
    let parity = parity(sent).unwrap();
    let message = packet(FROM, TO, parity.start, Message::Parity(parity.clone()));
    let mut node = with_parity(true, [0, 2, 3, 4]);
    let (verdict, sent) = pass(&mut node, &message);
    assert_eq!(verdict, Verdict::Drop, "it is of this node's segment");
    let [Message::Repeat(repeat)] = &sent[..] else { panic!("{sent:?}") };
    let Content::Segment(segment) = &repeat.data.content else { panic!("{repeat:?}") };
    let lost = data(1);
    let Body::Sdtp(sdtp) = &lost.body else { panic!() };
    let Some(Content::Segment(expected)) = sdtp.data().map(|data| &data.content) else { panic!() };
    assert_eq!((segment.seq, segment.payload.to_bytes()), (expected.seq, expected.payload.to_bytes()));
    assert_eq!(node.counters().recovered, 1);
    // Once more it brings nothing; nor where two are missing; and it passes where nobody asks.
    assert_eq!(pass(&mut node, &message), (Verdict::Drop, Vec::new()));
    let mut lacks_two = with_parity(true, [0, 3, 4]);
    pass(&mut lacks_two, &message);
    assert_eq!(lacks_two.counters().recovered, 0);
    assert_eq!(pass(&mut with_parity(false, [0, 2, 3, 4]), &message).0, Verdict::Pass);
}
