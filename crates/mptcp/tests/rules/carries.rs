//! Data over several sub-flows (§3.3).

use handfast_core::Duration;
use handfast_mptcp::{Config, Event, State};
use handfast_wire::Payload;
use handfast_wire::tcp::mptcp::{DataSeq, Dss, Mptcp};

use crate::support::*;

fn dss(end: &End) -> Vec<(usize, Dss)> {
    let option = |(_, flow, option): (_, handfast_mptcp::Flow, _)| match option {
        Mptcp::Dss(dss) => Some((usize::from(flow.local.port() % 10 + flow.remote.port() % 10), dss)),
        _ => None,
    };
    end.options().filter_map(option).collect()
}

#[test]
fn octets_come_once_and_in_order_over_both_and_both_ends_close() {
    let mut world = World::two(config());
    world.write(0, 500_000);
    world.write(1, 300_000);
    world.close_both();
    assert!(world.finish(Duration::from_secs(20)), "{:?}", world.ends[0].events);
    for (from, to) in [(0, 1), (1, 0)] {
        assert_eq!(world.ends[to].read.len(), world.ends[from].wrote.len());
        assert!(world.ends[to].read == world.ends[from].wrote);
        assert!(world.ends[from].has(Event::PeerClosed) && world.ends[from].has(Event::Closed));
        for link in 0..2 {
            let data = world.ends[from]
                .sent
                .iter()
                .filter(|(_, t)| {
                    let port = t.flow.local.port().max(t.flow.remote.port());
                    port == 4000 + link && !t.tcp.segment.payload.is_empty()
                })
                .count();
            assert!(data > 50, "link {link} carried {data} segments of end {from}");
        }
    }
    // Sub-flows close by themselves.
    world.run_for(Duration::from_secs(130));
    assert!(world.client().is_over() && world.server().is_over());
}

#[test]
fn two_links_carry_more_than_one() {
    let took = |links: usize| {
        let links = (0..links).map(|_| Link { queue: 40, ..Link::default() }).collect();
        let mut world = World::new(1, config(), links);
        world.write(0, 2_000_000);
        world.close_both();
        assert!(world.finish(Duration::from_secs(60)));
        assert!(world.ends[1].read == world.ends[0].wrote);
        world.now
    };
    let (one, two) = (took(1), took(2));
    assert!(two.since(handfast_core::Instant::ZERO) * 3 < one.since(handfast_core::Instant::ZERO) * 2);
}

#[test]
fn numbers_of_eight_octets_and_checksums_serve_as_well() {
    let mut config = Config::wide(&tcp());
    config.checksum = true;
    let mut world = World::two(config);
    world.write(0, 100_000);
    world.write(1, 100_000);
    world.close_both();
    assert!(world.finish(Duration::from_secs(20)));
    assert!(world.ends[1].read == world.ends[0].wrote && world.ends[0].read == world.ends[1].wrote);
    assert_eq!(world.server().counters().checksum_failures, 0);
    let all = dss(&world.ends[0]);
    assert!(all.iter().all(|(_, dss)| dss.mapping.is_none_or(|m| m.checksum.is_some())));
    assert!(all.iter().all(|(_, dss)| matches!(dss.ack, Some(DataSeq::Whole(_)))));
}

#[test]
fn one_window_serves_all_sub_flows() {
    let mut world = World::two(config());
    world.write(0, 1_000_000);
    world.run_for(ms(300));
    world.ends[1].deaf = true;
    world.run_for(Duration::from_secs(3));
    let held = world.server().footprint().data;
    assert!((190_000..=200_000).contains(&held), "{held}");
    assert_eq!(world.server().readable(), held, "no more is under way than the window holds");
    let waits: usize = world.ends[0].to_write.iter().map(Payload::len).sum();
    let sent = 1_000_000 - world.client().unsent() - waits as u64;
    // One octet has asked whether the window is still closed.
    let beyond = sent - (world.ends[1].read.len() as u64 + held);
    assert!(beyond <= 1, "{beyond}");
    world.ends[1].deaf = false;
    world.close_both();
    assert!(world.finish(Duration::from_secs(30)));
    assert!(world.ends[1].read == world.ends[0].wrote);
}

