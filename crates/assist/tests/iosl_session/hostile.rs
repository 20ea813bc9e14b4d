//! Octets from anywhere.

use std::fs;
use std::path::Path;

use handfast_assist::iosl::end::{Config, End};
use handfast_assist::iosl::frame::{Frame, Reason, Target, Windows, emitted};
use handfast_assist::iosl::ids::Connection;
use handfast_core::Duration;
use proptest::prelude::*;

use crate::memory::NOW;
use crate::survive::survive_input;
use crate::survive_datagrams::survive_datagrams;
use crate::survive_saved::survive_saved;
use crate::world::{CLIENT, SERVER, identity, keys};

/// Frames that are plausible: small offsets, as a peer that is almost honest sends.
fn frame() -> impl Strategy<Value = Frame> {
    let small = || 0u64..40;
    prop_oneof![
        4 => (small(), 1usize..40).prop_map(|(offset, len)| Frame::Data { offset, bytes: vec![7; len].into() }),
        3 => (small(), 0u64..1 << 20).prop_map(|(offset, credit)| Frame::Ack { offset, credit }),
        1 => small().prop_map(|offset| Frame::Fin { offset }),
        1 => Just(Frame::Suspend),
        1 => Just(Frame::Continue),
        1 => Just(Frame::Expire),
        2 => Just(Frame::Ping),
        1 => Just(Frame::Reset(Reason::Aborted)),
        1 => (0usize..16_000).prop_map(|len| Frame::Datagram(vec![7; len].into())),
        1 => any::<u64>().prop_map(|number| {
            Frame::Windows(Windows { cwnd: number, rwnd: number, rtt: Duration::ZERO })
        }),
    ]
}

fn record(octets: Vec<u8>) -> Vec<u8> {
    let mut record = (octets.len() as u16).to_be_bytes().to_vec();
    record.extend(octets);
    record
}

#[test]
fn the_seeds_of_the_fuzz_target_are_survived() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/iosl_session");
    let seeds: Vec<_> =
        fs::read_dir(corpus).unwrap().map(|seed| fs::read(seed.unwrap().path()).unwrap()).collect();
    assert!(seeds.len() >= 10);
    for seed in seeds {
        survive_input(&seed);
    }
}

/// What an end writes down of a session that has just begun.
fn saved() -> Vec<u8> {
    let mut config = Config::default();
    config.session.keeps = true;
    let mut end = End::new(identity(CLIENT, 0), config);
    let application = end.open_application().unwrap();
    let connection = Connection::Tcp([([192, 0, 2, 1], 40_000).into(), ([192, 0, 2, 9], 22).into()]);
    let target = Target::new("server.example", 22).unwrap();
    let key = Some(keys(SERVER).public());
    let socket = end.open(NOW, application, connection, target, key).unwrap();
    end.saved(socket).unwrap().emit()
}

proptest! {
    #[test]
    fn any_octets_that_were_written_down_are_survived(data in prop::collection::vec(any::<u8>(), 0..600)) {
        survive_saved(&data);
    }

    #[test]
    fn any_change_of_what_was_written_down_is_survived(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4)) {
        let mut octets = saved();
        for (place, octet) in changes {
            let place = place.index(octets.len());
            octets[place] = octet;
        }
        survive_saved(&octets);
    }

    #[test]
    fn datagrams_in_any_order_come_once(data in prop::collection::vec(any::<u8>(), 0..400)) {
        survive_datagrams(&data);
    }

    #[test]
    fn any_octets_are_survived(data in prop::collection::vec(any::<u8>(), 0..3_000)) {
        survive_input(&data);
    }

    #[test]
    fn any_connection_is_survived(pattern in 0u8..4, records in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 0..5)) {
        let mut data = b"\0hfiosl\x01".to_vec();
        data.push(pattern);
        data.extend(records.into_iter().flat_map(record));
        survive_input(&data);
    }

    #[test]
    fn any_frames_are_survived(records in prop::collection::vec(prop::collection::vec(frame(), 0..6), 0..12)) {
        let mut data = vec![1];
        data.extend(records.iter().flat_map(|frames| record(emitted(frames))));
        survive_input(&data);
    }
}

/// Whose peer has not said by which name it is dialled: there was a time to dial that never passed. The fuzzer found it.
#[test]
fn a_saved_session_whose_peer_cannot_be_dialled_has_an_end() {
    let octets = b"\x01\x7a\x01\x2c\xde\x00\x00\x00\x00\x00\x00\x00\x00\x01\x32\x00\x00\x00\x02\x00\x00\x00\x01\x7a\x01\x2c\xde\x00\x00\x00\x00\x00\x00\x00\x00\x01\x32\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\xde\x00\x00\x00\x00\xde\x00\xde\xde\xde\xaa\xde\xd6\x00\x00\x00\x00\x00\x00\x00\x00\x01\x31\x01\x32";
    super::survive_saved::survive_saved(octets);
}
