//! Who is no node of a slice can say nothing in it; who is one, and says anything, does no more than that.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use handfast_assist::sdtp::auth::{Key, Sealer};
use handfast_assist::sdtp::{Config, Kept};
use handfast_core::SeqNum;
use handfast_wire::sdtp::{
    Carriage, Content, Data, Expected, Information, InnerIp, Message, Notification, Outcome, Parity, Repeat,
    Request, Sdtp, Trigger,
};
use handfast_wire::tcp::Segment;
use handfast_wire::{Body, Packet};

use crate::script::{FIRST, Flow, SERVER, data, open, segment};
use crate::world::{HOP, KEY, LEFT, Line, RIGHT, Sink, host, kind, ms, node, sealed};

/// The first slice, and the first connection in it.
pub(crate) const SLICE: u16 = 1;
pub(crate) const CONNECTION: u16 = 1;

/// A message about the client's data, not sealed.
pub(crate) fn message(message: Message, sequence: SeqNum) -> Packet {
    let upstream = matches!(message, Message::Request(_) | Message::Notification(_) | Message::Congestion(_));
    let (src, dst) = if upstream { (node(2), node(0)) } else { (node(0), node(2)) };
    let sdtp =
        Sdtp { carriage: Carriage::Udp, slice: SLICE, connection: CONNECTION, sequence, message, seal: None };
    Packet::sdtp(src, dst, sdtp)
}

/// The packet, sealed by somebody with this key of a slice.
pub(crate) fn seal(mut packet: Packet, key: &Key, counter: u64) -> Packet {
    let mut sealer = Sealer::new(key, 0x0a00_0002, counter);
    let Body::Sdtp(sdtp) = &mut packet.body else { panic!("{packet:?}") };
    let begun = sealer.begin();
    sdtp.seal = Some(begun);
    let mut covered = Vec::new();
    packet.sealed_bytes(&mut covered).unwrap();
    let Body::Sdtp(sdtp) = &mut packet.body else { panic!("{packet:?}") };
    sdtp.seal.as_mut().unwrap().tag = sealer.tag(&begun, &covered);
    packet
}

/// Without a seal, with one of another network, and with one of another slice.
fn forgeries(packet: &Packet) -> [Packet; 3] {
    let sealed = |key: Key| seal(packet.clone(), &key, 1 << 50);
    [packet.clone(), sealed(Key::new([8; 32]).of_slice(SLICE)), sealed(KEY.of_slice(SLICE + 1))]
}

fn range(from: SeqNum, to: SeqNum) -> Expected {
    Expected { start: from, end: Some(to), start_num: 0 }
}

fn request(expected: Expected) -> Message {
    Message::Request(Request { trigger: Trigger::Timeout, expected, timestamp: 1 })
}

fn never(from: SeqNum, to: SeqNum) -> Message {
    let (trigger, outcome) = (Trigger::Count, Outcome::Never);
    Message::Information(Information { trigger, expected: range(from, to), outcome })
}

/// Ten packets of 100 bytes have gone from the client to the server; no CN has come back yet.
pub(crate) fn talking(config: Config) -> Line<Sink> {
    let mut line = Line::scripted(config);
    open(&mut line, &flow());
    for at in 0..10 {
        line.send(0, flow().packet(0, data(FIRST + 100 * at, SERVER + 1, 100)));
    }
    line.run(ms(10));
    assert_eq!(line.got(1).len(), 10);
    line
}

pub(crate) fn flow() -> Flow {
    Flow::between(host(0, 1), host(1, 1))
}

pub(crate) fn kept(line: &Line<Sink>) -> Vec<Kept> {
    line.nodes.iter().map(handfast_assist::sdtp::Node::kept).collect()
}

#[test]
fn sdtp_of_a_host_ends_at_its_edge() {
    let mut line = talking(sealed());
    let before = (kept(&line), line.crossed.clone());
    let until = FIRST + 1_000;
    let says = [Message::Notification(Notification { until }), never(FIRST, until)];
    for said in says {
        // Even if the host knows the key.
        let packet = seal(message(said, FIRST), &KEY.of_slice(SLICE), 1 << 50);
        line.send(0, packet.clone());
        line.send(1, packet);
    }
    line.run(ms(5));
    assert_eq!((kept(&line), line.crossed.clone()), before);
    assert_eq!(line.counted().forged, 4);
}

