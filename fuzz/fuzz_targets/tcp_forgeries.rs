//! Forged segments to a TCP endpoint in each state: `cargo +nightly fuzz run tcp_forgeries`. The interpreter is that of
//! `crates/tcp/tests/fuzz`.

#![no_main]
#![allow(dead_code, reason = "each target uses its part of the interpreter")]

use arbitrary::{Arbitrary, Unstructured};
use libfuzzer_sys::fuzz_target;

#[path = "../../crates/tcp/tests/fuzz/case.rs"]
mod case;
#[path = "../../crates/tcp/tests/fuzz/hop.rs"]
mod hop;
#[path = "../../crates/tcp/tests/fuzz/hostile.rs"]
mod hostile;
#[path = "../../crates/tcp/tests/fuzz/inject.rs"]
mod inject;
#[path = "../../crates/tcp/tests/fuzz/ledger.rs"]
mod ledger;
#[path = "../../crates/tcp/tests/fuzz/limits.rs"]
mod limits;
#[path = "../../crates/tcp/tests/fuzz/ranges.rs"]
mod ranges;
#[path = "../../crates/tcp/tests/fuzz/reach.rs"]
mod reach;
#[path = "../../crates/tcp/tests/fuzz/verdict.rs"]
mod verdict;
#[path = "../../crates/tcp/tests/fuzz/world.rs"]
mod world;

fuzz_target!(|data: &[u8]| {
    if let Ok(attack) = hostile::Attack::arbitrary_take_rest(Unstructured::new(data)) {
        hostile::run(&attack);
    }
});
