//! The rules of a proxy, one by one.

use handfast_assist::proxy::Bounds;
use handfast_assist::{Agent, Verdict, View};
use handfast_core::{Bytes, Duration, Instant, SeqNum};
use handfast_net::{Outbox, Port};
use handfast_tcp::{Death, Event, State};
use handfast_wire::Packet;
use handfast_wire::tcp::{Flags, RareOptions, Segment};

use crate::world::{CLIENT, DELAY, ISS, PORTS, SERVER, Sent, World, ip, linux, proxy, text};

const SECOND: Duration = Duration::from_secs(1);

fn one() -> Vec<handfast_assist::proxy::Proxy> {
    vec![proxy(Bounds::default())]
}

fn has(sent: &Sent, flags: Flags) -> bool {
    sent.segment().flags.contains(flags)
}

fn look(world: &mut World, packet: &Packet) -> Verdict {
    world.proxies[0].look(world.now, Port(0), &View::of(packet), &mut Outbox::default())
}

fn from_client(segment: Segment) -> Packet {
    let segment = Segment { src_port: PORTS[0], dst_port: PORTS[1], ..segment };
    Packet::tcp(ip(CLIENT), ip(SERVER), segment)
}

#[test]
fn the_client_is_answered_before_the_server_has_heard_of_it() {
    let mut world = World::new(one());
    let began = world.now;
    world.run(SECOND);
    let answered =
        world.log.iter().find(|sent| sent.link == 0 && has(sent, Flags::SYN | Flags::ACK)).unwrap();
    let asked = world.log.iter().find(|sent| sent.link == 1 && has(sent, Flags::SYN)).unwrap();
    assert_eq!((answered.at, asked.at), (began + DELAY, began + DELAY));
    assert_eq!([CLIENT, SERVER].map(|host| world.hosts[host].endpoint.state()), [State::Established; 2]);
}

#[test]
fn each_host_sees_the_other_one_s_address_and_ports() {
    let mut world = World::connected(one());
    world.write(CLIENT, text(1, 5_000));
    world.write(SERVER, text(2, 7_000));
    // The world compares addresses and ports of what arrives.
    world.run(SECOND);
    assert_eq!((&world.hosts[SERVER].got, &world.hosts[CLIENT].got), (&text(1, 5_000), &text(2, 7_000)));
    assert_eq!(world.counted(0, "relayed_bytes"), 12_000);
}

/// RFC 3135 §4.1.3: the sender's bytes are acknowledged, and the receiver never gets them.
#[test]
fn an_acknowledgment_no_longer_says_that_the_receiver_has_it() {
    for (proxies, acknowledged) in [(one(), 5_000), (Vec::new(), 0)] {
        let link = proxies.len();
        let mut world = World::connected(proxies);
        world.write(CLIENT, text(1, 5_000));
        world.run_with(SECOND, |sent| sent.link == link);
        assert_eq!((world.acknowledged(CLIENT), world.hosts[SERVER].got.len()), (acknowledged, 0));
    }
}

#[test]
fn a_loss_is_repaired_by_the_end_of_its_part_of_the_way() {
    let mut world = World::connected(one());
    world.write(CLIENT, text(1, 50_000));
    let mut data = 0;
    world.run_with(SECOND, |sent| {
        data += u32::from(sent.link == 1 && !sent.segment().payload.is_empty());
        sent.link == 1 && data == 3
    });
    assert_eq!(world.hosts[SERVER].got, text(1, 50_000));
    assert_eq!(world.hosts[CLIENT].endpoint.counters().retransmitted_segments, 0);
    assert_eq!(world.counted(0, "proxy_retransmitted_segments"), 1);
}

