//! SCTP packets from anywhere: `cargo +nightly fuzz run sctp_packet`.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/wire/tests/sctp/survive.rs"]
mod survive;

fuzz_target!(|data: &[u8]| survive::survive_input(data));
