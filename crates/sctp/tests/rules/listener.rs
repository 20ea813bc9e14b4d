//! What a listener answers: §5.1, §8.4.

use bytes::Bytes;
use handfast_core::{SeqNum, Stream};
use handfast_sctp::{Answer, Config, CookieKey, Listener, Received, Transmit};
use handfast_wire::sctp::{Cause, Chunk, Init, Packet, Parameter, code};

use crate::support::*;

/// A listener, and the INIT of a client.
fn listener() -> Listener {
    Listener::new(Config::default(), 6000, &[server(0)], CookieKey::new([2; 32]), Stream::new(1, "server"))
}

fn init() -> Init {
    Init {
        tag: 77,
        a_rwnd: 50_000,
        outbound_streams: 4,
        inbound_streams: 2,
        initial_tsn: SeqNum(1000),
        parameters: Vec::new(),
    }
}

pub(crate) fn packet(tag: u32, chunks: Vec<Chunk>) -> Packet {
    Packet { src_port: 5000, dst_port: 6000, tag, chunks }
}

pub(crate) fn from_client(packet: &Packet) -> Received<'_> {
    Received { packet, from: client(0), to: server(0) }
}

/// What a listener replies at a time.
fn reply(listener: &mut Listener, now: u64, packet: &Packet) -> Option<Transmit> {
    match listener.on_packet(at(now), &from_client(packet)) {
        Answer::Reply(transmit) => Some(transmit),
        Answer::Nothing => None,
        Answer::Open(_) => panic!("an association"),
    }
}

