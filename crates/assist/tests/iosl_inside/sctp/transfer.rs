//! Octets between two ends.

use std::collections::BTreeSet;
use std::net::IpAddr;

use handfast_assist::iosl::inside::{Config, Connections, Failure, Kind, Stands, Window};
use handfast_core::{Duration, Instant};
use proptest::prelude::*;

use crate::world::{DELAY, Faults, Way, World, octets, own, server, server_address};

/// Sends so much both ways at once, and finishes: how many milliseconds it took.
fn transfer(faults: Faults, seed: u64, len: usize) -> u64 {
    let mut world = World::new(faults, seed);
    let (there, back) = (octets(len), octets(len / 2 + 1));
    let begin = world.now;
    let [client, server] = world.opened(Kind::Sctp, &[own(1)]);
    let (mut up, mut down) = (Way::new(&there), Way::new(&back));
    let done = world.until(|world| {
        up.write((&mut world.client, client));
        down.write((&mut world.server, server));
        up.read(world.now, (&mut world.server, server));
        down.read(world.now, (&mut world.client, client));
        up.is_done() && down.is_done()
    });
    assert!(done, "{} and {} octets came", up.came.len(), down.came.len());
    assert!(up.came == there && down.came == back);
    let took = world.now.since(begin).as_millis();
    world.client.finish(world.now, client);
    assert!(world.until(|world| world.server.is_at_end(server) && world.client.is_at_end(client)));
    for (end, id) in [(&mut world.client, client), (&mut world.server, server)] {
        assert!(!matches!(end.stands(id), Stands::Over(Some(_))));
        end.release(world.now, id);
    }
    assert!(world.until(|world| world.client.is_empty() && world.server.is_empty()), "nothing is left");
    took
}

#[test]
fn the_first_octets_come_with_the_cookie() {
    let mut world = World::new(Faults::default(), 1);
    let begin = world.now;
    let client = world.open(Kind::Sctp, &[own(1)]);
    world.client.write(client, b"who is there");
    let server = world.accepted();
    assert_eq!(world.now, begin + DELAY * 3, "INIT, INIT ACK, COOKIE ECHO");
    assert_eq!(world.server.read(world.now, server, 100).unwrap(), b"who is there"[..]);
    assert_eq!(world.server.write(server, b"somebody"), 8);
    let came = |world: &mut World| {
        world.client.read(world.now, client, 100).is_some_and(|read| read == b"somebody"[..])
    };
    assert!(world.until(came));
    assert_eq!(world.now, begin + DELAY * 4, "two round trips");
}

/// A socket of both families has addresses of IPv4 as RFC 4291 §2.5.5.2 has them. The second one of the client has sent nothing when
/// it is asked whether it is there.
#[test]
fn a_socket_of_both_families_sends_to_addresses_as_it_writes_them() {
    let written = |address: IpAddr| match address {
        IpAddr::V4(four) => IpAddr::V6(four.to_ipv6_mapped()),
        IpAddr::V6(_) => panic!("{address} is none of the client"),
    };
    let (mut client, mut server) = (Connections::new(Config::default(), [1; 32]), server(2));
    let mut now = Instant::from_millis(5_000);
    let id = client.connect(now, Kind::Sctp, server_address(), &[own(1), own(2)]).unwrap();
    let mut to = BTreeSet::new();
    for _ in 0..100 {
        let mut out = Vec::new();
        while let Some(leaving) = client.poll_transmit(now, &mut out, |_| true) {
            // By the second one nothing comes through to the server.
            if leaving.from == Some(own(1)) {
                let from = (written(own(1)), 4_000).into();
                server.on_datagram(now, from, None, &std::mem::take(&mut out).into());
            }
            out.clear();
        }
        while let Some(leaving) = server.poll_transmit(now, &mut out, |_| true) {
            assert_eq!(leaving.to.port(), 4_000);
            to.insert(leaving.to.ip());
            client.on_answer(now, id, leaving.to.ip().to_canonical(), &std::mem::take(&mut out).into());
        }
        now += DELAY * 5;
        client.on_timer(now);
        server.on_timer(now);
    }
    assert_eq!(client.stands(id), Stands::Open);
    assert!(to.iter().copied().eq([written(own(1)), written(own(2))]), "{to:?}");
}

