//! Another congestion control on a connection that is open.

use handfast_tcp::{Config, CongestionControl};

use crate::script::{bulk, lose, ten};
use crate::support::{Fate, Side, data_of};

fn with(congestion_control: CongestionControl) -> Config {
    Config { congestion_control, hystart: false, ..ten("linux") }
}

/// What has left when the algorithm changes may be acknowledged, lost and undone under the other one.
#[test]
fn every_algorithm_takes_over_from_every_other() {
    for &(from, before, _) in CongestionControl::WORDS {
        for &(to, after, _) in CongestionControl::WORDS {
            let mut s = bulk(with(before), 300);
            s.lose(130, &[4, 5, 13]);
            let window = s.window().0;
            let now = s.pair.now;
            s.pair.client.set_congestion_control(now, after, false);
            assert_eq!(s.window().0, window, "{from} to {to}: cwnd stays");
            s.run(60_000, lose(&[40, 41, 80]));
            assert_eq!(s.pair.read_by_server, 300_000, "{from} to {to}");
        }
    }
}

/// BBR paces what leaves from then on: the segments of one moment are a few.
#[test]
fn who_takes_over_decides_what_leaves() {
    let together = |control| {
        let mut s = bulk(with(CongestionControl::LinuxReno), 600);
        s.run(130, |_| Fate::Deliver);
        let now = s.pair.now;
        s.pair.client.set_congestion_control(now, control, false);
        s.run(500, |_| Fate::Deliver);
        s.pair.log.clear();
        s.run(1000, |_| Fate::Deliver);
        let left =
            s.pair.log.iter().filter(|sent| sent.from == Side::Client && data_of(&sent.segment).is_some());
        let times: Vec<_> = left.map(|sent| sent.at).collect();
        times.chunk_by(|a, b| a == b).map(<[_]>::len).max().unwrap()
    };
    let (reno, bbr) = (together(CongestionControl::LinuxReno), together(CongestionControl::LinuxBbr));
    assert!(reno >= 10 && bbr <= 4, "{reno} {bbr}");
}

/// `TCP_CC_INFO`: only the kernel's BBR tells of itself, and nothing before the first acknowledgement.
#[test]
fn bbr_tells_what_it_has_measured() {
    let mut s = bulk(with(CongestionControl::LinuxBbr), 600);
    assert!(s.pair.client.bbr().is_some_and(|bbr| bbr.pacing_gain == 0 && bbr.bandwidth.as_bps() == 0));
    s.run(1000, |_| Fate::Deliver);
    let bbr = s.pair.client.bbr().unwrap();
    assert_eq!(bbr.min_rtt, Some(handfast_core::Duration::from_millis(100)));
    assert!(bbr.pacing_gain == 739 && bbr.bandwidth.as_bps() > 800_000, "{bbr:?}");
    let now = s.pair.now;
    s.pair.client.set_congestion_control(now, CongestionControl::LinuxCubic, true);
    assert_eq!(s.pair.client.bbr(), None);
}
