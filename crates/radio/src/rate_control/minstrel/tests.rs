use super::*;
use crate::airtime::{Band, Format, Guard, TxRate, Width};
use crate::retries::BitErrors;
use handfast_core::Db;

const SET: McsSet = McsSet { format: Format::Vht, width: Width::Mhz80, guard: Guard::Ns400, streams: 2 };

fn minstrel() -> Minstrel {
    Minstrel::new(SET, Aggregation::usual(Format::Vht, Band::Ghz5), Stream::new(1, "minstrel"))
}

/// Sends A-MPDUs of 32 for so long, a millisecond each, over a link with this probability of success for each rate. How many there
/// were, and how many were probes.
fn run(machine: &mut Minstrel, from: u64, millis: u64, success: impl Fn(Mcs) -> f64) -> (u32, u32) {
    let (mut stream, mut failures) = (Stream::new(2, "link"), 0);
    let (mut all, mut probes) = (0, 0);
    for at in from..from + millis {
        let choice = machine.choose(Instant::from_millis(at), failures);
        let sent = if choice.probe { 1 } else { 32 };
        let acknowledged = (0..sent).filter(|_| stream.chance(success(choice.mcs))).count() as u32;
        machine.on_result(choice, sent, acknowledged);
        failures = if acknowledged == 0 { failures + 1 } else { 0 };
        (all, probes) = (all + 1, probes + u32::from(choice.probe));
    }
    (all, probes)
}

fn is(mcs: Mcs, index: u8, streams: u8) -> bool {
    (mcs.index(), mcs.streams()) == (index, streams)
}

#[test]
fn a_perfect_link_comes_to_the_fastest_rate() {
    let mut machine = minstrel();
    assert!(is(machine.best(), 0, 1));
    run(&mut machine, 0, 2_000, |_| 1.0);
    assert!(is(machine.best(), 9, 2), "{:?}", machine.best());
}

#[test]
fn what_does_not_work_is_not_used() {
    let works = |mcs: Mcs| if mcs.index() <= 4 { 1.0 } else { 0.0 };
    let mut machine = minstrel();
    run(&mut machine, 0, 2_000, works);
    assert!(is(machine.best(), 4, 2), "{:?}", machine.best());
    // The link gets worse, and better again.
    run(&mut machine, 2_000, 2_000, |mcs| f64::from(u8::from(mcs.index() <= 1)));
    assert!(is(machine.best(), 1, 2), "{:?}", machine.best());
    run(&mut machine, 4_000, 4_000, works);
    assert!(is(machine.best(), 4, 2), "{:?}", machine.best());
}

#[test]
fn a_fast_rate_with_losses_wins_where_it_carries_more() {
    // Two thirds of 780 Mbit/s are more than all of 390.
    let mut machine = minstrel();
    run(&mut machine, 0, 3_000, |mcs| match mcs.index() {
        0..=4 => 1.0,
        8 => 0.67,
        _ => 0.0,
    });
    assert!(is(machine.best(), 8, 2), "{:?}", machine.best());
    let [best, _, surest] = machine.chain;
    assert!(best != surest && machine.rates[surest].probability() > 0.9);
}

#[test]
fn the_chain_goes_down_with_what_nobody_answers() {
    let mut machine = minstrel();
    run(&mut machine, 0, 3_000, |mcs| match (mcs.index(), mcs.streams()) {
        (0..=4, 1) => 1.0,
        (0..=7, 2) => 0.6,
        _ => 0.0,
    });
    let now = Instant::from_millis(3_000);
    // After an update and a probe.
    machine.choose(now, 0);
    let chain: Vec<Choice> = (1..=9).map(|failures| machine.choose(now, failures)).collect();
    assert!(chain.iter().all(|choice| !choice.probe));
    assert_eq!(chain[0].mcs, machine.best());
    assert_ne!(chain[1].mcs, machine.best());
    assert!(chain[3..].iter().all(|choice| choice.mcs == machine.rates[machine.chain[2]].mcs));
    assert!(machine.rates[machine.chain[2]].probability() > 0.9);
}

#[test]
fn probes_are_at_most_one_in_20_ms_and_single_frames() {
    let mut machine = minstrel();
    let (all, probes) = run(&mut machine, 0, 4_000, |mcs| f64::from(u8::from(mcs.index() <= 4)));
    assert_eq!(all, 4_000);
    assert!((100..=200).contains(&probes), "{probes}");
}

#[test]
fn a_station_that_comes_anew_is_not_known() {
    let mut machine = minstrel();
    run(&mut machine, 0, 2_000, |_| 1.0);
    machine.reset();
    assert!(is(machine.best(), 0, 1));
    assert!(machine.rates.iter().all(|rate| rate.probability() <= 0.0));
}

#[test]
fn it_comes_near_the_best_rate_of_a_signal() {
    // 20 dB: what each rate carries is known; Minstrel's choice carries nine tenths of the best.
    for db in [8, 12, 16, 20, 24, 28, 32] {
        let success =
            |mcs: Mcs| 1.0 - BitErrors::at(TxRate::Mcs(mcs), Db(db * 1_000)).unwrap().in_frame(12_304);
        let carries = |mcs: Mcs| success(mcs) * mcs.bit_rate().as_bps() as f64;
        let mut machine = minstrel();
        run(&mut machine, 0, 5_000, success);
        let most = SET.all().map(carries).fold(0.0, f64::max);
        let got = carries(machine.best());
        assert!(got >= 0.9 * most, "{db} dB: {:?} carries {got}, not {most}", machine.best());
    }
}

#[test]
fn equal_seeds_choose_alike() {
    let choices = |seed| {
        let mut machine =
            Minstrel::new(SET, Aggregation::usual(Format::Vht, Band::Ghz5), Stream::new(seed, "minstrel"));
        (0..1_000).map(|at| machine.choose(Instant::from_millis(at), 0)).collect::<Vec<_>>()
    };
    assert_eq!(choices(1), choices(1));
    assert_ne!(choices(1), choices(2));
}
