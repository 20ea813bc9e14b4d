//! The streams of flows: each of the connections that a flow has at once carries one.
//!
//! A stream's number names its bytes (`Payload::Synthetic`), so that bytes that arrive by the wrong connection are noticed. Where
//! no flow has several connections at once, a stream has the number of its flow.

use std::ops::Range;

use handfast_scenario::{App, FlowId, Scenario};

/// A stream by its number.
pub type StreamId = u32;

/// Which streams each flow has.
#[derive(Clone, Debug)]
pub struct Streams {
    /// For each flow its first one, and after them how many there are.
    first: Vec<StreamId>,
}

impl Streams {
    /// Those of a scenario's flows, in order.
    pub fn of(scenario: &Scenario) -> Self {
        Self::new(scenario.flows.iter().map(|flow| flow.connections))
    }

    /// For each flow so many.
    pub fn new(counts: impl IntoIterator<Item = u32>) -> Self {
        let mut first = vec![0];
        let mut next = 0;
        first.extend(counts.into_iter().map(|count| {
            next += count;
            next
        }));
        Self { first }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.first.last().map_or(0, |&count| count as usize)
    }

    /// Those of a flow.
    pub fn of_flow(&self, flow: FlowId) -> Range<StreamId> {
        self.first[flow]..self.first[flow + 1]
    }

    /// The flow that a stream is of.
    pub fn flow(&self, stream: StreamId) -> FlowId {
        self.first.partition_point(|&first| first <= stream) - 1
    }

    /// Each stream of a flow, and what of the flow's data it carries.
    pub fn shares(&self, scenario: &Scenario, flow: FlowId) -> impl Iterator<Item = (StreamId, App)> + use<> {
        let (app, streams) = (scenario.flows[flow].app, self.of_flow(flow));
        let count = streams.len() as u32;
        (0..).zip(streams).map(move |(index, stream)| (stream, app.share(index, count)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Net;
    use handfast_core::Bytes;

    #[test]
    fn streams_are_numbered_in_the_order_of_flows() {
        let streams = Streams::new([1, 3, 1]);
        assert_eq!((streams.of_flow(0), streams.of_flow(1), streams.of_flow(2)), (0..1, 1..4, 4..5));
        assert_eq!([0, 1, 2, 3, 4].map(|stream| streams.flow(stream)), [0, 1, 1, 1, 2]);
        assert_eq!(streams.count(), 5);
        assert_eq!(Streams::new([]).count(), 0);
    }

    #[test]
    fn the_streams_of_a_flow_share_its_data() {
        let mut scenario = Net::new("hh").link(0, 1).bulk(0, 1).bulk(0, 1).build();
        scenario.flows[1].connections = 3;
        scenario.flows[1].app = App::Transfer(Bytes(7));
        let streams = Streams::of(&scenario);
        let shares = |flow| streams.shares(&scenario, flow).collect::<Vec<_>>();
        assert_eq!(shares(0), [(0, App::Bulk)]);
        assert_eq!(shares(1), [(1, 3), (2, 2), (3, 2)].map(|(id, size)| (id, App::Transfer(Bytes(size)))));
    }
}
