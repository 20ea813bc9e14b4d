//! Two ends over links that lose, delay, reorder and fail, with sub-flows that end, are suspended and become backups: every octet comes
//! exactly once and in order, and both ends close.

mod support;

use std::collections::BTreeMap;

use handfast_core::Bytes as Size;
use handfast_mptcp::{Config, Event, SubflowId};
use handfast_tcp::{CongestionControl, IoslRules, Resumption};
use handfast_wire::tcp::Flags;
use proptest::collection::vec;
use proptest::prelude::*;
use support::*;

/// A link, and when it is down, in tenths of a second.
#[derive(Clone, Debug)]
struct LinkCase {
    delay: u64,
    jitter: u64,
    loss: f64,
    cuts: Vec<(u64, u64)>,
}

/// What happens to sub-flows of the client.
#[derive(Clone, Copy, Debug)]
enum Deed {
    Ends,
    /// For so long; then it is back.
    Suspended(u64),
    Backup(bool),
}

#[derive(Clone, Debug)]
struct Case {
    seed: u64,
    links: Vec<LinkCase>,
    octets: [usize; 2],
    checksum: bool,
    wide: bool,
    coupled: bool,
    receive_buffer: u64,
    /// When, to which sub-flow, what.
    deeds: Vec<(u64, u32, Deed)>,
    /// When the server reads nothing.
    deaf: (u64, u64),
}

fn link() -> impl Strategy<Value = LinkCase> {
    let cuts = vec((0u64..60, 1u64..40), 0..3);
    (1u64..80, 0u64..40, prop_oneof![Just(0.0), 0.0..0.15], cuts)
        .prop_map(|(delay, jitter, loss, cuts)| LinkCase { delay, jitter, loss, cuts })
}

fn deed() -> impl Strategy<Value = Deed> {
    prop_oneof![Just(Deed::Ends), (1u64..30).prop_map(Deed::Suspended), any::<bool>().prop_map(Deed::Backup),]
}

fn case() -> impl Strategy<Value = Case> {
    let octets = || prop_oneof![0usize..5000, 0usize..300_000];
    let deeds = vec((1u64..80, 0u32..5, deed()), 0..5);
    let buffer = prop_oneof![Just(10_000u64), Just(60_000), Just(500_000)];
    let flags = any::<(bool, bool, bool)>();
    (any::<u64>(), vec(link(), 1..4), octets(), octets(), buffer, deeds, (flags, (0u64..50, 0u64..20)))
        .prop_map(|(seed, links, a, b, receive_buffer, deeds, ((checksum, wide, coupled), deaf))| Case {
            seed,
            links,
            octets: [a, b],
            checksum,
            wide,
            coupled,
            receive_buffer,
            deeds,
            deaf,
        })
}

fn world(case: &Case) -> World {
    let control = if case.coupled { CongestionControl::Lia } else { CongestionControl::Reno };
    let tcp = handfast_tcp::Config {
        receive_buffer: Size(case.receive_buffer),
        congestion_control: control,
        rto_max: ms(5000),
        ..tcp()
    };
    let mut config = if case.wide { Config::wide(&tcp) } else { Config::new(&tcp) };
    config.checksum = case.checksum;
    let links = case.links.iter().map(|link| Link {
        delay: ms(link.delay),
        jitter: ms(link.jitter),
        loss: link.loss,
        ..Link::default()
    });
    let mut world = World::new(case.seed, config, links.collect());
    for end in 0..2 {
        world.write(end, case.octets[end]);
    }
    world.close_both();
    world
}

fn act(world: &mut World, tick: u64, case: &Case) {
    let now = world.now;
    for &(start, which, deed) in &case.deeds {
        let id = SubflowId(which);
        match deed {
            // Before that it would be the connection's end.
            Deed::Ends if tick == start && world.client().is_confirmed() => {
                world.client().end_subflow(now, id);
            }
            Deed::Backup(backup) if tick == start => world.client().set_backup(id, backup),
            Deed::Suspended(_) if tick == start => {
                world.client().attach_iosl(id, IoslRules::default());
                world.client().suspend(now, id);
            }
            Deed::Suspended(len) if tick == start + len => {
                world.client().resume(now, id, Resumption::Back);
            }
            _ => {}
        }
    }
}

