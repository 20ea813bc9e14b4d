//! How connections and sub-flows begin (§3.1, §3.2).

use handfast_core::{Bytes, Duration, Instant, Stream};
use handfast_mptcp::{Connection, Event, State, token_of_join};
use handfast_wire::tcp::mptcp::{Capable, Join, Mptcp, reason};
use handfast_wire::tcp::{Flags, Segment};

use crate::support::*;

fn options(end: &End) -> Vec<Mptcp> {
    end.options().map(|(_, _, option)| option).collect()
}

#[test]
fn keys_cross_in_three_steps_and_the_first_data_repeats_them() {
    let mut world = World::new(1, config(), vec![Link::default()]);
    world.write(0, 100);
    world.run_for(ms(200));
    let (client, server) = (options(&world.ends[0]), options(&world.ends[1]));
    let plain = Capable { version: 1, algorithms: Capable::HMAC_SHA256, ..Capable::default() };
    assert_eq!(client[0], Mptcp::Capable(plain));
    let Mptcp::Capable(answer) = &server[0] else { panic!("{server:?}") };
    let key = answer.sender_key.expect("the server's key");
    assert_eq!(*answer, Capable { sender_key: Some(key), ..plain });
    let Mptcp::Capable(data) = &client[1] else { panic!("{client:?}") };
    assert_eq!((data.receiver_key, data.mapped), (Some(key), Some((100, None))));
    assert!(world.client().is_confirmed() && world.server().is_confirmed());
    assert_eq!(world.ends[1].read.len(), 100);
    // From then on there are no keys.
    world.write(0, 100);
    world.run_for(ms(200));
    let later = &options(&world.ends[0])[2..];
    assert!(!later.is_empty() && later.iter().all(|option| matches!(option, Mptcp::Dss(_))), "{later:?}");
}

#[test]
fn without_data_the_third_ack_has_both_keys_and_is_answered() {
    let mut world = World::two(config());
    world.run_for(ms(500));
    let client = options(&world.ends[0]);
    let keys = |option: &Mptcp| matches!(option, Mptcp::Capable(c) if c.receiver_key.is_some() && c.mapped.is_none());
    assert!(client.iter().any(keys));
    assert!(world.client().is_confirmed());
    assert!(world.ends[0].has(Event::SubflowUp(SECOND)) && world.ends[1].has(Event::SubflowUp(SECOND)));
}

#[test]
fn first_data_whose_ack_was_lost_brings_the_keys() {
    let mut world = World::new(1, config(), vec![Link::default()]);
    // The third ACK and the first two segments of data are lost.
    let mut count = 0;
    world.links[0].middlebox = Some(Box::new(move |segment, to_server| {
        count += u32::from(to_server && !segment.flags.contains(Flags::SYN));
        !(to_server && (1..=3).contains(&count))
    }));
    world.write(0, 50_000);
    world.close_both();
    assert!(world.finish(Duration::from_secs(20)));
    assert!(world.ends[1].read == world.ends[0].wrote);
    assert!(!world.ends[1].has(Event::FellBack));
}

#[test]
fn a_join_proves_the_keys_and_is_refused_with_a_wrong_proof() {
    for (direction, ends) in [(None, true), (Some(true), false), (Some(false), false)] {
        let mut world = World::two(config());
        world.links[1].middlebox = Some(Box::new(move |segment, to_server| {
            if Some(to_server) == direction {
                spoil_proof(segment);
            }
            true
        }));
        world.write(0, 100_000);
        world.run_for(ms(200));
        world.joins = false;
        world.run_for(ms(1000));
        assert_eq!(world.ends[0].has(Event::SubflowUp(SECOND)), ends, "{direction:?}");
        assert_eq!(world.ends[1].has(Event::SubflowUp(SECOND)), ends, "{direction:?}");
        let reset = Mptcp::Reset { transient: false, reason: reason::MPTCP_SPECIFIC };
        let refused = world.ends.iter().any(|end| options(end).contains(&reset));
        assert_eq!(refused, !ends, "{direction:?}");
        world.close_both();
        assert!(world.finish(Duration::from_secs(20)));
        assert!(world.ends[1].read == world.ends[0].wrote);
    }
}

/// Another HMAC in SYN/ACK or the third ACK.
fn spoil_proof(segment: &mut Segment) {
    let Some(rare) = &mut segment.rare else { return };
    if let [30, 16 | 24, kind, _, byte, ..] = &mut rare.unknown[..]
        && *kind >> 4 == 1
    {
        *byte ^= 1;
    }
}

