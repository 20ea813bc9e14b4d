//! Packets of a hostile peer to an SCTP association in each state: `cargo +nightly fuzz run sctp_association`.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/sctp/tests/hostile/attack.rs"]
mod attack;

fuzz_target!(|data: &[u8]| attack::run(data));
