//! What anybody sends to a socket of SCTP in UDP: `cargo +nightly fuzz run iosl_sctp`.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/assist/tests/iosl_inside/sctp/survive.rs"]
mod survive;

fuzz_target!(|data: &[u8]| survive::survive_input(data));
