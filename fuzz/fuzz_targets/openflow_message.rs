//! OpenFlow messages and streams from anywhere: `cargo +nightly fuzz run openflow_message`.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/wire/tests/openflow/survive.rs"]
mod survive;

fuzz_target!(|data: &[u8]| survive::survive_input(data));
