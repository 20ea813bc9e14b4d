//! The figures of a flow that asks for more than each flow has: how long its connection takes to be set up, and how long its
//! packets take.

use handfast_core::Instant;
use handfast_host::probe::{Measures, PacketTime, Probe};
use handfast_host::rank::nearest_rank;

use crate::metrics::{self, MetricId, Values};

/// From one moment of a packet to another, and the metrics that say how long that takes.
struct Way {
    from: fn(&PacketTime) -> Option<Instant>,
    to: fn(&PacketTime) -> Option<Instant>,
    mean: MetricId,
    /// Those of half of the packets, 99 % and 99.9 %, with the parts of a thousand.
    ranks: [(usize, MetricId); 3],
    deviation: MetricId,
}

const WAYS: [Way; 4] = [
    Way {
        from: |packet| packet.written,
        to: |packet| packet.arrived,
        mean: metrics::WRITE_TO_ARRIVAL_MEAN,
        ranks: ranks(
            metrics::WRITE_TO_ARRIVAL_P50,
            metrics::WRITE_TO_ARRIVAL_P99,
            metrics::WRITE_TO_ARRIVAL_P999,
        ),
        deviation: metrics::WRITE_TO_ARRIVAL_DEVIATION,
    },
    Way {
        from: |packet| packet.written,
        to: |packet| packet.delivered,
        mean: metrics::WRITE_TO_DELIVERY_MEAN,
        ranks: ranks(
            metrics::WRITE_TO_DELIVERY_P50,
            metrics::WRITE_TO_DELIVERY_P99,
            metrics::WRITE_TO_DELIVERY_P999,
        ),
        deviation: metrics::WRITE_TO_DELIVERY_DEVIATION,
    },
    Way {
        from: |packet| packet.sent,
        to: |packet| packet.arrived,
        mean: metrics::SEND_TO_ARRIVAL_MEAN,
        ranks: ranks(
            metrics::SEND_TO_ARRIVAL_P50,
            metrics::SEND_TO_ARRIVAL_P99,
            metrics::SEND_TO_ARRIVAL_P999,
        ),
        deviation: metrics::SEND_TO_ARRIVAL_DEVIATION,
    },
    Way {
        from: |packet| packet.sent,
        to: |packet| packet.delivered,
        mean: metrics::SEND_TO_DELIVERY_MEAN,
        ranks: ranks(
            metrics::SEND_TO_DELIVERY_P50,
            metrics::SEND_TO_DELIVERY_P99,
            metrics::SEND_TO_DELIVERY_P999,
        ),
        deviation: metrics::SEND_TO_DELIVERY_DEVIATION,
    },
];

const fn ranks(p50: MetricId, p99: MetricId, p999: MetricId) -> [(usize, MetricId); 3] {
    [(500, p50), (990, p99), (999, p999)]
}

/// Adds what a flow asks for, from the probes of its streams. Without probes it is not known.
pub(crate) fn with_measured(mut values: Values, measures: Measures, probes: &[Probe]) -> Values {
    if measures.connect {
        let times: Vec<_> = probes.iter().filter_map(Probe::connect_time).collect();
        let seconds = times.iter().map(|time| time.as_secs_f64()).sum::<f64>();
        let mean = (!times.is_empty()).then(|| seconds / times.len() as f64);
        values.set(metrics::CONNECT, mean);
    }
    if measures.delay {
        set_counts(&mut values, probes);
        for way in &WAYS {
            set_delays(&mut values, way, probes);
        }
    }
    values
}

fn set_counts(values: &mut Values, probes: &[Probe]) {
    let [mut arrived, mut delivered, mut unmeasured, mut sent] = [0_u64; 4];
    // What a kernel sends and gets is not seen.
    let mut seen = true;
    for probe in probes {
        probe.with_packets(|packets| {
            for packet in packets.iter() {
                sent += 1;
                seen &= packet.sent.is_some();
                arrived += u64::from(packet.arrived.is_some());
                delivered += u64::from(packet.delivered.is_some());
            }
            unmeasured += packets.unmeasured();
        });
    }
    let known = |count: u64| (!probes.is_empty()).then_some(count);
    values.set(metrics::MEASURED_PACKETS, known(sent));
    values.set(metrics::ARRIVED_PACKETS, known(arrived).filter(|_| seen));
    values.set(metrics::DELIVERED_PACKETS, known(delivered));
    values.set(metrics::UNMEASURED_PACKETS, known(unmeasured));
}

fn set_delays(values: &mut Values, way: &Way, probes: &[Probe]) {
    let delay = |packet: PacketTime| Some((way.to)(&packet)?.since((way.from)(&packet)?).as_nanos());
    let mut nanos: Vec<u64> = Vec::new();
    for probe in probes {
        probe.with_packets(|packets| nanos.extend(packets.iter().filter_map(delay)));
    }
    nanos.sort_unstable();
    let mean = mean(&nanos);
    values.set(way.mean, mean.map(seconds));
    for (rank, id) in way.ranks {
        values.set(id, nearest_rank(&nanos, rank).map(|nanos| seconds(nanos as f64)));
    }
    values.set(way.deviation, mean.map(|mean| seconds(deviation(&nanos, mean))));
}

