//! The last packets of each stream at a retransmission node: what parity over them needs to bring one back.

use std::collections::VecDeque;

use handfast_core::{Instant, SeqNum};
use handfast_wire::sdtp::{Data, Parity, Stream};

use super::detection::Extent;
use crate::recent::Recent;

/// Packets of a stream: those of the longest parity, and as many that have come since.
const MOST: usize = 2 * Parity::MOST;

/// Streams whose packets are kept: with full packets 50 MB.
const MOST_STREAMS: usize = 1_024;

/// The last packets, by stream, each as the last to come.
#[derive(Debug)]
pub(super) struct Lately(Recent<VecDeque<(SeqNum, Data)>, Stream>);

impl Lately {
    pub(super) fn new(most: usize) -> Self {
        Self(Recent::new(most.min(MOST_STREAMS)))
    }

    /// Data has come.
    pub(super) fn on_data(&mut self, now: Instant, stream: &Stream, extent: Extent, data: &Data) {
        let place = self.0.find(stream).unwrap_or_else(|| {
            if let Some(silent) = self.0.in_the_way() {
                self.0.remove(&silent);
            }
            self.0.insert(now, *stream, VecDeque::new())
        });
        let packets = self.0.touch(now, place);
        if packets.iter().any(|(number, _)| *number == extent.seq) {
            return;
        }
        if packets.len() >= MOST {
            packets.pop_front();
        }
        packets.push_back((extent.seq, data.clone()));
    }

    /// The packet that parity brings back, with its number.
    pub(super) fn recover(&mut self, stream: &Stream, parity: &Parity) -> Option<(SeqNum, Data)> {
        let place = self.0.find(stream)?;
        let within =
            |(number, _): &&(SeqNum, Data)| !number.before(parity.start) && number.before(parity.end);
        let mut there: Vec<_> =
            self.0.get_mut(place).iter().filter(within).map(|(number, data)| (*number, data)).collect();
        there.sort_by_key(|(number, _)| number.distance(parity.start));
        parity.recover(&there)
    }
}
