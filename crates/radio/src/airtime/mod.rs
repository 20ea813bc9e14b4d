//! Airtime: how long the frames of 802.11 b, g, n, ac and ax take.

mod band;
mod exchange;
mod mcs;
mod ppdu;
mod rate;
mod tx_rate;

pub use band::Band;
pub use exchange::{Exchange, Physical, Preamble, Slots};
pub(crate) use mcs::Coding;
pub use mcs::{Format, Guard, Mcs, McsSet, Width};
pub use ppdu::LONGEST;
pub use rate::{Rate, Rates};
pub use tx_rate::{TxRate, TxRates};
