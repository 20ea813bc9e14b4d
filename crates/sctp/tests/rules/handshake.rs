//! §5: how associations begin.

use std::net::IpAddr;

use handfast_core::{Bytes as Size, Duration, SeqNum, Stream};
use handfast_sctp::{
    Answer, Association, Config, CookieKey, Endpoints, Event, Failure, Listener, Received, State,
};
use handfast_wire::sctp::{Cause, Chunk, Init, Packet, Parameter, code};

use crate::listener::{from_client, packet};
use crate::support::*;

#[test]
fn four_packets_make_an_association() {
    let mut world = World::new(1, Config::default(), vec![Link::default()], &[server(0)]);
    world.run_to(at(200));
    let kinds = |end: usize, world: &World| -> Vec<String> {
        let chunks = world.ends[end].sent.iter().flat_map(|(_, t)| &t.packet.chunks);
        chunks.map(|chunk| format!("{chunk:?}").split(['(', ' ']).next().unwrap().to_owned()).collect()
    };
    assert_eq!(kinds(0, &world), ["Init", "CookieEcho"]);
    assert_eq!(kinds(1, &world), ["InitAck", "CookieAck"]);
    assert!(world.ends.iter().all(|end| end.has(Event::Connected)));
    assert_eq!((world.client().state(), world.server().state()), (State::Established, State::Established));
}

#[test]
fn init_is_repeated_with_back_off_and_given_up() {
    let link = Link { down: true, ..Link::default() };
    let mut world = World::new(1, Config::default(), vec![link], &[server(0)]);
    world.run_to(at(1_000_000));
    let times: Vec<_> = world.ends[0].sent.iter().map(|(when, _)| when.as_nanos() / 1_000_000_000).collect();
    // RTO.Initial 1 s, doubled up to RTO.Max 60 s; Max.Init.Retransmits 8.
    assert_eq!(times, [0, 1, 3, 7, 15, 31, 63, 123, 183]);
    assert!(world.ends[0].has(Event::Failed(Failure::Handshake)));
}

#[test]
fn init_goes_by_the_next_path_where_one_does_not_answer() {
    let links = vec![Link { down: true, ..Link::default() }, Link::default()];
    let mut world = World::new(1, Config::default(), links, &[server(0)]);
    world.run_to(at(1_200));
    assert!(world.ends[0].has(Event::Connected));
    assert_eq!(
        world.client().path(0).unwrap().local,
        client(1),
        "the path of the handshake is the primary one"
    );
    // The RTO stays backed off until there is a sample (§6.3.3).
    assert_eq!(world.client().path(0).unwrap().rto, Duration::from_secs(2));
}

#[test]
fn a_lost_cookie_ack_is_sent_again() {
    let mut link = Link::default();
    let mut count = 0;
    link.loses = Some(Box::new(move |packet, _| {
        let is = packet.chunks.contains(&Chunk::CookieAck);
        count += usize::from(is);
        is && count == 1
    }));
    let mut world = World::new(1, Config::default(), vec![link], &[server(0)]);
    world.run_to(at(1_200));
    assert!(world.ends[0].has(Event::Connected));
}

/// A world whose client writes at once; `lost`: how many COOKIE ECHOs are lost.
fn with_early_data(lost: u32, configs: [Config; 2]) -> World {
    let (mut link, mut count) = (Link::default(), 0);
    link.loses = Some(Box::new(move |packet, _| {
        let is = matches!(packet.chunks.first(), Some(Chunk::CookieEcho(_)));
        count += u32::from(is);
        is && count <= lost
    }));
    let mut world =
        World::with(1, configs.map(|config| Config { early_data: true, ..config }), vec![link], &[server(0)]);
    world.ends[0].to_write = (0..4).map(|n| message(0, 1000, n)).collect();
    world
}

fn read(world: &World) -> Vec<u8> {
    world.ends[1].read.iter().map(|message| message.data[0]).collect()
}

/// §5.1 D: "the COOKIE ECHO chunk MAY be bundled with any pending outbound DATA chunks".
#[test]
fn what_was_written_early_goes_with_the_cookie() {
    let mut world = with_early_data(0, [Config::default(); 2]);
    world.run_to(at(60));
    assert_eq!(read(&world), [0], "a packet has room for one");
    world.run_to(at(400));
    assert_eq!(read(&world), [0, 1, 2, 3]);
    let counters = world.client().counters();
    assert_eq!((counters.data_chunks_sent, counters.retransmitted_chunks, counters.timeouts), (4, 0, 0));
}

