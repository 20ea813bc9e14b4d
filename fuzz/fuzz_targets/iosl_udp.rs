//! What anybody sends to a socket of TCP in UDP: `cargo +nightly fuzz run iosl_udp`.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/assist/tests/iosl_inside/tcp/survive.rs"]
mod survive;

fuzz_target!(|data: &[u8]| survive::survive_input(data));
