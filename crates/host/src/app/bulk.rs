//! An application that always has data to send.

use super::source::Allowance;

pub(super) fn allowance() -> Allowance {
    Allowance { bytes: u64::MAX, is_last: false, paced: None }
}
