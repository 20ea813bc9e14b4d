//! Quick-Start at both ends: RFC 4782 §4.

use handfast_core::{BitRate, Duration, Instant};
use handfast_tcp::{Config, CongestionControl, InitialWindow, QuickStartRequest};
use handfast_wire::notification::{AccessLink, Kind};
use handfast_wire::tcp::{Flags, RateOption};
use handfast_wire::{Notification, QuickStart, QuickStartNonce, QuickStartRate};

use crate::script::{MS, Script, lose};
use crate::support::{Fate, Pair, Sent, Side, approve, plain};

/// The code of 1,280 kbit/s: 16,000 bytes in the 100 ms of a round trip, 15.38 packets of 1,040 bytes, one every 6.5 ms.
const CODE: u8 = 5;
const WINDOW: u64 = 15_384;

fn asking() -> Config {
    Config { quick_start: QuickStartRequest::Rate(BitRate::from_bps(1_000_000)), ..plain("sack") }
}

/// A client that opens a connection with `segments` segments to send; the start is when it is established.
fn open(config: Config, segments: u32, router: fn(QuickStart) -> QuickStart) -> Script {
    let server = Config { delayed_ack: Duration::ZERO, ..plain("sack") };
    let mut pair = Pair::new(config, server, MS(50));
    pair.router = router;
    pair.client_writes(0, segments * 1000);
    let start = pair.now + MS(100);
    Script { pair, start }
}

/// The IP options that the client sent, with the milliseconds since it began.
fn options(s: &Script) -> Vec<(u64, QuickStart)> {
    let of_client = s.pair.log.iter().filter(|sent| sent.from == Side::Client);
    of_client.filter_map(|sent| Some((since_syn(sent), sent.option?))).collect()
}

/// Milliseconds since the first SYN.
fn since_syn(sent: &Sent) -> u64 {
    sent.at.since(Instant::from_millis(1000)).as_millis()
}

/// What the client sent of its data: milliseconds since the start, and octets.
fn sent(s: &Script) -> Vec<(u64, usize)> {
    let of_client = s.pair.log.iter().filter(|sent| sent.from == Side::Client && sent.at >= s.start);
    let all = of_client.map(|sent| (s.ms(sent.at), sent.segment.payload.len()));
    all.filter(|&(_, len)| len > 0).collect()
}

/// The initial window; the report takes eight octets of its first segment.
const FOUR: [(u64, usize); 4] = [(0, 992), (0, 1000), (0, 1000), (0, 1000)];

fn code(field: u8) -> QuickStartRate {
    QuickStartRate::from_field(field)
}

fn handoff(kbps: u64, flows: u16) -> Notification {
    let new = AccessLink { rate: BitRate::from_bps(kbps * 1000), delay: MS(10) };
    Notification { kind: Kind::MakeBeforeBreak, number: 1, flows, new, old: None }
}

#[test]
fn an_approved_rate_is_a_window_paced_over_a_round_trip() {
    let mut s = open(asking(), 100, approve);
    s.run(99, |_| Fate::Deliver);
    // §4.4, equation (3): R * T / (MSS + H).
    assert_eq!(s.window(), (WINDOW, WINDOW));
    let departures: Vec<u64> = s
        .pair
        .log
        .iter()
        .filter(|sent| sent.from == Side::Client)
        .skip(1)
        .map(|sent| sent.at.since(s.start).as_nanos() / 1000)
        .collect();
    assert_eq!(departures, (0..15).map(|k| k * 6500).collect::<Vec<_>>());
    // The first acknowledgement ends the mode: from then on acknowledgements set the pace.
    s.run(110, |_| Fate::Deliver);
    assert_eq!(sent(&s)[15..], [(100, 1000), (106, 1000)]);
}

#[test]
fn the_request_is_in_the_first_syn_alone_and_its_timeout_is_three_seconds() {
    // §4.7.2.
    let mut s = open(asking(), 100, approve);
    s.run(5000, |_| Fate::Drop);
    let syns: Vec<_> = s.pair.log.iter().map(|sent| (since_syn(sent), sent.option.is_some())).collect();
    assert_eq!(syns, [(0, true), (3000, false), (5000, false)]);
    // Its answer, had it come late, is none.
    s.pair.run_for(MS(4000), |_| Fate::Deliver);
    assert_eq!(s.snapshot().ssthresh, u64::MAX);
    assert!(matches!(options(&s)[1], (_, QuickStart::Report { rate: QuickStartRate::NONE, .. })));
}

