//! An application that opens a new connection after an error, and goes on with the bytes that were not acknowledged.
//!
//! Both ends know at which byte the new connection begins. A real protocol would say it in a few bytes of its own.

use handfast_core::{Bytes, Duration};
use handfast_tcp::Death;

use super::Description;

pub(super) fn description(size: Option<Bytes>, after: Duration) -> Description {
    let problem = (after == Duration::ZERO).then(|| "reconnects without a pause".to_owned());
    Description { total: size, reconnects: Some(after), problem, ..Description::default() }
}

/// Whether it tries again after such an end: after all that it has not brought about itself.
pub(super) fn tries_again(death: Death) -> bool {
    death != Death::Aborted
}
