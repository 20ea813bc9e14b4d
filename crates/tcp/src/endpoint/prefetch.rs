//! Fetching an endpoint from memory before it is needed, for drivers of thousands of connections.
//!
//! Its fields stand in the order of who touches them: first what only receivers do, then what every segment does, then what
//! only senders do. A driver names what comes; which bytes that touches stays in this crate.

use std::mem::offset_of;
use std::ops::Range;

use handfast_core::prefetch::{CACHE_LINE, prefetch};

use super::Endpoint;
use crate::receive::receiver::Receiver;
use crate::send::sender::Sender;

/// What will touch an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touch {
    /// A segment with data, which it answers.
    Segment,
    /// An acknowledgment of its data, which may let it send more; or its timer, while it sends.
    Acknowledgment,
}

impl Endpoint {
    /// Fetches what `touch` will need. A hint: what is not fetched is only slower. The endpoint should begin a cache line.
    #[inline]
    pub fn prefetch(&self, touch: Touch) {
        let bytes = touch.bytes();
        prefetch(Some(&self.rx.fin), bytes.start / CACHE_LINE..bytes.end.div_ceil(CACHE_LINE));
    }
}

impl Touch {
    /// The bytes of an endpoint that it touches.
    const fn bytes(self) -> Range<usize> {
        match self {
            Self::Segment => 0..offset_of!(Endpoint, tx) + Sender::SHARED,
            Self::Acknowledgment => {
                offset_of!(Endpoint, rx) + Receiver::ONLY_RECEIVING..size_of::<Endpoint>()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fetches_what_both_touch_and_leaves_out_what_only_the_other_does() {
        let [segment, acknowledgment] = [Touch::Segment, Touch::Acknowledgment].map(Touch::bytes);
        for shared in [
            offset_of!(Endpoint, rx.ts_recent),
            offset_of!(Endpoint, config),
            offset_of!(Endpoint, timers),
            offset_of!(Endpoint, counters),
            offset_of!(Endpoint, tx.una),
        ] {
            assert!(segment.contains(&shared) && acknowledgment.contains(&shared), "{shared}");
        }
        let of_receivers = offset_of!(Endpoint, rx.fin);
        assert!(segment.contains(&of_receivers) && !acknowledgment.contains(&of_receivers));
        for of_senders in [offset_of!(Endpoint, tx.cc), offset_of!(Endpoint, spurious)] {
            assert!(!segment.contains(&of_senders) && acknowledgment.contains(&of_senders), "{of_senders}");
        }
    }
}
