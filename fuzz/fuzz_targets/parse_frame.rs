//! Frames from anywhere: `cargo +nightly fuzz run parse_frame`.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/wire/tests/common/survive.rs"]
mod survive;

fuzz_target!(|data: &[u8]| survive::survive_input(data));
