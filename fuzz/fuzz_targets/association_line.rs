//! Lines at the daemon's association socket: `cargo +nightly fuzz run association_line`.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/daemon/tests/association/survive.rs"]
mod survive;

fuzz_target!(|data: &[u8]| survive::survive_input(data));
