//! An application that always has data to send.

use super::Description;

pub(super) fn description() -> Description {
    Description::default()
}
