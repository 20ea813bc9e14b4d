//! Two hosts' stacks that exchange segments over a wire without delay.

use std::collections::BTreeSet;
use std::hash::RandomState;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use handfast_core::{Instant, SeqNum};
use handfast_host::stack::{BACKLOG, Pair, Stack};
use handfast_tcp::{Config, Received, State, Transmit};
use handfast_wire::Payload;
use handfast_wire::tcp::{Flags, Segment};

const CLIENT: &str = "10.0.0.1";
const SERVER: &str = "10.0.0.2";

fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

fn stack(addresses: &[&str]) -> Stack {
    Stack::new(addresses.iter().map(|ip| ip.parse().unwrap()).collect(), RandomState::new())
}

fn to(ip: &str, port: u16) -> SocketAddr {
    SocketAddr::new(ip.parse().unwrap(), port)
}

fn turned((local, remote): Pair) -> Pair {
    (remote, local)
}

/// All that a stack has to send.
fn sent(stack: &mut Stack, now: Instant) -> Vec<(Pair, Transmit)> {
    std::iter::from_fn(|| stack.poll_transmit(now)).collect()
}

/// Carries all that a host has to send to another one; whether there was anything.
fn carry(now: Instant, from: &mut Stack, to: &mut Stack) -> bool {
    let all = sent(from, now);
    for (pair, transmit) in &all {
        to.on_segment(now, turned(*pair), &Received::plain(&transmit.segment));
    }
    !all.is_empty()
}

/// Carries segments between two hosts until nothing moves.
fn exchange(now: Instant, one: &mut Stack, other: &mut Stack) {
    while carry(now, one, other) | carry(now, other, one) {}
}

fn config() -> Arc<Config> {
    Arc::new(Config::default())
}

#[test]
fn a_connection_carries_bytes_ends_and_is_forgotten() {
    let (mut client, mut server) = (stack(&[CLIENT]), stack(&[SERVER]));
    server.listen(80, config());
    assert!(client.owns(CLIENT.parse().unwrap()) && !client.owns(SERVER.parse().unwrap()));
    let ours = client.connect(at(1), &config(), to(SERVER, 80)).unwrap();
    assert_eq!(server.accept(80), None);
    exchange(at(1), &mut client, &mut server);
    let theirs = server.accept(80).unwrap();
    assert_eq!(server.accept(80), None, "each is accepted once");
    assert_eq!(server.addresses(theirs), client.addresses(ours).map(turned));
    assert_eq!(client.endpoint(ours).unwrap().state(), State::Established);

    client.endpoint_mut(ours).unwrap().write(Payload::Synthetic { stream: 3, offset: 0, len: 5000 });
    exchange(at(2), &mut client, &mut server);
    let read: usize = std::iter::from_fn(|| server.endpoint_mut(theirs).unwrap().read(usize::MAX))
        .map(|piece| piece.len())
        .sum();
    assert_eq!(read, 5000);

    client.release(at(3), ours);
    exchange(at(3), &mut client, &mut server);
    server.release(at(3), theirs);
    exchange(at(3), &mut client, &mut server);
    assert!(server.endpoint(theirs).is_none(), "the second to close has nothing to wait for");
    assert_eq!(client.endpoint(ours).unwrap().state(), State::TimeWait);
    let over = client.deadline().expect("TIME-WAIT ends");
    client.on_timer(Instant::from_nanos(over.as_nanos() - 1));
    assert!(sent(&mut client, over).is_empty() && client.endpoint(ours).is_some(), "it is not over yet");
    client.on_timer(over);
    assert!(sent(&mut client, over).is_empty() && client.endpoint(ours).is_none());
    assert_eq!((client.deadline(), client.addresses(ours)), (None, None));
    // Its addresses may be used again.
    assert!(client.connect_from(over, &config(), (to(CLIENT, 5000), to(SERVER, 80))).is_some());
}

