//! Capacity estimation by packet pairs and chirps: figure 1 and §3 of [vho], branch by branch.

use handfast_core::{BitRate, Bytes, Duration, Instant};
use handfast_tcp::{Config, Estimation};
use handfast_wire::Notification;
use handfast_wire::notification::{AccessLink, Kind};
use handfast_wire::tcp::{Probe, RateOption, TrainKind};
use proptest::prelude::*;

use crate::script::{MS, Script, data};
use crate::support::{Fate, Pair, Sent, Side, plain};

/// Payload of a segment of 1,000 octets that carries its place in a train: MSS of figure 1.
const MSS: u64 = 984;

fn measuring() -> Config {
    Config { estimate: Estimation::PairChirp, ..plain("sack") }
}

fn told(kind: Kind, kbps: u64, delay_ms: u64, flows: u16) -> Notification {
    let new = AccessLink { rate: BitRate::from_bps(kbps * 1000), delay: MS(delay_ms) };
    Notification { kind, number: 1, flows, new, old: None }
}

/// A client that is told of its peer's access link before its SYN, and has `segments` segments to send.
fn open(config: Config, told: &Notification, segments: u32) -> Script {
    let server = Config { delayed_ack: Duration::ZERO, ..plain("sack") };
    let mut pair = Pair::new(config, server, MS(50));
    let now = pair.now;
    pair.client.on_notification(now, told);
    pair.client_writes(0, segments * 1000);
    let start = pair.now + MS(100);
    Script { pair, start }
}

/// A bottleneck of `bps` with room for all in front of it, on the client's way.
fn bottleneck(bps: u64) -> impl FnMut(&Sent) -> Fate {
    let mut free = Instant::ZERO;
    move |sent| {
        if sent.from == Side::Server {
            return Fate::Deliver;
        }
        let size = Bytes((40 + sent.segment.options_len() + sent.segment.payload.len()) as u64);
        let (time, _) = BitRate::from_bps(bps).serialisation(size).unwrap();
        free = free.max(sent.at) + time;
        Fate::Late(free.since(sent.at))
    }
}

/// What a link of `bps` carries in payload of such segments, in bit/s.
fn of_payload(bps: u64) -> u64 {
    // 40 bytes of headers and 16 of the option.
    bps * MSS / (MSS + 56)
}

/// The trains that the client sent: their segments, with nanoseconds since the first one left.
fn trains(s: &Script) -> Vec<Vec<(Probe, u64)>> {
    let mut trains: Vec<Vec<(Probe, u64)>> = Vec::new();
    let mut began = Instant::ZERO;
    for sent in &s.pair.log {
        let Some(&RateOption::Probe(probe)) = sent.segment.rate_option() else { continue };
        if probe.index == 0 {
            trains.push(Vec::new());
            began = sent.at;
        }
        trains.last_mut().expect("a train begins").push((probe, sent.at.since(began).as_nanos()));
    }
    trains
}

/// The rates of a train's gaps in kbit/s of payload.
fn rates(train: &[(Probe, u64)]) -> Vec<u64> {
    train.windows(2).map(|pair| MSS * 8 * 1_000_000 / (pair[1].1 - pair[0].1)).collect()
}

/// What the receiver answered, in bit/s.
fn answers(s: &Script) -> Vec<(TrainKind, u64)> {
    let options = s.pair.log.iter().filter_map(|sent| sent.segment.rate_option());
    options
        .filter_map(|option| match option {
            RateOption::Estimate(estimate) => Some((estimate.kind, estimate.rate().as_bps())),
            _ => None,
        })
        .collect()
}

fn is_about(value: u64, expected: u64) -> bool {
    value.abs_diff(expected) * 200 <= expected
}

#[test]
fn four_segments_leave_back_to_back_or_as_many_as_the_share_of_the_link_is() {
    // pkt_count = min (4, BDP_link / #flows): 8 Mbit/s and 10 ms are 19 packets of 1,040 bytes.
    for (flows, count) in [(1, 4), (4, 4), (5, 3), (8, 2)] {
        let mut s = open(measuring(), &told(Kind::Start, 8000, 10, flows), 200);
        s.run(10, bottleneck(8_000_000));
        let sent = &trains(&s)[0];
        assert_eq!(sent.len(), count, "{flows} flows");
        for (index, &(probe, at)) in (0..).zip(sent) {
            let (kind, count) = (TrainKind::Pair, count as u16);
            assert_eq!((probe, at), (Probe { kind, train: 1, index, count, offset_ns: 0 }, 0));
        }
    }
}

