//! Opening, closing, refusing: RFC 9293 §3.5 and §3.6.

mod support;

use handfast_core::{Duration, Instant};
use handfast_tcp::{Death, Event, PROFILES, State};
use handfast_wire::tcp::Flags;
use support::{Fate, Pair, Side, plain};

const S: fn(u64) -> Duration = Duration::from_secs;

fn flags(pair: &Pair, side: Side) -> Vec<Flags> {
    pair.log.iter().filter(|s| s.from == side).map(|s| s.segment.flags).collect()
}

#[test]
fn every_profile_moves_a_megabyte_and_closes() {
    for profile in PROFILES {
        let mut pair = Pair::new(profile.config(), profile.config(), Duration::from_millis(20));
        pair.client_writes(0, 1_000_000);
        pair.client.close(pair.now);
        pair.run_for(S(5), |_| Fate::Deliver);
        assert_eq!(pair.read_by_server, 1_000_000, "{}", profile.name);
        assert_eq!(pair.server.state(), State::CloseWait, "{}", profile.name);
        pair.server.close(pair.now);
        pair.run_for(S(5), |_| Fate::Deliver);
        assert_eq!(
            (pair.client.state(), pair.server.state()),
            (State::TimeWait, State::Closed),
            "{}",
            profile.name
        );
        pair.run_for(S(120), |_| Fate::Deliver);
        assert_eq!(pair.client.state(), State::Closed, "{}", profile.name);
        assert_eq!(pair.client.counters().retransmitted_segments, 0, "{}", profile.name);
        assert_eq!(pair.client.counters().timeouts, 0, "{}", profile.name);
    }
}

#[test]
fn a_lost_syn_is_repeated_and_leaves_a_window_of_one_segment() {
    let mut pair = Pair::new(plain("sack"), plain("sack"), Duration::from_millis(50));
    let mut syns = 0;
    pair.run_for(S(4), |s| {
        let lost = s.from == Side::Client && s.segment.flags == Flags::SYN && {
            syns += 1;
            syns <= 2
        };
        if lost { Fate::Drop } else { Fate::Deliver }
    });
    let times: Vec<u64> = pair
        .log
        .iter()
        .filter(|s| s.segment.flags == Flags::SYN)
        .map(|s| s.at.since(Instant::from_millis(1000)).as_millis())
        .collect();
    // RFC 6298 §2.1 and §5.5: 1 s, then 2 s.
    assert_eq!(times, [0, 1000, 3000]);
    assert_eq!(pair.client.state(), State::Established);
    // RFC 5681 §3.1.
    assert_eq!(pair.client.cwnd(), pair.client.smss());
}

#[test]
fn a_peer_that_never_answers_is_given_up() {
    let mut pair = Pair::new(plain("sack"), plain("sack"), Duration::from_millis(50));
    pair.run_for(S(1000), |_| Fate::Drop);
    assert_eq!(flags(&pair, Side::Client), [Flags::SYN; 7], "six retries");
    assert!(matches!(pair.events.last(), Some((_, Side::Client, Event::Died(Death::HandshakeTimeout)))));
}

#[test]
fn both_close_at_once() {
    let mut pair = Pair::connected(plain("sack"), plain("sack"));
    pair.client.close(pair.now);
    pair.server.close(pair.now);
    pair.run_for(S(1), |_| Fate::Deliver);
    // RFC 9293 figure 13.
    assert_eq!((pair.client.state(), pair.server.state()), (State::TimeWait, State::TimeWait));
}

#[test]
fn each_fin_and_its_ack_may_be_lost() {
    for lost in 0..4 {
        let mut pair = Pair::connected(plain("sack"), plain("sack"));
        pair.client_writes(0, 500);
        pair.client.close(pair.now);
        pair.server.close(pair.now);
        let mut n = 0;
        pair.run_for(S(20), |_| {
            n += 1;
            if n == lost + 1 { Fate::Drop } else { Fate::Deliver }
        });
        assert_eq!(pair.read_by_server, 500);
        for side in [&pair.client, &pair.server] {
            assert!(matches!(side.state(), State::TimeWait | State::Closed), "{lost}: {:?}", side.state());
        }
    }
}