/// Back-pressure: what the server does not read fills its window, then the proxy's two buffers, and then the client waits.
#[test]
fn who_does_not_read_stops_the_sender() {
    let buffer = 100_000;
    let small = handfast_tcp::Config { receive_buffer: Bytes(buffer), ..linux() };
    let bounds = Bounds { buffer: Bytes(buffer), ..Bounds::default() };
    let mut world = World::with([linux(), small], vec![proxy(bounds)]);
    world.hosts[SERVER].reads = false;
    world.write(CLIENT, text(1, 1_000_000));
    world.run(SECOND * 20);
    let stopped = world.acknowledged(CLIENT);
    assert!((2 * buffer..=3 * buffer).contains(&stopped), "{stopped}");
    world.run(SECOND * 20);
    // A probe of the zero window may bring an octet.
    assert!(world.acknowledged(CLIENT) <= stopped + 2);
    world.hosts[SERVER].reads = true;
    world.run(SECOND * 300);
    assert_eq!(world.hosts[SERVER].got, text(1, 1_000_000));
}

#[test]
fn an_end_travels_behind_the_bytes_and_the_other_half_stays_open() {
    let mut world = World::connected(one());
    world.write(CLIENT, text(1, 3_000));
    let now = world.now;
    world.hosts[CLIENT].endpoint.close(now);
    world.run(SECOND);
    assert_eq!(world.hosts[SERVER].got, text(1, 3_000));
    assert_eq!(world.hosts[SERVER].events, [Event::Connected, Event::PeerClosed]);
    assert_eq!(world.hosts[CLIENT].endpoint.state(), State::FinWait2);
    world.write(SERVER, text(2, 4_000));
    let now = world.now;
    world.hosts[SERVER].endpoint.close(now);
    world.run(SECOND);
    assert_eq!(world.hosts[CLIENT].got, text(2, 4_000));
    assert_eq!(world.hosts[SERVER].endpoint.state(), State::Closed);
    assert_eq!(world.proxies[0].connections(), 1, "towards the server it waits out TIME-WAIT");
    world.run(SECOND * 61);
    assert_eq!((world.proxies[0].connections(), world.proxies[0].deadline()), (0, None));
}

/// A client may close before the server has answered the SYN, with or without data.
#[test]
fn an_end_before_the_server_has_answered_waits_for_it() {
    for len in [0, 2_000] {
        let mut world = World::new(one());
        world.run_with(DELAY * 2, |sent| sent.link == 1);
        world.write(CLIENT, text(1, len));
        let now = world.now;
        world.hosts[CLIENT].endpoint.close(now);
        world.run(SECOND * 5);
        assert_eq!(world.hosts[SERVER].got, text(1, len));
        assert_eq!(world.hosts[SERVER].events, [Event::Connected, Event::PeerClosed]);
        world.write(SERVER, text(2, 100));
        world.run(SECOND);
        assert_eq!(world.hosts[CLIENT].got, text(2, 100));
    }
}

#[test]
fn a_reset_travels_both_ways() {
    for (from, to) in [(CLIENT, SERVER), (SERVER, CLIENT)] {
        let mut world = World::connected(one());
        world.hosts[from].endpoint.abort();
        world.run(SECOND);
        assert_eq!(world.hosts[to].events, [Event::Connected, Event::Died(Death::Reset)]);
        assert_eq!((world.proxies[0].connections(), world.proxies[0].deadline()), (0, None));
    }
}

#[test]
fn a_server_that_refuses_resets_the_client() {
    let mut world = World::new(one());
    let now = world.now;
    world.hosts[SERVER].endpoint.close(now);
    world.run(SECOND);
    assert_eq!(world.hosts[CLIENT].events, [Event::Connected, Event::Died(Death::Reset)]);
    assert_eq!(world.proxies[0].connections(), 0);
}

#[test]
fn a_server_that_is_not_there_resets_the_client_in_the_end() {
    let mut world = World::new(one());
    world.write(CLIENT, text(1, 1_000));
    world.run_with(SECOND * 200, |sent| sent.link == 1);
    assert_eq!(world.hosts[CLIENT].events, [Event::Connected, Event::Died(Death::Reset)]);
    assert_eq!(world.proxies[0].connections(), 0);
}

