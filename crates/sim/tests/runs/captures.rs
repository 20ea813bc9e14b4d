//! Captures hold what a node saw.

use std::path::PathBuf;

use crate::support::{OUTAGE, bytes, with};
use handfast_sim::{Options, RunError};

/// A directory of its own for a test.
fn fresh(name: &str) -> PathBuf {
    let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).unwrap();
    dir
}

/// How many blocks of each type a pcapng file has: section, interface, packet.
fn blocks(file: &[u8]) -> [usize; 3] {
    let (mut rest, mut count) = (file, [0; 3]);
    let word = |bytes: &[u8], at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    while !rest.is_empty() {
        let kind = [0x0a0d_0d0a, 1, 6].iter().position(|&kind| kind == word(rest, 0)).expect("a known type");
        count[kind] += 1;
        rest = &rest[word(rest, 4) as usize..];
    }
    count
}

#[test]
fn a_capture_has_a_block_for_each_packet_a_node_sees() {
    let scenario = with(&format!("capture = [\"ap\", \"phone\"]\n{OUTAGE}"), "");
    let dir = fresh("captures");
    let options = Options { seed: 1, capture_dir: Some(dir.clone()), ..Options::default() };
    let (captured, _) = bytes(&scenario, "sack", &options);
    let (plain, _) = bytes(&scenario, "sack", &Options { seed: 1, ..Options::default() });
    assert_eq!(captured, plain, "a capture changes nothing");
    let result = crate::support::result(&scenario, "sack", 1);
    let ap = blocks(&std::fs::read(dir.join("ap.pcapng")).unwrap());
    let phone = blocks(&std::fs::read(dir.join("phone.pcapng")).unwrap());
    assert_eq!((ap[..2].to_vec(), phone[..2].to_vec()), (vec![1, 2], vec![1, 1]));
    // Each hop ends at one of the three nodes, and two thirds of what there is passes the access point twice.
    let (hops, packets) = (result.packet_hops.unwrap(), result.packets.unwrap());
    assert!(ap[2] as u64 > hops && phone[2] as u64 > packets / 2, "{ap:?} {phone:?}");
}

#[test]
fn a_directory_that_is_not_there_is_an_error_that_names_the_file() {
    let scenario = with(&format!("capture = [\"ap\"]\n{OUTAGE}"), "");
    let dir = fresh("none").join("missing");
    let options = Options { seed: 1, capture_dir: Some(dir), ..Options::default() };
    let control = handfast_sim::Control::new();
    let scheme = scenario.scheme("sack").unwrap();
    let error = handfast_sim::run(&scenario, scheme, &options, &control, &mut handfast_sim::series::NoSeries);
    let error = error.unwrap_err();
    assert!(matches!(error, RunError::Capture { .. }));
    assert!(error.to_string().contains("ap.pcapng"), "{error}");
}
