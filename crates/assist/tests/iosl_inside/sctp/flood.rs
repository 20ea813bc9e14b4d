//! Who is not where he says, and who says again what others have said.

use std::net::SocketAddr;

use bytes::Bytes;
use handfast_assist::iosl::inside::{Config, Connections, DATAGRAM, InsideId, Kind, Stands};
use handfast_core::{Duration, Instant, SeqNum};
use handfast_wire::Checksums;
use handfast_wire::sctp::{Chunk, Init, Packet, UDP_PORT};

use crate::world::{Faults, Sent, World, own, server, server_address};

fn victim(port: u16) -> SocketAddr {
    ([203, 0, 113, 5], port).into()
}

fn parsed(octets: &Bytes) -> Packet {
    Packet::parse(octets, Checksums::Verify).unwrap()
}

/// All that a server sends now, and to whom.
fn answers(server: &mut Connections, now: Instant) -> Vec<(SocketAddr, Bytes)> {
    let next = || {
        let mut out = Vec::new();
        server.poll_transmit(now, &mut out, |_| true).map(|leaving| (leaving.to, out.into()))
    };
    std::iter::from_fn(next).collect()
}

fn init() -> Bytes {
    let mut client = Connections::new(Config::default(), [7; 32]);
    let now = Instant::from_millis(5_000);
    client.connect(now, Kind::Sctp, server_address(), &[own(1)]).unwrap();
    let mut out = Vec::new();
    client.poll_transmit(now, &mut out, |_| true).unwrap();
    out.into()
}

#[test]
fn nothing_is_kept_of_an_init_and_its_answer_is_no_three_times_as_long() {
    let mut server = server(2);
    let (init, mut now) = (init(), Instant::from_millis(5_000));
    assert_eq!(init.len(), DATAGRAM);
    for port in 1..2_000 {
        server.on_datagram(now, victim(port), None, &init);
        let sent = answers(&mut server, now);
        let [(to, answer)] = &sent[..] else { panic!("{} answers", sent.len()) };
        assert!(*to == victim(port) && answer.len() <= 3 * init.len());
    }
    for _ in 0..100 {
        now += Duration::from_secs(1);
        server.on_timer(now);
        assert!(answers(&mut server, now).is_empty(), "nor does more follow");
    }
    assert!(server.is_empty() && server.accept().is_none() && server.deadline().is_none());
}

#[test]
fn answers_that_nobody_takes_are_bounded() {
    let mut server = server(2);
    let (init, now) = (init(), Instant::from_millis(5_000));
    for port in 1..2_000 {
        server.on_datagram(now, victim(port), None, &init);
    }
    assert_eq!(answers(&mut server, now).len(), 256);
}

#[test]
fn a_short_init_gets_no_answer() {
    let mut server = server(2);
    let init = Init {
        tag: 7,
        a_rwnd: 100_000,
        outbound_streams: 1,
        inbound_streams: 1,
        initial_tsn: SeqNum(1),
        parameters: Vec::new(),
    };
    let packet = Packet { src_port: 50_000, dst_port: UDP_PORT, tag: 0, chunks: vec![Chunk::Init(init)] };
    let now = Instant::from_millis(5_000);
    server.on_datagram(now, victim(1), None, &packet.emit().unwrap());
    assert!(answers(&mut server, now).is_empty(), "it would be five times as long");
}

/// What comes of no association is answered with an ABORT at most, which is no longer than it.
#[test]
fn a_stranger_gets_no_more_than_it_sent() {
    let mut server = server(2);
    let now = Instant::from_millis(5_000);
    let chunks = [
        Chunk::CookieAck,
        Chunk::ShutdownAck,
        Chunk::Shutdown { cumulative: SeqNum(5) },
        Chunk::CookieEcho(Bytes::from_static(&[1; 9])),
        Chunk::CookieEcho(Bytes::from_static(&[1; 3])),
        Chunk::Heartbeat(Bytes::from_static(&[1; 8])),
        Chunk::Abort { reflected: false, causes: Vec::new() },
        Chunk::Abort { reflected: true, causes: Vec::new() },
        Chunk::Unknown { kind: 0xc1, flags: 0, value: Bytes::new() },
    ];
    for chunk in chunks {
        let packet = Packet { src_port: 50_000, dst_port: UDP_PORT, tag: 9, chunks: vec![chunk] };
        let octets = packet.emit().unwrap();
        server.on_datagram(now, victim(1), None, &octets);
        let sent: usize = answers(&mut server, now).iter().map(|(_, answer)| answer.len()).sum();
        assert!(sent <= octets.len(), "{sent} octets for {packet:?}");
    }
    assert!(server.is_empty());
}