/// Whether both ends have closed.
fn run(case: &Case, world: &mut World) -> bool {
    for tick in 0..4000u64 {
        for (link, told) in world.links.iter_mut().zip(&case.links) {
            link.down = told.cuts.iter().any(|&(start, len)| (start..start + len).contains(&tick));
        }
        world.ends[1].deaf = (case.deaf.0..case.deaf.0 + case.deaf.1).contains(&tick);
        act(world, tick, case);
        if world.finish(ms(100)) {
            return true;
        }
        // It has closed, and nobody can tell the other one.
        let over = |end: &End| {
            end.events.iter().any(|&(at, e)| e == Event::Closed && world.now.since(at) > ms(90_000))
        };
        if world.ends.iter().any(over) {
            return false;
        }
        for end in &world.ends {
            let Some(connection) = &end.connection else { continue };
            assert!(connection.footprint().data <= case.receive_buffer);
        }
    }
    false
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn every_octet_comes_exactly_once(case in case()) {
        let mut world = world(&case);
        let closed = run(&case, &mut world);
        let events = world.ends.each_ref().map(|end| &end.events);
        // An end whose last DATA_ACK is lost with the last sub-flow has closed, and no other sub-flow can tell the other end.
        let cut_off = case.deeds.iter().any(|&(_, _, deed)| matches!(deed, Deed::Ends))
            && world.ends.iter().any(|end| end.has(Event::Closed));
        prop_assert!(closed || cut_off, "at {:?}: {:?}", world.now, events);
        // A fourth SYN has no option (RFC 8684 §3.7). Nobody else takes options.
        let syns = world.ends[0].sent.iter().take(5).filter(|(_, t)| {
            t.flow == flow(0) && t.tcp.segment.flags.contains(Flags::SYN)
        });
        let falls_back = syns.count() > 3;
        for end in &world.ends {
            prop_assert!(end.has(Event::Closed) || cut_off, "{:?}", end.events);
            prop_assert!(falls_back || !end.has(Event::FellBack), "{:?}", end.events);
        }
        // What came with the last segment is read afterwards.
        world.ends.iter_mut().for_each(|end| end.deaf = false);
        world.run_for(ms(1));
        for (from, to) in [(0, 1), (1, 0)] {
            prop_assert_eq!(world.ends[from].wrote.len(), case.octets[from]);
            prop_assert_eq!(world.ends[to].read.len(), case.octets[from]);
            prop_assert!(world.ends[to].read == world.ends[from].wrote);
        }
    }
}

/// The property says nothing of cases that it does not have.
#[test]
fn the_cases_reach_what_they_are_for() {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut seen = BTreeMap::new();
    for _ in 0..60 {
        let case = case().new_tree(&mut runner).expect("a case").current();
        let mut world = world(&case);
        run(&case, &mut world);
        for end in &world.ends {
            for (_, event) in &end.events {
                let name = format!("{event:?}").split([' ', '(']).next().unwrap_or_default().to_owned();
                *seen.entry(name).or_insert(0u64) += 1;
            }
            let Some(connection) = &end.connection else { continue };
            let (counters, tcp) = (connection.counters(), connection.tcp_counters());
            for (name, count) in [
                ("reinjected", counters.reinjected_bytes / 1000),
                ("twice", counters.duplicate_bytes / 1000),
                ("data timeouts", counters.data_timeouts),
                ("timeouts", tcp.timeouts),
                ("repeated", tcp.retransmitted_segments),
            ] {
                *seen.entry(name.to_owned()).or_default() += count;
            }
        }
    }
    for name in [
        "Closed",
        "SubflowUp",
        "SubflowDown",
        "SubflowSilent",
        "reinjected",
        "twice",
        "data timeouts",
        "timeouts",
        "repeated",
    ] {
        assert!(seen.get(name).is_some_and(|&count| count >= 5), "{name} in {seen:?}");
    }
}
