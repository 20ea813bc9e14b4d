//! What a process of before is said to have written down of a session: `cargo +nightly fuzz run iosl_saved`.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/assist/tests/iosl_session/survive_saved.rs"]
mod survive_saved;

fuzz_target!(|data: &[u8]| survive_saved::survive_saved(data));
