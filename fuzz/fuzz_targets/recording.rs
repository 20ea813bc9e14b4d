//! Recorded movement: `cargo +nightly fuzz run recording`.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/radio/tests/recording/survive.rs"]
mod survive;

fuzz_target!(|data: &[u8]| survive::survive_input(data));