#[test]
fn what_went_with_a_cookie_that_was_lost_goes_with_the_next_one() {
    let mut world = with_early_data(2, [Config::default(); 2]);
    // T1-cookie: after 1 s, and 2 s more.
    world.run_to(at(3_060));
    assert_eq!(read(&world), [0]);
    world.run_to(at(4_000));
    assert_eq!(read(&world), [0, 1, 2, 3]);
    let counters = world.client().counters();
    assert_eq!((counters.retransmitted_chunks, counters.timeouts), (2, 0));
    assert_eq!(world.client().buffered(), 0);
}

#[test]
fn what_went_with_a_stale_cookie_goes_with_the_one_that_follows() {
    let mut world =
        with_early_data(1, [Config::default(), Config { cookie_life: ms(500), ..Config::default() }]);
    world.run_to(at(6_000));
    assert_eq!(read(&world), [0, 1, 2, 3]);
    assert_eq!(world.ends[0].times(|chunk| matches!(chunk, Chunk::Init(_))).len(), 2);
}

#[test]
fn streams_are_the_lesser_of_what_one_wants_and_the_other_allows() {
    let config = Config { outbound_streams: 7, inbound_streams: 3, ..Config::default() };
    let other = Config { outbound_streams: 9, inbound_streams: 5, ..Config::default() };
    let mut world = World::with(1, [config, other], vec![Link::default()], &[server(0)]);
    world.run_to(at(200));
    for (end, streams) in [(0, 5), (1, 3)] {
        let association = world.ends[end].association();
        assert_eq!(association.write(message(streams - 1, 1, 0)), Ok(()));
        assert!(association.write(message(streams, 1, 0)).is_err());
    }
}

/// §5.2.6: a stale cookie is answered by a new INIT, and not for ever.
#[test]
fn a_server_that_calls_every_cookie_stale_is_given_up() {
    let configs = [Config::default(), Config { cookie_life: ms(10), ..Config::default() }];
    let mut world = World::with(1, configs, vec![Link::default()], &[server(0)]);
    world.run_to(at(1_000_000));
    assert!(world.ends[0].has(Event::Failed(Failure::Handshake)));
    let inits = world.ends[0].times(|chunk| matches!(chunk, Chunk::Init(_)));
    assert_eq!(inits.len(), 9, "Max.Init.Retransmits is 8");
    assert!(world.ends[1].association.is_none());
}

#[test]
fn packets_with_a_wrong_tag_change_nothing() {
    let mut world = World::connected(Config::default());
    let before = world.server().counters();
    for chunks in [
        vec![Chunk::Abort { reflected: false, causes: vec![] }],
        vec![Chunk::Abort { reflected: true, causes: vec![] }],
        vec![Chunk::ShutdownAck],
        vec![Chunk::Shutdown { cumulative: SeqNum(0) }],
    ] {
        let forged = packet(12345, chunks);
        world.hand_in(1, &from_client(&forged));
    }
    assert_eq!((world.server().state(), world.server().counters()), (State::Established, before));
}

#[test]
fn unknown_chunks_are_treated_by_their_upper_bits() {
    for (kind, goes_on, reports) in
        [(0xc1, true, true), (0x81, true, false), (0x41, false, true), (0x31, false, false)]
    {
        let mut world = World::connected(Config::default());
        let tag = world.ends[0].sent[1].1.packet.tag;
        let unknown = Chunk::Unknown { kind, flags: 0, value: "?".into() };
        world.hand_in(1, &from_client(&packet(tag, vec![unknown, Chunk::Heartbeat("hb".into())])));
        world.pump();
        let chunks: Vec<_> = world.ends[1].sent.iter().flat_map(|(_, t)| t.packet.chunks.clone()).collect();
        assert_eq!(chunks.contains(&Chunk::HeartbeatAck("hb".into())), goes_on, "{kind:#x}");
        let is_report = |chunk: &Chunk| matches!(chunk, Chunk::Error(causes) if causes[0].code() == code::UNRECOGNIZED_CHUNK_TYPE);
        assert_eq!(chunks.iter().any(is_report), reports, "{kind:#x}");
    }
}