#[test]
fn with_less_than_two_packets_it_is_regular_tcp_from_one_segment() {
    // "If pkt_count <= 1, continue with regular TCP behaviour"; "the algorithm sets the initial cwnd as 1".
    let mut s = open(measuring(), &told(Kind::Start, 8000, 10, 10), 200);
    s.run(350, bottleneck(8_000_000));
    assert!(trains(&s).is_empty());
    let counts: Vec<_> = s.rounds().iter().map(|round| round.split(':').next().unwrap().to_owned()).collect();
    assert_eq!(counts[..2], ["0", "101"], "{:?}", s.rounds());
    assert_eq!(s.snapshot().ssthresh, u64::MAX);
}

#[test]
fn the_gap_of_a_pair_is_the_bottleneck() {
    // bbw = MSS / (p2 - p1), and the first chirp rises from half of it to all of it.
    let mut s = open(measuring(), &told(Kind::Start, 8000, 10, 1), 200);
    s.run(160, bottleneck(4_000_000));
    let [(TrainKind::Pair, bbw), ..] = answers(&s)[..] else { panic!("{:?}", answers(&s)) };
    assert!(is_about(bbw, of_payload(4_000_000)), "{bbw}");
    let all = trains(&s);
    let chirp = rates(&all[1]);
    assert!(is_about(*chirp.last().unwrap() * 1000, bbw), "{chirp:?}");
    // One factor from gap to gap, which takes the rate from half of it over all gaps.
    let factor = chirp[1] as f64 / chirp[0] as f64;
    assert!((libm::pow(factor, chirp.len() as f64) - 2.0).abs() < 0.02, "{chirp:?}");
    // What the option says is when it left.
    assert!(
        all[1].iter().all(|&(probe, at)| u64::from(probe.offset_ns) == at && probe.kind == TrainKind::Chirp)
    );
}

#[test]
fn the_link_s_bandwidth_bounds_the_bottleneck_s() {
    // "If (bbw > BDP_link), bbw <- BDP_link".
    let mut s = open(measuring(), &told(Kind::Start, 8000, 10, 1), 200);
    s.run(160, bottleneck(80_000_000));
    assert!(is_about(answers(&s)[0].1, of_payload(80_000_000)));
    assert!(is_about(*rates(&trains(&s)[1]).last().unwrap(), 8000));
}

#[test]
fn flows_share_the_bottleneck() {
    // Cycle 1: highrate = bbw / #flows.
    let mut s = open(measuring(), &told(Kind::Start, 8000, 20, 2), 200);
    s.run(160, bottleneck(8_000_000));
    assert!(is_about(*rates(&trains(&s)[1]).last().unwrap() * 2000, of_payload(8_000_000)));
}

#[test]
fn a_chirp_is_a_window_at_most() {
    // Cycle 1: pkt_count = min (cwnd, bbw * RTT / (#flows * MSS)).
    let mut s = open(measuring(), &told(Kind::Start, 8000, 10, 1), 200);
    s.run(160, bottleneck(8_000_000));
    assert_eq!(trains(&s)[1].len(), 8, "cwnd after four acknowledgements");
    // 1 Mbit/s for two: six segments in a round trip of some 110 ms.
    let mut s = open(measuring(), &told(Kind::Start, 1000, 50, 2), 200);
    s.run(300, bottleneck(1_000_000));
    assert_eq!(trains(&s)[1].len(), 6);
}

#[test]
fn an_estimate_sets_ssthresh_and_cwnd_grows_as_in_slow_start() {
    // ssthresh = abest * RTT.
    let mut s = open(measuring(), &told(Kind::Start, 8000, 10, 1), 2000);
    s.run(240, bottleneck(8_000_000));
    let [_, (TrainKind::Chirp, abest)] = answers(&s)[..] else { panic!("{:?}", answers(&s)) };
    let rtt = s.snapshot().ssthresh as f64 * 8.0 / abest as f64;
    // The first segment's answer comes 1.04 ms after the wire's 100 ms.
    assert!((0.101..0.1015).contains(&rtt), "{rtt}");
    assert_eq!(s.window().0, 4000 + 4 * 984 + 8 * 984, "a segment for each acknowledged one");
}

