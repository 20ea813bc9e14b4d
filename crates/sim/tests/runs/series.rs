//! What time series say of a run, against what is known of it.

use std::collections::BTreeMap;

use handfast_sim::Options;
use handfast_sim::series::{Collected, DType};

use crate::support::{OUTAGE, bytes, result, scenario};

/// A table's columns by name.
pub(crate) fn columns(series: &Collected, table: &str) -> BTreeMap<&'static str, Vec<f64>> {
    let (_, columns) = series.tables().find(|(name, _)| *name == table).expect("the table");
    let number = |octets: &[u8], dtype| match dtype {
        DType::F32 => f64::from(f32::from_le_bytes(octets.try_into().unwrap())),
        DType::F64 => f64::from_le_bytes(octets.try_into().unwrap()),
        DType::U32 => f64::from(u32::from_le_bytes(octets.try_into().unwrap())),
        DType::U64 => u64::from_le_bytes(octets.try_into().unwrap()) as f64,
    };
    let values = |octets: &[u8], dtype: DType| -> Vec<f64> {
        octets.chunks_exact(dtype.size()).map(|octets| number(octets, dtype)).collect()
    };
    columns.into_iter().map(|(name, dtype, octets)| (name, values(octets, dtype))).collect()
}

fn sampled() -> Collected {
    let options = Options { seed: 1, series: true, ..Options::default() };
    bytes(&scenario(OUTAGE), "sack", &options).1
}

fn rises(values: &[f64]) -> bool {
    values.windows(2).all(|pair| pair[0] <= pair[1])
}

fn most(values: impl IntoIterator<Item = f64>) -> f64 {
    values.into_iter().fold(f64::NEG_INFINITY, f64::max)
}

#[test]
fn a_flow_s_columns_are_about_it() {
    let flow = columns(&sampled(), "flows");
    let at = |name: &str| &flow[name];
    assert!(at("flow").iter().all(|&flow| flow == 0.0));
    for name in ["time_s", "delivered_bytes", "sent_bytes", "acknowledged_bytes"] {
        assert!(rises(at(name)) && at(name).last() > Some(&0.0), "{name}");
    }
    // 20 ms each way, and up to 50 packets of 1,500 bytes at 10 Mbit/s, before the link goes.
    let before = at("srtt_s").iter().zip(at("time_s")).filter(|(srtt, at)| **at < 4.0 && !srtt.is_nan());
    assert!(before.clone().count() > 300 && before.clone().all(|(srtt, _)| (0.0399..0.12).contains(srtt)));
    // RFC 6298 (2.4): the scenario leaves the least RTO at the profile's; the timer backs off while the link is gone.
    let spread = || at("rto_s").iter().zip(at("srtt_s")).filter(|(_, srtt)| !srtt.is_nan());
    assert!(spread().all(|(rto, srtt)| rto > srtt));
    let gone = |from: f64, to: f64| {
        most(
            at("rto_s")
                .iter()
                .zip(at("time_s"))
                .filter(|(_, at)| (from..to).contains(*at))
                .map(|(rto, _)| *rto),
        )
    };
    assert!(gone(4.5, 6.0) >= 2.0 * gone(2.0, 4.0), "{} after {}", gone(4.5, 6.0), gone(2.0, 4.0));
    // The initial window of the profile, and one segment after the timeout.
    assert!(at("cwnd_pkt").iter().all(|&cwnd| cwnd >= 1.0) && at("cwnd_pkt").contains(&1.0));
    assert!(at("ssthresh_pkt")[0].is_nan() && at("ssthresh_pkt").last() >= Some(&2.0));
}

#[test]
fn delivered_bytes_end_at_what_the_result_says() {
    let delivered = result(&scenario(OUTAGE), "sack", 1).aggregate.delivered_bytes as f64;
    let last = *columns(&sampled(), "flows")["delivered_bytes"].last().unwrap();
    // The last sample is 20 ms before the end at most: 25,000 bytes at 10 Mbit/s.
    assert!((delivered - 25_000.0..=delivered).contains(&last), "{last} of {delivered}");
}

#[test]
fn a_queue_s_columns_are_about_packets_that_wait() {
    let queue = columns(&sampled(), "queues");
    let packets = &queue["queue_pkt"];
    // 50, and the one in serialisation.
    assert!(packets.iter().all(|&packets| packets <= 51.0) && most(packets.iter().copied()) > 10.0);
    for (packets, octets) in packets.iter().zip(&queue["queue_bytes"]) {
        assert!((40.0 * packets..=1500.0 * packets).contains(octets), "{octets} in {packets}");
    }
    // Two links, two directions each.
    assert_eq!(most(queue["queue"].iter().copied()) as u32, 3);
}