#[test]
fn a_connection_that_is_open_is_not_forgotten_nor_opened_again() {
    let (mut client, mut server) = (stack(&[CLIENT]), stack(&[SERVER]));
    server.listen(80, config());
    let pair = (to(CLIENT, 5000), to(SERVER, 80));
    let ours = client.connect_from(at(0), &config(), pair).unwrap();
    assert_eq!(client.connect_from(at(0), &config(), pair), None);
    exchange(at(0), &mut client, &mut server);
    // Closed by the application, whose peer goes on: what it sends is still read.
    client.endpoint_mut(ours).unwrap().close(at(1));
    exchange(at(1), &mut client, &mut server);
    let theirs = server.accept(80).unwrap();
    server.endpoint_mut(theirs).unwrap().write(Payload::Synthetic { stream: 1, offset: 0, len: 10 });
    exchange(at(1), &mut client, &mut server);
    assert_eq!(client.endpoint_mut(ours).unwrap().read(usize::MAX).unwrap().len(), 10);
}

#[test]
fn the_address_has_the_family_of_the_peer_and_segments_fit_its_packets() {
    let mut client = stack(&[CLIENT, "fd00::1"]);
    let (large, small) = (
        Arc::new(Config { mss: 8960, ..Config::default() }),
        Arc::new(Config { mss: 1000, ..Config::default() }),
    );
    for (remote, local, mss) in [(SERVER, CLIENT, 1460), ("fd00::2", "fd00::1", 1440)] {
        let id = client.connect(at(0), &large, to(remote, 80)).unwrap();
        assert_eq!(client.addresses(id).unwrap().0.ip(), local.parse::<IpAddr>().unwrap());
        assert_eq!(offered(&mut client), Some(mss));
        client.connect(at(0), &small, to(remote, 80)).unwrap();
        assert_eq!(offered(&mut client), Some(1000), "what fits stays as it is");
    }
    assert_eq!(stack(&["fd00::1"]).connect(at(0), &config(), to(SERVER, 80)), None);
}

/// The maximum segment size of the SYN that a stack sends.
fn offered(stack: &mut Stack) -> Option<u16> {
    let syn = stack.poll_transmit(at(0)).unwrap().1.segment;
    assert_eq!(syn.flags, Flags::SYN);
    assert!(sent(stack, at(0)).is_empty());
    syn.mss
}

#[test]
fn a_syn_that_is_lost_is_sent_again() {
    let mut client = stack(&[CLIENT]);
    client.connect(at(0), &config(), to(SERVER, 80)).unwrap();
    assert_eq!(sent(&mut client, at(0)).len(), 1);
    let due = client.deadline().unwrap();
    assert_eq!(due, at(1000), "RFC 6298 §2.1");
    client.on_timer(at(999));
    assert!(sent(&mut client, at(999)).is_empty());
    client.on_timer(due);
    assert_eq!(sent(&mut client, due).len(), 1);
    assert!(client.deadline() > Some(due));
}

/// What a stack answers to one segment.
fn answers(stack: &mut Stack, pair: Pair, segment: &Segment) -> Vec<Segment> {
    stack.on_segment(at(0), pair, &Received::plain(segment));
    sent(stack, at(0))
        .into_iter()
        .map(|(answered, transmit)| {
            assert_eq!(answered, pair);
            transmit.segment
        })
        .collect()
}

