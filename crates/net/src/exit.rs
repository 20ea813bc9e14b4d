//! What comes out of a link.

use crate::counters::Cause;

/// What comes out of a link. Each accepted handle leaves exactly once, as [`Exit::Delivered`] or [`Exit::Lost`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit<H> {
    /// The packet arrived, perhaps with bit errors.
    Delivered {
        /// Which.
        handle: H,
        /// Whether a checksum would fail.
        corrupted: bool,
    },
    /// A second copy of the packet arrived. The driver clones it; the handle stays with the link and follows.
    Duplicated {
        /// Which to clone.
        handle: H,
        /// Whether a checksum would fail.
        corrupted: bool,
    },
    /// The queue discipline has marked the packet "congestion experienced". The driver sets that in its header; the handle
    /// stays with the link and follows.
    Marked {
        /// Which.
        handle: H,
    },
    /// The packet is gone; the driver may free it.
    Lost {
        /// Which.
        handle: H,
        /// Why: [`Cause::Loss`], [`Cause::Aqm`] or [`Cause::Outage`].
        cause: Cause,
    },
}