/// RFC 9293 §3.10.7.4: an endpoint that listened would listen again.
#[test]
fn a_client_that_resets_the_answer_to_its_syn_is_forgotten_and_the_server_hears_of_it() {
    let mut world = World::new(one());
    world.run_with(DELAY * 4, |sent| sent.link == 0 && !sent.to_server);
    assert_eq!(world.hosts[SERVER].events, [Event::Connected]);
    let now = world.now;
    world.hosts[CLIENT].endpoint.close(now);
    world.run(SECOND * 5);
    assert_eq!(world.hosts[SERVER].events, [Event::Connected, Event::Died(Death::Reset)]);
    assert_eq!((world.proxies[0].connections(), world.proxies[0].deadline()), (0, None));
}

/// RFC 9293 §3.8.4: hosts that have gone without a word do not keep their places.
#[test]
fn a_connection_whose_hosts_have_gone_ends() {
    let mut world = World::connected(one());
    world.run_with(SECOND * 7_000, |_| true);
    assert_eq!(world.proxies[0].connections(), 1);
    world.run_with(SECOND * 2_000, |_| true);
    assert_eq!(world.proxies[0].connections(), 0);
}

#[test]
fn a_connection_that_was_not_seen_from_its_syn_passes() {
    let mut world = World::new(one());
    for flags in
        [Flags::ACK, Flags::FIN | Flags::ACK, Flags::RST, Flags::SYN | Flags::ACK, Flags::SYN | Flags::RST]
    {
        let packet = from_client(Segment { flags, ..Segment::EMPTY });
        assert_eq!(look(&mut world, &packet), Verdict::Pass, "{flags:?}");
    }
    assert_eq!(
        look(&mut world, &from_client(Segment { flags: Flags::SYN, ..Segment::EMPTY })),
        Verdict::Take
    );
}

#[test]
fn what_hosts_sign_passes() {
    let mut world = World::new(one());
    for kind in [19, 29] {
        let rare =
            RareOptions { unknown: [vec![kind, 18], vec![0; 16]].concat().into(), ..RareOptions::default() };
        let syn = Segment { flags: Flags::SYN, rare: Some(Box::new(rare)), ..Segment::EMPTY };
        assert_eq!(look(&mut world, &from_client(syn)), Verdict::Pass);
    }
}

#[test]
fn beyond_the_bound_connections_pass_and_work() {
    let mut world = World::new(vec![proxy(Bounds { connections: 1, ..Bounds::default() })]);
    let other = Packet { src: ip(7), ..from_client(Segment { flags: Flags::SYN, ..Segment::EMPTY }) };
    assert_eq!(look(&mut world, &other), Verdict::Take);
    let now = world.now;
    world.proxies[0].on_packet(now, Port(0), other, &mut Outbox::default());
    world.write(CLIENT, text(1, 9_000));
    world.run(SECOND);
    assert_eq!(world.hosts[SERVER].got, text(1, 9_000));
    assert_eq!(world.proxies[0].connections(), 1);
    assert_eq!(["connections_split", "connections_unsplit"].map(|name| world.counted(0, name)), [1, 1]);
}

/// RFC 9293 §3.1: who terminates a connection verifies checksums; of what only passes the proxy knows nothing.
#[test]
fn bit_errors_end_at_the_proxy_where_it_terminates_the_connection() {
    let mut world = World::connected(one());
    let bad = |segment| Packet { corrupted: true, ..from_client(segment) };
    assert_eq!(look(&mut world, &bad(Segment { flags: Flags::ACK, ..Segment::EMPTY })), Verdict::Drop);
    let other = Packet { src: ip(7), ..bad(Segment { flags: Flags::SYN, ..Segment::EMPTY }) };
    assert_eq!(look(&mut world, &other), Verdict::Pass);
}

#[test]
fn the_server_is_offered_no_longer_segments_than_the_client_takes() {
    for (mss, offered) in [(1_000, 1_000), (9_000, 1_460), (0, 88)] {
        let mut world = World::new(one());
        let syn = from_client(Segment { flags: Flags::SYN, mss: Some(mss), ..Segment::EMPTY });
        let mut out = Outbox::default();
        let now = world.now;
        world.proxies[0].on_packet(now, Port(0), syn, &mut out);
        let made: Vec<_> = out.drain().collect();
        assert_eq!(made.len(), 2);
        for forward in &made {
            let handfast_net::Forward::Routed(packet) = forward else { panic!() };
            assert_eq!(crate::world::segment(packet).mss, Some(offered));
        }
    }
}

