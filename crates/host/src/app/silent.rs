//! An application that opens its connection, sends nothing, and keeps it open: what remains is the set-up of the connection.

use handfast_core::Bytes;

use super::Description;

pub(super) fn description() -> Description {
    Description { total: Some(Bytes(0)), stays: true, ..Description::default() }
}
