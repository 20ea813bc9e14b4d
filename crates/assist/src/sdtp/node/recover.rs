//! What a retransmission node does with parity: a packet that it brings back is as good as an RD.

use handfast_core::Instant;
use handfast_net::Outbox;
use handfast_wire::sdtp::{Message, Parity, Repeat, Stream};

use super::{Functions, Node};
use crate::View;
use crate::sdtp::convert::Outer;
use crate::sdtp::detection::Extent;
use crate::sdtp::edge::Arrived;
use crate::sdtp::requests::RepeatOf;

impl Node {
    /// PD has come to the node whose request it goes with.
    pub(super) fn recover(
        &mut self,
        now: Instant,
        stream: &Stream,
        functions: Functions,
        view: &View<'_>,
        parity: &Parity,
        out: &mut Outbox,
    ) {
        let Some((number, data)) = self.lately.recover(stream, parity) else { return };
        let Some(extent) = Extent::of(number, &data) else { return };
        self.counters.recovered += 1;
        let &Parity { trigger, timestamp, start, .. } = parity;
        let answers = RepeatOf { trigger, start, start_num: 0, timestamp };
        let round_trip = functions.round_trip;
        self.detection.on_data(now, stream, extent, Some(&answers), round_trip, &mut self.outputs);
        self.send_outputs(now, stream, out);
        self.lately.on_data(now, stream, extent, &data);
        let ends_here = view.dst == self.address;
        if functions.caching {
            self.cache(now, stream, extent, view.ip_len, (!ends_here).then_some(&data));
        }
        if ends_here {
            let arrived = Arrived { sequence: number, outer: Outer::of(&view.to_packet()), repeat: true };
            self.revert(now, stream, arrived, data, out);
        } else {
            self.counters.repeats += 1;
            let repeat = Repeat { trigger, start, start_num: 0, timestamp, data };
            self.seal_and_send(stream, number, Message::Repeat(repeat), out);
        }
    }
}
