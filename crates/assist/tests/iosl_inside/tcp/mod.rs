//! TCP in UDP.

mod beside;
mod flood;
mod survive;
mod transfer;

use handfast_assist::iosl::inside::{InsideId, Kind};
use proptest::prelude::*;

use crate::world::{World, own};

/// A new connection, whose SYN takes this along.
fn open(world: &mut World, first: &[u8]) -> InsideId {
    let id = world.open(Kind::Tcp, &[own(1)]);
    assert_eq!(world.client.write(id, first), first.len());
    id
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// Of no connection, or of one whose number was guessed.
    #[test]
    fn datagrams_beside_no_connection_are_survived(numbers in prop::collection::vec((0_u8..3, 0_usize..200), 1..12)) {
        let mut input = Vec::new();
        for (number, len) in numbers {
            let datagram = [&[0x15, 0, 0, 0, 0, 0, 0, number][..], &vec![number; len]].concat();
            input.push(datagram.len() as u8);
            input.extend(datagram);
        }
        survive::survive_input(&input);
    }

    #[test]
    fn whatever_comes_is_survived(octets in prop::collection::vec(any::<u8>(), 0..400)) {
        survive::survive_input(&octets);
    }

    /// Of a right form, with fields that are not.
    #[test]
    fn segments_of_strangers_are_survived(
        kinds in prop::collection::vec((0_u8..5, 0_u8..3, 0_u8..0x40, 5_u8..16, any::<u32>(), any::<u16>()), 1..12),
    ) {
        let mut input = Vec::new();
        for (kind, number, flags, offset, sequence, window) in kinds {
            let mut datagram = vec![0x10 | kind, 0, 0, 0, 0, 0, 0, number];
            datagram.extend(vec![number; if kind & 5 == 0 { 0 } else { 8 }]);
            datagram.extend(sequence.to_be_bytes());
            datagram.extend(sequence.wrapping_add(1).to_be_bytes());
            datagram.extend([offset << 4, flags]);
            datagram.extend(window.to_be_bytes());
            datagram.extend([1; 60]);
            input.push(datagram.len() as u8);
            input.extend(datagram);
        }
        survive::survive_input(&input);
    }
}