#[test]
fn an_estimate_below_the_highest_rate_ends_it() {
    // "stops when abest < highrate": half of the link is gone when the chirp comes.
    let mut s = open(measuring(), &told(Kind::Start, 8000, 10, 1), 2000);
    let (mut before, mut after) = (bottleneck(8_000_000), bottleneck(5_000_000));
    let switch = s.start + MS(50);
    s.run(600, move |sent| if sent.at < switch { before(sent) } else { after(sent) });
    assert_eq!(trains(&s).len(), 2);
    let [_, (TrainKind::Chirp, abest)] = answers(&s)[..] else { panic!("{:?}", answers(&s)) };
    // The gap at which the queue begins is the first that is 5 % above 5 Mbit/s; the factor of eight segments is 2^(1/7).
    let (least, most) = (of_payload(5_000_000), of_payload(5_000_000) * 118 / 100);
    assert!((least..=most).contains(&abest), "{abest}");
}

#[test]
fn a_window_that_slow_start_would_double_beyond_ssthresh_ends_it() {
    // "or 2 * cwnd > ssthresh": 1 Mbit/s are 11 segments in a round trip, and cwnd is 8.
    let mut s = open(measuring(), &told(Kind::Start, 1000, 50, 1), 2000);
    s.run(900, bottleneck(1_000_000));
    assert_eq!(trains(&s).len(), 2);
    assert!(answers(&s)[1].1 * 101 / 100 > of_payload(1_000_000));
}

#[test]
fn the_second_chirp_rises_from_two_segments_a_round_trip_to_twice_the_first_estimate() {
    let mut s = open(measuring(), &told(Kind::Start, 8000, 10, 1), 2000);
    s.run(800, bottleneck(8_000_000));
    let (trains, answers) = (trains(&s), answers(&s));
    assert_eq!(trains.len(), 3, "its estimate is below its highest rate");
    let chirp = rates(&trains[2]);
    assert!(is_about(*chirp.last().unwrap() * 1000, 2 * answers[1].1), "{chirp:?}");
    // lowrate = 2 / RTT: 156 kbit/s at 101 ms, one factor below the first gap's.
    let factor = chirp[1] as f64 / chirp[0] as f64;
    let low = chirp[0] as f64 / factor;
    assert!((150.0..160.0).contains(&low), "{low}");
    assert_eq!(trains[2].len(), 16);
    // "(abest > bbw), abest <- bbw": ssthresh is that of the bottleneck, not of twice as much.
    assert!(s.snapshot().ssthresh <= answers[0].1 * 102 / 8000);
}

#[test]
fn as_the_text_has_it_the_second_chirp_rises_to_the_first_estimate_and_the_third_to_twice_that() {
    let config = Config { estimate: Estimation::PairChirpText, ..measuring() };
    let mut s = open(config, &told(Kind::Start, 16_000, 10, 1), 4000);
    s.run(1200, bottleneck(16_000_000));
    let trains = trains(&s);
    let last = |train: usize| *rates(&trains[train]).last().unwrap();
    assert!(is_about(last(2), last(1)), "{} after {}", last(2), last(1));
    // Cycle 3: both rates are twice those before.
    assert!(is_about(last(3), 2 * last(2)), "{} after {}", last(3), last(2));
    assert_eq!(trains.len(), 4);
}

#[test]
fn after_a_handoff_it_sets_ssthresh_only() {
    let mut s = open(measuring(), &told(Kind::Start, 100, 10, 1), 2000);
    // Not one packet: nothing is measured at the start.
    s.run(450, bottleneck(16_000_000));
    let (cwnd, _) = s.window();
    let now = s.pair.now;
    s.pair
        .client
        .on_notification(now, &Notification { number: 2, ..told(Kind::MakeBeforeBreak, 16_000, 20, 1) });
    assert_eq!(s.window().0, cwnd);
    // The same again is the same.
    s.pair
        .client
        .on_notification(now, &Notification { number: 2, ..told(Kind::MakeBeforeBreak, 16_000, 20, 1) });
    s.run(1500, bottleneck(16_000_000));
    let answers = answers(&s);
    assert!(
        answers.len() >= 2
            && is_about(answers.last().unwrap().1.min(answers[answers.len() - 2].1), of_payload(16_000_000)),
        "{answers:?}"
    );
    let ssthresh = s.snapshot().ssthresh * 8 * 10;
    assert!((of_payload(16_000_000)..of_payload(16_000_000) * 11 / 10).contains(&ssthresh), "{ssthresh}");
}