#[test]
fn a_lost_proof_leaves_again() {
    let mut world = World::two(config());
    let mut lost = 0;
    world.links[1].middlebox = Some(Box::new(move |segment, to_server| {
        let is_proof = segment.mptcp().any(|option| matches!(option, Mptcp::Join(Join::Ack { .. })));
        lost += u32::from(to_server && is_proof);
        !(to_server && is_proof && lost <= 2)
    }));
    world.write(0, 3_000);
    world.run_for(ms(100));
    assert!(!world.ends[1].has(Event::SubflowUp(SECOND)));
    world.run_for(Duration::from_secs(5));
    assert!(world.ends[0].has(Event::SubflowUp(SECOND)) && world.ends[1].has(Event::SubflowUp(SECOND)));
}

#[test]
fn no_data_leaves_by_a_sub_flow_whose_proof_is_not_answered() {
    let mut world = World::two(config());
    world.links[1].middlebox =
        Some(Box::new(|segment, to_server| to_server || segment.flags.contains(Flags::SYN)));
    world.write(0, 200_000);
    world.run_for(Duration::from_secs(3));
    let on_second = |(_, t): &&(Instant, handfast_mptcp::Transmit)| {
        t.flow == flow(1) && !t.tcp.segment.payload.is_empty()
    };
    assert_eq!(world.ends[0].sent.iter().filter(on_second).count(), 0);
    assert!(!world.ends[0].has(Event::SubflowUp(SECOND)));
}

#[test]
fn a_token_of_another_connection_is_not_answered_and_there_is_a_bound() {
    let mut config = config();
    config.subflows = 2;
    let mut world = World::new(1, config.clone(), (0..3).map(|_| Link::default()).collect());
    world.run_for(ms(500));
    let now = world.now;
    assert_eq!(world.client().footprint().subflows, 2, "the third finds no place");
    // A SYN of another client with another token.
    let mut other = World::new(7, config, vec![Link::default(), Link::default()]);
    other.ends[0].connection = Some(Connection::connect(self::config(), flow(0), Stream::new(9, "x"), now));
    other.run_for(ms(500));
    let syn = other.ends[0]
        .sent
        .iter()
        .find_map(|(_, t)| token_of_join(&t.tcp.segment).map(|token| (token, t.clone())));
    let (token, syn) = syn.expect("it joins");
    assert_ne!(token, world.server().token());
    let received = handfast_mptcp::Received {
        flow: handfast_mptcp::Flow { local: server(), remote: client(1) },
        tcp: handfast_tcp::Received::plain(&syn.tcp.segment),
    };
    assert!(!world.server().accept_join(now, &received));
}

#[test]
fn a_syn_that_nobody_answers_goes_without_mp_capable_at_last() {
    let mut world = World::new(1, config(), vec![Link::default()]);
    world.links[0].middlebox = Some(Box::new(|segment, _| {
        !(segment.flags.contains(Flags::SYN) && segment.mptcp().next().is_some())
    }));
    world.write(0, 3_000);
    world.close_both();
    assert!(world.finish(Duration::from_secs(60)));
    assert!(world.ends[0].has(Event::FellBack));
    assert!(world.ends[1].read == world.ends[0].wrote);
}

#[test]
fn a_connection_that_nobody_answers_fails() {
    let mut connection = Connection::connect(config(), flow(0), Stream::new(1, "c"), Instant::ZERO);
    let mut now = Instant::ZERO;
    while connection.state() != State::Closed {
        while connection.poll_transmit(now, Bytes(2000)).is_some() {}
        now = connection.deadline().expect("it waits");
        connection.on_timer(now);
    }
    let events: Vec<_> = std::iter::from_fn(|| connection.poll_event()).collect();
    let death = handfast_tcp::Death::HandshakeTimeout;
    assert!(events.contains(&Event::Failed(handfast_mptcp::Failure::Tcp(death))), "{events:?}");
    assert!(connection.is_over());
}

#[test]
fn a_reset_of_the_syn_ack_ends_the_server_s_side() {
    let mut world = World::new(1, config(), vec![Link::default()]);
    world.links[0].middlebox = Some(Box::new(|segment, to_server| {
        if to_server && !segment.flags.contains(Flags::SYN) {
            *segment = Segment {
                flags: Flags::RST,
                src_port: segment.src_port,
                dst_port: segment.dst_port,
                seq: segment.seq,
                ..Segment::EMPTY
            };
        }
        true
    }));
    world.run_for(ms(500));
    let reset = Event::Failed(handfast_mptcp::Failure::Tcp(handfast_tcp::Death::Reset));
    assert!(world.ends[1].has(reset), "{:?}", world.ends[1].events);
    assert!(world.server().is_over());
}