#[test]
fn a_forged_cn_empties_no_cache() {
    let cn = message(Message::Notification(Notification { until: FIRST + 1_000 }), FIRST);
    let mut line = talking(sealed());
    let before = kept(&line);
    assert!(before[0].cache_cost > 3_000 && before[1].cache_cost > 3_000, "{before:?}");
    for forged in forgeries(&cn) {
        for place in [0, 1] {
            line.inject(place, RIGHT, forged.clone());
        }
    }
    line.run(ms(5));
    assert_eq!((kept(&line), line.counted().unsealed), (before, 6));
    // The control: the same CN by a node of the slice.
    line.inject(0, RIGHT, seal(cn, &KEY.of_slice(SLICE), 1 << 50));
    line.run(ms(5));
    assert_eq!(line.nodes[0].kept().cache_cost, 0);
}

#[test]
fn a_forged_rr_gets_no_answer() {
    let rr = message(request(range(FIRST, FIRST + 300)), FIRST);
    let mut line = talking(sealed());
    for forged in forgeries(&rr) {
        line.inject(1, RIGHT, forged);
    }
    line.run(ms(5));
    assert_eq!((line.counted().repeats, line.counted().unsealed, line.got(1).len()), (0, 3, 0));
    line.inject(1, RIGHT, seal(rr, &KEY.of_slice(SLICE), 1 << 50));
    line.run(ms(5));
    assert_eq!(line.counted().repeats, 3, "the control");
}

#[test]
fn a_forged_pd_brings_nothing() {
    let segment = Segment { src_port: 0, dst_port: 0, ..data(FIRST + 1_000, SERVER + 1, 100) };
    let ip = InnerIp { hop_limit: 64, ..InnerIp::default() };
    let made_up = Data { ip, since_start: 1_000, host: 0, content: Content::Segment(segment) };
    // Of one packet: it needs no other.
    let parity = Parity::of(&[(FIRST + 1_000, &made_up)], Trigger::Count, 1).unwrap();
    let pd = message(Message::Parity(parity), FIRST + 1_000);
    let mut config = sealed();
    config.caching.parity = true;
    let mut line = talking(config);
    for forged in forgeries(&pd) {
        line.inject(2, LEFT, forged);
    }
    line.run(ms(5));
    assert_eq!((line.counted().recovered, line.counted().unsealed, line.got(1).len()), (0, 3, 0));
    let by_a_node = seal(pd, &KEY.of_slice(SLICE), 1 << 50);
    line.inject(2, LEFT, by_a_node.clone());
    line.run(ms(5));
    assert_eq!((line.counted().recovered, line.got(1).len()), (1, 1), "the control");
    // Where parity is off nobody listens to it.
    let mut line = talking(sealed());
    line.inject(2, LEFT, by_a_node);
    line.run(ms(5));
    assert_eq!((line.counted().recovered, line.got(1).len()), (0, 0));
}

/// The last link loses the packet at `FIRST + 1,000`, and its first RD. When the hole shows, somebody says that it will not come.
/// How many of four packets the server has in the end.
fn after_information(config: Config, forge: impl Fn(&Packet) -> Vec<Packet>) -> (usize, u64) {
    let mut line = talking(config);
    let lost = FIRST + 1_000;
    let mut losses = 0;
    line.fate = Box::new(move |crossing| match crossing.sdtp() {
        Some(sdtp) if crossing.to == 2 && sdtp.data().is_some() && sdtp.sequence == lost && losses < 2 => {
            losses += 1;
            vec![]
        }
        _ => vec![HOP],
    });
    line.send(0, flow().packet(0, data(lost, SERVER + 1, 100)));
    line.send(0, flow().packet(0, data(lost + 100, SERVER + 1, 100)));
    line.run(ms(6));
    for packet in forge(&message(never(lost, lost + 100), lost)) {
        line.inject(2, LEFT, packet);
    }
    for at in 2..4 {
        line.send(0, flow().packet(0, data(lost + 100 * at, SERVER + 1, 100)));
    }
    line.run(ms(100));
    let got: BTreeSet<_> = line.got(1).iter().map(|packet| segment(packet).seq.0).collect();
    (got.len(), line.counted().unsealed)
}