#[test]
fn both_open_at_once() {
    // RFC 9293 §3.5, figure 8.
    let mut pair = Pair::new(plain("sack"), plain("sack"), Duration::from_millis(50));
    pair.server = handfast_tcp::Endpoint::connect(
        std::sync::Arc::new(plain("sack")),
        80,
        4000,
        handfast_core::SeqNum(77),
        pair.now,
    );
    pair.run_for(S(2), |_| Fate::Deliver);
    assert_eq!((pair.client.state(), pair.server.state()), (State::Established, State::Established));
    pair.client_writes(0, 3000);
    pair.run_for(S(2), |_| Fate::Deliver);
    assert_eq!(pair.read_by_server, 3000);
}

#[test]
fn an_abort_resets_the_peer() {
    let mut pair = Pair::connected(plain("sack"), plain("sack"));
    pair.client.abort();
    pair.run_for(S(1), |_| Fate::Deliver);
    assert_eq!(flags(&pair, Side::Client), [Flags::RST]);
    assert!(pair.events.iter().any(|e| e.1 == Side::Server && e.2 == Event::Died(Death::Reset)));
}

#[test]
fn a_refused_syn_ack_leads_back_to_listen_with_what_was_written() {
    // RFC 9293 §3.10.7.4, second: a passive opener in SYN-RECEIVED that is reset returns to LISTEN.
    let mut pair = Pair::new(plain("sack"), plain("sack"), Duration::from_millis(50));
    pair.server.write(handfast_wire::Payload::Synthetic {
        stream: support::SERVER_STREAM,
        offset: 0,
        len: 700,
    });
    pair.server.close(pair.now);
    // The SYN-ACK is lost; so are those until the client's SYN goes out again.
    pair.run_for(
        Duration::from_millis(60),
        |s| if s.from == Side::Server { Fate::Drop } else { Fate::Deliver },
    );
    assert_eq!(pair.server.state(), State::SynReceived);
    let syn = pair.log[0].segment.clone();
    let reset = handfast_wire::tcp::Segment { flags: Flags::RST, seq: syn.seq + 1, ..syn };
    pair.inject(Side::Server, &reset, |_| Fate::Drop);
    assert_eq!(pair.server.state(), State::Listen);
    pair.run_for(S(5), |_| Fate::Deliver);
    assert_eq!((pair.read_by_client, pair.client.state()), (700, State::CloseWait));
}

#[test]
fn the_override_timeout_is_not_put_off_by_a_talkative_peer() {
    // RFC 9293 §3.8.6.2.1: what silly-window avoidance holds back goes out after the override timeout, here one RTO, though
    // the peer's own data repeats the narrow window every 100 ms.
    let narrow = handfast_tcp::Config { mss: 88, receive_buffer: handfast_core::Bytes(300), ..plain("reno") };
    let mut pair = Pair::connected(plain("reno"), narrow);
    pair.reading = false;
    pair.client_writes(0, 400);
    pair.run_for(Duration::from_millis(150), |_| Fate::Deliver);
    let before = pair.server.readable();
    assert!(before < 300, "a part of a segment is held back: {before}");
    for k in 0..8 {
        pair.server.write(handfast_wire::Payload::Synthetic {
            stream: support::SERVER_STREAM,
            offset: k,
            len: 1,
        });
        pair.run_for(Duration::from_millis(100), |_| Fate::Deliver);
    }
    assert_eq!(pair.server.readable(), 300);
}

#[test]
fn probes_that_cross_and_are_both_taken_end_in_silence() {
    // RFC 9293 §3.8.6.1: each side probes the other's closed window with one octet, and both applications read while the
    // probes are under way. Neither side can then know whether its probe was taken.
    let narrow = || handfast_tcp::Config { receive_buffer: handfast_core::Bytes(1000), ..plain("reno") };
    let mut pair = Pair::connected(narrow(), narrow());
    pair.reading = false;
    pair.client_writes(0, 1500);
    pair.server.write(handfast_wire::Payload::Synthetic {
        stream: support::SERVER_STREAM,
        offset: 0,
        len: 1500,
    });
    let is_probe = |s: &support::Sent| support::data_of(&s.segment) == Some((1000, 1));
    while pair.log.iter().filter(|s| is_probe(s)).count() < 2 {
        pair.run_for(Duration::from_millis(1), |_| Fate::Deliver);
    }
    let (last, before) = (pair.log.len() - 1, pair.log.len() - 2);
    assert!(is_probe(&pair.log[last]) && is_probe(&pair.log[before]), "both are under way");
    pair.reading = true;
    pair.read_all();
    pair.run_for(S(5), |_| Fate::Deliver);
    assert_eq!((pair.read_by_client, pair.read_by_server), (1500, 1500));
    assert!(pair.log.len() - last < 20, "{} segments", pair.log.len() - last);
}
