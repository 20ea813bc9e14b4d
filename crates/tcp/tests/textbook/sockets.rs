//! What sockets ask of a connection on the way: corks, records, resets; and what Linux does that only scripts see.

use std::sync::Arc;

use handfast_core::{Bytes, Duration, Instant, SeqNum};
use handfast_tcp::{Config, Endpoint, Nagle, Received, State};
use handfast_wire::Payload;
use handfast_wire::tcp::{Flags, Segment, Timestamps};

use crate::support::plain;

const NOW: Instant = Instant::from_millis(1000);

fn stamped() -> Config {
    Config { timestamps: true, mss: 1012, cwnd_validation: true, ..plain("newreno") }
}

fn from_peer(flags: Flags, seq: u32, ack: u32, tsval: Option<u32>) -> Segment {
    Segment {
        src_port: 4000,
        dst_port: 80,
        seq: SeqNum(seq),
        ack: SeqNum(ack),
        flags,
        window: 60_000,
        timestamps: tsval.map(|val| Timestamps { val, ecr: 0 }),
        ..Segment::EMPTY
    }
}

/// An established server, whose first octet has number 101; the peer's has number 1.
fn server(config: Config) -> Endpoint {
    let mut server = Endpoint::listen(Arc::new(config), 80, SeqNum(100));
    let syn = Segment { mss: Some(1012), ..from_peer(Flags::SYN, 0, 0, Some(10)) };
    server.on_segment(NOW, &Received::plain(&syn));
    assert_eq!(sent(&mut server, NOW).len(), 1, "a SYN-ACK");
    server.on_segment(NOW, &Received::plain(&from_peer(Flags::ACK, 1, 101, Some(11))));
    assert_eq!(server.state(), State::Established);
    server
}

fn sent(end: &mut Endpoint, now: Instant) -> Vec<Segment> {
    std::iter::from_fn(|| end.poll_transmit(now, Bytes(u64::MAX)).map(|transmit| transmit.segment)).collect()
}

fn sizes(segments: &[Segment]) -> Vec<usize> {
    segments.iter().map(|segment| segment.payload.len()).collect()
}

fn write(end: &mut Endpoint, len: usize) {
    assert_eq!(end.write(Payload::Bytes(vec![7; len].into())), len);
}

#[test]
fn a_corked_rest_waits_for_more_or_for_a_timeout() {
    let mut s = server(stamped());
    s.set_corked(true);
    write(&mut s, 1500);
    assert_eq!(sizes(&sent(&mut s, NOW)), [1000]);
    s.on_segment(NOW, &Received::plain(&from_peer(Flags::ACK, 1, 1101, Some(12))));
    assert!(sent(&mut s, NOW).is_empty());
    let due = s.deadline().expect("the persist timer");
    assert!(due > NOW);
    s.on_timer(due);
    let released = sent(&mut s, due);
    assert_eq!(sizes(&released), [500]);
    assert_eq!(released[0].seq, SeqNum(1101));
    assert!(!s.is_corked());
    // It is in flight as any segment is: a timeout repeats it.
    let again = s.deadline().expect("the retransmission timer");
    s.on_timer(again);
    assert_eq!(sizes(&sent(&mut s, again)), [500]);
}

#[test]
fn taking_the_cork_out_sends_at_once() {
    let mut s = server(stamped());
    s.set_corked(true);
    write(&mut s, 500);
    assert!(sent(&mut s, NOW).is_empty());
    s.set_corked(false);
    assert_eq!(sizes(&sent(&mut s, NOW)), [500]);
}

#[test]
fn a_segment_ends_where_a_record_does_also_when_it_goes_again() {
    let mut s = server(stamped());
    write(&mut s, 1300);
    s.end_record();
    write(&mut s, 200);
    assert_eq!(sizes(&sent(&mut s, NOW)), [1000, 300, 200]);
    let due = s.deadline().expect("the retransmission timer");
    s.on_timer(due);
    s.on_segment(due, &Received::plain(&from_peer(Flags::ACK, 1, 1101, Some(12))));
    let again = sent(&mut s, due);
    assert!(
        again.iter().any(|segment| segment.seq == SeqNum(1101) && segment.payload.len() == 300),
        "{again:?}"
    );
}

#[test]
fn nagle_can_be_switched_while_something_is_in_flight() {
    let mut s = server(Config { nagle: Nagle::Rfc896, ..stamped() });
    write(&mut s, 100);
    assert_eq!(sizes(&sent(&mut s, NOW)), [100]);
    write(&mut s, 100);
    assert!(sent(&mut s, NOW).is_empty());
    s.set_nagle(Nagle::Off);
    assert_eq!(sizes(&sent(&mut s, NOW)), [100]);
}

