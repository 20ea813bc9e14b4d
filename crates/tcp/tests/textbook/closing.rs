//! The end of a connection (RFC 9293 §3.6 and §3.10.7.4): FINs out of order, TIME-WAIT, and resets while it closes.

use handfast_core::SeqNum;
use handfast_tcp::{Config, Death, Event, State};
use handfast_wire::Payload;
use handfast_wire::tcp::{Flags, Segment};

use crate::script::{MS, ack, data, said};
use crate::support::{CLIENT_ISS, Fate, Pair, SERVER_ISS, Side, plain};

const TIME_WAIT_MS: u64 = 5000;

fn config() -> Config {
    Config { time_wait: MS(TIME_WAIT_MS), delayed_ack: MS(0), ..plain("sack") }
}

fn connected() -> Pair {
    Pair::connected(config(), config())
}

/// A FIN of the client that follows `offset` octets of its stream.
fn client_fin(offset: u64) -> Segment {
    Segment { flags: Flags::FIN | Flags::ACK, payload: Payload::EMPTY, ..data(offset, 0) }
}

/// The server's FIN, with nothing before it.
fn server_fin() -> Segment {
    Segment { flags: Flags::FIN | Flags::ACK, ..ack(1, &[]) }
}

fn reset(seq: SeqNum) -> Segment {
    Segment { flags: Flags::RST, seq, ..ack(0, &[]) }
}

/// Hands `to` a segment; what it answers, which is lost.
fn give(pair: &mut Pair, to: Side, segment: &Segment) -> Vec<Segment> {
    pair.log.clear();
    pair.inject(to, segment, |_| Fate::Drop);
    pair.log.drain(..).filter(|s| s.from == to).map(|s| s.segment).collect()
}

fn events(pair: &Pair, side: Side) -> Vec<Event> {
    pair.events.iter().filter(|e| e.1 == side).map(|e| e.2).collect()
}

/// The client has closed; its FIN is on its way.
fn in_fin_wait_1() -> Pair {
    let mut pair = connected();
    let now = pair.now;
    pair.client.close(now);
    pair.run_for(MS(0), |_| Fate::Drop);
    assert_eq!(pair.client.state(), State::FinWait1);
    pair
}

/// The client has closed, and that is acknowledged.
fn in_fin_wait_2() -> Pair {
    let mut pair = in_fin_wait_1();
    give(&mut pair, Side::Client, &ack(1, &[]));
    assert_eq!(pair.client.state(), State::FinWait2);
    pair
}

/// The client has closed first, and the server after it.
fn in_time_wait() -> Pair {
    let mut pair = in_fin_wait_2();
    give(&mut pair, Side::Client, &server_fin());
    assert_eq!(pair.client.state(), State::TimeWait);
    pair
}

#[test]
fn a_fin_waits_for_the_octets_before_it() {
    let mut pair = connected();
    // The FIN stands behind 1000 octets of which none has come: a hole, no end.
    let answers = give(&mut pair, Side::Server, &client_fin(1000));
    assert_eq!(answers.iter().map(|a| said(a).0).collect::<Vec<_>>(), [0]);
    assert_eq!(pair.server.state(), State::Established);
    assert!(events(&pair, Side::Server).is_empty());
    // The octets come: they and the FIN are acknowledged as one.
    let answers = give(&mut pair, Side::Server, &data(0, 1000));
    assert_eq!(answers.iter().map(|a| said(a).0).collect::<Vec<_>>(), [1001]);
    assert_eq!(pair.server.state(), State::CloseWait);
    assert!(events(&pair, Side::Server).contains(&Event::PeerClosed));
    assert_eq!(pair.read_by_server, 1000);
}

#[test]
fn a_fin_with_payload_waits_for_the_octets_before_it() {
    let mut pair = connected();
    let last = Segment { flags: Flags::FIN | Flags::ACK, ..data(1000, 500) };
    give(&mut pair, Side::Server, &last);
    assert_eq!((pair.server.state(), pair.read_by_server), (State::Established, 0));
    let answers = give(&mut pair, Side::Server, &data(0, 1000));
    assert_eq!(answers.iter().map(|a| said(a).0).collect::<Vec<_>>(), [1501]);
    assert_eq!((pair.server.state(), pair.read_by_server), (State::CloseWait, 1500));
}

#[test]
fn a_fin_before_the_acknowledgement_of_ours_leads_through_closing() {
    let mut pair = in_fin_wait_1();
    // The peer's FIN acknowledges nothing of ours.
    give(&mut pair, Side::Client, &Segment { flags: Flags::FIN | Flags::ACK, ..ack(0, &[]) });
    assert_eq!(pair.client.state(), State::Closing);
    give(&mut pair, Side::Client, &Segment { seq: SERVER_ISS + 2, ..ack(1, &[]) });
    assert_eq!(pair.client.state(), State::TimeWait);
}

