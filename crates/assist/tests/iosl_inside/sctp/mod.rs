//! SCTP in UDP.

mod flood;
mod moves;
mod survive;
mod transfer;

use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn whatever_comes_is_survived(octets in prop::collection::vec(any::<u8>(), 0..400)) {
        survive::survive_input(&octets);
    }
}