/// Two clients that open towards each other at the same time (§5.2.1).
fn both_open() -> World {
    let open = |ports: (u16, u16), local, remote, label| {
        let endpoints =
            Endpoints { local_port: ports.0, remote_port: ports.1, local: &[local], remote: &[remote] };
        let (key, random) = (CookieKey::new([5; 32]), Stream::new(1, label));
        Association::connect(at(0), Config::default(), key, random, &endpoints)
    };
    let mut world = World::new(1, Config::default(), vec![Link::default()], &[server(0)]);
    world.ends[0].association = Some(open((1, 2), client(0), server(0), "a"));
    world.ends[1].association = Some(open((2, 1), server(0), client(0), "b"));
    world.ends[1].listener = None;
    world
}

/// Both have an association that carries data both ways.
fn works(world: &mut World) {
    assert_eq!((world.client().state(), world.server().state()), (State::Established, State::Established));
    world.ends[0].to_write.push_back(message(0, 3000, 1));
    world.ends[1].to_write.push_back(message(0, 3000, 2));
    world.run_to(world.now + ms(500));
    assert_eq!((world.ends[0].read.len(), world.ends[1].read.len()), (1, 1));
}

#[test]
fn both_may_open_at_once() {
    let mut world = both_open();
    world.run_to(at(500));
    works(&mut world);
}

/// The INIT of one is lost: it gets a cookie while it waits for INIT ACK (§5.2.4 action B).
#[test]
fn both_may_open_at_once_and_one_init_be_lost() {
    let mut world = both_open();
    world.links[0].loses =
        Some(Box::new(|packet, to_server| !to_server && matches!(packet.chunks[0], Chunk::Init(_))));
    world.run_to(at(500));
    works(&mut world);
}

/// A client that has forgotten everything opens again from the same port (§5.2.2, §5.2.4.1 action A).
#[test]
fn a_peer_may_begin_anew() {
    let mut world = World::connected(Config::default());
    let endpoints =
        Endpoints { local_port: 5000, remote_port: 6000, local: &[client(0)], remote: &[server(0)] };
    let again = |local: &'static [u8]| {
        let local: Vec<_> = local.iter().map(|&link| client(link)).collect();
        let endpoints = Endpoints { local: &local, ..endpoints };
        Association::connect(
            at(200),
            Config::default(),
            CookieKey::new([9; 32]),
            Stream::new(7, "again"),
            &endpoints,
        )
    };
    // One that brings a new address is refused.
    world.ends[0].association = Some(again(&[0, 3]));
    world.run_to(at(400));
    let refused = Failure::Aborted { cause: code::RESTART_WITH_NEW_ADDRESSES };
    let quoted = Cause::Other {
        code: code::RESTART_WITH_NEW_ADDRESSES,
        value: Parameter::Address(client(3)).quoted(),
    };
    let abort = Chunk::Abort { reflected: false, causes: vec![quoted] };
    assert!(world.ends[1].sent.iter().any(|(_, t)| t.packet.chunks == [abort.clone()]), "§3.3.10.11");
    assert!(world.ends[0].has(Event::Failed(refused)));
    assert!(!world.ends[1].has(Event::Restarted));
    world.ends[0].association = Some(again(&[0]));
    world.run_to(at(700));
    assert!(world.ends[1].has(Event::Restarted));
    world.ends[0].to_write.push_back(message(0, 100, 1));
    world.ends[1].to_write.push_back(message(0, 100, 1));
    world.run_to(at(1000));
    assert_eq!((world.ends[0].read.len(), world.ends[1].read.len()), (1, 1));
}

#[test]
fn an_old_cookie_does_not_disturb_an_association() {
    let mut world = World::connected(Config::default());
    let (_, echo) = world.ends[0].sent[1].clone();
    world.run_to(at(5000));
    world.hand_in(1, &Received { packet: &echo.packet, from: echo.from, to: echo.to });
    world.run_to(at(5000));
    // Action D: it is acknowledged again, and nothing else happens.
    assert!(!world.ends[1].has(Event::Restarted));
    world.ends[0].to_write.push_back(message(0, 100, 1));
    world.run_to(at(6000));
    assert_eq!(world.ends[1].read.len(), 1);
}

