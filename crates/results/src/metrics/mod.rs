//! The table of metrics: what a result says of a flow and of all flows together. From it follow the keys of `result.json`,
//! their JSON schema, the Python types, the columns of tables and docs/reference/results.md.
//!
//! A new metric is a line here, and a [`Values::set`] where it is measured. A line that says `sampled` needs no `set`: its value is
//! read from a [`FlowSample`](handfast_host::meter::FlowSample), at the end for the result and at each sample for the curve.

mod aggregate;
mod values;

pub use aggregate::{Aggregation, Recovery, Together};
pub(crate) use aggregate::{max_if_all_known, mean_if_all_known};
pub use values::{Number, Scope, Values};

use handfast_core::Duration;

use crate::table::{self, Curve, DType, Scale, Series};

/// What is known of a metric besides its values.
#[derive(Debug)]
pub struct Metric {
    /// Its key in `result.json`; a figure with a unit ends with it.
    pub name: &'static str,
    /// Its unit; empty for a count of what the name says.
    pub unit: &'static str,
    /// Whether its values are whole numbers.
    pub count: bool,
    /// How the values of all flows become one.
    pub aggregation: Aggregation,
    /// Whether each flow has one.
    pub of_flow: bool,
    /// Whether the key is left out, not null, where nobody measures it: so for what only some endpoints or agents measure.
    pub optional: bool,
    /// What it is of one flow.
    pub description: &'static str,
    /// Its column in tables.
    pub column: Option<Column>,
}

/// How tables show a metric.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// From left to right.
    pub order: u8,
    /// The header.
    pub header: &'static str,
    /// The header where there is little room.
    pub short: &'static str,
    /// The shown unit.
    pub unit: &'static str,
    /// Digits after the point.
    pub digits: u8,
    /// The factor from the metric's unit to the shown one.
    pub scale: f64,
}

const fn column(
    order: u8,
    header: &'static str,
    short: &'static str,
    unit: &'static str,
    digits: u8,
    scale: f64,
) -> Column {
    Column { order, header, short, unit, digits, scale }
}

/// From one line a metric the table, and a number for each name; from those with a curve the series.
macro_rules! metrics {
    ($(
        $scope:ident $kind:ident $name:ident $id:ident, $unit:literal, $aggregation:expr, $column:expr, $what:literal
        $(, sampled $value:expr, $curve:expr, $drawn:literal)?;
    )*) => {
        /// All metrics, in the order in which a result has them.
        pub const METRICS: &[Metric] = &[$(Metric {
            name: stringify!($name),
            unit: $unit,
            count: is_count(stringify!($kind)),
            aggregation: $aggregation,
            of_flow: of_flow(stringify!($scope)),
            optional: is_optional(stringify!($scope)),
            description: $what,
            column: $column,
        }),*];

        /// Those that a flow has at any time: the value, and the column of the time series, with its curve.
        pub(crate) const SAMPLED: &[(MetricId, Series)] = &[$($((
            $id,
            Series {
                column: table::Column {
                    name: stringify!($name),
                    dtype: if is_count(stringify!($kind)) { DType::F64 } else { DType::F32 },
                    description: $drawn,
                    curve: Some(&$curve),
                },
                scale: Scale::Unit,
                value: $value,
            },
        ),)?)*];

        /// The numbers of metrics: their places in [`METRICS`].
        #[expect(non_camel_case_types, reason = "each is the name of its metric")]
        enum Place { $($name),* }

        $(#[doc = $what] pub const $id: MetricId = MetricId(Place::$name as usize);)*

        impl Values {
            $(metrics!(@getter $kind $name $id $what);)*
        }
    };
    (@getter count $name:ident $id:ident $what:literal) => {
        #[doc = $what]
        pub fn $name(&self) -> Option<u64> { self.count($id) }
    };
    (@getter real $name:ident $id:ident $what:literal) => {
        #[doc = $what]
        pub fn $name(&self) -> Option<f64> { self.real($id) }
    };
}

/// The number of a metric: its place in [`METRICS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetricId(usize);

impl MetricId {
    /// Its line of the table.
    pub fn metric(self) -> &'static Metric {
        &METRICS[self.0]
    }
}