#[test]
fn a_response_that_comes_after_the_syn_has_been_repeated_is_none() {
    // §4.7.2: the repetition carries no request, and which of both SYNs is answered nobody can tell.
    let mut s = open(asking(), 100, approve);
    s.run(3100, |sent| match sent.from {
        Side::Client if sent.option.is_some() => Fate::Late(MS(3010)),
        Side::Client => Fate::Drop,
        Side::Server => Fate::Deliver,
    });
    s.pair.run_for(MS(10), |_| Fate::Deliver);
    assert!(sent(&s).iter().any(|&(at, _)| at >= 3000), "it is established");
    assert_eq!(s.snapshot().ssthresh, u64::MAX);
    assert!(s.window().0 < WINDOW);
}

#[test]
fn what_is_asked_for_is_rounded_up_and_reported_with_the_first_packet() {
    // §3.1, §4.1.
    let mut s = open(asking(), 100, approve);
    s.run(50, |_| Fate::Deliver);
    let [(0, QuickStart::Request { rate, ttl, nonce }), (100, report)] = options(&s)[..] else {
        panic!("{:?}", options(&s))
    };
    assert_eq!(rate, code(CODE));
    assert_eq!(report, QuickStart::Report { rate, nonce });
    // Both are random: another connection's differ.
    let mut other = open(asking(), 100, approve);
    other.pair.client.seed_quick_start(1);
    other.run(50, |_| Fate::Deliver);
    let (_, QuickStart::Request { ttl: ttl2, nonce: nonce2, .. }) = options(&other)[0] else { panic!() };
    assert!(ttl != ttl2 && nonce != nonce2);
}

#[test]
fn the_response_says_what_arrived_once() {
    // §4.2, §4.3.
    let mut s = open(asking(), 100, approve);
    s.run(150, |_| Fate::Deliver);
    let (_, QuickStart::Request { rate, ttl, nonce }) = options(&s)[0] else { panic!() };
    let answers: Vec<_> = s
        .pair
        .log
        .iter()
        .filter(|sent| sent.from == Side::Server)
        .filter_map(|sent| Some((since_syn(sent), *sent.segment.rate_option()?)))
        .collect();
    let [(50, RateOption::QuickStart(response))] = answers[..] else { panic!("{answers:?}") };
    assert_eq!((response.rate, response.nonce), (rate, nonce));
    assert_eq!(response.ttl_diff, 64_u8.wrapping_sub(ttl));
}

#[test]
fn a_wider_window_than_a_syn_can_say_follows_it() {
    // RFC 7323 §2.2: the window of a SYN-ACK is not scaled; 64 KiB would bound what is approved.
    let mut s = open(asking(), 100, approve);
    s.run(0, |_| Fate::Deliver);
    let server: Vec<_> =
        s.pair.log.iter().filter(|sent| sent.from == Side::Server).map(|sent| &sent.segment).collect();
    let [syn, window] = server[..] else { panic!("{server:?}") };
    assert!(syn.flags.contains(Flags::SYN | Flags::ACK) && window.flags == Flags::ACK);
    assert_eq!((window.seq, window.ack, window.window), (syn.seq + 1, syn.ack, 46_875));
    // Without a request, and without scaling, there is none.
    for config in [plain("sack"), Config { window_scaling: false, ..asking() }] {
        let mut s = open(config, 100, approve);
        s.run(0, |_| Fate::Deliver);
        assert_eq!(s.pair.log.iter().filter(|sent| sent.from == Side::Server).count(), 1);
    }
}

/// Each router's answer is no approval: the default window, and a report of zero (§4, §4.4).
fn is_refused(router: fn(QuickStart) -> QuickStart) {
    let mut s = open(asking(), 100, router);
    s.run(50, |_| Fate::Deliver);
    assert_eq!(sent(&s), FOUR);
    assert_eq!(s.window(), (4000, u64::MAX), "no congestion is meant by it");
    let (_, QuickStart::Request { nonce, .. }) = options(&s)[0] else { panic!() };
    let report = QuickStart::Report { rate: QuickStartRate::NONE, nonce };
    assert_eq!(options(&s)[1..], [(100, report)]);
}

#[test]
fn a_router_that_does_not_understand_refuses() {
    is_refused(|option| option);
}