#[test]
fn a_user_timeout_set_on_the_way_ends_it() {
    let mut s = server(stamped());
    s.set_user_timeout(Some(Duration::from_secs(3)));
    write(&mut s, 100);
    sent(&mut s, NOW);
    while let Some(at) = s.deadline() {
        s.on_timer(at);
        sent(&mut s, at);
        assert!(at <= NOW + Duration::from_secs(3));
    }
    assert_eq!(s.state(), State::Closed);
}

#[test]
fn a_reset_acknowledges_and_has_timestamps() {
    // RFC 7323 §3.2: TSopt "SHOULD be sent in an <RST> segment".
    let mut s = server(stamped());
    s.reset();
    let [reset] = &sent(&mut s, NOW)[..] else { panic!("one segment") };
    assert_eq!((reset.flags, reset.seq, reset.ack), (Flags::RST | Flags::ACK, SeqNum(101), SeqNum(1)));
    assert_eq!(reset.timestamps.map(|ts| ts.ecr), Some(11));
    assert_eq!(s.state(), State::Closed);
}

#[test]
fn a_segment_whose_acknowledgement_is_refused_leaves_no_timestamp() {
    let mut s = server(stamped());
    s.on_segment(NOW, &Received::plain(&from_peer(Flags::ACK, 1, 9999, Some(200_000))));
    let [answer] = &sent(&mut s, NOW)[..] else { panic!("one segment") };
    assert_eq!(answer.timestamps.map(|ts| ts.ecr), Some(11));
}

#[test]
fn linux_drops_what_acknowledges_the_unsent_without_a_word() {
    let mut s = server(Config { linux_details: true, ..stamped() });
    s.on_segment(NOW, &Received::plain(&from_peer(Flags::ACK, 1, 9999, Some(12))));
    assert!(sent(&mut s, NOW).is_empty());
    // One from before the largest window is answered (RFC 5961 §5.2).
    let old = SeqNum(101u32.wrapping_sub(70_000));
    s.on_segment(NOW, &Received::plain(&Segment { ack: old, ..from_peer(Flags::ACK, 1, 0, Some(12)) }));
    assert_eq!(sent(&mut s, NOW).len(), 1);
}

#[test]
fn linux_takes_segments_without_timestamps() {
    for (linux_details, taken) in [(false, 0), (true, 100)] {
        let mut s = server(Config { linux_details, ..stamped() });
        let payload = Payload::Bytes(vec![1; 100].into());
        s.on_segment(NOW, &Received::plain(&Segment { payload, ..from_peer(Flags::ACK, 1, 101, None) }));
        assert_eq!(s.readable(), taken);
    }
}

#[test]
fn in_slow_start_linux_grows_a_window_of_which_more_than_half_is_used() {
    let acked = |linux_details, segments: u32| {
        let base = Config { initial_window: handfast_tcp::InitialWindow::Ten, ..stamped() };
        let mut s = server(Config { linux_details, ..base });
        write(&mut s, 1000 * segments as usize);
        sent(&mut s, NOW);
        for n in 1..=segments {
            s.on_segment(NOW, &Received::plain(&from_peer(Flags::ACK, 1, 101 + 1000 * n, Some(11 + n))));
        }
        s.report().cwnd
    };
    assert!(acked(false, 9) < 18);
    assert_eq!(acked(true, 9), 18);
    assert_eq!(acked(true, 5), 10);
}

/// A connection with SACK and three segments under way.
fn three_under_way(linux_details: bool) -> Endpoint {
    let config = Config { recovery: handfast_tcp::Recovery::Rack, sack: true, linux_details, ..stamped() };
    let mut s = Endpoint::listen(Arc::new(config), 80, SeqNum(100));
    let syn = Segment { mss: Some(1012), sack_permitted: true, ..from_peer(Flags::SYN, 0, 0, Some(10)) };
    s.on_segment(NOW, &Received::plain(&syn));
    sent(&mut s, NOW);
    s.on_segment(NOW, &Received::plain(&from_peer(Flags::ACK, 1, 101, Some(11))));
    write(&mut s, 3000);
    sent(&mut s, NOW);
    s
}

#[test]
fn a_report_counts_what_is_lost_and_what_goes_again() {
    let mut s = three_under_way(false);
    assert_eq!((s.report().unacked, s.report().sacked, s.report().lost), (3, 0, 0));
    let later = NOW + Duration::from_millis(100);
    let mut sack = handfast_wire::tcp::SackBlocks::NONE;
    sack.push(handfast_wire::tcp::SackBlock { start: SeqNum(2101), end: SeqNum(3101) });
    s.on_segment(later, &Received::plain(&Segment { sack, ..from_peer(Flags::ACK, 1, 101, Some(12)) }));
    assert!(s.report().disordered);
    let due = s.deadline().expect("the reordering timer");
    s.on_timer(due);
    let report = s.report();
    assert_eq!((report.recovering, report.sacked, report.lost, report.retrans), (true, 1, 2, 0));
    let again = sent(&mut s, due).len() as u64;
    assert!(again > 0);
    assert_eq!(s.report().retrans, again);
}