#[test]
fn the_peer_s_other_addresses_are_asked_before_they_are_used() {
    let links = || vec![Link::default(), Link::default()];
    let mut world = World::new(1, Config::default(), links(), &[server(0), server(1)]);
    world.run_to(at(110));
    assert!(world.client().path(0).unwrap().confirmed);
    assert!(!world.client().path(1).unwrap().confirmed);
    world.run_to(at(200));
    assert!(world.client().path(1).unwrap().confirmed && world.server().path(1).unwrap().confirmed);
    assert!(world.ends[0].has(Event::PathUp { path: 1 }));
    // One that never answers is asked once an RTO, and then as one that is down (§5.4).
    let mut links = links();
    links[1].down = true;
    let config = Config { heartbeat_interval: None, ..Config::default() };
    let mut world = World::new(1, config, links, &[server(0), server(1)]);
    world.run_to(at(1_000_000));
    let heartbeats = world.ends[0].times(|chunk| matches!(chunk, Chunk::Heartbeat(_)));
    assert_eq!(heartbeats.len(), 6, "Path.Max.Retrans is 5");
    assert!(world.ends[0].has(Event::PathDown { path: 1 }));
    assert_eq!(world.client().state(), State::Established);
    let first = heartbeats[1].0.since(heartbeats[0].0);
    assert_eq!(first, Duration::from_secs(1));
}

/// IPv6: addresses in the cookie and in INIT ACK, and 20 bytes less a packet.
#[test]
fn an_association_may_speak_ipv6() {
    let address = |host: u16| IpAddr::from([0xfd00, 0, 0, 0, 0, 0, 0, host]);
    let (ours, theirs) = (address(1), address(2));
    let endpoints = Endpoints { local_port: 5000, remote_port: 6000, local: &[ours], remote: &[theirs] };
    let (key, random) = (CookieKey::new([1; 32]), Stream::new(1, "client"));
    let mut client = Association::connect(at(0), Config::default(), key, random, &endpoints);
    let addresses = [theirs, address(3), server(0)];
    let mut listener =
        Listener::new(Config::default(), 6000, &addresses, CookieKey::new([2; 32]), Stream::new(1, "server"));
    let mut server = None;
    for _ in 0..2 {
        let out = client.poll_transmit(at(0), Size(1500)).unwrap();
        match listener.on_packet(at(0), &Received { packet: &out.packet, from: out.from, to: out.to }) {
            Answer::Reply(back) => {
                client.on_packet(at(0), &Received { packet: &back.packet, from: back.from, to: back.to });
            }
            Answer::Open(association) => server = Some(association),
            Answer::Nothing => panic!("an answer"),
        }
    }
    let mut server = server.unwrap();
    let back = server.poll_transmit(at(0), Size(1500)).unwrap();
    client.on_packet(at(0), &Received { packet: &back.packet, from: back.from, to: back.to });
    assert_eq!(client.state(), State::Established);
    let remote: Vec<_> = (0..client.path_count()).map(|path| client.path(path).unwrap().remote).collect();
    assert_eq!(remote, addresses[..2], "no path leads from IPv6 to IPv4");
    assert_eq!(client.path(0).unwrap().state.cwnd, 4344);
    client.write(message(0, 5000, 1)).unwrap();
    let data = client.poll_transmit(at(0), Size(1500)).unwrap();
    assert_eq!(data.packet.wire_len(), 1460);
}

fn to_client(packet: &Packet) -> Received<'_> {
    Received { packet, from: server(0), to: client(0) }
}

fn init(tag: u32, a_rwnd: u32) -> Init {
    let (outbound_streams, inbound_streams, initial_tsn) = (1, 1, SeqNum(5));
    Init { tag, a_rwnd, outbound_streams, inbound_streams, initial_tsn, parameters: Vec::new() }
}

