//! Random sequences of trouble: paths that are cut, addresses that change, ends that freeze or begin anew, programs that abort, at
//! both ends at once.
//!
//! Checked: each octet comes once, in order, or the program is told why not, in time; no session keeps more than it may; nothing
//! is left. `IOSL_SEQUENCES=10000 cargo test -p handfast-assist --test iosl_session sequences`.

use std::cell::Cell;
use std::collections::BTreeSet;

use handfast_assist::iosl::end::{Config, End};
use handfast_assist::iosl::frame::Reason;
use handfast_assist::iosl::session;
use handfast_core::{Duration, Instant};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use crate::beside::{Beside, Faults};
use crate::programs::Program;
use crate::world::{CLIENT, SERVER, World, ms};

#[derive(Clone, Debug)]
enum Step {
    Wait(u64),
    Suspend(usize),
    Resume(usize),
    /// Both at once.
    ResumeBoth,
    /// Connections are gone; the ends learn of it after so many milliseconds.
    Cut([u64; 2]),
    /// The same, and they learn of it by what does not come.
    Silence,
    /// The end has another address, and knows; what it had is gone so much later.
    Address(usize, u64),
    /// No connection comes about for so long.
    Outage(u64),
    Restart(usize),
    /// The end is another process from now on, which goes on with what the one before has written down, if it does that.
    Reborn(usize),
    Abort(usize),
    Datagram(usize),
}

type Habits = (u64, usize, u64);

#[derive(Clone, Debug)]
struct Case {
    /// Of the programs at both ends: how much each writes, how much it reads at a time, and how long it waits then. Whether the
    /// client has the server's key.
    sessions: Vec<([Habits; 2], bool)>,
    steps: Vec<Step>,
    configs: [Config; 2],
    seed: u64,
}

/// Of a session in these cases; both ends say the same.
const EXPIRY: Duration = Duration::from_secs(15);
const HANDSHAKE: Duration = Duration::from_secs(2);
const REDIAL: Duration = Duration::from_secs(1);
/// After how long a path that says nothing is asked, and given up. A path takes two round trips to come about.
const ASK: Duration = Duration::from_millis(500);
const ANSWER: Duration = Duration::from_millis(500);
const IDLE: Duration = Duration::from_millis(1_500);

fn step() -> impl Strategy<Value = Step> {
    let end = || 0usize..2;
    prop_oneof![
        8 => (0u64..400).prop_map(Step::Wait),
        2 => (0u64..4_000).prop_map(Step::Wait),
        3 => end().prop_map(Step::Suspend),
        4 => end().prop_map(Step::Resume),
        2 => Just(Step::ResumeBoth),
        5 => prop::array::uniform2(0u64..3_000).prop_map(Step::Cut),
        2 => Just(Step::Cut([0, 0])),
        2 => Just(Step::Silence),
        4 => (end(), 0u64..1_500).prop_map(|(end, later)| Step::Address(end, later)),
        2 => (0u64..5_000).prop_map(Step::Outage),
        1 => (15_000u64..25_000).prop_map(Step::Outage),
        1 => end().prop_map(Step::Restart),
        4 => end().prop_map(Step::Reborn),
        1 => end().prop_map(Step::Abort),
        3 => end().prop_map(Step::Datagram),
    ]
}

fn config() -> impl Strategy<Value = Config> {
    let buffer = || prop_oneof![1u64..5_000, 20_000u64..200_000];
    let small = (buffer(), buffer(), 1u64..4_000, prop_oneof![Just(0u64), 0u64..50_000, Just(1 << 20)]);
    (small, any::<[bool; 2]>(), 100usize..5_000).prop_map(
        |((send_buffer, receive_buffer, floor, pool), [dials, keeps], datagrams)| {
            let session = session::Config {
                send_buffer,
                receive_buffer,
                floor,
                datagrams,
                expiry: EXPIRY,
                opening: EXPIRY,
                linger: Duration::from_secs(20),
                confirm: HANDSHAKE,
                redial: [ms(100), REDIAL],
                dials,
                keeps,
                ask: ASK,
                answer: ANSWER,
                idle: IDLE,
                ..session::Config::default()
            };
            Config { session, pool, handshake: HANDSHAKE, ..Config::default() }
        },
    )
}

