//! What SDTP's controller and nodes tell each other, from anywhere: `cargo +nightly fuzz run sdtp_control`.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/assist/tests/sdtp_node/survive.rs"]
mod survive;

fuzz_target!(|data: &[u8]| survive::survive_input(data));
