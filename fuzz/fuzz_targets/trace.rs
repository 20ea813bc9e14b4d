//! Traces of links: `cargo +nightly fuzz run trace`.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/net/tests/trace_text/survive.rs"]
mod survive;

fuzz_target!(|data: &[u8]| survive::survive_input(data));