fn case() -> impl Strategy<Value = Case> {
    let program = || {
        let length = prop_oneof![1 => Just(0u64), 3 => 1u64..5_000, 4 => 1u64..300_000];
        (length, prop_oneof![1usize..500, Just(usize::MAX)], 0u64..30)
    };
    let session = ([program(), program()], any::<bool>());
    let configs = [config(), config()];
    (prop::collection::vec(session, 1..4), prop::collection::vec(step(), 0..25), configs, any::<u64>())
        .prop_map(|(sessions, steps, mut configs, seed)| {
            configs[CLIENT].session.dials = true;
            Case { sessions, steps, configs, seed }
        })
}

fn programs(case: &Case, number: usize) -> [Program; 2] {
    let (pair, _) = &case.sessions[number];
    // What is certainly let through in a round trip.
    let least = case
        .configs
        .map(|Config { session, .. }| session.floor.min(session.send_buffer).min(session.receive_buffer));
    let most = least.into_iter().min().unwrap_or_default() * 200;
    [CLIENT, SERVER].map(|end| {
        let (length, appetite, wait) = pair[end];
        // A program that reads an octet at a time reads for as long as an octet takes; not for hours.
        let writer = pair[1 - end].0.min(most);
        let appetite = appetite.max(writer as usize / 400 + 1);
        Program::new(case.seed ^ (2 * number + end) as u64, length.min(most), (appetite, ms(wait)))
    })
}

fn take(world: &mut World, step: &Step) {
    match *step {
        Step::Wait(span) => world.run_for(ms(span)),
        Step::Suspend(end) => world.each(end, End::suspend),
        Step::Resume(end) => world.each(end, End::resume),
        Step::ResumeBoth => {
            world.cut([Duration::ZERO; 2]);
            world.run_for(Duration::ZERO);
            for end in [CLIENT, SERVER] {
                world.each(end, End::resume);
            }
        }
        Step::Cut(learn) => world.cut(learn.map(ms)),
        Step::Silence => world.cut_silently(),
        Step::Address(end, later) => {
            world.each(end, End::migrate);
            world.run_for(ms(later));
            world.cut_all_but_newest([Duration::ZERO, ms(later)]);
        }
        Step::Outage(span) => {
            world.is_up = false;
            world.cut([ms(1), ms(span / 2)]);
            world.run_for(ms(span));
            world.is_up = true;
        }
        Step::Restart(end) => world.restart(end),
        Step::Reborn(end) => world.reborn(end),
        Step::Abort(end) => world.abort(end),
        Step::Datagram(end) => world.datagram(end),
    }
}

/// How long nothing could travel, at most, while the steps are taken: outages, and ends that are frozen.
fn longest_silence(case: &Case) -> u64 {
    let (mut silent, mut longest) = (0, 0);
    let mut is_frozen = [false; 2];
    for step in &case.steps {
        let (span, is_outage) = match *step {
            Step::Wait(span) | Step::Address(_, span) => (span, false),
            Step::Outage(span) => (span, true),
            _ => (0, false),
        };
        match *step {
            Step::Suspend(end) => is_frozen[end] = true,
            Step::Resume(end) | Step::Address(end, _) => is_frozen[end] = false,
            Step::ResumeBoth => is_frozen = [false; 2],
            _ => {}
        }
        if matches!(step, Step::Silence) && is_frozen.contains(&true) {
            // The end that is not frozen asks late.
            silent += EXPIRY.as_millis();
        }
        // Who learns late of a cut, or dials in vain before, is silent for longer than the step takes.
        silent = if is_outage || is_frozen.contains(&true) || span < 2_000 { silent + span } else { 0 };
        longest = longest.max(silent);
    }
    longest
}

/// Whether an end or a program has given up what it had.
fn has_ended(case: &Case) -> bool {
    case.steps.iter().any(|step| match *step {
        Step::Restart(_) | Step::Abort(_) => true,
        Step::Reborn(end) => !case.configs[end].session.keeps,
        _ => false,
    })
}

