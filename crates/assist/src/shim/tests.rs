use handfast_core::{Duration, SeqNum, Stream};
use handfast_net::Forward;
use handfast_wire::Body;
use handfast_wire::shim::Message;

use super::*;
use crate::duplicate::{Config, Duplicate};

/// Hosts 1 and 2; nodes 11, 12 and 13 between them.
fn ip(number: u8) -> IpAddr {
    IpAddr::from([10, 0, 0, number])
}

fn node(number: u8, next: &[(u8, u8)]) -> Protected<Duplicate> {
    let next = next.iter().map(|&(host, peer)| (ip(host), ip(peer))).collect();
    let site = Site { address: ip(number), radio: Vec::new(), next, stream: Stream::new(1, "test") };
    Protected::new(site, || Duplicate::new(Config { spacing: Duration::from_secs(1), ..Config::default() }))
}

fn packet(class: u8) -> Packet {
    let packet = Packet::of_ip_bytes(&testing::packet(5)).unwrap();
    Packet { traffic_class: class, ..packet }
}

/// What leaves a node when a packet comes, and what was discarded.
fn pass(node: &mut Protected<Duplicate>, packet: Packet) -> (Vec<Packet>, usize) {
    let mut out = Outbox::default();
    match node.look(Instant::ZERO, Port(0), &View::of(&packet), &mut out) {
        Verdict::Take => node.on_packet(Instant::ZERO, Port(0), packet, &mut out),
        Verdict::Pass => out.forward(packet),
        Verdict::Drop => panic!("nothing is dropped at sight"),
    }
    let (mut sent, mut discarded) = (Vec::new(), 0);
    for forward in out.drain() {
        match forward {
            Forward::Routed(packet) => sent.push(packet),
            Forward::Dropped(_) => discarded += 1,
            Forward::To(..) => panic!("the destination says where to"),
        }
    }
    (sent, discarded)
}

fn one((mut sent, discarded): (Vec<Packet>, usize)) -> Packet {
    assert_eq!((sent.len(), discarded), (1, 0));
    sent.remove(0)
}

#[test]
fn a_packet_goes_from_node_to_node_and_out_as_it_came() {
    let (mut near, mut middle, mut far) = (node(11, &[(2, 12)]), node(12, &[(2, 13)]), node(13, &[]));
    // Each end knows the other by the way back.
    (middle.peers, far.peers) = ([11, 13].map(|peer| (ip(peer), fresh())).into(), [(ip(12), fresh())].into());
    let first = one(pass(&mut near, packet(0b10)));
    assert_eq!((first.src, first.dst, first.traffic_class), (ip(11), ip(12), 0b10));
    assert_eq!(first.ip_len(), packet(0).ip_len() + 28);
    let second = one(pass(&mut middle, first));
    assert_eq!((second.src, second.dst), (ip(12), ip(13)));
    assert_eq!(one(pass(&mut far, second)).ip_bytes(), packet(0b10).ip_bytes());
    let bytes = |name| near.counters().into_iter().find(|&(found, _)| found == name).unwrap().1;
    assert_eq!(bytes("shim_bytes"), bytes("protected_bytes") + 28);
}

fn fresh() -> Duplicate {
    Duplicate::new(Config::default())
}

#[test]
fn congestion_on_the_way_is_told_to_those_inside_who_can_hear_it() {
    for (class, marked) in [
        (0b10, Some(0b11)),
        (0b01, Some(0b11)),
        (0b1010_1010, Some(0b1010_1011)),
        // RFC 6040 §4.2: nobody inside can hear it, and congestion must not be masked.
        (0b00, None),
    ] {
        let (mut near, mut far) = (node(11, &[(2, 12)]), node(12, &[(1, 11)]));
        let mut outer = one(pass(&mut near, packet(class)));
        outer.traffic_class |= 0b11;
        let (left, _) = pass(&mut far, outer);
        assert_eq!(left.first().map(|packet| packet.traffic_class), marked);
    }
}

#[test]
fn what_is_not_for_a_host_behind_a_peer_passes() {
    let mut near = node(11, &[(1, 12)]);
    assert_eq!(one(pass(&mut near, packet(0))), packet(0));
    let mut near = node(11, &[(2, 12)]);
    let broken = Packet { corrupted: true, ..packet(0) };
    assert_eq!(one(pass(&mut near, broken.clone())), broken);
}

#[test]
fn a_shim_of_a_stranger_or_of_another_kind_goes_on_and_one_with_bit_errors_ends() {
    let mut far = node(12, &[(1, 11)]);
    let shim = Shim { sequence: SeqNum(0), message: Message::Source(testing::packet(1)) };
    let (of_another, of_a_stranger) = (shim.between(ip(11), ip(12)), shim.between(ip(14), ip(12)));
    for other in [of_another, of_a_stranger] {
        assert_eq!(one(pass(&mut far, other.clone())), other);
    }
    let broken = Packet { corrupted: true, ..shim.between(ip(11), ip(12)) };
    assert_eq!(pass(&mut far, broken), (Vec::new(), 1));
    // A shim to another node is that one's.
    let elsewhere = shim.between(ip(11), ip(1));
    assert!(matches!(elsewhere.body, Body::Other { .. }));
    assert_eq!(one(pass(&mut far, elsewhere.clone())), elsewhere);
}

#[test]
fn bytes_that_are_no_packet_end() {
    let mut far = node(12, &[(1, 11)]);
    let garbage = Shim { sequence: SeqNum(0), message: Message::Copy(Bytes::from_static(b"no packet")) };
    assert_eq!(pass(&mut far, garbage.between(ip(11), ip(12))), (Vec::new(), 0));
    assert!(far.counters().contains(&("malformed", 1)));
}
