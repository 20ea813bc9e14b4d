//! The connection's octets: those that the application has written, and those that came. Positions count from 0, the first octet of
//! data; on the wire it has the initial data sequence number and one.

mod receive;
mod send;

pub(crate) use receive::DataReceiver;
pub(crate) use send::{DataSender, Piece};

/// The position of a data sequence number, where `first` is that of position 0; negative: from before it.
pub(crate) fn position(number: u64, first: u64) -> i64 {
    number.wrapping_sub(first) as i64
}
