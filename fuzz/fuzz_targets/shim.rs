//! Packets of nodes that protect others between them, from anywhere: `cargo +nightly fuzz run shim`.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/assist/tests/shim/survive.rs"]
mod survive;

fuzz_target!(|data: &[u8]| survive::survive_input(data));
