//! An application that sends so many bytes, then closes.

use handfast_core::Bytes;

use super::Description;

pub(super) fn description(size: Bytes) -> Description {
    Description { total: Some(size), ..Description::default() }
}
