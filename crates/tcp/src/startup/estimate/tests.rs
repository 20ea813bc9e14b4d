use handfast_wire::notification::AccessLink;

use super::*;
use crate::Config;
use crate::send::sender::Sender;
use handfast_core::SeqNum;

/// Payload of a segment of 1,000 octets that carries its place in a train: MSS of figure 1.
const MSS: u64 = 984;
const RTT: Duration = Duration::from_millis(100);

/// `cwnd` octets.
fn path(cwnd: u64) -> Path {
    let mut sender = Sender::new(&Config { mss: 1000, ..Config::default() }, SeqNum(0));
    sender.request(Request::SlowStart { cwnd });
    Path { window: sender.window, srtt: RTT }
}

/// What waits for its first train: four segments of a link with a bandwidth-delay product of 100.
fn begun(kind: Kind) -> (Estimator, u64) {
    let mut estimator = Estimator::new(Estimation::PairChirp);
    let new = AccessLink { rate: BitRate::from_bps(8_000_000), delay: RTT / 2 };
    estimator.on_notification(&Notification { kind, number: 1, flows: 1, new, old: None });
    let mut sender = Sender::new(&Config { mss: 1000, ..Config::default() }, SeqNum(0));
    sender.request(Request::SlowStart { cwnd: 10_000 });
    estimator.begin(sender.controlled(), 1000, true);
    (estimator, sender.window.cwnd())
}

fn fresh(room: u64, unsent: u64, idle: bool) -> Fresh {
    Fresh { now: Instant::ZERO, start: 0, room, unsent, idle }
}

#[test]
fn only_a_connection_that_begins_gets_its_first_window_from_it() {
    assert_eq!(begun(Kind::Start).1, 4000);
    assert_eq!(begun(Kind::BreakBeforeMake).1, 10_000);
}

/// Segments of the train that leaves, or whether data is held.
#[derive(Debug, PartialEq)]
enum Turn {
    Leaves(u16),
    Held,
    /// Data leaves without a train, which waits.
    Later,
    /// Data leaves, and there will be no train.
    Never,
}

#[test]
fn a_train_waits_until_its_segments_leave_together() {
    use Turn::{Held, Later, Leaves, Never};
    const MUCH: u64 = 1_000_000;
    for (cwnd, room, unsent, idle, expected) in [
        (10_000, MUCH, MUCH, false, Leaves(4)),
        (3000, MUCH, MUCH, false, Leaves(3)),
        // As many as there are whole segments.
        (10_000, MUCH, 3 * MSS - 1, false, Leaves(2)),
        (10_000, MUCH, 2 * MSS - 1, false, Never),
        // The windows take all of them, or none of them leaves.
        (2000, 2 * MSS, MUCH, false, Leaves(2)),
        (2000, 2 * MSS - 1, MUCH, false, Held),
        // With nothing under way there will be no more room.
        (10_000, 2 * MSS, MUCH, true, Leaves(2)),
        (10_000, 2 * MSS - 1, MUCH, true, Never),
        // After a timeout cwnd grows to it.
        (1000, MUCH, MUCH, false, Later),
        (1000, MUCH, 2 * MSS, false, Later),
        (1000, MUCH, 2 * MSS - 1, false, Never),
    ] {
        let mut estimator = begun(Kind::BreakBeforeMake).0;
        let hold = estimator.on_fresh(&path(cwnd), &fresh(room, unsent, idle));
        let turn = match (hold, &estimator.stage) {
            (Hold::Begin(_), Stage::Leaving(flight)) => Leaves(flight.count),
            (Hold::Yes, Stage::Waiting(_)) => Held,
            (Hold::No, Stage::Waiting(_)) => Later,
            (Hold::No, Stage::Idle) => Never,
            other => panic!("{other:?}"),
        };
        assert_eq!(turn, expected, "cwnd {cwnd}, room for {room}, {unsent} unsent, idle: {idle}");
    }
}

#[test]
fn new_data_waits_for_a_result_only_where_a_connection_begins() {
    for (kind, holds) in [(Kind::Start, true), (Kind::BreakBeforeMake, false)] {
        let mut estimator = begun(kind).0;
        assert!(!estimator.is_leaving() && !estimator.holds(), "{kind:?}: it waits");
        assert!(matches!(estimator.on_fresh(&path(4000), &fresh(4000, 9000, false)), Hold::Begin(_)));
        for index in 0..4 {
            assert!(estimator.is_leaving() && !estimator.holds(), "{kind:?}: {index} have left");
            estimator.on_sent(Instant::ZERO, index, MSS * (index as u64 + 1)).expect("its place");
        }
        assert!(!estimator.is_leaving());
        assert_eq!(estimator.holds(), holds, "{kind:?}");
        estimator.give_up_waiting();
        assert!(!estimator.holds());
    }
}

/// ssthresh, and the last rate of the next chirp, after the first chirp, which rose to 8 Mbit/s, has measured `abest`.
fn after(abest: u64, bbw: u64, cwnd: u64) -> (Option<u64>, Option<u64>) {
    let mut estimator = begun(Kind::BreakBeforeMake).0;
    let Stage::Waiting(pairs) = estimator.stage else { panic!("nothing waits") };
    let cycle = Cycle { number: 1, low: 4_000_000, high: 8_000_000, bbw, ..pairs };
    let ssthresh = estimator.on_result(&cycle, abest, &path(cwnd));
    (ssthresh, if let Stage::Waiting(next) = estimator.stage { Some(next.high) } else { None })
}

#[test]
fn an_estimate_below_the_highest_rate_or_a_window_beyond_half_of_ssthresh_ends_it() {
    // 8 Mbit/s and 100 ms are 100,000 octets.
    assert_eq!(after(8_000_000, 9_000_000, 50_000), (Some(100_000), Some(16_000_000)));
    assert_eq!(after(8_000_000, 9_000_000, 50_001), (Some(100_000), None));
    assert_eq!(after(9_000_000, 8_000_000, 50_000), (Some(100_000), Some(16_000_000)), "no more than bbw");
    // 1 % below is what rounding may do.
    assert_eq!(after(7_920_000, 9_000_000, 10_000), (Some(99_000), Some(15_840_000)));
    assert_eq!(after(7_919_999, 9_000_000, 10_000), (Some(98_999), None));
    // RFC 5681 (4): two segments at least.
    assert_eq!(after(8, 9_000_000, 10_000), (Some(2000), None));
}

#[test]
fn a_chirp_s_rates_rise_by_one_factor_to_the_highest() {
    let (low, high) = (BitRate::from_bps(1_000_000), BitRate::from_bps(8_000_000));
    let departures = chirp(4, Bytes(1000), low, high);
    let micros: Vec<u64> = departures.iter().map(|at| at.as_nanos() / 1000).collect();
    // sf = 8^(1/3) = 2: 2, 4 and 8 Mbit/s.
    assert_eq!(micros, [0, 4000, 6000, 7000]);
    assert_eq!(chirp(2, Bytes(1000), low, high)[1], Duration::from_millis(1));
    // One factor of one is a constant rate.
    let even = chirp(3, Bytes(1000), high, high);
    assert_eq!(*even, [0, 1, 2].map(Duration::from_millis));
}