#[test]
fn a_chirp_after_a_handoff_is_a_window_long_or_eight_segments_where_that_is_asked_for() {
    let longest = |how| {
        let mut s = open(Config { estimate: how, ..measuring() }, &told(Kind::Start, 8000, 50, 1), 2000);
        s.run(900, bottleneck(16_000_000));
        let begun = trains(&s).len();
        let now = s.pair.now;
        s.pair
            .client
            .on_notification(now, &Notification { number: 2, ..told(Kind::MakeBeforeBreak, 16_000, 50, 1) });
        s.run(1200, bottleneck(16_000_000));
        let trains = trains(&s);
        let most = |trains: &[Vec<_>]| trains.iter().map(Vec::len).max();
        (most(&trains[..begun]), most(&trains[begun..]))
    };
    let (first, later) = longest(Estimation::PairChirp);
    assert!(first > Some(8) && later > Some(20), "{first:?} {later:?}");
    assert_eq!(longest(Estimation::PairChirpShort), (first, Some(8)));
}

#[test]
fn a_loss_within_a_train_ends_it() {
    let mut s = open(measuring(), &told(Kind::Start, 8000, 10, 1), 2000);
    let mut wire = bottleneck(8_000_000);
    s.run(900, move |sent| match sent.segment.rate_option() {
        Some(RateOption::Probe(Probe { train: 2, index: 2, .. })) => Fate::Drop,
        _ => wire(sent),
    });
    assert_eq!(trains(&s).len(), 2);
    assert!(s.timeouts().is_empty());
    assert!(s.pair.read_by_server > 20_000, "it goes on");
}

#[test]
fn a_receiver_that_gives_no_answer_ends_it() {
    let mut s = open(measuring(), &told(Kind::Start, 8000, 10, 1), 2000);
    let mut wire = bottleneck(8_000_000);
    s.run(900, move |sent| match sent.segment.rate_option() {
        Some(RateOption::Estimate(_)) => Fate::Drop,
        _ => wire(sent),
    });
    assert_eq!(trains(&s).len(), 1);
    assert_eq!(s.snapshot().ssthresh, u64::MAX);
    assert!(s.pair.read_by_server > 100_000, "it goes on");
}

#[test]
fn an_application_with_little_to_send_is_not_measured() {
    let mut s = open(measuring(), &told(Kind::Start, 8000, 10, 1), 1);
    s.run(400, bottleneck(8_000_000));
    assert_eq!((trains(&s).len(), s.pair.read_by_server), (0, 1000));
}

#[test]
fn forged_probes_are_measured_and_nothing_else_happens() {
    let mut s = open(plain("sack"), &told(Kind::Start, 8000, 10, 1), 0);
    s.run(10, |_| Fate::Deliver);
    for index in [0, 1, u16::MAX, 0] {
        let probe = Probe { kind: TrainKind::Chirp, train: 3, index, count: 0, offset_ns: u32::MAX };
        let mut forged = data(0, 1000);
        forged.rare = Some(Box::default());
        forged.rare.as_mut().unwrap().rate = Some(RateOption::Probe(probe));
        s.give(&forged);
    }
    assert_eq!(s.pair.read_by_server, 1000);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Over one bottleneck without cross traffic.
    #[test]
    fn the_estimate_is_the_capacity_within_three_trains(kbps in 1000..100_000_u64, delay in 2..100_u64, mss in 500..1460_u16) {
        let config = Config { mss, ..measuring() };
        let mut pair = Pair::new(config, Config { mss, delayed_ack: MS(40), ..plain("sack") }, MS(delay));
        let now = pair.now;
        pair.client.on_notification(now, &told(Kind::Start, kbps, delay.max(20), 1));
        pair.client_writes(0, 20_000_000);
        let mut s = Script { start: pair.now + MS(2 * delay), pair };
        // Until slow start has reached the window that was found at the latest.
        s.run(2 * delay * 7, bottleneck(kbps * 1000));
        let (trains, answers) = (trains(&s), answers(&s));
        prop_assert!(trains.len() <= 3 && answers.len() == trains.len(), "{} trains, {answers:?}", trains.len());
        if trains.len() < 2 {
            // Nothing to chirp: a round trip has room for fewer than four packets.
            prop_assert!(kbps * 2 * delay < 8 * 4 * (u64::from(mss) + 40));
            return Ok(());
        }
        let abest = answers.iter().map(|answer| answer.1).min().unwrap();
        let capacity = kbps * 1000 * (u64::from(mss) - 16) / (u64::from(mss) + 40);
        prop_assert!(abest.abs_diff(capacity) * 10 <= capacity, "{abest} of {capacity}");
        prop_assert_eq!(s.pair.client.counters().retransmitted_segments, 0);
    }
}