/// Whether there may have been no path for as long as a session waits.
fn may_expire(case: &Case) -> bool {
    // Beside what is silent: a cut that is learnt of late, a dial in vain, a handshake in vain, the wait after it.
    let unheard = IDLE + ANSWER + ANSWER + ANSWER;
    let late = unheard.max(ms(3_000)) + ms(700) + HANDSHAKE + REDIAL;
    ms(longest_silence(case)) + late >= EXPIRY
}

/// Whether each program gets all that its peer has written, whatever the case does.
fn must_succeed(case: &Case) -> bool {
    !has_ended(case) && !may_expire(case)
}

/// Whether the case has what a program was told, by that time.
fn is_so(case: &Case, reason: Reason, at: Instant) -> bool {
    match reason {
        Reason::Aborted => has_ended(case),
        Reason::NoSuchSession => has_ended(case) || may_expire(case),
        Reason::Expired => (has_ended(case) || may_expire(case)) && at >= Instant::ZERO + EXPIRY,
        _ => false,
    }
}

fn play(case: &Case) -> Result<(), TestCaseError> {
    let mut world = World::new(&case.configs);
    if case.seed.is_multiple_of(2) {
        let faults = Faults { lost: 10, doubled: 20, late: 20 };
        world.beside = Some(Beside::new(faults, case.seed));
    }
    for (number, (_, knows)) in case.sessions.iter().enumerate() {
        world.open(programs(case, number), *knows);
    }
    for step in &case.steps {
        take(&mut world, step);
    }
    for end in [CLIENT, SERVER] {
        world.each(end, End::resume);
    }
    // Who learns of nothing by itself is told by the others' time.
    world.run_for(EXPIRY + EXPIRY + EXPIRY);
    let settled = world.now;
    let must_succeed = must_succeed(case);
    for pair in &world.programs {
        for (end, program) in pair.iter().enumerate() {
            let different: BTreeSet<_> = program.datagrams.iter().collect();
            prop_assert_eq!(different.len(), program.datagrams.len(), "a datagram came twice");
            let peer = &pair[1 - end];
            // A server's program that nobody has told of a session is not one.
            if program.socket.is_none() && !program.is_over() && end == SERVER {
                prop_assert!(peer.failed.is_some(), "{:?}", pair);
                continue;
            }
            prop_assert!(program.is_over(), "it waits still: {:?}", pair);
            if program.is_done {
                prop_assert!(peer.read == program.length || peer.failed.is_some(), "{:?}", pair);
            }
            if must_succeed {
                prop_assert!(program.failed.is_none() && program.read == peer.length, "{:?}", pair);
            }
            if let Some((reason, at)) = program.failed {
                prop_assert!(is_so(case, reason, at), "{:?} at {:?}: {:?}", reason, at, pair);
            }
        }
    }
    for end in [CLIENT, SERVER] {
        let each = case.configs[end].session.most_memory();
        // Of each of its paths a part of a record, and messages of the handshake.
        let most = case.sessions.len() as u64 * (each + 3 * 18_000);
        prop_assert!(world.most_memory[end] <= most, "{} of {}", world.most_memory[end], most);
    }
    world.run_until(settled + Duration::from_secs(60));
    for (end, config) in world.ends.iter().zip(&case.configs) {
        prop_assert_eq!((end.sessions().count(), end.memory()), (0, 0), "nothing is left");
        prop_assert_eq!(end.free(), config.pool, "nor borrowed");
    }
    prop_assert!(world.wires.iter().all(|wire| wire.paths == [None; 2]), "no connection is open");
    Ok(())
}

fn sequences() -> u32 {
    std::env::var("IOSL_SEQUENCES").ok().and_then(|number| number.parse().ok()).unwrap_or(256)
}

#[test]
fn every_octet_comes_once_and_in_order_or_the_program_knows_why() {
    let config =
        ProptestConfig { cases: sequences(), source_file: Some(file!()), ..ProptestConfig::default() };
    let counts = Cell::new((0u32, 0u32));
    let result = TestRunner::new(config).run(&case(), |case| {
        play(&case)?;
        let (all, whole) = counts.get();
        counts.set((all + 1, whole + u32::from(must_succeed(&case))));
        Ok(())
    });
    println!("{} sequences, of which {} had to succeed", counts.get().0, counts.get().1);
    result.unwrap_or_else(|error| panic!("{error}"));
}