#[test]
fn a_window_that_opens_while_its_word_is_lost_is_asked_for() {
    let mut world = World::two(config());
    world.write(0, 1_000_000);
    world.ends[1].deaf = true;
    world.run_for(Duration::from_secs(2));
    for link in &mut world.links {
        link.down = true;
    }
    world.ends[1].deaf = false;
    world.run_for(ms(100));
    for link in &mut world.links {
        link.down = false;
    }
    world.close_both();
    assert!(world.finish(Duration::from_secs(60)), "{:?}", world.ends[0].events);
    assert!(world.ends[1].read == world.ends[0].wrote);
}

#[test]
fn data_fin_leaves_with_the_last_octets_and_is_acknowledged_as_an_octet() {
    let mut world = World::new(1, config(), vec![Link::default()]);
    world.write(0, 3000);
    world.close_both();
    assert!(world.finish(Duration::from_secs(5)));
    let fins: Vec<_> = dss(&world.ends[0]).into_iter().filter(|(_, dss)| dss.fin).collect();
    let (_, last) = fins[0];
    let mapping = last.mapping.expect("DATA_FIN has a mapping");
    assert!(mapping.len > 1 && mapping.subflow_seq > 1, "{mapping:?}");
    let DataSeq::Low(first) = mapping.data_seq else { panic!("four octets") };
    let end = first.wrapping_add(u32::from(mapping.len));
    assert!(dss(&world.ends[1]).iter().any(|(_, dss)| dss.ack == Some(DataSeq::Low(end))));
    // The server has nothing to send: DATA_FIN alone is mapped, to no octet of the sub-flow.
    let alone = dss(&world.ends[1]).into_iter().find(|(_, dss)| dss.fin).and_then(|(_, dss)| dss.mapping);
    assert!(alone.is_some_and(|m| (m.subflow_seq, m.len) == (0, 1)), "{alone:?}");
    assert_eq!(world.client().state(), State::Closed);
}

#[test]
fn a_data_fin_that_is_lost_leaves_again() {
    let mut world = World::new(1, config(), vec![Link::default()]);
    world.write(0, 3000);
    world.run_for(ms(500));
    world.links[0].down = true;
    let now = world.now;
    world.client().close(now);
    world.run_for(ms(50));
    world.links[0].down = false;
    world.run_for(Duration::from_secs(2));
    assert!(world.ends[1].has(Event::PeerClosed));
    assert!(world.client().counters().data_timeouts > 0);
    world.ends[1].then_closes = true;
    assert!(world.finish(Duration::from_secs(10)), "{:?}", world.ends[0].events);
}

#[test]
fn coupled_paths_through_one_bottleneck_take_no_more_than_one() {
    // RFC 6356 §1, goal 2. Both sub-flows share a link with as large a window as the rule gives them.
    let grown = |control| {
        let tcp = handfast_tcp::Config {
            congestion_control: control,
            initial_ssthresh: Some(handfast_core::Bytes(15_000)),
            receive_buffer: handfast_core::Bytes(4_000_000),
            send_buffer: handfast_core::Bytes(4_000_000),
            ..handfast_tcp::Config::default()
        };
        let link = || Link { delay: ms(50), serialisation: Duration::from_micros(10), ..Link::default() };
        let mut world = World::new(1, Config::new(&tcp), vec![link(), link()]);
        world.write(0, 3_900_000);
        world.run_for(Duration::from_secs(4));
        let now = world.now;
        world.client().subflows(now).map(|s| s.tcp.cwnd).sum::<u64>()
    };
    let apart = grown(handfast_tcp::CongestionControl::Reno);
    let coupled = grown(handfast_tcp::CongestionControl::Lia);
    // From 30,000 at first; about 35 round trips: each alone gains a segment a round trip, and coupled both together a half.
    let (apart, coupled) = (apart - 30_000, coupled - 30_000);
    assert!((3 * coupled..6 * coupled).contains(&apart), "{apart} and {coupled}");
}
