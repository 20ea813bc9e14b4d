//! A conversation with a real Open vSwitch, told again.
//!
//! `data/open-vswitch.jsonl` was recorded in the lab with Open vSwitch 3.1.0 (userspace datapath) between two kernels' TCP: a
//! station goes from one
//! access point to the other over a gap of two seconds, amid a transfer.

use handfast_assist::sdn::Controller;
use handfast_daemon::config::Settings;
use handfast_daemon::recording::{Difference, Recording};
use handfast_document::testing::edited;

const RECORDED: &str = include_str!("data/open-vswitch.jsonl");

fn replay(config: &str) -> (Result<usize, Difference>, Controller) {
    let recording = Recording::read(RECORDED.as_bytes()).unwrap();
    let mut controller = Controller::new(Settings::parse(config, "the recording").unwrap().controller);
    (recording.replay(&mut controller), controller)
}

fn config() -> String {
    Recording::read(RECORDED.as_bytes()).unwrap().config().to_owned()
}

#[test]
fn a_conversation_with_open_vswitch_has_the_same_outcome() {
    let (same, controller) = replay(&config());
    assert_eq!(same.map_err(|difference| difference.to_string()), Ok(44));
    let counters = controller.counters();
    assert_eq!((counters.mid_connection, counters.held, counters.released), (1, 13, 13));
    assert_eq!(counters.duplicates, 1, "a retransmission that came while its segment was held");
    assert_eq!(controller.held().0, 0);
}

/// The control: what is decided otherwise shows.
#[test]
fn another_controller_is_told_apart() {
    for (old, new) in [
        ("release = {rate = \"3Mbit/s\", burst = \"3kB\"}", "release = \"unpaced\""),
        ("rate = \"3Mbit/s\"", "rate = \"2Mbit/s\""),
        ("mode = \"act\"", "mode = \"observe\""),
        ("mode = \"act\"", "mode = \"act\"\npolicy = \"bare\""),
        ("port = 3", "port = 4"),
    ] {
        assert!(replay(&edited(&config(), old, new)).0.is_err(), "{new}");
    }
}