const fn is_count(kind: &str) -> bool {
    matches!(kind.as_bytes(), b"count")
}

const fn of_flow(scope: &str) -> bool {
    !matches!(scope.as_bytes(), b"together")
}

const fn is_optional(scope: &str) -> bool {
    matches!(scope.as_bytes(), b"optional")
}

use Aggregation::{Computed, Max, Mean, Min, Nothing, OutageMean, Sum};

// `always`: each flow has the key, null where it is not known. `optional`: only where it is measured, so for what only some
// endpoints measure: a figure of theirs with that key is it. `together`: only the
// aggregate has it.
//
// `sampled`: how its value is read while the flow is open, its curve, and what the column of the time series is.
metrics! {
    always real goodput_bps GOODPUT, "bit/s", Computed(aggregate::goodput, "all bytes, from the first to the last delivery of any"),
        Some(column(2, "goodput", "goodput", "Mbit/s", 2, 1e-6)),
        "New bytes delivered to the receiving application, from the first to the last delivery; null with fewer than two.";
    always real limit_bps LIMIT, "bit/s", Computed(aggregate::limit, "from the first byte of any to the last"), None,
        "What a sender that knew everything could have delivered: links shared max-min fairly, less headers, from the first byte to \
         the last. Outages between these count as time; losses and propagation delay are left out.";
    always count delivered_bytes DELIVERED, "byte", Sum, None, "New bytes delivered to the receiving application.";
    always real first_byte_s FIRST_BYTE, "s", Nothing, None, "When the first byte was delivered.";
    always real last_byte_s LAST_BYTE, "s", Nothing, None, "When the last byte was delivered.";
    always real stall_s STALL, "s", OutageMean, Some(column(1, "stall after return", "stall after return", "s", 3, 1.0)),
        "From the link's return to the first new data at the receiving application: the mean over the outages that the flow was \
         in. Null where there is none, or it never moved again after one.";
    always real time_to_full_rate_s TIME_TO_FULL_RATE, "s", OutageMean,
        Some(column(3, "time to full rate", "to full rate", "s", 2, 1.0)),
        "From the link's return to the first second at 90 % or more of the mean rate of the five seconds before the outage: the \
         mean over outages. Null where there is none, or it never got there after one.";
    always real idle_s IDLE, "s", Max, None,
        "The longest time without a delivery, from the first one to the end of the flow or the run.";
    always count retransmitted_segments RETRANSMITTED, "", Sum, Some(column(4, "retransmitted", "retrans.", "seg", 0, 1.0)),
        "Segments with payload that the sender repeated.";
    always count timeouts TIMEOUTS, "", Sum, Some(column(5, "timeouts", "time outs", "", 0, 1.0)),
        "Expiries of the sender's retransmission timer.";
    always count spurious_timeouts SPURIOUS_TIMEOUTS, "", Sum, None, "Timeouts that the sender found spurious.";
    always count fast_retransmits FAST_RETRANSMITS, "", Nothing, None, "Entries into fast retransmit.";
    always count data_segments_sent DATA_SEGMENTS, "", Nothing, None,
        "Segments with payload that the sender sent, retransmissions included.";
    always count lost_segments LOST, "", Sum, None,
        "The sender's segments with payload that the network lost or corrupted: full queues, queue disciplines, loss processes, \
         outages, agents.";
    optional count aqm_dropped_segments AQM_DROPPED, "", Sum, None,
        "Those of `lost_segments` that a queue discipline dropped although the queue had room: active queue management. Only in \
         runs with such a discipline.";
    optional count ce_marked_segments CE_MARKED, "", Sum, None,
        "The sender's segments with payload that a queue discipline marked \"congestion experienced\" (RFC 3168), once a queue. Only \
         in runs with such a discipline.";
    always real cwnd_mean_pkt CWND_MEAN, "pkt", Mean, Some(column(6, "mean cwnd", "mean cwnd", "pkt", 1, 1.0)),
        "The sender's congestion window in full segments, weighted by time from the handshake to the end of the flow.";
    always real cwnd_min_pkt CWND_MIN, "pkt", Min, Some(column(7, "minimum cwnd", "min cwnd", "pkt", 1, 1.0)),
        "The smallest congestion window in full segments.";
    always real srtt_s SRTT, "s", Nothing, None,
        "The sender's smoothed round-trip time at the end; null before the first sample.",
        sampled |seen| seen.srtt.map(Duration::as_secs_f64),
        Curve::new("rtt", "Smoothed round-trip time", "smoothed RTT", "ms", 1e3, true),
        "its smoothed round-trip time; null before the first sample";
    optional count connections CONNECTIONS, "", Nothing, None,
        "Connections that the flow has opened: of one that may reconnect, or has several at once.";
    optional real delay_min_s DELAY_MIN, "s", Nothing, None,
        "Of datagrams: the shortest time from the sending to the receiving application; null where nothing arrived.";
    optional real delay_p50_s DELAY_P50, "s", Mean, Some(column(20, "delay, median", "delay p50", "ms", 0, 1e3)),
        "Of datagrams: the same, half of them at most, by nearest rank.";
    optional real delay_p95_s DELAY_P95, "s", Mean, Some(column(21, "delay, 95 %", "delay p95", "ms", 0, 1e3)), "Of a call: the same, 95 % of them at most.";
    optional real delay_p99_s DELAY_P99, "s", Mean, Some(column(22, "delay, 99 %", "delay p99", "ms", 0, 1e3)),
        "Of datagrams: the same, 99 % of them at most, by nearest rank.";
    optional real jitter_s JITTER, "s", Mean, Some(column(23, "jitter", "jitter", "ms", 1, 1e3)),
        "Of datagrams: the interarrival jitter of RFC 3550 §6.4.1 at the end; null with fewer than two.";
    optional count late_datagrams LATE_DATAGRAMS, "", Sum, Some(column(24, "late", "late", "", 0, 1.0)),
        "Of a call: datagrams that arrived, but later than its `late` after they were sent.";
    optional count lost_datagrams LOST_DATAGRAMS, "", Sum, Some(column(25, "lost", "lost", "", 0, 1.0)),
        "Numbers of datagrams missing below the highest one that arrived, at the end of the run.";
    optional count received_datagrams RECEIVED_DATAGRAMS, "", Nothing, None,
        "Datagrams that arrived, duplicates not counted.";
    optional count reordered_datagrams REORDERED_DATAGRAMS, "", Nothing, None,
        "Datagrams that arrived after one with a higher number (RFC 4737 §3.3).";
    optional count sent_datagrams SENT_DATAGRAMS, "", Nothing, None,
        "Datagrams that were sent.";
    optional count keystrokes KEYSTROKES, "", Sum, None, "Of a terminal: keystrokes that were typed.";
    optional count unechoed_keystrokes UNECHOED_KEYSTROKES, "", Sum, None,
        "Those of `keystrokes` that had not come back at the end.";
    optional real echo_p50_s ECHO_P50, "s", Mean, Some(column(8, "echo, median", "echo p50", "ms", 0, 1e3)),
        "Of a terminal: from a keystroke to its echo, half of them at most, by nearest rank. A keystroke without an echo counts with \
         the time up to the end where that is longer than every echo took.";
    optional real echo_p95_s ECHO_P95, "s", Mean, Some(column(9, "echo, 95 %", "echo p95", "ms", 0, 1e3)), "The same, 95 % of them at most.";
    optional real echo_p99_s ECHO_P99, "s", Mean, Some(column(10, "echo, 99 %", "echo p99", "ms", 0, 1e3)), "The same, 99 % of them at most.";
    optional real echo_max_s ECHO_MAX, "s", Max, Some(column(11, "longest echo", "longest echo", "ms", 0, 1e3)), "The same, the longest.";
    optional count pages_loaded PAGES_LOADED, "", Sum, Some(column(12, "pages", "pages", "", 0, 1.0)), "Of a person who reads web pages: pages that were there whole.";
    optional real page_load_p50_s PAGE_LOAD_P50, "s", Mean, Some(column(13, "page load, median", "load p50", "s", 2, 1.0)),
        "From the question for a page to the last byte of its last object, half of the pages at most, by nearest rank; the first page \
         with its handshake. A page that was on its way at the end counts with its time so far where that is longer than all others \
         took.";
    optional real page_load_p95_s PAGE_LOAD_P95, "s", Mean, Some(column(14, "page load, 95 %", "load p95", "s", 2, 1.0)), "The same, 95 % of them at most.";
    optional real video_start_s VIDEO_START, "s", Mean, Some(column(15, "start", "start", "s", 2, 1.0)),
        "Of a person who watches a video: from the flow's start to the first picture; null where none came.";
    optional count video_stalls VIDEO_STALLS, "", Sum, Some(column(16, "stalls", "stalls", "", 0, 1.0)), "How often the video stood still after it had begun.";
    optional real video_stalled_s VIDEO_STALLED, "s", Sum, Some(column(17, "stood still", "stood still", "s", 2, 1.0)), "How long it stood still, all stalls together, one at the end too.";
    optional real video_played_s VIDEO_PLAYED, "s", Sum, None, "How much of the video was played.";
    optional real video_mean_bps VIDEO_MEAN, "bit/s", Mean, Some(column(18, "mean bitrate", "mean bitrate", "Mbit/s", 2, 1e-6)),
        "The mean bitrate of the segments that came; null where none did.";
    optional count video_switches VIDEO_SWITCHES, "", Sum, Some(column(19, "switches", "switches", "", 0, 1.0)),
        "How often a segment had another bitrate than the one before.";
    optional real connect_s CONNECT, "s", Mean, None,
        "With `measure = [\"connect\"]`: from the first SYN until both ends hold their packet, the client the SYN-ACK and the server \
         an ACK of its SYN. Null where one never did; of several connections at once the mean of those that did.";
    optional real write_to_arrival_mean_s WRITE_TO_ARRIVAL_MEAN, "s", Mean, None,
        "With `measure = [\"delay\"]`, the time of a packet from its write to its arrival at the receiving host, the mean; \
         null where the application writes as there is room.";
    optional real write_to_arrival_p50_s WRITE_TO_ARRIVAL_P50, "s", Mean, None,
        "The same, half of the packets at most, by nearest rank.";
    optional real write_to_arrival_p99_s WRITE_TO_ARRIVAL_P99, "s", Mean, None, "The same, 99 % of them at most.";
    optional real write_to_arrival_p999_s WRITE_TO_ARRIVAL_P999, "s", Mean, None, "The same, 99.9 % of them at most.";
    optional real write_to_arrival_deviation_s WRITE_TO_ARRIVAL_DEVIATION, "s", Mean, None, "The same, the standard deviation.";
    optional real write_to_delivery_mean_s WRITE_TO_DELIVERY_MEAN, "s", Mean, None,
        "With `measure = [\"delay\"]`, the time of a packet from its write to its delivery to the receiving application, \
         in order, the mean; null as above.";
    optional real write_to_delivery_p50_s WRITE_TO_DELIVERY_P50, "s", Mean, None,
        "The same, half of the packets at most, by nearest rank.";
    optional real write_to_delivery_p99_s WRITE_TO_DELIVERY_P99, "s", Mean, None, "The same, 99 % of them at most.";
    optional real write_to_delivery_p999_s WRITE_TO_DELIVERY_P999, "s", Mean, None, "The same, 99.9 % of them at most.";
    optional real write_to_delivery_deviation_s WRITE_TO_DELIVERY_DEVIATION, "s", Mean, None, "The same, the standard deviation.";
    optional real send_to_arrival_mean_s SEND_TO_ARRIVAL_MEAN, "s", Mean, None,
        "With `measure = [\"delay\"]`, the time of a packet from the first transmission of its first byte to its arrival \
         at the receiving host, the mean.";
    optional real send_to_arrival_p50_s SEND_TO_ARRIVAL_P50, "s", Mean, None,
        "The same, half of the packets at most, by nearest rank.";
    optional real send_to_arrival_p99_s SEND_TO_ARRIVAL_P99, "s", Mean, None, "The same, 99 % of them at most.";
    optional real send_to_arrival_p999_s SEND_TO_ARRIVAL_P999, "s", Mean, None, "The same, 99.9 % of them at most.";
    optional real send_to_arrival_deviation_s SEND_TO_ARRIVAL_DEVIATION, "s", Mean, None, "The same, the standard deviation.";
    optional real send_to_delivery_mean_s SEND_TO_DELIVERY_MEAN, "s", Mean, None,
        "With `measure = [\"delay\"]`, the time of a packet from the first transmission of its first byte to its delivery \
         to the receiving application, in order, the mean.";
    optional real send_to_delivery_p50_s SEND_TO_DELIVERY_P50, "s", Mean, None,
        "The same, half of the packets at most, by nearest rank.";
    optional real send_to_delivery_p99_s SEND_TO_DELIVERY_P99, "s", Mean, None, "The same, 99 % of them at most.";
    optional real send_to_delivery_p999_s SEND_TO_DELIVERY_P999, "s", Mean, None, "The same, 99.9 % of them at most.";
    optional real send_to_delivery_deviation_s SEND_TO_DELIVERY_DEVIATION, "s", Mean, None, "The same, the standard deviation.";
    optional count measured_packets MEASURED_PACKETS, "", Sum, None,
        "With `measure = [\"delay\"]`, packets that were sent, up to 1,000,000 a flow: writes of a paced flow, segments of any other.";
    optional count arrived_packets ARRIVED_PACKETS, "", Sum, None, "Those of `measured_packets` that have arrived.";
    optional count delivered_packets DELIVERED_PACKETS, "", Sum, None, "Those of `measured_packets` that were delivered.";
    optional count unmeasured_packets UNMEASURED_PACKETS, "", Sum, None,
        "Packets that were sent after the first 1,000,000 of a flow: no other figure contains them.";
    together real fairness FAIRNESS, "", Computed(aggregate::fairness, "1 / number of flows to 1"), None,
        "Jain's index of the flows' goodput; null with fewer than two flows.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_end_with_their_unit() {
        let suffix = |unit| match unit {
            "bit/s" => "_bps",
            "byte" => "_bytes",
            "s" => "_s",
            "pkt" => "_pkt",
            "" => "",
            other => panic!("{other}: add its suffix here"),
        };
        for (place, metric) in METRICS.iter().enumerate() {
            assert!(metric.name.ends_with(suffix(metric.unit)), "{}: {}", metric.name, metric.unit);
            assert!(METRICS[..place].iter().all(|other| other.name != metric.name), "{} twice", metric.name);
        }
    }

    #[test]
    fn a_sample_has_no_full_segments() {
        // Its values are in bytes, and `Values::with_sample` does not know the size of a segment.
        assert!(SAMPLED.iter().all(|(id, _)| id.metric().unit != "pkt"));
    }

    #[test]
    fn columns_have_places_of_their_own() {
        let mut orders: Vec<_> = METRICS.iter().filter_map(|m| m.column).map(|column| column.order).collect();
        orders.sort_unstable();
        assert!(orders.iter().copied().eq(1..=orders.len() as u8), "{orders:?}");
    }
}
