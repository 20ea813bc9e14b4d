//! An application that sends so many bytes, then closes.

use handfast_core::Bytes;

use super::source::Allowance;

pub(super) fn allowance(size: Bytes) -> Allowance {
    Allowance { bytes: size.get(), is_last: true, paced: None }
}
