//! What holds on any links: each byte comes once and in order, and all of them or a reset.

use handfast_assist::proxy::Bounds;
use handfast_core::{Bytes, Duration};
use handfast_tcp::{Event, State};
use proptest::prelude::*;

use crate::world::{CLIENT, SERVER, World, proxy, text};

/// What applications do, and which packets links lose.
#[derive(Clone, Debug)]
struct Case {
    proxies: usize,
    /// Of a proxy, in bytes.
    buffer: u64,
    /// What each host writes: sizes and times.
    writes: [Vec<(usize, u64)>; 2],
    /// When each host has written all and closes, in milliseconds; or aborts.
    ends: [(u64, bool); 2],
    /// Which of so many packets are lost.
    lost: Vec<bool>,
}

fn case() -> impl Strategy<Value = Case> {
    let write = (1_usize..20_000, 0_u64..400);
    let writes = || prop::collection::vec(write.clone(), 0..6);
    let end = || (0_u64..800, prop::bool::weighted(0.1));
    let lost = (8_u32..30)
        .prop_flat_map(|of| prop::collection::vec(prop::bool::weighted(1.0 / f64::from(of)), 0..400));
    (1_usize..4, 500_u64..100_000, [writes(), writes()], [end(), end()], lost)
        .prop_map(|(proxies, buffer, writes, ends, lost)| Case { proxies, buffer, writes, ends, lost })
}

/// Runs it; the world afterwards, and what each host has written. [`None`]: the handshake has found no way.
fn play(case: &Case) -> Option<(World, [Vec<u8>; 2])> {
    let bounds = Bounds { buffer: Bytes(case.buffer), ..Bounds::default() };
    let mut world = World::new((0..case.proxies).map(|_| proxy(bounds)).collect());
    let total = |host: usize| case.writes[host].iter().map(|&(len, _)| len).sum();
    let all = [CLIENT, SERVER].map(|host| text(host as u32, total(host)));
    let mut acts: Vec<(u64, usize, Option<usize>)> = Vec::new();
    for host in [CLIENT, SERVER] {
        acts.extend(case.writes[host].iter().map(|&(len, ms)| (ms, host, Some(len))));
        acts.push((400 + case.ends[host].0, host, None));
    }
    acts.sort_unstable();
    let (mut crossed, mut written, mut last) = (0, [0; 2], 0);
    let mut lost = |_: &_| {
        crossed += 1;
        case.lost.get(crossed - 1).copied().unwrap_or(false)
    };
    // Who closes before anybody has asked refuses who asks, and who closes before it is answered has no connection.
    let handshake = Duration::from_millis(50);
    let is_open = |world: &World| world.hosts.iter().all(|host| host.events.contains(&Event::Connected));
    for _ in 0..400 {
        if !is_open(&world) {
            world.run_with(handshake, &mut lost);
        }
    }
    if !is_open(&world) {
        return None;
    }
    for (ms, host, act) in acts {
        world.run_with(Duration::from_millis(ms - last), &mut lost);
        last = ms;
        match act {
            // One that was reset has nobody to write to.
            Some(len) if world.hosts[host].endpoint.state() != State::Closed => {
                world.write(host, all[host][written[host]..written[host] + len].to_vec());
                written[host] += len;
            }
            Some(_) => {}
            None if case.ends[host].1 => world.hosts[host].endpoint.abort(),
            None => {
                let now = world.now;
                world.hosts[host].endpoint.close(now);
            }
        }
    }
    world.run_with(Duration::from_secs(400), &mut lost);
    let sent = [CLIENT, SERVER].map(|host| all[host][..written[host]].to_vec());
    Some((world, sent))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn every_byte_comes_once_and_in_order_or_there_is_a_reset(case in case()) {
        let played = play(&case);
        prop_assume!(played.is_some());
        let Some((mut world, sent)) = played else { unreachable!() };
        for (from, to) in [(CLIENT, SERVER), (SERVER, CLIENT)] {
            let Host { got, events } = Host::of(&world, to);
            prop_assert!(sent[from].starts_with(got), "{} bytes are not the first of those sent", got.len());
            if events.contains(&Event::PeerClosed) {
                prop_assert_eq!(got.len(), sent[from].len(), "an end that is no reset comes behind all bytes");
            }
        }
        let died = |host: usize| world.hosts[host].events.iter().any(|event| matches!(event, Event::Died(_)));
        if case.ends.iter().all(|(_, aborts)| !aborts) {
            prop_assert!(!died(CLIENT) && !died(SERVER), "links repeat what they lose: nothing dies");
            for (from, to) in [(CLIENT, SERVER), (SERVER, CLIENT)] {
                prop_assert_eq!(world.hosts[to].got.len(), sent[from].len());
            }
        }
        // A reset that was lost is missed by keep-alive probes.
        world.run(Duration::from_secs(20_000));
        prop_assert!(world.proxies.iter().all(|proxy| proxy.connections() == 0), "nothing is kept");
    }

    /// Whatever the losses, no proxy repeats what another part of the way has lost.
    #[test]
    fn who_is_behind_a_clean_link_repeats_nothing(lost in prop::collection::vec(prop::bool::weighted(0.1), 200)) {
        let mut world = World::connected(vec![proxy(Bounds::default()), proxy(Bounds::default())]);
        world.write(CLIENT, text(1, 100_000));
        let mut crossed = 0;
        world.run_with(Duration::from_secs(200), |sent| {
            crossed += usize::from(sent.link == 1);
            sent.link == 1 && lost.get(crossed - 1).copied().unwrap_or(false)
        });
        prop_assert_eq!(&world.hosts[SERVER].got, &text(1, 100_000));
        prop_assert_eq!(world.hosts[CLIENT].endpoint.counters().retransmitted_segments, 0);
        prop_assert_eq!(world.counted(1, "proxy_retransmitted_segments"), 0);
    }
}

struct Host<'a> {
    got: &'a [u8],
    events: &'a [Event],
}

impl<'a> Host<'a> {
    fn of(world: &'a World, host: usize) -> Self {
        Self { got: &world.hosts[host].got, events: &world.hosts[host].events }
    }
}
