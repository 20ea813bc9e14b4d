//! An application that opens a new connection after an error, and goes on with the bytes that were not acknowledged.
//!
//! Both ends know at which byte the new connection begins. A real protocol would say it in a few bytes of its own.

use handfast_core::{Bytes, Duration};
use handfast_tcp::Death;

use super::source::Allowance;
use super::{bulk, transfer};

pub(super) fn allowance(size: Option<Bytes>) -> Allowance {
    size.map_or_else(bulk::allowance, transfer::allowance)
}

/// Whether it tries again after such an end: after all that it has not brought about itself.
pub(super) fn tries_again(death: Death) -> bool {
    death != Death::Aborted
}

pub(super) fn check(after: Duration) -> Result<(), String> {
    if after == Duration::ZERO {
        return Err("reconnects without a pause".to_owned());
    }
    Ok(())
}