#[test]
fn linux_probes_a_closed_window_without_data() {
    for (linux_details, probe) in [(false, (SeqNum(101), 1)), (true, (SeqNum(100), 0))] {
        let mut s = server(Config { linux_details, ..stamped() });
        s.on_segment(
            NOW,
            &Received::plain(&Segment { window: 0, ..from_peer(Flags::ACK, 1, 101, Some(12)) }),
        );
        write(&mut s, 500);
        assert!(sent(&mut s, NOW).is_empty());
        let due = s.deadline().expect("the persist timer");
        s.on_timer(due);
        let [segment] = &sent(&mut s, due)[..] else { panic!("one segment") };
        assert_eq!((segment.seq, segment.payload.len()), probe);
    }
}

#[test]
fn keep_alive_set_on_the_way_probes_and_ends_as_linux_does_with_a_reset() {
    for (linux_details, last) in [(false, None), (true, Some(Flags::RST | Flags::ACK))] {
        let mut s = server(Config { linux_details, ..stamped() });
        s.set_keepalive(NOW, Some(Duration::from_secs(2)), Duration::from_secs(1), 2);
        let mut flags = Vec::new();
        let mut at = NOW;
        while let Some(due) = s.deadline() {
            at = due;
            s.on_timer(at);
            flags.push(sent(&mut s, at).first().map(|segment| segment.flags));
        }
        assert_eq!(flags, [Some(Flags::ACK), Some(Flags::ACK), last]);
        assert_eq!((at, s.state()), (NOW + Duration::from_secs(4), State::Closed));
    }
}

#[test]
fn linux_delays_the_acknowledgement_of_a_first_fin() {
    for linux_details in [false, true] {
        let mut s = server(Config { linux_details, acks: handfast_tcp::Acks::Linux, ..stamped() });
        let payload = Payload::Bytes(vec![1; 100].into());
        s.on_segment(NOW, &Received::plain(&Segment { payload, ..from_peer(Flags::ACK, 1, 101, Some(12)) }));
        assert_eq!(sent(&mut s, NOW).len(), 1, "a quick acknowledgement");
        s.on_segment(NOW, &Received::plain(&from_peer(Flags::FIN | Flags::ACK, 101, 101, Some(13))));
        assert_eq!(s.state(), State::CloseWait);
        assert_eq!(sent(&mut s, NOW).is_empty(), linux_details);
        if linux_details {
            let due = s.deadline().expect("the delayed acknowledgement");
            s.on_timer(due);
            let [ack] = &sent(&mut s, due)[..] else { panic!("one segment") };
            assert_eq!(ack.ack, SeqNum(102));
            assert!(due <= NOW + Duration::from_millis(50));
        }
    }
}

#[test]
fn in_linux_a_sack_block_counts_whole_segments_only() {
    for (linux_details, sacked) in [(false, 1), (true, 0)] {
        let mut s = three_under_way(linux_details);
        let mut sack = handfast_wire::tcp::SackBlocks::NONE;
        sack.push(handfast_wire::tcp::SackBlock { start: SeqNum(3100), end: SeqNum(3101) });
        s.on_segment(NOW, &Received::plain(&Segment { sack, ..from_peer(Flags::ACK, 1, 101, Some(12)) }));
        assert_eq!(s.report().sacked, sacked);
    }
}

#[test]
fn without_loss_probes_the_timeout_comes_first() {
    for (loss_probes, timeouts) in [(true, 0), (false, 1)] {
        let config = Config { recovery: handfast_tcp::Recovery::Rack, sack: true, loss_probes, ..stamped() };
        let mut s = Endpoint::listen(Arc::new(config), 80, SeqNum(100));
        let syn = Segment { mss: Some(1012), sack_permitted: true, ..from_peer(Flags::SYN, 0, 0, Some(10)) };
        s.on_segment(NOW, &Received::plain(&syn));
        sent(&mut s, NOW);
        s.on_segment(NOW, &Received::plain(&from_peer(Flags::ACK, 1, 101, Some(11))));
        write(&mut s, 3000);
        sent(&mut s, NOW);
        let due = s.deadline().expect("a timer");
        s.on_timer(due);
        sent(&mut s, due);
        assert_eq!((s.loss_counters().loss_probes, s.counters().timeouts), (1 - timeouts, timeouts));
    }
}