/// §3.3.3 with erratum 7148: no association comes of it, and the peer is told.
#[test]
fn an_init_ack_that_no_association_can_come_of_is_refused() {
    for (ack, reflected, causes) in [
        (init(0, 9_000), true, vec![]),
        (init(8, 1_499), false, vec![Cause::plain(code::INVALID_MANDATORY_PARAMETER)]),
        // §3.3.10.2: one parameter is missing, the State Cookie (7).
        (
            init(8, 9_000),
            false,
            vec![Cause::Other {
                code: code::MISSING_MANDATORY_PARAMETER,
                value: vec![0, 0, 0, 1, 0, 7].into(),
            }],
        ),
    ] {
        let mut world = World::new(1, Config::default(), vec![Link::default()], &[server(0)]);
        world.pump();
        let own = world.client().tags().0;
        let tag = if reflected { own } else { ack.tag };
        let chunks = vec![Chunk::InitAck(ack)];
        let ack = Packet { src_port: 6000, dst_port: 5000, tag: own, chunks };
        world.hand_in(0, &to_client(&ack));
        world.pump();
        let (_, last) = world.ends[0].sent.last().unwrap();
        let cause = causes.first().map_or(code::INVALID_MANDATORY_PARAMETER, Cause::code);
        assert_eq!((last.packet.tag, &last.packet.chunks), (tag, &vec![Chunk::Abort { reflected, causes }]));
        let refused = Failure::Refused { cause };
        assert!(world.ends[0].has(Event::Failed(refused)));
    }
}

/// §3.3.2: our own window is no smaller either.
#[test]
fn a_small_receive_buffer_is_a_window_of_1500_bytes() {
    let config = Config { receive_buffer: Size(100), ..Config::default() };
    let mut world = World::connected(config);
    let offered = |chunk: &Chunk| match chunk {
        Chunk::Init(init) | Chunk::InitAck(init) => Some(init.a_rwnd),
        _ => None,
    };
    for end in &world.ends {
        let offers: Vec<_> =
            end.sent.iter().flat_map(|(_, t)| &t.packet.chunks).filter_map(offered).collect();
        assert_eq!(offers, [1500]);
    }
    world.ends[0].to_write.push_back(message(0, 1400, 1));
    world.run_to(at(500));
    assert_eq!(world.ends[1].read.len(), 1);
}

/// §5.2.2: a cookie can be read by whoever sees it, and must not give the tags away.
#[test]
fn a_cookie_does_not_show_the_tags_of_the_association() {
    let mut world = World::connected(Config::default());
    let (own, peer) = world.server().tags();
    world.hand_in(1, &from_client(&packet(0, vec![Chunk::Init(init(77, 9_000))])));
    world.pump();
    let (_, answer) = world.ends[1].sent.last().unwrap();
    let Chunk::InitAck(ack) = &answer.packet.chunks[0] else { panic!("{answer:?}") };
    for tag in [own, peer] {
        assert!(!ack.cookie().unwrap().windows(4).any(|bytes| bytes == tag.to_be_bytes()));
    }
}

/// §8.5.1 B.
#[test]
fn an_abort_with_t_and_our_own_tag_is_discarded() {
    let mut world = World::connected(Config::default());
    let (own, peer) = world.server().tags();
    let abort = |reflected| Chunk::Abort { reflected, causes: vec![] };
    for chunks in [vec![abort(true)], vec![Chunk::Heartbeat("hb".into()), abort(true)]] {
        world.hand_in(1, &from_client(&packet(own, chunks)));
        assert_eq!(world.server().state(), State::Established);
    }
    world.hand_in(1, &from_client(&packet(peer, vec![abort(true)])));
    assert_eq!(world.server().state(), State::Closed);
}

/// §5.1: whatever waits to leave.
#[test]
fn a_cookie_ack_comes_first_in_its_packet() {
    let mut world = World::connected(Config::default());
    let echo = world.ends[0].sent[1].1.packet.clone();
    let heartbeat = packet(echo.tag, vec![Chunk::Heartbeat("hb".into())]);
    for packet in [&heartbeat, &echo, &heartbeat] {
        world.hand_in(1, &from_client(packet));
    }
    let before = world.ends[1].sent.len();
    world.pump();
    let left: Vec<_> = world.ends[1].sent[before..].iter().map(|(_, t)| t.packet.chunks.clone()).collect();
    let answer = Chunk::HeartbeatAck("hb".into());
    assert_eq!(left, [vec![answer.clone()], vec![Chunk::CookieAck, answer]]);
}