fn seconds(nanos: f64) -> f64 {
    nanos * 1e-9
}

fn mean(nanos: &[u64]) -> Option<f64> {
    let sum: u128 = nanos.iter().map(|&one| u128::from(one)).sum();
    (!nanos.is_empty()).then(|| sum as f64 / nanos.len() as f64)
}

/// The standard deviation of these packets, not an estimate for others.
fn deviation(nanos: &[u64], mean: f64) -> f64 {
    let squares: f64 = nanos.iter().map(|&one| (one as f64 - mean) * (one as f64 - mean)).sum();
    (squares / nanos.len() as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Scope;
    use handfast_core::{Bytes, Duration};
    use handfast_host::probe::End;
    use handfast_tcp::State;
    use handfast_wire::Payload;
    use handfast_wire::tcp::{Flags, Segment};

    const ALL: Measures = Measures { connect: true, delay: true };

    fn at(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    /// The probe of an application that writes 100 bytes every 15 ms, of which the second write is lost once.
    fn probe() -> Probe {
        let writes = (Bytes(100), Duration::from_millis(15));
        let probe = Probe::new(ALL, Some(writes), at(0), 1).unwrap();
        let syn = Segment { flags: Flags::SYN, ..Segment::EMPTY };
        probe.on_sent(at(0), &syn);
        probe.on_arrival(at(120), End::Client, State::Established, &syn);
        probe.on_arrival(at(180), End::Server, State::Established, &syn);
        let data = |offset| Segment {
            payload: Payload::Synthetic { stream: 0, offset, len: 100 },
            ..Segment::EMPTY
        };
        (0..4).for_each(|k| probe.on_sent(at(120 + k), &data(100 * k)));
        for (ms, k) in [(180, 0), (182, 2), (310, 1)] {
            probe.on_arrival(at(ms), End::Server, State::Established, &data(100 * k));
        }
        probe.on_delivered(at(180), 100);
        probe.on_delivered(at(310), 300);
        probe
    }

    #[test]
    fn the_figures_are_those_of_the_packets() {
        let values = with_measured(Values::new(Scope::Flow), ALL, &[probe()]);
        let near =
            |value: Option<f64>, wanted: f64| assert!((value.unwrap() - wanted).abs() < 1e-9, "{value:?}");
        near(values.connect_s(), 0.180);
        // Written at 0, 15 and 30 ms; sent at 120, 121 and 122 ms; the last of four is under way.
        near(values.write_to_arrival_mean_s(), (0.180 + 0.295 + 0.152) / 3.0);
        near(values.write_to_delivery_mean_s(), (0.180 + 0.295 + 0.280) / 3.0);
        near(values.send_to_arrival_mean_s(), (0.060 + 0.189 + 0.060) / 3.0);
        near(values.send_to_delivery_mean_s(), (0.060 + 0.189 + 0.188) / 3.0);
        near(values.send_to_arrival_p50_s(), 0.060);
        near(values.send_to_delivery_p50_s(), 0.188);
        near(values.send_to_arrival_p99_s(), 0.189);
        near(values.send_to_arrival_p999_s(), 0.189);
        // 43 ms below the mean twice, 86 ms above it once.
        near(values.send_to_arrival_deviation_s(), 0.043 * 2.0_f64.sqrt());
        let counts = [values.measured_packets(), values.arrived_packets(), values.delivered_packets()];
        assert_eq!((counts, values.unmeasured_packets()), ([Some(4), Some(3), Some(3)], Some(0)));
    }

    #[test]
    fn streams_of_a_flow_are_taken_together() {
        let values = with_measured(Values::new(Scope::Flow), ALL, &[probe(), probe()]);
        assert_eq!((values.measured_packets(), values.arrived_packets()), (Some(8), Some(6)));
        assert!((values.send_to_arrival_p50_s().unwrap() - 0.060).abs() < 1e-9);
        assert!((values.connect_s().unwrap() - 0.180).abs() < 1e-9);
    }

    #[test]
    fn what_nobody_asks_for_has_no_key_and_what_nobody_knows_is_null() {
        let json = |measures| {
            let values = with_measured(Values::new(Scope::Flow), measures, &[]);
            serde_json::to_string(&values).unwrap()
        };
        let keys = ["connect_s", "write_to_arrival_mean_s", "measured_packets"];
        let null = |key: &str| format!("\"{key}\":null");
        let (none, all) = (json(Measures::default()), json(ALL));
        assert!(keys.iter().all(|key| !none.contains(key) && all.contains(&null(key))), "{none} {all}");
        let connect = json(Measures { connect: true, delay: false });
        assert!(connect.contains(&null("connect_s")) && !connect.contains("packets\""), "{connect}");
    }
}