/// RFC 9260 §5.1.3: the key may change between a cookie and its echo.
#[test]
fn a_cookie_of_the_key_before_opens_an_association() {
    let mut world = World::new(Faults::default(), 1);
    let [client, server] = world.opened(Kind::Sctp, &[own(1)]);
    // When the first packet came the first key was made.
    let made = Instant::from_millis(5_000) + DELAY;
    world.client.release(world.now, client);
    world.server.release(world.now, server);
    assert!(world.until(|world| world.client.is_empty() && world.server.is_empty()));
    for before in [DELAY * 2, DELAY * 3] {
        world.now = made + Duration::from_secs(600) - before;
        let client = world.open(Kind::Sctp, &[own(1)]);
        world.accepted();
        assert!(world.until(|world| world.client.stands(client) == Stands::Open));
    }
}

#[test]
fn a_clean_path_without_a_bound_is_used_ever_faster() {
    let took = transfer(Faults::default(), 1, 3_000_000);
    // With the first window alone it would take fifteen seconds.
    assert!((100..1_500).contains(&took), "{took} ms");
}

#[test]
fn what_waits_unsent_is_bounded() {
    let mut world = World::new(Faults::default(), 1);
    let client = world.open(Kind::Sctp, &[own(1)]);
    assert_eq!(world.client.write(client, &octets(1 << 20)), 128 << 10);
    assert_eq!(world.client.write(client, b"more"), 0);
}

#[test]
fn an_end_that_goes_aborts_its_association() {
    let mut world = World::new(Faults::default(), 1);
    let [client, server] = world.opened(Kind::Sctp, &[own(1)]);
    world.server.release(world.now, server);
    assert!(world.until(|world| world.client.stands(client) == Stands::Over(Some(Failure::Reset))));
    assert!(world.server.is_empty());
}

#[test]
fn a_peer_that_has_forgotten_an_association_says_so() {
    let mut world = World::new(Faults::default(), 1);
    let [client, _] = world.opened(Kind::Sctp, &[own(1)]);
    world.server = server(9);
    world.client.write(client, b"are you there");
    assert!(world.until(|world| world.client.stands(client) == Stands::Over(Some(Failure::Reset))));
}

#[test]
fn a_peer_that_says_nothing_any_more_is_given_up_after_ten_seconds() {
    let mut world = World::new(Faults::default(), 1);
    let [client, _] = world.opened(Kind::Sctp, &[own(1)]);
    world.gone.insert(own(1));
    world.client.write(client, b"are you there");
    let begin = world.now;
    assert!(world.until(|world| world.client.stands(client) == Stands::Over(Some(Failure::GivenUp))));
    let took = world.now.since(begin).as_millis();
    assert!((7_000..12_000).contains(&took), "{took} ms");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn every_octet_comes_once_and_in_order(
        lost in 0_u64..800,
        doubled in 0_u64..1_000,
        late in 0_u64..2_000,
        seed in any::<u32>(),
        len in 300_usize..150_000,
    ) {
        transfer(Faults { lost, doubled, late }, seed.into(), len);
    }
}

/// How many octets a new association's peer has got after each of eight round trips. `is_restored`: with the window of the one before.
fn after_a_change(is_restored: bool) -> Vec<usize> {
    let mut world = World::new(Faults::default(), 1);
    let all = octets(6_000_000);
    let mut up = Way::new(&all);
    let [first, server] = world.opened(Kind::Sctp, &[own(1)]);
    assert!(world.until(|world| {
        up.write((&mut world.client, first));
        up.read(world.now, (&mut world.server, server));
        up.came.len() > 1_500_000
    }));
    // A link that is gone makes timeouts, which say nothing of what it carries.
    world.gone.insert(own(1));
    world.pass(DELAY * 100);
    let window = world.client.window(world.now, first);
    assert!(matches!(window, Some(Window::Sctp(window)) if window.cwnd > 100_000), "{window:?}");
    world.client.release(world.now, first);
    let second = world.open(Kind::Sctp, &[own(2)]);
    if is_restored {
        assert!(world.client.take_over(world.now, second, window.unwrap()));
    }
    let server = world.accepted();
    assert!(world.until(|world| world.client.stands(second) == Stands::Open));
    let (begin, mut up) = (world.now, Way::new(&all));
    (1..=8)
        .map(|turn| {
            world.until(|world| {
                up.write((&mut world.client, second));
                up.read(world.now, (&mut world.server, server));
                world.now >= begin + DELAY * (2 * turn)
            });
            up.came.len()
        })
        .collect()
}

#[test]
fn an_association_that_takes_another_one_s_place_begins_with_its_window() {
    let (without, with) = (after_a_change(false), after_a_change(true));
    assert!(with[1] > 4 * without[1] && with[4] > 4 * without[4], "{with:?} {without:?}");
}
