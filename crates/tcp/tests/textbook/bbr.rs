//! The kernel's BBR on a connection: what leaves when, and what loss recovery and pauses do not do to its window.

use handfast_tcp::Config;

use crate::script::{Script, bulk, lose};
use crate::support::{Fate, Side, data_of, plain};

fn bbr() -> Config {
    plain("linux-bbr")
}

/// How many segments left at each moment, and the microseconds of it since the first.
fn bursts(s: &Script) -> Vec<(u64, usize)> {
    let data = s.pair.log.iter().filter(|sent| sent.from == Side::Client && data_of(&sent.segment).is_some());
    let at: Vec<u64> = data.map(|sent| sent.at.since(s.start).as_nanos() / 1000).collect();
    at.chunk_by(|a, b| a == b).map(|burst| (burst[0], burst.len())).collect()
}

#[test]
fn the_first_window_leaves_at_once_and_what_follows_in_pairs() {
    // `tcp_update_skb_after_send`: the first ten are not paced. Ten segments of 1000 octets a round trip of 100 ms, times 2.885, are
    // 2.3 Mbit/s: bursts of two, 7 ms apart.
    let mut s = bulk(bbr(), 100);
    s.run(199, |_| Fate::Deliver);
    let bursts = bursts(&s);
    assert_eq!(bursts[0], (0, 10));
    assert!(bursts[1..].iter().all(|&(_, segments)| segments <= 2), "{bursts:?}");
    assert!(
        bursts[2..].windows(2).all(|pair| (5000..=7100).contains(&(pair[1].0 - pair[0].0))),
        "{bursts:?}"
    );
}

#[test]
fn losses_do_not_halve_its_window() {
    // The rate of the path is known after some rounds; then three losses in one of them.
    let mut s = bulk(bbr(), 4000);
    s.run(1500, |_| Fate::Deliver);
    let (before, _) = s.window();
    let sent = s.snapshot().sent / 1000;
    s.run(400, lose(&[sent + 5, sent + 9, sent + 40]));
    let (after, _) = s.window();
    assert!(after * 10 >= before * 9, "{after} of {before}");
}

#[test]
fn a_pause_leaves_the_window_as_it_is() {
    // `tcp_slow_start_after_idle_check`: not where `cong_control` is set. CUBIC's is halved each timeout.
    for (name, keeps) in [("linux-bbr", true), ("linux", false)] {
        let mut s = bulk(Config { cwnd_validation: true, ..plain(name) }, 400);
        s.run(3000, |_| Fate::Deliver);
        assert_eq!(s.snapshot().acknowledged, 400_000);
        let (before, _) = s.window();
        s.run(5000, |_| Fate::Deliver);
        s.pair.client_writes(400_000, 1000);
        s.run(1, |_| Fate::Deliver);
        let (after, _) = s.window();
        assert_eq!(after >= before, keeps, "{name}: {after} of {before}");
    }
}