#[test]
fn a_router_that_denies_refuses() {
    is_refused(|option| match option {
        QuickStart::Request { .. } => {
            QuickStart::Request { rate: QuickStartRate::NONE, ttl: 0, nonce: QuickStartNonce::default() }
        }
        report @ QuickStart::Report { .. } => report,
    });
}

#[test]
fn a_response_above_the_request_refuses() {
    is_refused(|option| match approve(option) {
        QuickStart::Request { ttl, nonce, .. } => {
            QuickStart::Request { rate: QuickStartRate::MOST, ttl, nonce }
        }
        report @ QuickStart::Report { .. } => report,
    });
}

/// Two steps down, and random bits in their fields.
fn reduce(option: QuickStart) -> QuickStart {
    match approve(option) {
        QuickStart::Request { rate, ttl, nonce } => {
            let lower = code(rate.field() - 2);
            let nonce = nonce.reduced(rate, lower, !nonce.bits());
            QuickStart::Request { rate: lower, ttl, nonce }
        }
        report @ QuickStart::Report { .. } => report,
    }
}

#[test]
fn a_reduced_rate_is_used() {
    let config = Config { quick_start: QuickStartRequest::Rate(BitRate::from_bps(5_000_000)), ..asking() };
    let mut s = open(config, 100, reduce);
    s.run(0, |_| Fate::Deliver);
    assert_eq!(s.window(), (WINDOW, WINDOW));
    assert!(matches!(options(&s)[1], (_, QuickStart::Report { rate, .. }) if rate == code(CODE)));
}

#[test]
fn a_rate_below_the_window_changes_nothing() {
    // §4.4: only if QS-cwnd is greater than cwnd; §3.1: the report says what was approved.
    let mut s = open(asking(), 100, reduce);
    s.run(50, |_| Fate::Deliver);
    assert_eq!((sent(&s), s.window()), (FOUR.to_vec(), (4000, u64::MAX)));
    assert!(matches!(options(&s)[1], (_, QuickStart::Report { rate, .. }) if rate == code(CODE - 2)));
}

#[test]
fn a_receiver_that_lies_about_a_reduction_is_found_out() {
    // §4.4: the bits of a step that was taken are other ones; no more requests.
    let mut s = open(asking(), 100, |option| match (reduce(option), option) {
        (QuickStart::Request { ttl, nonce, .. }, QuickStart::Request { rate, .. }) => {
            QuickStart::Request { rate, ttl, nonce }
        }
        (report, _) => report,
    });
    s.run(50, |_| Fate::Deliver);
    assert_eq!(s.window(), (4000, u64::MAX));
    let now = s.pair.now;
    s.pair.client.on_notification(now, &handoff(1000, 1));
    s.run(400, |_| Fate::Deliver);
    assert_eq!(options(&s).len(), 2, "the request and its report");
}

#[test]
fn a_window_that_is_not_used_is_not_kept() {
    // §4.4: with less to send the first acknowledgement finds seven segments used.
    let mut s = open(asking(), 7, approve);
    s.run(99, |_| Fate::Deliver);
    assert_eq!(s.window().0, WINDOW);
    s.run(100, |_| Fate::Deliver);
    assert_eq!(s.window().0, 7992, "seven, and slow start's one");
    // Less than the default is never left.
    let mut s = open(asking(), 2, approve);
    s.run(100, |_| Fate::Deliver);
    assert_eq!(s.window().0, 4992);
}

#[test]
fn an_approval_that_waits_is_void() {
    // §4.4: within one round trip.
    let mut s = open(asking(), 0, approve);
    s.run(101, |_| Fate::Deliver);
    assert_eq!(s.window().0, WINDOW);
    s.pair.client_writes(0, 100_000);
    s.run(102, |_| Fate::Deliver);
    assert_eq!((sent(&s), s.window()), (vec![(101, 1000); 4], (4000, u64::MAX)));
}

#[test]
fn a_lost_quick_start_packet_means_the_default_window() {
    // §4.6: slow start from the initial window, ssthresh at most half of what got through, no more requests.
    let mut s = open(asking(), 100, approve);
    s.run(133, lose(&[1]));
    assert_eq!(
        s.window(),
        (4000, 7500),
        "half of the flight of 15 or so, until it is known what got through"
    );
    s.run(240, |_| Fate::Deliver);
    assert_eq!(s.snapshot().ssthresh, 6996, "half of fourteen segments");
    let now = s.pair.now;
    s.pair.client.on_notification(now, &handoff(1000, 1));
    s.run(600, |_| Fate::Deliver);
    assert_eq!(options(&s).len(), 2);
}

