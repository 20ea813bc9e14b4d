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
mod regressions;
mod strategy;
mod world;

use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 300,
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
