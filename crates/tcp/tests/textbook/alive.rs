//! Keep-alive (RFC 9293 §3.8.4) and the user timeout (RFC 9293 §3.9.1, RFC 5482 §3.1).

use handfast_core::Duration;
use handfast_tcp::{Config, Death, Event, State};
use handfast_wire::tcp::Flags;

use crate::script::{MS, Script, bulk_to, data, outage};
use crate::support::{Fate, Pair, Side, plain};

/// Probes after 10 s of silence, every 2 s, three of them.
fn probing() -> Config {
    Config {
        keepalive_idle: Some(MS(10_000)),
        keepalive_interval: MS(2000),
        keepalive_probes: 3,
        ..plain("sack")
    }
}

fn silent(client: Config) -> Script {
    bulk_to(client, plain("sack"), 0)
}

/// When the client sent something, milliseconds after the start.
fn sent(s: &Script) -> Vec<u64> {
    s.pair.log.iter().filter(|l| l.from == Side::Client).map(|l| s.ms(l.at)).collect()
}

#[test]
fn keep_alive_is_off_unless_asked_for() {
    // RFC 9293 §3.8.4 (MUST-25).
    let mut s = silent(plain("sack"));
    s.run(100_000_000, |_| Fate::Deliver);
    assert_eq!(s.pair.log.len(), 0);
}

#[test]
fn a_silent_peer_is_probed_and_answers() {
    let mut s = silent(probing());
    let before = s.pair.client.counters().segments_sent;
    s.run(45_000, |_| Fate::Deliver);
    // The server's window update comes at the start; each answer takes 100 ms.
    assert_eq!(sent(&s), [10_000, 20_100, 30_200, 40_300]);
    assert_eq!(s.pair.client.counters().segments_sent - before, 4);
    let (probe, answer) = (&s.pair.log[0].segment, &s.pair.log[1].segment);
    // SEG.SEQ = SND.NXT-1, no octet of data: it lies outside the window and must be answered.
    assert_eq!((probe.seq + 1, probe.flags, probe.payload.len()), (answer.ack, Flags::ACK, 0));
    assert_eq!(s.pair.client.state(), State::Established);
}

#[test]
fn the_silence_begins_with_the_connection() {
    // However late that is: nothing is due at once.
    let s = silent(probing());
    assert_eq!(s.pair.client.deadline(), Some(s.start + MS(9900)), "the SYN-ACK came 100 ms ago");
}

#[test]
fn anything_heard_puts_the_probe_off() {
    let mut s = silent(probing());
    s.run(5000, |_| Fate::Deliver);
    s.pair.client_writes(0, 1000);
    s.run(20_000, |_| Fate::Deliver);
    assert_eq!(sent(&s), [5000, 15_100]);
}

#[test]
fn a_peer_that_answers_no_probe_is_dead() {
    let mut s = silent(probing());
    s.run(60_000, |_| Fate::Drop);
    assert_eq!(sent(&s), [10_000, 12_000, 14_000]);
    assert_eq!(s.events().last(), Some(&(16_000, Event::Died(Death::KeepAlive))));
    assert_eq!(s.pair.client.deadline(), None);
}

#[test]
fn while_data_is_outstanding_its_retransmissions_ask() {
    let mut s = silent(probing());
    s.pair.client_writes(0, 1000);
    let start = s.start;
    s.run(13_000, outage(start, 0, 13_000));
    assert!(s.pair.log.iter().all(|l| !l.segment.payload.is_empty()), "no probe");
    s.run(60_000, |_| Fate::Deliver);
    // The retransmission at 18.9 s is answered 100 ms later, and the silence begins there.
    assert_eq!(sent(&s).into_iter().filter(|&at| at > 13_000).collect::<Vec<_>>()[1..3], [29_000, 39_100]);
}

#[test]
fn what_waits_for_a_closed_window_is_probe_enough() {
    // RFC 9293 §3.8.4: only "when no sent data is outstanding". The probes of the window ask, at intervals beyond 10 s, and
    // their timer decides when the peer is dead.
    let receiver = Config { receive_buffer: handfast_core::Bytes(4000), ..plain("sack") };
    let mut s = bulk_to(probing(), receiver, 10);
    s.pair.reading = false;
    s.run(200_000, |_| Fate::Deliver);
    s.run(500_000, |_| Fate::Drop);
    let client = s.pair.log.iter().filter(|l| l.from == Side::Client);
    assert!(client.into_iter().all(|l| !l.segment.payload.is_empty()));
    assert_eq!(s.pair.client.state(), State::Established);
}

#[test]
fn half_closed_connections_are_probed_time_wait_is_not() {
    let mut s = silent(Config { time_wait: MS(60_000), ..probing() });
    s.pair.client.close(s.pair.now);
    s.run(15_000, |_| Fate::Deliver);
    assert_eq!((s.pair.client.state(), sent(&s)), (State::FinWait2, vec![0, 10_100]));
    s.pair.server.close(s.pair.now);
    s.run(70_000, |_| Fate::Deliver);
    assert_eq!(
        (s.pair.client.state(), sent(&s).len()),
        (State::TimeWait, 3),
        "the last is the ACK of the FIN"
    );
    s.run(80_000, |_| Fate::Deliver);
    assert_eq!(s.pair.client.state(), State::Closed);
}

