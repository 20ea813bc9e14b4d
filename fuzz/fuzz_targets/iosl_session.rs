//! What a stranger or a peer says to an end of sessions: `cargo +nightly fuzz run iosl_session`.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/assist/tests/iosl_session/survive.rs"]
mod survive;

fuzz_target!(|data: &[u8]| survive::survive_input(data));