#[test]
fn a_forged_ri_makes_nobody_give_up() {
    let forged = |packet: &Packet| forgeries(packet).to_vec();
    assert_eq!(after_information(sealed(), forged), (4, 3));
    // Controls: where nothing is sealed, and from a node of the slice.
    assert_eq!(after_information(Config::default(), forged), (3, 0));
    let genuine = |packet: &Packet| vec![seal(packet.clone(), &KEY.of_slice(SLICE), 1 << 50)];
    assert_eq!(after_information(sealed(), genuine), (3, 0));
}

#[test]
fn an_rd_is_delivered_and_counted_once() {
    for (config, replayed) in [(sealed(), 3), (Config::default(), 0)] {
        let mut line = talking(config);
        let recorded = Rc::new(RefCell::new(None));
        let record = recorded.clone();
        let mut has_lost = false;
        line.fate = Box::new(move |crossing| {
            if kind(crossing.packet) == "RD" && crossing.to == 2 {
                *record.borrow_mut() = Some(crossing.packet.clone());
            }
            let loses = crossing.to == 2 && !has_lost;
            has_lost |= loses;
            if loses { vec![] } else { vec![HOP] }
        });
        for at in 10..13 {
            line.send(0, flow().packet(0, data(FIRST + 100 * at, SERVER + 1, 100)));
            line.run(ms(3));
        }
        line.run(ms(30));
        let got: BTreeSet<_> = line.got(1).iter().map(|packet| segment(packet).seq.0).collect();
        assert_eq!(got.len(), 3, "repaired");
        let rd: Packet = recorded.take().expect("an RD");
        let needless = line.counted().needless_repeats;
        for _ in 0..3 {
            line.inject(2, LEFT, rd.clone());
        }
        line.run(ms(5));
        assert_eq!(line.got(1).len(), 0, "a copy is dropped in any case");
        assert_eq!(line.counted().replayed, replayed);
        assert_eq!(
            line.counted().needless_repeats - needless,
            3 - replayed,
            "and is no sign of a needless request"
        );
        // Changed on its way, it is none.
        let mut changed = rd;
        let Body::Sdtp(sdtp) = &mut changed.body else { panic!("{changed:?}") };
        let Message::Repeat(Repeat { data, .. }) = &mut sdtp.message else { panic!("no RD") };
        let Content::Segment(segment) = &mut data.content else { panic!("no segment") };
        segment.window ^= 1;
        line.inject(2, LEFT, changed);
        line.run(ms(5));
        assert_eq!(line.got(1).len(), 0);
        assert_eq!(line.counted().unsealed, u64::from(replayed > 0));
    }
}

#[test]
fn copies_that_the_network_makes_are_no_attack() {
    let mut line = talking(sealed());
    let mut at = 0;
    line.fate = Box::new(move |_| {
        at += 1;
        if at % 5 == 0 { vec![] } else { vec![HOP, HOP] }
    });
    for at in 10..60 {
        line.send(0, flow().packet(0, data(FIRST + 100 * at, SERVER + 1, 100)));
        line.run(ms(5));
    }
    line.run(ms(500));
    let all: BTreeSet<_> = line.got(1).iter().map(|packet| segment(packet).seq.distance(FIRST)).collect();
    assert_eq!(all.len(), 50, "{:?}", line.counted());
    assert_eq!(line.counted().unsealed, 0);
    assert!(line.counted().replayed > 0);
}

#[test]
fn what_was_never_sent_is_not_repeated() {
    let mut line = talking(sealed());
    // Until nobody asks any more for what may have come after the last packet.
    line.run(ms(1_000));
    let before = line.counted();
    let ahead = FIRST + 5_000;
    line.inject(
        1,
        RIGHT,
        seal(message(request(range(ahead, ahead + 500)), ahead), &KEY.of_slice(SLICE), 1 << 50),
    );
    let mut other = message(request(range(FIRST, FIRST + 500)), FIRST);
    let Body::Sdtp(sdtp) = &mut other.body else { panic!("{other:?}") };
    sdtp.connection = 9;
    line.inject(1, RIGHT, seal(other, &KEY.of_slice(SLICE), 2 << 50));
    line.run(ms(20));
    let counted = line.counted();
    let unserved = counted.requests_unserved - before.requests_unserved;
    let told = counted.informations - before.informations;
    assert_eq!((counted.repeats - before.repeats, unserved, told), (0, 2, 2), "RI Never, one an RR");
    assert_eq!(line.got(1).len(), 0);
}