fn init_ack(listener: &mut Listener, init: Init) -> Init {
    let transmit = reply(listener, 0, &packet(0, vec![Chunk::Init(init)])).unwrap();
    assert_eq!((transmit.from, transmit.to, transmit.packet.tag), (server(0), client(0), 77));
    match transmit.packet.chunks.as_slice() {
        [Chunk::InitAck(ack)] => ack.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_listener_keeps_nothing_before_the_cookie_comes_back() {
    let mut listener = listener();
    let before = format!("{:?}", listener.clone());
    let ack = init_ack(&mut listener, init());
    // Only its random numbers have moved on.
    let strip = |text: String| text.split("random").next().unwrap().to_owned();
    assert_eq!(strip(format!("{listener:?}")), strip(before));
    let echo = packet(ack.tag, vec![Chunk::CookieEcho(ack.cookie().unwrap().clone())]);
    assert!(matches!(listener.on_packet(at(1), &from_client(&echo)), Answer::Open(_)));
}

#[test]
fn cookies_that_are_forged_stale_or_of_others_open_nothing() {
    let mut listener = listener();
    let ack = init_ack(&mut listener, init());
    let cookie = ack.cookie().unwrap().clone();
    let echo = |tag, cookie: &[u8]| packet(tag, vec![Chunk::CookieEcho(cookie.to_vec().into())]);
    let mut forged = cookie.to_vec();
    forged[40] ^= 1;
    assert_eq!(reply(&mut listener, 1, &echo(ack.tag, &forged)), None);
    assert_eq!(reply(&mut listener, 1, &echo(ack.tag + 1, &cookie)), None, "the tag is the cookie's");
    let other_port = Packet { src_port: 5001, ..echo(ack.tag, &cookie) };
    assert_eq!(reply(&mut listener, 1, &other_port), None);
    let from_elsewhere = echo(ack.tag, &cookie);
    let received = Received { from: client(7), ..from_client(&from_elsewhere) };
    assert!(matches!(listener.on_packet(at(1), &received), Answer::Nothing));
    // Valid.Cookie.Life is 60 s.
    let stale = reply(&mut listener, 60_003, &echo(ack.tag, &cookie)).unwrap();
    assert_eq!(stale.packet.chunks, [Chunk::Error(vec![Cause::StaleCookie { microseconds: 3000 }])]);
    let Answer::Open(_) = listener.on_packet(at(60_000), &from_client(&echo(ack.tag, &cookie))) else {
        panic!("it lives for 60 s");
    };
}

#[test]
fn a_changed_key_leaves_the_cookies_of_the_one_before() {
    let mut listener = listener();
    let ack = init_ack(&mut listener, init());
    let echo = packet(ack.tag, vec![Chunk::CookieEcho(ack.cookie().unwrap().clone())]);
    listener.change_key(CookieKey::new([3; 32]));
    assert!(matches!(listener.clone().on_packet(at(1), &from_client(&echo)), Answer::Open(_)));
    listener.change_key(CookieKey::new([4; 32]));
    assert_eq!(reply(&mut listener, 1, &echo), None);
}

/// COOKIE ACK was lost, and the key has changed since the INIT: the COOKIE ECHO that comes again is answered.
#[test]
fn a_repeated_cookie_of_the_key_before_is_answered() {
    let mut listener = listener();
    let ack = init_ack(&mut listener, init());
    let echo = packet(ack.tag, vec![Chunk::CookieEcho(ack.cookie().unwrap().clone())]);
    listener.change_key(CookieKey::new([3; 32]));
    let Answer::Open(mut association) = listener.on_packet(at(1), &from_client(&echo)) else {
        panic!("it opens an association");
    };
    for now in [1, 1_001] {
        let answer = association.poll_transmit(at(now), handfast_core::Bytes(1 << 16));
        assert_eq!(answer.map(|t| t.packet.chunks), Some(vec![Chunk::CookieAck]), "at {now} ms");
        association.on_packet(at(1_000), &from_client(&echo));
    }
}

#[test]
fn what_is_wrong_with_an_init_is_answered_or_dropped() {
    let mut listener = listener();
    let abort = |listener: &mut Listener, init| {
        reply(listener, 0, &packet(0, vec![Chunk::Init(init)])).map(|t| t.packet.chunks)
    };
    let with = |code| Some(vec![Chunk::Abort { reflected: false, causes: vec![Cause::plain(code)] }]);
    let no_streams = Init { outbound_streams: 0, ..init() };
    assert_eq!(abort(&mut listener, no_streams), with(code::INVALID_MANDATORY_PARAMETER));
    // §3.3.10.5: the name goes back, if it is one.
    let named = |name: Bytes| Init { parameters: vec![Parameter::HostName(name)], ..init() };
    let name = Bytes::from("x.example\0");
    let value = Parameter::HostName(name.clone()).quoted();
    let causes = vec![Cause::Other { code: code::UNRESOLVABLE_ADDRESS, value }];
    assert_eq!(abort(&mut listener, named(name)), Some(vec![Chunk::Abort { reflected: false, causes }]));
    assert_eq!(abort(&mut listener, named(vec![b'x'; 256].into())), with(code::UNRESOLVABLE_ADDRESS));
    let narrow = Init { a_rwnd: 1499, ..init() };
    assert_eq!(abort(&mut listener, narrow), with(code::INVALID_MANDATORY_PARAMETER));
    let least = abort(&mut listener, Init { a_rwnd: 1500, ..init() });
    assert!(matches!(least.as_deref(), Some([Chunk::InitAck(_)])));
    assert_eq!(abort(&mut listener, Init { tag: 0, ..init() }), None);
    let with_tag = packet(5, vec![Chunk::Init(init())]);
    assert_eq!(reply(&mut listener, 0, &with_tag), None);
    let of_nobody = packet(0, vec![Chunk::Init(init())]);
    for from in [[224, 0, 0, 1], [255, 255, 255, 255], [0, 0, 0, 0]] {
        let received = Received { from: from.into(), ..from_client(&of_nobody) };
        assert!(matches!(listener.on_packet(at(0), &received), Answer::Nothing), "{from:?}");
    }
    let no_port = Packet { src_port: 0, ..of_nobody };
    assert_eq!(reply(&mut listener, 0, &no_port), None);
    let not_alone = packet(0, vec![Chunk::Init(init()), Chunk::CookieAck]);
    assert_eq!(reply(&mut listener, 0, &not_alone), None);
}

#[test]
fn unknown_parameters_are_treated_by_their_upper_bits() {
    let unknown = |kind| Parameter::Unknown { kind, value: "v".into() };
    let reported = |kinds: &[u16]| -> usize {
        let parameters = kinds.iter().map(|&kind| unknown(kind)).collect();
        let ack = init_ack(&mut listener(), Init { parameters, ..init() });
        ack.parameters.iter().filter(|p| matches!(p, Parameter::Unrecognized(_))).count()
    };
    // 11 skips and reports, 10 skips, 01 stops and reports, 00 stops.
    assert_eq!(reported(&[0xc001, 0xc002]), 2);
    assert_eq!(reported(&[0x8001, 0xc002]), 1);
    assert_eq!(reported(&[0x4001, 0xc002]), 1);
    assert_eq!(reported(&[0x0101, 0xc002]), 0);
    // An INIT is not answered by much more than itself.
    assert!(reported(&[0xc001; 300]) < 50);
}

#[test]
fn packets_out_of_the_blue_are_answered_as_section_8_4_says() {
    let mut listener = listener();
    let mut answer =
        |chunks| reply(&mut listener, 0, &packet(9, chunks)).map(|t| (t.packet.tag, t.packet.chunks));
    let abort = vec![Chunk::Abort { reflected: true, causes: vec![] }];
    assert_eq!(answer(vec![Chunk::Heartbeat("x".into())]), Some((9, abort)));
    let complete = vec![Chunk::ShutdownComplete { reflected: true }];
    assert_eq!(answer(vec![Chunk::ShutdownAck]), Some((9, complete)));
    assert_eq!(answer(vec![Chunk::CookieAck]), None);
    assert_eq!(answer(vec![Chunk::ShutdownComplete { reflected: false }]), None);
    assert_eq!(
        answer(vec![Chunk::Heartbeat("x".into()), Chunk::Abort { reflected: false, causes: vec![] }]),
        None
    );
    assert_eq!(answer(vec![Chunk::Error(vec![Cause::StaleCookie { microseconds: 1 }])]), None);
}