fn hurried() -> Config {
    Config { user_timeout: Some(MS(3000)), ..plain("sack") }
}

#[test]
fn data_unacknowledged_for_the_user_timeout_ends_the_connection() {
    // RFC 9293 §3.9.1 OPEN: "if data is not successfully delivered to the destination within the timeout period".
    let mut s = silent(hurried());
    s.pair.client_writes(0, 5000);
    s.run(60_000, |_| Fate::Drop);
    assert_eq!(s.events().last(), Some(&(3000, Event::Died(Death::UserTimeout))));
    // A connection without anything outstanding waits for ever.
    let mut idle = silent(hurried());
    idle.run(60_000, |_| Fate::Drop);
    assert_eq!(idle.pair.client.state(), State::Established);
}

#[test]
fn progress_begins_the_user_timeout_anew() {
    let mut s = silent(hurried());
    s.pair.client_writes(0, 20_000);
    let start = s.start;
    // The first window is acknowledged at 100 ms; what follows it is lost.
    s.run(60_000, outage(start, 51, 60_000));
    assert_eq!(s.events().last(), Some(&(3100, Event::Died(Death::UserTimeout))));
}

#[test]
fn what_is_left_after_progress_counts_from_there() {
    // RFC 9293 §3.9.1: from the acknowledgement on, not from the next retransmission.
    let mut s = silent(hurried());
    s.pair.client_writes(0, 2000);
    s.run(100, |_| Fate::Drop);
    s.answer(1000, &[]);
    s.run(60_000, |_| Fate::Drop);
    assert_eq!(s.events().last(), Some(&(3100, Event::Died(Death::UserTimeout))));
}

#[test]
fn a_peer_that_answers_probes_of_its_window_is_alive() {
    // RFC 9293 §3.8.6.1: "the connection must be kept open as long as the receiving TCP peer continues to send ACKs".
    let receiver = Config { receive_buffer: handfast_core::Bytes(4000), ..plain("sack") };
    let mut s = bulk_to(hurried(), receiver, 10);
    s.pair.reading = false;
    s.run(120_000, |_| Fate::Deliver);
    assert_eq!((s.pair.client.state(), s.timeouts()), (State::Established, vec![]));
    let now = s.pair.now;
    s.run(240_000, |_| Fate::Drop);
    let Some(&(at, Event::Died(Death::UserTimeout))) = s.events().last() else { panic!("{:?}", s.events()) };
    assert!(at > s.ms(now), "{at}");
}

#[test]
fn a_syn_is_given_up_after_the_user_timeout() {
    let mut pair = Pair::new(hurried(), plain("sack"), Duration::from_millis(50));
    let start = pair.now;
    pair.run_for(MS(60_000), |_| Fate::Drop);
    assert_eq!(
        pair.events.last().map(|e| (e.0.since(start).as_millis(), e.2)),
        Some((3000, Event::Died(Death::UserTimeout)))
    );
}

#[test]
fn unacceptable_segments_prove_life_too() {
    let mut s = silent(probing());
    s.run(9000, |_| Fate::Deliver);
    // To the server nothing matters here: it does not probe. To the client, a repeated segment of the server's does.
    let old = handfast_wire::tcp::Segment {
        src_port: 80,
        dst_port: 4000,
        seq: crate::support::SERVER_ISS,
        ack: crate::support::CLIENT_ISS + 1,
        ..data(0, 0)
    };
    s.pair.inject(Side::Client, &old, |_| Fate::Drop);
    s.pair.log.clear();
    s.run(18_999, |_| Fate::Deliver);
    assert_eq!(sent(&s), []);
    s.run(19_000, |_| Fate::Deliver);
    assert_eq!(sent(&s), [19_000]);
}

#[test]
fn linux_counts_a_user_timeout_from_the_first_repetition() {
    // RFC 5482 §3.1 has no word for it; `retransmits_timed_out` goes by `retrans_stamp`.
    for linux_details in [false, true] {
        let client = Config { user_timeout: Some(MS(3000)), linux_details, ..plain("newreno") };
        let mut s = bulk_to(client, plain("newreno"), 1);
        s.run(20_000, |_| Fate::Drop);
        let died = s.events().iter().find(|e| e.1 == Event::Died(Death::UserTimeout)).map(|e| e.0);
        let first = s.timeouts()[0];
        assert_eq!(died, Some(3000 + if linux_details { first } else { 0 }));
    }
}

#[test]
fn linux_ends_a_connection_with_a_user_timeout_though_probes_are_answered() {
    // `tcp_probe_timer`: "if the user specifies a TCP_USER_TIMEOUT, we kill the socket"; it counts from the first probe.
    for linux_details in [false, true] {
        let receiver = Config { receive_buffer: handfast_core::Bytes(4000), ..plain("sack") };
        let mut s = bulk_to(Config { linux_details, ..hurried() }, receiver, 10);
        s.pair.reading = false;
        s.run(60_000, |_| Fate::Deliver);
        let died = s.events().iter().find(|e| e.1 == Event::Died(Death::UserTimeout)).map(|e| e.0);
        assert_eq!(died.is_some(), linux_details, "{died:?}");
        assert!(died.is_none_or(|at| (3200..5000).contains(&at)), "{died:?}");
    }
}
