//! Peers and networks that do not carry Multipath TCP (§3.7).

use handfast_core::Duration;
use handfast_mptcp::{Event, State};
use handfast_wire::tcp::Segment;
use handfast_wire::tcp::mptcp::{Mptcp, reason};
use handfast_wire::{Payload, tcp::Flags};

use crate::support::*;

fn strip(segment: &mut Segment) {
    segment.rare = None;
}

/// Something takes the options of segments for which `from` says so; both ends still get all of it.
fn stripped(takes: impl Fn(&Segment, bool) -> bool + Copy + 'static) -> World {
    let mut world = World::two(config());
    for link in &mut world.links {
        link.middlebox = Some(Box::new(move |segment, to_server| {
            if takes(segment, to_server) {
                strip(segment);
            }
            true
        }));
    }
    world.write(0, 150_000);
    world.write(1, 150_000);
    world.close_both();
    assert!(world.finish(Duration::from_secs(30)), "{:?} {:?}", world.ends[0].events, world.ends[1].events);
    assert!(world.ends[1].read == world.ends[0].wrote, "{}", world.ends[1].read.len());
    assert!(world.ends[0].read == world.ends[1].wrote, "{}", world.ends[0].read.len());
    world
}

#[test]
fn without_options_it_is_plain_tcp() {
    let cases: [fn(&Segment, bool) -> bool; 4] = [
        |_, _| true,
        // Of the SYN alone, or of the SYN/ACK alone.
        |segment, to_server| to_server && segment.flags.contains(Flags::SYN),
        |segment, to_server| !to_server && segment.flags.contains(Flags::SYN),
        // Of all but the handshake.
        |segment, _| !segment.flags.contains(Flags::SYN),
    ];
    for (n, takes) in cases.into_iter().enumerate() {
        let world = stripped(takes);
        for end in &world.ends {
            assert!(end.has(Event::FellBack), "case {n}: {:?}", end.events);
            assert!(end.has(Event::Closed) && end.has(Event::PeerClosed), "case {n}: {:?}", end.events);
        }
        let joined = world.ends[0].options().any(|(_, _, option)| matches!(option, Mptcp::Join(_)));
        assert!(!joined, "case {n}: no sub-flow joins a plain connection");
    }
}

#[test]
fn options_taken_from_one_direction_fall_back_at_both_ends() {
    // The server's segments after the handshake lose theirs: the client has no word of what they carry.
    let world = stripped(|segment, to_server| !to_server && !segment.flags.contains(Flags::SYN));
    assert!(world.ends[0].has(Event::FellBack));
}

#[test]
fn a_path_that_takes_options_later_is_left() {
    let mut world = World::two(config());
    world.write(0, 400_000);
    world.run_for(ms(150));
    assert!(world.ends[1].has(Event::SubflowUp(SECOND)));
    world.joins = false;
    world.links[1].middlebox = Some(Box::new(|segment, to_server| {
        if to_server && !segment.payload.is_empty() {
            strip(segment);
        }
        true
    }));
    world.close_both();
    assert!(world.finish(Duration::from_secs(30)));
    assert!(world.ends[1].read == world.ends[0].wrote);
    let reset = Mptcp::Reset { transient: false, reason: reason::MIDDLEBOX_INTERFERENCE };
    assert!(world.ends[1].options().any(|(_, _, option)| option == reset));
    let down = Event::SubflowDown { id: SECOND, reason: Some(reason::MIDDLEBOX_INTERFERENCE) };
    assert!(world.ends[0].has(down), "{:?}", world.ends[0].events);
    assert!(!world.ends[0].has(Event::FellBack));
}

/// Changes the first octet of the `n`th segment with data to the server, as one that knows nothing of our checksum does.
fn change(n: u32) -> Middlebox {
    let mut count = 0;
    Box::new(move |segment, to_server| {
        if to_server && !segment.payload.is_empty() {
            count += 1;
            if count == n {
                let mut bytes = segment.payload.to_bytes().to_vec();
                bytes[0] ^= 1;
                segment.payload = Payload::Bytes(bytes.into());
            }
        }
        true
    })
}

#[test]
fn a_wrong_checksum_on_the_only_sub_flow_ends_in_plain_tcp() {
    let mut config = config();
    config.checksum = true;
    let mut world = World::new(1, config, vec![Link::default()]);
    world.links[0].middlebox = Some(change(20));
    world.write(0, 200_000);
    world.close_both();
    assert!(world.finish(Duration::from_secs(30)), "{:?}", world.ends.each_ref().map(|end| &end.events));
    assert!(world.ends.iter().all(|end| end.has(Event::FellBack)));
    assert!(world.ends[1].options().any(|(_, _, option)| matches!(option, Mptcp::Fail(_))));
    // An infinite mapping says that there are no others.
    assert!(
        world.ends[0].options().any(
            |(_, _, option)| matches!(option, Mptcp::Dss(dss) if dss.mapping.is_some_and(|m| m.len == 0))
        )
    );
    // The octet that was changed is delivered as it came; all others are right.
    let differ = world.ends[1].read.iter().zip(&world.ends[0].wrote).filter(|(a, b)| a != b).count();
    assert_eq!((differ, world.ends[1].read.len()), (1, 200_000));
}

#[test]
fn a_wrong_checksum_on_one_of_two_ends_that_one() {
    let mut config = config();
    config.checksum = true;
    let mut world = World::two(config);
    world.links[1].middlebox = Some(change(5));
    world.write(0, 300_000);
    world.run_for(ms(100));
    world.joins = false;
    world.close_both();
    assert!(world.finish(Duration::from_secs(30)));
    assert!(world.ends[1].read == world.ends[0].wrote, "nothing of it reaches the application");
    assert_eq!(world.server().counters().checksum_failures, 1);
    assert!(world.ends[1].options().any(|(_, _, option)| matches!(option, Mptcp::Fail(_))));
    assert_eq!(world.client().state(), State::Closed);
    assert!(!world.ends[0].has(Event::FellBack));
}
