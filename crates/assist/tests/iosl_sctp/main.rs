//! SCTP in UDP below sessions: two ends, and a network that loses, doubles and delays.

mod flood;
mod moves;
mod survive;
mod transfer;
mod world;

use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn whatever_comes_is_survived(octets in prop::collection::vec(any::<u8>(), 0..400)) {
        survive::survive_input(&octets);
    }
}