#[test]
fn a_timeout_of_quick_start_packets_ends_the_mode() {
    let mut s = open(asking(), 100, approve);
    let sent_data = |sent: &Sent| !sent.segment.payload.is_empty();
    s.run(450, |sent| if sent_data(sent) { Fate::Drop } else { Fate::Deliver });
    assert_eq!((s.timeouts(), s.window().0), (vec![300], 1000));
}

#[test]
fn after_a_handoff_the_next_segment_asks_again() {
    // [vho] §4: Quick-Start "applied both at the start of a TCP connection and after a vertical handoff".
    let config = Config { quick_start: QuickStartRequest::Access, ..asking() };
    let mut s = open(config, 1000, approve);
    s.run(150, |_| Fate::Deliver);
    assert_eq!(options(&s), [], "nobody has told it of an access link");
    let now = s.pair.now;
    // 10 Mbit/s for three: of 3.3 Mbit/s the code below is 6, 2.56 Mbit/s, 32,000 bytes in a round trip.
    s.pair.client.on_notification(now, &handoff(10_000, 3));
    s.pair.client.on_notification(now, &handoff(10_000, 3));
    s.run(399, |_| Fate::Deliver);
    let [(300, QuickStart::Request { rate, nonce, .. }), (400, report)] = options(&s)[..] else {
        panic!("{:?}", options(&s))
    };
    assert_eq!((rate, report), (code(6), QuickStart::Report { rate, nonce }));
    assert_eq!(s.window().1, 30_769);
    let paced: Vec<u64> = s
        .pair
        .log
        .iter()
        .filter(|sent| sent.from == Side::Client)
        .map(|sent| sent.at.since(s.start).as_nanos() / 1000)
        .filter(|&at| at > 300_000)
        .collect();
    assert_eq!(paced[..3], [303_250, 306_500, 309_750]);
}

#[test]
fn no_request_follows_another_within_a_round_trip() {
    // §4.1.
    let mut s = open(asking(), 1000, approve);
    s.run(20, |_| Fate::Deliver);
    let now = s.pair.now;
    s.pair.client.on_notification(now, &handoff(1000, 1));
    s.run(300, |_| Fate::Deliver);
    let asked: Vec<u64> =
        options(&s).iter().filter(|o| matches!(o.1, QuickStart::Request { .. })).map(|o| o.0).collect();
    assert_eq!(asked.len(), 2);
    assert!(asked[1] >= 100, "{asked:?}");
    // Two handoffs within one.
    for number in [2, 3] {
        let now = s.pair.now;
        s.pair.client.on_notification(now, &Notification { number, ..handoff(1000, 1) });
        s.run(s.ms(s.pair.now) + 20, |_| Fate::Deliver);
    }
    s.run(700, |_| Fate::Deliver);
    let asked: Vec<u64> =
        options(&s).iter().filter(|o| matches!(o.1, QuickStart::Request { .. })).map(|o| o.0).collect();
    assert_eq!(asked.len(), 4);
    assert!(asked[3] >= asked[2] + 100, "{asked:?}");
}

/// cwnd after 450 ms of slow start from ten segments.
fn slowly_started(asks: bool, growth: CongestionControl) -> u64 {
    let config = Config { initial_window: InitialWindow::Ten, congestion_control: growth, ..plain("sack") };
    let config = if asks {
        Config { quick_start: QuickStartRequest::Rate(BitRate::from_bps(80_000)), ..config }
    } else {
        config
    };
    let mut s = open(config, 2000, approve);
    s.run(450, |_| Fate::Deliver);
    s.window().0
}

#[test]
fn slow_start_is_limited_above_a_hundred_segments() {
    // RFC 3742, which §4.4 demands: K = cwnd / 50 segments, and MSS / K for each acknowledgement.
    assert_eq!(slowly_started(false, CongestionControl::Reno), 160_000);
    let limited = slowly_started(true, CongestionControl::Reno);
    assert!((125_000..132_000).contains(&limited), "{limited}");
}

#[test]
fn limited_slow_start_goes_on_where_the_window_counts_whole_segments() {
    assert_eq!(slowly_started(false, CongestionControl::LinuxReno), 160_000);
    let limited = slowly_started(true, CongestionControl::LinuxReno);
    assert!((125_000..132_000).contains(&limited) && limited.is_multiple_of(1000), "{limited}");
}
