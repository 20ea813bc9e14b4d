//! Addresses (§3.4), priorities (§3.3.8), ends at once (§3.5).

use handfast_core::Duration;
use handfast_mptcp::{Event, Failure};
use handfast_wire::tcp::mptcp::Mptcp;

use crate::support::*;

fn open() -> World {
    let mut world = World::two(config());
    world.write(0, 20_000);
    world.run_for(Duration::from_secs(1));
    world.joins = false;
    world
}

#[test]
fn an_address_is_added_with_a_proof_and_echoed() {
    let mut world = open();
    let address = [10, 0, 0, 2].into();
    assert!(world.server().advertise(2, address, Some(81)));
    world.run_for(ms(200));
    assert!(world.ends[0].has(Event::AddressAdded { id: 2, address, port: Some(81) }));
    let echo =
        |option: Mptcp| matches!(option, Mptcp::AddAddress(a) if a.hmac.is_none() && a.address_id == 2);
    assert!(world.ends[0].options().any(|(_, _, option)| echo(option)));
}

#[test]
fn an_address_without_the_proof_is_none() {
    let mut world = open();
    for link in &mut world.links {
        link.middlebox = Some(Box::new(|segment, to_server| {
            if let Some(rare) = &mut segment.rare
                && !to_server
                && let [30, 18, 0x30, id, ..] = &mut rare.unknown[..]
            {
                *id = 9;
            }
            true
        }));
    }
    assert!(world.server().advertise(2, [10, 0, 0, 2].into(), Some(81)));
    world.run_for(ms(200));
    assert!(!world.ends[0].events.iter().any(|(_, event)| matches!(event, Event::AddressAdded { .. })));
}

#[test]
fn an_address_that_is_withdrawn_takes_its_sub_flows_along() {
    let mut world = open();
    let now = world.now;
    assert!(world.client().withdraw(now, &[1]));
    world.run_for(ms(200));
    assert!(world.ends[1].has(Event::AddressRemoved(1)));
    for end in &world.ends {
        let down = |event: &Event| matches!(event, Event::SubflowDown { id, .. } if *id == SECOND);
        assert!(end.events.iter().any(|(_, event)| down(event)), "{:?}", end.events);
    }
    world.close_both();
    assert!(world.finish(Duration::from_secs(10)));
}

#[test]
fn a_fast_close_ends_both_at_once_and_needs_the_key() {
    let mut world = open();
    let now = world.now;
    world.client().abort(now);
    world.run_for(ms(200));
    assert!(world.ends[0].has(Event::Failed(Failure::Aborted)));
    assert!(world.ends[1].has(Event::Failed(Failure::FastClose)));
    assert!(world.ends[0].options().any(|(_, _, option)| matches!(option, Mptcp::FastClose(_))));
    assert!(world.client().is_over() && world.server().is_over());

    let mut world = open();
    for link in &mut world.links {
        link.middlebox = Some(Box::new(|segment, _| {
            if let Some(rare) = &mut segment.rare
                && let [30, 12, 0x70, _, key, ..] = &mut rare.unknown[..]
            {
                *key ^= 1;
            }
            true
        }));
    }
    let now = world.now;
    world.client().abort(now);
    world.run_for(ms(200));
    assert!(!world.ends[1].has(Event::Failed(Failure::FastClose)));
}
