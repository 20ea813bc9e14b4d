//! Simultaneous open (RFC 9293 §3.5, figures 7 and 8): both ends connect, and their SYNs cross.

use std::sync::Arc;

use handfast_core::{Bytes, Instant, SeqNum};
use handfast_tcp::{Config, Endpoint, Event, Received, State};
use handfast_wire::Payload;
use handfast_wire::tcp::{Flags, Segment};

use crate::support::plain;

const NOW: Instant = Instant::from_millis(1000);

/// Two ends that have sent their SYNs, and the SYNs.
fn crossing(a: Config, b: Config) -> ([Endpoint; 2], [Segment; 2]) {
    let mut ends = [
        Endpoint::connect(Arc::new(a), 4000, 80, SeqNum(u32::MAX), NOW),
        Endpoint::connect(Arc::new(b), 80, 4000, SeqNum(500), NOW),
    ];
    let syns = ends.each_mut().map(|end| next(end).expect("a SYN"));
    (ends, syns)
}

fn next(end: &mut Endpoint) -> Option<Segment> {
    end.poll_transmit(NOW, Bytes(u64::MAX)).map(|transmit| transmit.segment)
}

/// Hands each end what the other sent, until neither has anything to say; everything that was said.
fn converse(ends: &mut [Endpoint; 2], first: [Segment; 2]) -> Vec<[Option<Segment>; 2]> {
    let mut said = vec![first.map(Some)];
    for _ in 0..10 {
        let Some(last) = said.last().filter(|l| l.iter().any(Option::is_some)).cloned() else { break };
        for (to, segment) in [(1, &last[0]), (0, &last[1])] {
            if let Some(segment) = segment {
                ends[to].on_segment(NOW, &Received::plain(segment));
            }
        }
        said.push(ends.each_mut().map(next));
    }
    said
}

fn states(ends: &[Endpoint; 2]) -> [State; 2] {
    ends.each_ref().map(Endpoint::state)
}

#[test]
fn crossing_syns_establish_one_connection() {
    // Figure 8: SYN, SYN-ACK with the SYN's own number, and both are established.
    let (mut ends, syns) = crossing(plain("sack"), plain("sack"));
    ends[0].on_segment(NOW, &Received::plain(&syns[1]));
    assert_eq!(ends[0].state(), State::SynReceived);
    let answer = next(&mut ends[0]).expect("a SYN-ACK");
    assert_eq!(
        (answer.flags, answer.seq, answer.ack),
        (Flags::SYN | Flags::ACK, SeqNum(u32::MAX), SeqNum(501))
    );
    let (mut ends, syns) = crossing(plain("sack"), plain("sack"));
    let said = converse(&mut ends, syns);
    assert_eq!(states(&ends), [State::Established; 2]);
    for end in &mut ends {
        assert_eq!((end.poll_event(), end.poll_event()), (Some(Event::Connected), None));
    }
    // It ends: at most one bare acknowledgement each follows the SYN-ACKs.
    let flags: Vec<_> = said.iter().flatten().flatten().map(|s| s.flags).collect();
    assert!(flags.len() <= 6 && flags[..2] == [Flags::SYN; 2], "{flags:?}");
    assert_eq!(ends.each_ref().map(Endpoint::send_positions), [(1, 1, 1); 2]);
}

#[test]
fn options_are_those_that_both_offered() {
    let bare = Config { sack: false, window_scaling: false, ..plain("sack") };
    for (a, b, agreed) in [
        (plain("sack"), plain("sack"), true),
        (plain("sack"), bare.clone(), false),
        (bare.clone(), plain("sack"), false),
    ] {
        let stamped = |c: Config| Config { timestamps: true, mss: 1012, ..c };
        let (mut ends, syns) = crossing(stamped(a), stamped(b));
        let said = converse(&mut ends, syns.clone());
        assert_eq!(states(&ends), [State::Established; 2]);
        for (k, answer) in said[1].iter().enumerate() {
            let answer = answer.as_ref().expect("a SYN-ACK");
            // RFC 7323 §1.3 and RFC 2018 §2: the SYN-ACK offers what the SYN did; its echo is the peer's SYN.
            assert_eq!((answer.sack_permitted, answer.window_scale.is_some()), (agreed, agreed));
            assert_eq!(answer.timestamps.map(|t| t.ecr), syns[1 - k].timestamps.map(|t| t.val));
        }
        // A hole is reported by SACK only where both agreed; the window field is scaled likewise.
        let [from, to] = &mut ends;
        from.write(Payload::Synthetic { stream: 1, offset: 0, len: 3000 });
        next(from).expect("segment 0 is lost");
        to.on_segment(NOW, &Received::plain(&next(from).expect("segment 1")));
        let ack = next(to).expect("a duplicate acknowledgement");
        assert_eq!(ack.sack.as_slice().len(), usize::from(agreed));
        assert_eq!(u64::from(ack.window) << if agreed { 7 } else { 0 } > 65_535, agreed);
    }
}

#[test]
fn a_lost_syn_ack_is_repeated() {
    let (mut ends, syns) = crossing(plain("sack"), plain("sack"));
    ends[0].on_segment(NOW, &Received::plain(&syns[1]));
    next(&mut ends[0]).expect("a SYN-ACK, lost");
    let later = ends[0].deadline().expect("the retransmission timer");
    ends[0].on_timer(later);
    let again = ends[0].poll_transmit(later, Bytes(u64::MAX)).expect("the SYN-ACK again").segment;
    assert_eq!(again.flags, Flags::SYN | Flags::ACK);
    // The other end, whose SYN was answered only now.
    ends[1].on_segment(later, &Received::plain(&again));
    assert_eq!(ends[1].state(), State::Established);
    let ack = ends[1].poll_transmit(later, Bytes(u64::MAX)).expect("an acknowledgement").segment;
    ends[0].on_segment(later, &Received::plain(&ack));
    assert_eq!(ends[0].state(), State::Established);
}

#[test]
fn data_written_meanwhile_flows_both_ways() {
    let (mut ends, syns) = crossing(plain("sack"), plain("sack"));
    for (stream, end) in ends.iter_mut().enumerate() {
        end.write(Payload::Synthetic { stream: stream as u32, offset: 0, len: 700 });
        end.close(NOW);
    }
    converse(&mut ends, syns);
    for (end, stream) in ends.iter_mut().zip([1, 0]) {
        assert_eq!(end.read(usize::MAX), Some(Payload::Synthetic { stream, offset: 0, len: 700 }));
        // RFC 9293 figure 13: simultaneous close as well.
        assert!(matches!(end.state(), State::TimeWait | State::Closing), "{:?}", end.state());
    }
}

#[test]
fn a_reset_ends_it_on_both_sides() {
    let (mut ends, syns) = crossing(plain("sack"), plain("sack"));
    ends[0].on_segment(NOW, &Received::plain(&syns[1]));
    let answer = next(&mut ends[0]).expect("a SYN-ACK");
    ends[0].abort();
    let reset = next(&mut ends[0]).expect("a reset");
    ends[1].on_segment(NOW, &Received::plain(&answer));
    ends[1].on_segment(NOW, &Received::plain(&reset));
    assert_eq!(states(&ends), [State::Closed; 2]);
}