#[test]
fn one_segment_may_acknowledge_our_fin_and_be_the_peers() {
    let mut pair = in_fin_wait_1();
    give(&mut pair, Side::Client, &server_fin());
    assert_eq!(pair.client.state(), State::TimeWait);
}

#[test]
fn time_wait_ends_after_its_time() {
    let mut pair = in_time_wait();
    pair.run_for(MS(TIME_WAIT_MS - 1), |_| Fate::Drop);
    assert_eq!(pair.client.state(), State::TimeWait);
    assert!(!events(&pair, Side::Client).contains(&Event::Closed));
    pair.run_for(MS(1), |_| Fate::Drop);
    assert_eq!(pair.client.state(), State::Closed);
    assert_eq!(events(&pair, Side::Client).last(), Some(&Event::Closed));
}

#[test]
fn a_repeated_fin_is_acknowledged_and_time_wait_begins_anew() {
    // RFC 9293 §3.10.7.4, eighth: the peer has not seen our acknowledgement.
    let mut pair = in_time_wait();
    pair.run_for(MS(TIME_WAIT_MS - 1000), |_| Fate::Drop);
    let answers = give(&mut pair, Side::Client, &server_fin());
    let [answer] = answers.as_slice() else { panic!("one acknowledgement: {answers:?}") };
    assert_eq!((answer.flags, answer.ack), (Flags::ACK, SERVER_ISS + 2));
    pair.run_for(MS(TIME_WAIT_MS - 1), |_| Fate::Drop);
    assert_eq!(pair.client.state(), State::TimeWait);
    pair.run_for(MS(1), |_| Fate::Drop);
    assert_eq!(pair.client.state(), State::Closed);
}

#[test]
fn only_a_fin_begins_time_wait_anew() {
    let mut pair = in_time_wait();
    pair.run_for(MS(TIME_WAIT_MS - 1000), |_| Fate::Drop);
    give(&mut pair, Side::Client, &ack(1, &[]));
    pair.run_for(MS(1000), |_| Fate::Drop);
    assert_eq!(pair.client.state(), State::Closed);
}

#[test]
fn a_reset_while_it_closes_is_no_death() {
    // RFC 9293 §3.10.7.4, second: in CLOSING, LAST-ACK and TIME-WAIT both sides have said that they were done.
    let mut pair = in_time_wait();
    give(&mut pair, Side::Client, &reset(SERVER_ISS + 2));
    assert_eq!(pair.client.state(), State::Closed);
    assert_eq!(events(&pair, Side::Client).last(), Some(&Event::Closed));

    let mut pair = connected();
    give(&mut pair, Side::Server, &client_fin(0));
    let now = pair.now;
    pair.server.close(now);
    pair.run_for(MS(0), |_| Fate::Drop);
    assert_eq!(pair.server.state(), State::LastAck);
    give(&mut pair, Side::Server, &Segment { flags: Flags::RST, ..client_fin(1) });
    assert_eq!(pair.server.state(), State::Closed);
    assert_eq!(events(&pair, Side::Server).last(), Some(&Event::Closed));
}

#[test]
fn a_reset_before_that_is() {
    let mut pair = connected();
    give(&mut pair, Side::Client, &reset(SERVER_ISS + 1));
    assert_eq!(pair.client.state(), State::Closed);
    assert_eq!(events(&pair, Side::Client).last(), Some(&Event::Died(Death::Reset)));

    // FIN-WAIT-2: the peer may still have had something to say.
    let mut pair = in_fin_wait_2();
    give(&mut pair, Side::Client, &reset(SERVER_ISS + 1));
    assert_eq!(events(&pair, Side::Client).last(), Some(&Event::Died(Death::Reset)));
}

#[test]
fn what_is_written_before_close_leaves_before_the_fin() {
    let mut pair = connected();
    pair.client_writes(0, 2500);
    let now = pair.now;
    pair.client.close(now);
    pair.run_for(MS(1000), |_| Fate::Deliver);
    let fins: Vec<_> =
        pair.log.iter().filter(|s| s.from == Side::Client && s.segment.flags.contains(Flags::FIN)).collect();
    let [fin] = fins.as_slice() else { panic!("one FIN: {fins:?}") };
    // RFC 9293 §3.10.4: queued until everything has been segmented; the last segment carries it.
    assert_eq!((fin.segment.seq, fin.segment.seq_len()), (CLIENT_ISS + 1 + 2000, 501));
    assert_eq!((pair.server.state(), pair.read_by_server), (State::CloseWait, 2500));
}
