//! What comes beside a path of a session, from its peer in any order and from anybody: `cargo +nightly fuzz run iosl_datagrams`.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/assist/tests/iosl_session/survive_datagrams.rs"]
mod survive_datagrams;

fuzz_target!(|data: &[u8]| survive_datagrams::survive_datagrams(data));
