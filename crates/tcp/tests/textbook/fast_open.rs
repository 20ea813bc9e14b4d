//! Data in a SYN (RFC 7413, without the cookie).

use handfast_core::{Duration, Instant};
use handfast_tcp::{Death, Event, InitialWindow, State};
use handfast_wire::Payload;
use handfast_wire::tcp::{Flags, Segment};

use crate::script::MS;
use crate::support::{CLIENT_ISS, Fate, Pair, SERVER_ISS, SERVER_STREAM, Sent, Side, plain};

/// Both ends do it; the client has so many octets to say.
fn pair(octets: u32) -> Pair {
    let config = handfast_tcp::Config { initial_window: InitialWindow::Ten, ..plain("sack") };
    let mut pair = Pair::new(config.clone(), config, MS(50));
    pair.client.open_fast();
    pair.server.open_fast();
    pair.client_writes(0, octets);
    pair
}

fn server_writes(pair: &mut Pair, offset: u64, len: u32) {
    pair.server.write(Payload::Synthetic { stream: SERVER_STREAM, offset, len });
}

/// Milliseconds since the SYN, and octets of payload, of what a side has sent.
fn sent(pair: &Pair, from: Side) -> Vec<(u64, usize)> {
    let start = pair.log[0].at;
    let of = pair.log.iter().filter(|sent| sent.from == from);
    of.map(|sent| (sent.at.since(start).as_millis(), sent.segment.payload.len())).collect()
}

fn at(pair: &Pair, side: Side, event: Event) -> Vec<u64> {
    let start = pair.log[0].at;
    let of = pair.events.iter().filter(|(_, of, what)| (*of, *what) == (side, event));
    of.map(|(at, ..)| at.since(start).as_millis()).collect()
}

fn deliver(_: &Sent) -> Fate {
    Fate::Deliver
}

/// Loses the first segment of a side that `is` holds for.
fn lose_first(from: Side, is: impl Fn(&Segment) -> bool) -> impl FnMut(&Sent) -> Fate {
    let mut is_lost = false;
    move |sent| {
        if !is_lost && sent.from == from && is(&sent.segment) {
            is_lost = true;
            return Fate::Drop;
        }
        Fate::Deliver
    }
}

#[test]
fn the_answer_to_what_a_syn_carries_takes_one_round_trip() {
    let mut pair = pair(300);
    pair.run_for(MS(50), deliver);
    assert_eq!((pair.read_by_server, pair.server.state()), (300, State::SynReceived));
    server_writes(&mut pair, 0, 20_000);
    pair.run_for(MS(50), deliver);
    assert_eq!(pair.read_by_client, 9_000, "the initial window, of which the SYN takes an octet");
    pair.run_for(MS(1_000), deliver);
    assert_eq!(pair.read_by_client, 20_000);
    assert_eq!(
        (at(&pair, Side::Server, Event::Connected), at(&pair, Side::Client, Event::Connected)),
        (vec![50], vec![100])
    );
    assert_eq!(sent(&pair, Side::Client)[0], (0, 300));
    assert_eq!(
        pair.server.counters().retransmitted_segments + pair.client.counters().retransmitted_segments,
        0
    );
}

#[test]
fn a_syn_carries_what_fits_in_the_default_mss_and_the_rest_follows() {
    let mut pair = pair(3_000);
    pair.run_for(MS(1_000), deliver);
    assert_eq!(pair.read_by_server, 3_000);
    let first: Vec<_> = sent(&pair, Side::Client).into_iter().filter(|(_, len)| *len > 0).collect();
    assert_eq!(first, [(0, 496), (100, 1_000), (100, 1_000), (100, 504)]);
}

#[test]
fn what_a_peer_does_not_take_goes_again_at_once() {
    let config = plain("sack");
    let mut pair = Pair::new(config.clone(), config, MS(50));
    pair.client.open_fast();
    pair.client_writes(0, 300);
    pair.run_for(MS(1_000), deliver);
    assert_eq!(pair.read_by_server, 300);
    assert_eq!(at(&pair, Side::Server, Event::Connected), [150]);
    let data: Vec<_> = sent(&pair, Side::Client).into_iter().filter(|(_, len)| *len > 0).collect();
    assert_eq!(data, [(0, 300), (100, 300)]);
}

#[test]
fn nobody_takes_what_he_was_not_asked_to() {
    let config = plain("sack");
    let mut pair = Pair::new(config.clone(), config, MS(50));
    pair.server.open_fast();
    pair.client_writes(0, 300);
    pair.run_for(MS(1_000), deliver);
    assert_eq!((pair.read_by_server, sent(&pair, Side::Client)[0]), (300, (0, 0)));
    assert_eq!(at(&pair, Side::Server, Event::Connected), [150]);
}

