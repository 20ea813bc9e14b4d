//! The rates of the amendments of 802.11.

use handfast_core::BitRate;
use handfast_radio::airtime::Rate;

use crate::file::{AirTable, Standard};

/// The rates of a standard; 802.11g has those of 802.11b too.
pub(super) fn rates(standard: Standard) -> impl Iterator<Item = Rate> {
    Rate::ALL.into_iter().filter(move |rate| standard != Standard::B || !rate.is_ofdm())
}

/// The fastest rate of a table's standard.
pub(super) fn fastest(table: &AirTable) -> BitRate {
    rates(table.standard.0).map(Rate::bit_rate).max().unwrap_or_default()
}
