//! Paths that are dead and say nothing, dials that lead nowhere.

use handfast_assist::iosl::end::End;

use crate::basics::{assert_whole, programs, waits, world};
use crate::programs::Program;
use crate::world::{CLIENT, SERVER, World, ms};

/// Two programs that say nothing.
pub(crate) fn idle() -> [Program; 2] {
    let mut programs = programs([0, 0]);
    for program in &mut programs {
        program.has_finished = true;
    }
    programs
}

/// How many records both ends have sent.
fn records(world: &World) -> usize {
    world.heard.as_ref().unwrap().len()
}

#[test]
fn a_path_that_dies_silently_under_octets_is_replaced_within_seconds() {
    let mut world = world();
    world.open(programs([50_000_000, 0]), true);
    world.run_for(ms(500));
    world.cut_silently();
    let took = waits(&mut world);
    assert!((ms(7_000)..ms(7_500)).contains(&took), "2 s until it is asked, 5 s for the answer: {took:?}");
    world.run_for(ms(60_000));
    assert_whole(&world);
}

#[test]
fn an_idle_session_says_little_and_notices_all_the_same() {
    let mut world = world();
    world.open(idle(), true);
    world.run_for(ms(1_000));
    world.heard = Some(Vec::new());
    world.run_for(ms(3_600_000));
    assert_eq!(records(&world), 2 * 3_600 / 240, "a question in four minutes, and its answer");
    assert_eq!(world.wires.len(), 1);
    world.cut_silently();
    world.run_for(ms(246_000));
    assert_eq!(world.ends[SERVER].counters().resumed, 2);
    // The end that was dialled asks as well, later: the other one may be gone.
    world.is_up = false;
    world.cut_silently();
    let socket = world.programs[0][SERVER].socket.unwrap();
    world.run_for(ms(250_000));
    assert!(world.ends[SERVER].session(socket).unwrap().is_connected());
    world.run_for(ms(10_000));
    assert!(!world.ends[SERVER].session(socket).unwrap().is_connected());
}

#[test]
fn a_frozen_session_sends_nothing_and_is_asked_when_it_goes_on() {
    for end in [CLIENT, SERVER] {
        let mut world = world();
        world.open(programs([5_000_000, 5_000_000]), true);
        world.run_for(ms(200));
        world.each(end, End::suspend);
        world.run_for(ms(100));
        world.heard = Some(Vec::new());
        world.run_for(ms(500_000));
        assert_eq!(
            (records(&world), world.wires.len()),
            (2, 1),
            "a question after 300 s: is it frozen still?"
        );
        world.cut_silently();
        world.run_for(ms(50_000));
        assert_eq!(world.wires.len(), 1, "nobody has looked");
        world.each(end, End::resume);
        world.run_for(ms(5_500));
        assert_eq!(world.wires.len(), 1 + usize::from(end == CLIENT), "only the client dials");
        world.run_for(ms(30_000));
        if end == CLIENT {
            assert_whole(&world);
        }
    }
}

/// A dial takes as long as TCP tries: longer than a handshake may.
#[test]
fn a_change_of_address_does_not_wait_for_a_dial_that_leads_nowhere() {
    for act in [End::migrate, End::resume] {
        let mut world = world();
        world.open(programs([50_000_000, 0]), true);
        world.run_for(ms(500));
        (world.is_up, world.dial_takes[1]) = (false, ms(60_000));
        world.cut([ms(0), ms(0)]);
        world.run_for(ms(1_000));
        world.is_up = true;
        world.each(CLIENT, act);
        let took = waits(&mut world);
        assert!(took <= ms(50), "as without a dial before: {took:?}");
    }
}

/// The dial from before is answered, and the one from after fails.
#[test]
fn an_answer_from_before_the_address_changed_is_no_migration() {
    let mut world = world();
    world.open(programs([50_000_000, 0]), true);
    world.run_for(ms(500));
    world.dial_takes[0] = ms(150);
    world.each(CLIENT, End::migrate);
    world.run_for(ms(120));
    world.dial_takes[0] = ms(500);
    world.each(CLIENT, End::migrate);
    world.run_for(ms(200));
    assert_eq!((world.wires.len(), world.ends[SERVER].counters().resumed), (2, 2), "from before");
    (world.is_up, world.dial_takes[1]) = (false, ms(20));
    world.run_for(ms(350));
    (world.is_up, world.dial_takes[0]) = (true, ms(20));
    world.run_for(ms(300));
    assert_eq!((world.wires.len(), world.ends[SERVER].counters().resumed), (3, 3), "it dials again");
    let open: Vec<_> = world.wires.iter().map(|wire| wire.paths.iter().all(Option::is_some)).collect();
    assert_eq!(open, [false, false, true]);
}
