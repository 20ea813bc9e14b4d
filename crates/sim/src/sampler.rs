//! Looks at flows and queues at regular times and hands out what it saw.

use handfast_core::{Duration, Instant};
use handfast_net::Occupancy;

use crate::RunError;
use crate::network::Network;
use crate::series::{FLOWS, QUEUES, Rows, SeriesSink, Value};
use crate::side::{Role, Side};

/// The last two samples of one direction of a link.
#[derive(Clone, Copy)]
struct Seen {
    queue: Occupancy,
    at: Instant,
    /// Whether the row for it was left out so far.
    left_out: bool,
}

pub(crate) struct Sampler<'a> {
    interval: Duration,
    /// Payload bytes of a full segment.
    segment: f32,
    seen: Vec<Option<Seen>>,
    flows: Rows,
    queues: Rows,
    sink: &'a mut dyn SeriesSink,
}

impl<'a> Sampler<'a> {
    pub(crate) fn new(
        interval: Duration,
        segment: u64,
        channels: usize,
        sink: &'a mut dyn SeriesSink,
    ) -> Self {
        let (flows, queues) = (Rows::new(FLOWS), Rows::new(QUEUES));
        Self { interval, segment: segment as f32, seen: vec![None; channels], flows, queues, sink }
    }

    /// Samples everything; returns when to sample next.
    pub(crate) fn sample(&mut self, now: Instant, network: &mut Network) -> Result<Instant, RunError> {
        for (flow, pair) in (0..).zip(network.sides.chunks_exact(2)) {
            self.sample_flow(now, flow, &pair[0], &pair[1]);
        }
        for (id, channel) in network.channels.iter_mut().enumerate() {
            let queue = channel.link.queue(now);
            self.sample_queue(now, id, queue);
        }
        self.hand_out(false)?;
        Ok(now + self.interval)
    }

    fn sample_flow(&mut self, now: Instant, flow: u32, sender: &Side, receiver: &Side) {
        let (Some(endpoint), None, Role::Receiver(sink)) = (sender.endpoint(), sender.ending, &receiver.role)
        else {
            return;
        };
        let snapshot = endpoint.snapshot(now);
        let packets = |bytes: u64| bytes as f32 / self.segment;
        let ssthresh = if snapshot.ssthresh == u64::MAX { f32::NAN } else { packets(snapshot.ssthresh) };
        let srtt = if snapshot.srtt == Duration::ZERO { f32::NAN } else { seconds(snapshot.srtt) };
        self.flows.push([
            Value::F64(now.as_secs_f64()),
            Value::U32(flow),
            Value::F32(packets(snapshot.cwnd)),
            Value::F32(ssthresh),
            Value::F32(srtt),
            Value::F32(seconds(snapshot.rto)),
            Value::U64(sink.meter.bytes),
        ]);
    }

    fn sample_queue(&mut self, now: Instant, id: usize, queue: Occupancy) {
        let before = self.seen[id];
        let same = before.is_some_and(|before| before.queue == queue);
        if !same {
            if let Some(last) = before.filter(|before| before.left_out) {
                self.push_queue(last.at, id, last.queue);
            }
            self.push_queue(now, id, queue);
        }
        self.seen[id] = Some(Seen { queue, at: now, left_out: same });
    }

    fn push_queue(&mut self, at: Instant, id: usize, queue: Occupancy) {
        self.queues.push([
            Value::F64(at.as_secs_f64()),
            Value::U32(id as u32),
            Value::U32(queue.packets as u32),
            Value::U64(queue.bytes.get()),
        ]);
    }

    fn hand_out(&mut self, last: bool) -> Result<(), RunError> {
        for rows in [&mut self.flows, &mut self.queues] {
            rows.hand_out(self.sink, last).map_err(RunError::Series)?;
        }
        Ok(())
    }

    /// Hands out what is left.
    pub(crate) fn finish(mut self) -> Result<(), RunError> {
        for id in 0..self.seen.len() {
            if let Some(last) = self.seen[id].filter(|seen| seen.left_out) {
                self.push_queue(last.at, id, last.queue);
            }
        }
        self.hand_out(true)
    }
}

fn seconds(time: Duration) -> f32 {
    time.as_secs_f64() as f32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::series::Collected;
    use handfast_core::Bytes;

    #[test]
    fn a_queue_has_rows_where_its_line_bends() {
        let mut sink = Collected::default();
        let mut sampler = Sampler::new(Duration::from_millis(1), 1448, 1, &mut sink);
        for (ms, packets) in (0..).zip([0, 0, 0, 2, 3, 3, 1, 1, 1]) {
            let queue = Occupancy { packets, bytes: Bytes(packets as u64) };
            sampler.sample_queue(Instant::from_millis(ms), 0, queue);
        }
        sampler.finish().unwrap();
        let (_, columns) = sink.tables().nth(1).unwrap();
        let ms = columns[0].2.chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().unwrap()) * 1000.0);
        let packets = columns[2].2.chunks_exact(4).map(|b| u32::from_le_bytes(b.try_into().unwrap()));
        let rows: Vec<_> = ms.map(|ms| ms.round() as u64).zip(packets).collect();
        assert_eq!(rows, [(0, 0), (2, 0), (3, 2), (4, 3), (5, 3), (6, 1), (8, 1)]);
    }
}
