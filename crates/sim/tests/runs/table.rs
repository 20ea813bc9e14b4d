//! The whole table of a grid of profiles, losses and queues on fixed seeds, in integers. A change of any number is a
//! "results changed" entry in the CHANGELOG. `HANDFAST_UPDATE=1 cargo test -p handfast-sim --test runs` writes it anew.

use std::fmt::Write;

use crate::support::{OUTAGE, assert_golden, result, set};

/// Losses per thousand packets, both ways.
const LOSSES: [(&str, &str); 3] = [("0", "0"), ("1", "0.001"), ("20", "0.02")];
const QUEUES: [u32; 3] = [5, 20, 100];

fn table() -> String {
    let mut table = String::from(
        "profile    loss/1000 queue  delivered_kB retransmitted timeouts lost  stall_ms full_rate_ms cwnd_mean_millipkt\n",
    );
    for profile in handfast_tcp::PROFILES {
        for (loss, probability) in LOSSES {
            for queue in QUEUES {
                let room = format!("{queue}pkt");
                let changes = [("links.radio.loss", probability), ("links.radio.queue", &room)];
                let run = result(&set(OUTAGE, &changes), profile.name, 1);
                let (all, millis) = (&run.aggregate, |s: Option<f64>| s.map_or(-1, |s| (s * 1000.0) as i64));
                let known = |n: Option<u64>| n.expect("a simulation knows");
                writeln!(
                    table,
                    "{:<10} {loss:>9} {queue:>5} {:>13} {:>13} {:>8} {:>4} {:>9} {:>12} {:>18}",
                    profile.name,
                    all.delivered_bytes / 1000,
                    known(all.retransmitted_segments),
                    known(all.timeouts),
                    known(all.lost_segments),
                    millis(all.stall_s),
                    millis(all.time_to_full_rate_s),
                    millis(all.cwnd_mean_pkt),
                )
                .unwrap();
            }
        }
    }
    table
}

#[test]
fn the_table_is_as_it_was() {
    assert_golden("table.txt", &table());
}
