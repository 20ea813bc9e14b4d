//! Every algorithm, every mishap, together: two endpoints over a wire that does its worst (`world`), watched by a referee
//! (`ledger`). The same interpreter serves proptest here and cargo-fuzz (`fuzz/fuzz_targets/tcp_operations.rs`).
#![allow(unreachable_pub, missing_docs, reason = "test code")]

mod case;
mod hop;
mod hostile;
mod inject;
mod ledger;
mod limits;
mod ranges;
mod reach;
mod regressions;
mod strategy;
mod verdict;
mod world;

use std::fs;
use std::path::Path;

use arbitrary::{Arbitrary as _, Unstructured};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

use crate::case::Case;
use crate::hostile::Attack;

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 1000,
        // Seeds of failures stay beside the code; the smallest case of each becomes a test in `regressions`.
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct("tests/fuzz/seeds.txt"))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_octet_arrives_or_the_outage_was_too_long(case in strategy::case()) {
        world::run(&case);
    }

    #[test]
    fn forged_segments_do_no_harm(attack in strategy::attack()) {
        hostile::run(&attack);
    }
}

/// The referee asks those who say that nothing follows ([`world::World`]), and some do: a sender whose window is full, and a receiver.
#[test]
fn both_ends_say_that_nothing_follows() {
    let ops = vec![case::Op::Write { side: case::Side::Client, len: 60_000, real: false }];
    let world = world::run(&Case { setup: case::Setup::default(), ops });
    assert!(world.ends.iter().all(|end| end.spent > 10), "{:?}", world.ends.map(|end| end.spent));
}

/// What cargo-fuzz has found worth keeping: inputs that reach what others do not.
#[test]
fn the_fuzzer_s_corpora_are_survived() {
    let each = |target: &str, run: &dyn Fn(Unstructured)| {
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
        let inputs: Vec<_> = fs::read_dir(&corpus).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert!(!inputs.is_empty(), "{} is empty", corpus.display());
        for input in inputs {
            run(Unstructured::new(&fs::read(input).unwrap()));
        }
    };
    each("tcp_operations", &|input| {
        if let Ok(case) = Case::arbitrary_take_rest(input) {
            world::run(&case);
        }
    });
    each("tcp_forgeries", &|input| {
        if let Ok(attack) = Attack::arbitrary_take_rest(input) {
            hostile::run(&attack);
        }
    });
}
