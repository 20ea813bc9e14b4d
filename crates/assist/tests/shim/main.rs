//! Agents that protect packets between nodes survive whatever a peer sends.

mod survive;

use proptest::prelude::*;

use survive::survive_input;

/// A packet of a peer: kind, index, checksum, number near the first ones or far away, and the rest.
fn packet() -> impl Strategy<Value = Vec<u8>> {
    let number = prop_oneof![0_u32..300, any::<u32>()];
    (0_u8..7, 0_u8..3, number, prop::collection::vec(0_u8..8, 0..100)).prop_map(
        |(kind, index, number, rest)| {
            let mut bytes = vec![kind, if kind == 2 { index } else { 0 }, 0, 0];
            bytes.extend(number.to_be_bytes());
            bytes.extend(rest);
            let even = bytes.len() - (bytes.len() + 1) % 2;
            bytes.truncate(even);
            bytes.insert(0, bytes.len() as u8);
            bytes
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn what_a_peer_sends_is_survived(
        kind in 0_u8..3,
        packets in prop::collection::vec(prop_oneof![3 => packet(), 1 => Just(vec![0])], 0..120)
    ) {
        survive_input(&[vec![kind], packets.concat()].concat());
    }

    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        survive_input(&bytes);
    }
}
