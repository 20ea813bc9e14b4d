//! Makes time series of what a backend sees of flows and queues at regular times, and of single packets at the end.

use std::io;

use handfast_core::Instant;
use handfast_net::Occupancy;

use handfast_host::meter::FlowSample;
use handfast_host::probe::Probe;

use crate::series::{FLOWS, PACKETS, QUEUES, Rows, SeriesSink, Value};
use crate::{flow_series, packet_series};

/// The last two samples of one direction of a link.
#[derive(Clone, Copy)]
struct Seen {
    queue: Occupancy,
    at: Instant,
    /// Whether the row for it was left out so far.
    left_out: bool,
}

/// Rows of all tables on their way to a sink.
pub struct Sampler<'a> {
    /// Payload bytes of a full segment.
    segment: f32,
    seen: Vec<Option<Seen>>,
    flows: Rows,
    queues: Rows,
    packets: Rows,
    sink: &'a mut dyn SeriesSink,
}

impl<'a> Sampler<'a> {
    /// `segment`: payload bytes of a full segment; `channels`: directions of links.
    pub fn new(segment: u64, channels: usize, sink: &'a mut dyn SeriesSink) -> Self {
        let [flows, queues, packets] = [FLOWS, QUEUES, PACKETS].map(Rows::new);
        Self { segment: segment as f32, seen: vec![None; channels], flows, queues, packets, sink }
    }

    /// A flow that is open.
    pub fn flow(&mut self, now: Instant, flow: u32, sample: &FlowSample) {
        let key = [Value::F64(now.as_secs_f64()), Value::U32(flow)];
        let mut row = key.into_iter().chain(flow_series::row(sample, self.segment));
        let count = FLOWS.columns.len();
        self.flows.push((0..count).map(|_| row.next().unwrap_or(Value::U64(0))));
    }

    /// One direction of a link.
    pub fn queue(&mut self, now: Instant, id: usize, queue: Occupancy) {
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

    /// The packets of one of the connections that a flow has at once, when the run is over.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn packets(&mut self, flow: u32, connection: u32, probe: &Probe) -> io::Result<()> {
        let push = |(number, packet): (u64, _)| {
            self.packets.push(packet_series::row(number, flow, connection, &packet).into_iter());
            self.packets.hand_out(self.sink, false)
        };
        probe.with_packets(|packets| (0..).zip(packets.iter()).try_for_each(push)).unwrap_or(Ok(()))
    }

    fn push_queue(&mut self, at: Instant, id: usize, queue: Occupancy) {
        self.queues.push(
            [
                Value::F64(at.as_secs_f64()),
                Value::U32(id as u32),
                Value::U32(queue.packets as u32),
                Value::U64(queue.bytes.get()),
            ]
            .into_iter(),
        );
    }

    /// Hands out what has gathered, if it is much, or `last`.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn hand_out(&mut self, last: bool) -> io::Result<()> {
        for rows in [&mut self.flows, &mut self.queues, &mut self.packets] {
            rows.hand_out(self.sink, last)?;
        }
        Ok(())
    }

    /// Hands out what is left.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn finish(mut self) -> io::Result<()> {
        for id in 0..self.seen.len() {
            if let Some(last) = self.seen[id].filter(|seen| seen.left_out) {
                self.push_queue(last.at, id, last.queue);
            }
        }
        self.hand_out(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::series::{Collected, DType};
    use handfast_core::Bytes;
    use handfast_core::Duration;

    /// The one row of a table: its columns' names and values.
    fn row(sink: &Collected, table: usize) -> Vec<(&'static str, f64)> {
        let number = |octets: &[u8], dtype| match dtype {
            DType::F32 => f64::from(f32::from_le_bytes(octets.try_into().unwrap())),
            DType::F64 => f64::from_le_bytes(octets.try_into().unwrap()),
            DType::U32 => f64::from(u32::from_le_bytes(octets.try_into().unwrap())),
            DType::U64 => u64::from_le_bytes(octets.try_into().unwrap()) as f64,
        };
        let (_, columns) = sink.tables().nth(table).unwrap();
        columns.into_iter().map(|(name, dtype, octets)| (name, number(octets, dtype))).collect()
    }

    #[test]
    fn each_value_stands_in_the_column_that_is_called_so() {
        let mut sink = Collected::default();
        let mut sampler = Sampler::new(1000, 4, &mut sink);
        let now = Instant::from_millis(1500);
        let sample = FlowSample {
            cwnd: 10_500,
            ssthresh: Some(7000),
            srtt: Some(Duration::from_millis(125)),
            rto: Duration::from_millis(250),
            delivered: 3000,
            sent: Some(5000),
            ..FlowSample::default()
        };
        sampler.flow(now, 2, &sample);
        sampler.queue(now, 3, Occupancy { packets: 6, bytes: Bytes(8000) });
        sampler.finish().unwrap();
        let flow = [
            ("time_s", 1.5),
            ("flow", 2.0),
            ("cwnd_pkt", 10.5),
            ("ssthresh_pkt", 7.0),
            ("srtt_s", 0.125),
            ("rto_s", 0.25),
            ("delivered_bytes", 3000.0),
            ("sent_bytes", 5000.0),
        ];
        let row_of_flow = row(&sink, 0);
        assert!(flow.iter().all(|cell| row_of_flow.contains(cell)), "{row_of_flow:?}");
        let queue = [("time_s", 1.5), ("queue", 3.0), ("queue_pkt", 6.0), ("queue_bytes", 8000.0)];
        assert_eq!(row(&sink, 1), queue);
    }

    #[test]
    fn what_is_not_known_is_no_number() {
        let mut sink = Collected::default();
        let mut sampler = Sampler::new(1000, 0, &mut sink);
        let sample = FlowSample { cwnd: 1, rto: Duration::from_secs(1), ..FlowSample::default() };
        sampler.flow(Instant::ZERO, 0, &sample);
        sampler.finish().unwrap();
        let (unknown, known): (Vec<_>, Vec<_>) =
            row(&sink, 0).into_iter().partition(|(_, value)| value.is_nan());
        let are_in =
            |names: &[_], cells: &[(_, _)]| names.iter().all(|name| cells.iter().any(|c| c.0 == *name));
        assert!(
            are_in(&["ssthresh_pkt", "srtt_s", "sent_bytes", "acknowledged_bytes"], &unknown),
            "{unknown:?}"
        );
        assert!(are_in(&["time_s", "flow", "cwnd_pkt", "rto_s", "delivered_bytes"], &known), "{known:?}");
    }

    #[test]
    fn a_queue_has_rows_where_its_line_bends() {
        let mut sink = Collected::default();
        let mut sampler = Sampler::new(1448, 1, &mut sink);
        for (ms, packets) in (0..).zip([0, 0, 0, 2, 3, 3, 1, 1, 1]) {
            let queue = Occupancy { packets, bytes: Bytes(packets as u64) };
            sampler.queue(Instant::from_millis(ms), 0, queue);
        }
        sampler.finish().unwrap();
        let (_, columns) = sink.tables().nth(1).unwrap();
        let ms = columns[0].2.chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().unwrap()) * 1000.0);
        let packets = columns[2].2.chunks_exact(4).map(|b| u32::from_le_bytes(b.try_into().unwrap()));
        let rows: Vec<_> = ms.map(|ms| ms.round() as u64).zip(packets).collect();
        assert_eq!(rows, [(0, 0), (2, 0), (3, 2), (4, 3), (5, 3), (6, 1), (8, 1)]);
    }
}