/// The same ports once more: at once if the server has all of the connection before, otherwise when it has.
#[test]
fn ports_may_be_used_again_when_the_server_has_everything() {
    let mut world = World::connected(one());
    let syn = from_client(Segment { flags: Flags::SYN, seq: SeqNum(77), ..Segment::EMPTY });
    let now = world.now;
    world.write(CLIENT, text(1, 2_000));
    world.hosts[CLIENT].endpoint.close(now);
    world.hosts[SERVER].endpoint.close(now);
    world.run_with(SECOND, |sent| sent.link == 1 && sent.to_server);
    assert_eq!((world.hosts[CLIENT].endpoint.state(), world.hosts[SERVER].got.len()), (State::TimeWait, 0));
    assert_eq!(look(&mut world, &syn), Verdict::Drop, "the server lacks 2,000 bytes");
    world.run(SECOND * 5);
    assert_eq!(world.hosts[SERVER].got, text(1, 2_000));
    assert_eq!(look(&mut world, &syn), Verdict::Take);
    let (now, mut out) = (world.now, Outbox::default());
    world.proxies[0].on_packet(now, Port(0), syn, &mut out);
    assert_eq!(world.counted(0, "connections_split"), 2);
    assert_eq!(out.drain().count(), 2, "a SYN-ACK and a SYN");
}

/// RFC 6528 §3: what the client gets is numbered by the clock and the addresses; the server sees the client's own number.
#[test]
fn initial_sequence_numbers() {
    let numbers = |at: Instant, host: usize| {
        let mut proxy = proxy(Bounds::default());
        let syn = Packet {
            src: ip(host),
            ..from_client(Segment { flags: Flags::SYN, seq: ISS[0], ..Segment::EMPTY })
        };
        let mut out = Outbox::default();
        proxy.on_packet(at, Port(0), syn, &mut out);
        let made: Vec<_> = out.drain().collect();
        let seq = |forward: &_| {
            let handfast_net::Forward::Routed(packet) = forward else { panic!() };
            crate::world::segment(packet).seq
        };
        (seq(&made[0]), seq(&made[1]))
    };
    let (first, asked) = numbers(Instant::from_millis(1_000), 5);
    assert_eq!(asked, ISS[0]);
    assert_eq!(numbers(Instant::from_millis(1_004), 5).0, first + 1_000);
    assert_ne!(numbers(Instant::from_millis(1_000), 6).0, first);
}

#[test]
fn two_proxies_split_a_connection_twice() {
    let mut world = World::connected(vec![proxy(Bounds::default()), proxy(Bounds::default())]);
    world.write(CLIENT, text(1, 200_000));
    let mut data = 0;
    world.run_with(SECOND * 5, |sent| {
        data += u32::from(sent.link == 1 && !sent.segment().payload.is_empty());
        sent.link == 1 && data % 20 == 3
    });
    assert_eq!(world.hosts[SERVER].got, text(1, 200_000));
    assert!(world.counted(0, "proxy_retransmitted_segments") >= 7);
    assert_eq!(world.counted(1, "proxy_retransmitted_segments"), 0);
    assert_eq!(world.hosts[CLIENT].endpoint.counters().retransmitted_segments, 0);
}

/// Without state a proxy cannot go on with a connection that was split: the hosts learn of it (fate sharing, RFC 3135 §4.1.2).
#[test]
fn a_proxy_that_forgets_takes_its_connections_with_it() {
    let mut world = World::connected(one());
    world.proxies[0] = proxy(Bounds::default());
    world.write(SERVER, text(2, 3_000));
    world.run(SECOND * 3);
    // Numbers of the server's that the client does not know, and the other way round: nobody gets a byte.
    assert_eq!((world.hosts[CLIENT].got.len(), world.acknowledged(SERVER)), (0, 0));
}