/// The COOKIE ECHO of an association that was opened, with the world.
fn overheard() -> (World, Sent, [InsideId; 2]) {
    let mut world = World::new(Faults::default(), 1);
    world.log = Some(Vec::new());
    let both = world.opened(Kind::Sctp, &[own(1)]);
    let is_echo = |sent: &&Sent| matches!(parsed(&sent.octets).chunks[..], [Chunk::CookieEcho(_), ..]);
    let echo = world.log.as_ref().unwrap().iter().find(is_echo).unwrap().clone();
    (world, echo, both)
}

#[test]
fn a_cookie_holds_for_one_address_and_port() {
    let mut world = World::new(Faults::default(), 1);
    world.open(Kind::Sctp, &[own(1)]);
    world.log = Some(Vec::new());
    let is_answer = |sent: &Sent| matches!(parsed(&sent.octets).chunks[..], [Chunk::InitAck(_)]);
    assert!(world.until(|world| world.log.as_ref().unwrap().iter().any(is_answer)));
    // The COOKIE ECHO is lost on its way.
    world.gone.insert(own(1));
    let is_echo = |sent: &Sent| matches!(parsed(&sent.octets).chunks[..], [Chunk::CookieEcho(_), ..]);
    assert!(world.until(|world| world.log.as_ref().unwrap().iter().any(is_echo)));
    let echo = world.log.as_ref().unwrap().iter().find(|sent| is_echo(sent)).unwrap().clone();
    for client in [victim(4_000), (own(1), 4_001).into(), (own(2), echo.client.port()).into()] {
        world.deliver(Sent { client, ..echo.clone() });
        assert!(world.server.accept().is_none() && world.server.is_empty(), "{client}");
        assert!(answers(&mut world.server, world.now).is_empty());
    }
    world.deliver(echo);
    assert!(world.server.accept().is_some());
}

#[test]
fn a_copy_of_a_cookie_echo_opens_nothing_while_it_is_there_or_after() {
    let (mut world, echo, [client, server]) = overheard();
    for client in [echo.client, victim(9), (own(1), 9).into()] {
        world.deliver(Sent { client, ..echo.clone() });
    }
    assert!(world.server.accept().is_none() && world.server.len() == 1);
    // The server still sends to where the client is.
    world.server.write(server, b"still");
    assert!(
        world.until(|world| world.client.read(world.now, client, 9).is_some_and(|read| read == b"still"[..]))
    );
    world.client.release(world.now, client);
    assert!(world.until(|world| world.server.stands(server) != Stands::Open));
    world.server.release(world.now, server);
    assert!(world.until(|world| world.server.is_empty()));
    for _ in 0..30 {
        let came = world.server.on_datagram(world.now, echo.client, None, &echo.octets);
        assert_eq!(came, None, "its tag is no association's");
        assert!(world.server.accept().is_none() && world.server.is_empty());
        assert!(answers(&mut world.server, world.now).is_empty());
        world.now += Duration::from_millis(500);
    }
}

#[test]
fn who_does_not_know_the_tag_changes_nothing() {
    let (mut world, echo, [client, server]) = overheard();
    let tag = parsed(&echo.octets).tag;
    for wrong in (0..32).map(|bit| tag ^ 1 << bit) {
        for chunk in [
            Chunk::Abort { reflected: false, causes: Vec::new() },
            Chunk::ShutdownComplete { reflected: false },
            Chunk::Heartbeat(Bytes::from_static(&[1; 8])),
        ] {
            let packet = Packet { tag: wrong, chunks: vec![chunk], ..parsed(&echo.octets) };
            let octets = packet.emit().unwrap();
            world.deliver(Sent { client: (own(1), 9).into(), octets: octets.clone(), to_server: true });
            world.client.on_answer(world.now, client, own(1), &octets);
        }
    }
    assert_eq!((world.client.stands(client), world.server.stands(server)), (Stands::Open, Stands::Open));
    world.server.write(server, b"still");
    assert!(
        world.until(|world| world.client.read(world.now, client, 9).is_some_and(|read| read == b"still"[..]))
    );
}

/// RFC 9260 §5.2.1 would have both open one at once.
#[test]
fn a_client_lets_nobody_open_anything() {
    let mut client = Connections::new(Config::default(), [7; 32]);
    let now = Instant::from_millis(5_000);
    let id = client.connect(now, Kind::Sctp, server_address(), &[own(1)]).unwrap();
    let sent = answers(&mut client, now);
    let [(_, own_init)] = &sent[..] else { panic!("{} datagrams", sent.len()) };
    let Packet { src_port, dst_port, chunks, .. } = parsed(own_init);
    let back = Packet { src_port: dst_port, dst_port: src_port, tag: 0, chunks };
    client.on_answer(now, id, own(1), &back.emit().unwrap());
    assert!(answers(&mut client, now).is_empty());
    assert_eq!(client.stands(id), Stands::Connecting);
}
