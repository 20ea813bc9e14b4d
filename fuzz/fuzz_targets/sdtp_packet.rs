//! SDTP packets from anywhere: `cargo +nightly fuzz run sdtp_packet`.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/wire/tests/sdtp/survive.rs"]
mod survive;

fuzz_target!(|data: &[u8]| survive::survive_input(data));