/// It may have been lost for what it carried.
#[test]
fn a_syn_goes_again_without_its_data() {
    let mut pair = pair(300);
    pair.run_for(MS(3_000), lose_first(Side::Client, |segment| segment.flags.contains(Flags::SYN)));
    assert_eq!(pair.read_by_server, 300);
    assert_eq!(sent(&pair, Side::Client)[..2], [(0, 300), (1_000, 0)]);
}

/// What was sent meanwhile is dropped by a client that has no SYN yet, and goes again.
#[test]
fn a_lost_syn_ack_goes_again_and_so_does_what_followed_it() {
    let mut pair = pair(300);
    let mut wire = lose_first(Side::Server, |segment| segment.flags.contains(Flags::SYN));
    pair.run_for(MS(50), &mut wire);
    server_writes(&mut pair, 0, 20_000);
    pair.run_for(MS(10_000), &mut wire);
    assert_eq!((pair.read_by_server, pair.read_by_client), (300, 20_000));
    assert_eq!(at(&pair, Side::Server, Event::Connected), [50], "once");
}

#[test]
fn early_data_that_is_lost_is_sent_again() {
    for lost in 0u64..10 {
        let mut pair = pair(300);
        pair.run_for(MS(50), deliver);
        server_writes(&mut pair, 0, 10_000);
        let offset = lost * 1_000;
        pair.run_for(MS(5_000), lose_first(Side::Server, move |segment| {
            matches!(segment.payload, Payload::Synthetic { offset: at, .. } if at == offset)
        }));
        assert_eq!(pair.read_by_client, 10_000, "segment {lost}");
    }
}

#[test]
fn a_server_that_closes_early_has_closed() {
    let mut pair = pair(300);
    pair.run_for(MS(50), deliver);
    server_writes(&mut pair, 0, 2_000);
    let now = pair.now;
    pair.server.close(now);
    pair.run_for(MS(200), deliver);
    let now = pair.now;
    pair.client.close(now);
    pair.run_for(MS(100), deliver);
    assert_eq!((pair.read_by_client, pair.server.state()), (2_000, State::TimeWait));
    assert_eq!(pair.client.state(), State::Closed);
}

/// Its application has read something: it is told, and nobody else takes the connection's place.
#[test]
fn a_reset_ends_an_early_connection() {
    let mut pair = pair(300);
    pair.run_for(MS(50), deliver);
    let reset =
        Segment { src_port: 4000, dst_port: 80, seq: CLIENT_ISS + 301, flags: Flags::RST, ..Segment::EMPTY };
    pair.inject(Side::Server, &reset, deliver);
    assert_eq!(at(&pair, Side::Server, Event::Died(Death::Reset)), [50]);
    assert_eq!(pair.server.state(), State::Closed);
}

/// RFC 9293 §3.10.7.4, fifth.
#[test]
fn an_acknowledgement_of_what_an_early_server_never_sent_is_refused() {
    let mut pair = pair(300);
    pair.run_for(MS(50), deliver);
    let ack = SERVER_ISS + 1_002;
    let forged = Segment {
        src_port: 4000,
        dst_port: 80,
        seq: CLIENT_ISS + 301,
        ack,
        flags: Flags::ACK,
        ..Segment::EMPTY
    };
    pair.inject(Side::Server, &forged, |_| Fate::Drop);
    let last = pair.log.last().unwrap();
    assert_eq!((last.from, last.segment.flags, last.segment.seq), (Side::Server, Flags::RST, ack));
    assert_eq!(pair.server.state(), State::SynReceived);
}

/// The layer's stored window waits for the handshake: an early server sends its initial window and no more.
#[test]
fn a_restored_window_leaves_after_the_handshake_and_paced() {
    let mut pair = pair(300);
    pair.server.attach_iosl(handfast_tcp::IoslRules::default());
    pair.server.restore_path(handfast_tcp::StoredPath { cwnd: 40_000, ssthresh: 40_000 });
    pair.run_for(MS(50), deliver);
    server_writes(&mut pair, 0, 100_000);
    pair.run_for(MS(99), deliver);
    assert_eq!(
        pair.log.iter().filter(|sent| sent.from == Side::Server).count(),
        10,
        "SYN-ACK and nine segments"
    );
    pair.run_for(MS(50), deliver);
    let start: Instant = pair.log[0].at;
    let after: Vec<_> = pair
        .log
        .iter()
        .filter(|sent| sent.from == Side::Server && !sent.segment.payload.is_empty())
        .skip(9)
        .collect();
    assert!(after.len() >= 10 && after.len() <= 25, "half a round trip's part of forty: {}", after.len());
    let moments: std::collections::BTreeSet<Duration> =
        after.iter().map(|sent| sent.at.since(start)).collect();
    assert!(moments.len() >= 10, "{}", moments.len());
}