#[test]
fn what_is_for_nobody_is_answered_with_a_reset() {
    let mut server = stack(&[SERVER]);
    server.listen(80, config());
    let pair = |port| (to(SERVER, port), to(CLIENT, 5000));
    let segment = |flags, seq| Segment {
        src_port: 5000,
        dst_port: 80,
        flags,
        seq: SeqNum(seq),
        ack: SeqNum(77),
        ..Segment::EMPTY
    };
    // RFC 9293 §3.10.7.1: with its acknowledgment number as the sequence number, or where there is none acknowledged.
    let reset = &answers(&mut server, pair(80), &segment(Flags::ACK, 5))[0];
    assert_eq!((reset.flags, reset.seq), (Flags::RST, SeqNum(77)));
    let reset = &answers(&mut server, pair(81), &segment(Flags::SYN, 5))[0];
    assert_eq!((reset.flags, reset.ack), (Flags::RST | Flags::ACK, SeqNum(6)));
    assert!(answers(&mut server, pair(80), &segment(Flags::RST, 5)).is_empty());
    // A SYN to a listener opens a connection; one with an acknowledgment or a reset does not.
    assert_eq!(answers(&mut server, pair(80), &segment(Flags::SYN | Flags::ACK, 5)).len(), 0);
    assert_eq!(answers(&mut server, pair(80), &segment(Flags::SYN | Flags::RST, 5)).len(), 0);
    assert_eq!(server.accept(80), None);
    let answer = &answers(&mut server, pair(80), &segment(Flags::SYN, 5))[0];
    assert_eq!((answer.flags, answer.ack), (Flags::SYN | Flags::ACK, SeqNum(6)));
    assert!(server.accept(80).is_some());
}

#[test]
fn a_full_backlog_leaves_a_syn_unanswered_and_resets_that_wait_are_bounded() {
    let mut server = stack(&[SERVER]);
    server.listen(80, config());
    let syn = |port| Segment { src_port: port, dst_port: 80, flags: Flags::SYN, ..Segment::EMPTY };
    let pair = |port| (to(SERVER, 80), to(CLIENT, port));
    let answered =
        (1..=BACKLOG as u16 + 1).filter(|&port| !answers(&mut server, pair(port), &syn(port)).is_empty());
    assert_eq!(answered.count(), BACKLOG);
    server.accept(80).unwrap();
    assert_eq!(answers(&mut server, pair(999), &syn(999)).len(), 1, "there is room again");
    let stray = Segment { flags: Flags::ACK, ..Segment::EMPTY };
    for port in 0..1000 {
        server.on_segment(at(0), (to(SERVER, 81), to(CLIENT, 5000 + port)), &Received::plain(&stray));
    }
    assert_eq!(sent(&mut server, at(0)).len(), 256);
}

#[test]
fn connections_are_bounded_and_what_was_refused_is_counted() {
    let mut client = stack(&[CLIENT]);
    let opened = (1..=4200)
        .filter(|&port| client.connect_from(at(0), &config(), (to(CLIENT, port), to(SERVER, 80))).is_some());
    assert_eq!(opened.count(), 4096);
    assert_eq!(client.no_room(), 104);
}

#[test]
fn sequence_numbers_are_a_secret_of_each_connection_and_move_with_a_clock() {
    let syn_of = |millis: u64, port: u16, secret: &RandomState| {
        let mut client = Stack::new(vec![CLIENT.parse().unwrap()], secret.clone());
        client.connect_from(at(millis), &config(), (to(CLIENT, port), to(SERVER, 80))).unwrap();
        client.poll_transmit(at(millis)).unwrap().1.segment.seq
    };
    let secret = RandomState::new();
    // RFC 6528 §3: M is a clock that ticks each 4 us.
    let (early, late) = (syn_of(0, 1, &secret), syn_of(1000, 1, &secret));
    assert_eq!(late.0.wrapping_sub(early.0), 250_000);
    let others: BTreeSet<u32> = (1..=20).map(|port| syn_of(0, port, &secret).0).collect();
    assert_eq!(others.len(), 20, "each pair of addresses has its own");
    assert_ne!(syn_of(0, 1, &RandomState::new()), early);
}

#[test]
fn ports_of_connections_are_different() {
    let mut client = stack(&[CLIENT]);
    let mut port = || {
        let id = client.connect(at(0), &config(), to(SERVER, 80)).unwrap();
        client.addresses(id).unwrap().0.port()
    };
    let ports: BTreeSet<u16> = (0..50).map(|_| port()).collect();
    assert_eq!(ports.len(), 50);
    assert!(ports.iter().all(|&port| port >= 49152), "RFC 6335 §6");
}
