//! What the SYNs settle, and who may answer them: RFC 9293 §3.10.7.2 and §3.10.7.3, RFC 7323 §1.3 and §2, RFC 2018 §2, RFC 6691.

use std::sync::Arc;

use handfast_core::{Bytes, Instant, SeqNum};
use handfast_tcp::{Config, Endpoint, Received, State};
use handfast_wire::Payload;
use handfast_wire::tcp::{Flags, Segment, Timestamps};

use crate::support::plain;

const NOW: Instant = Instant::from_millis(1000);
const ISS: SeqNum = SeqNum(100);

fn listener(config: Config) -> Endpoint {
    Endpoint::listen(Arc::new(config), 80, ISS)
}

fn syn() -> Segment {
    Segment {
        src_port: 4000,
        dst_port: 80,
        seq: SeqNum(7),
        flags: Flags::SYN,
        window: 65_535,
        ..Segment::EMPTY
    }
}

fn next(endpoint: &mut Endpoint) -> Option<Segment> {
    endpoint.poll_transmit(NOW, Bytes(u64::MAX)).map(|transmit| transmit.segment)
}

/// The largest segment that `endpoint` sends, once it is established.
fn largest(endpoint: &mut Endpoint) -> usize {
    endpoint.write(Payload::Synthetic { stream: 0, offset: 0, len: 100_000 });
    next(endpoint).map_or(0, |s| s.payload.len())
}

fn establish(endpoint: &mut Endpoint, syn: &Segment) {
    endpoint.on_segment(NOW, &Received::plain(syn));
    next(endpoint);
    let timestamps = syn.timestamps;
    let ack = Segment {
        seq: syn.seq + 1,
        ack: ISS + 1,
        flags: Flags::ACK,
        mss: None,
        window_scale: None,
        timestamps,
        ..syn.clone()
    };
    endpoint.on_segment(NOW, &Received::plain(&Segment { sack_permitted: false, ..ack }));
    assert_eq!(endpoint.state(), State::Established);
}

#[test]
fn a_syn_ack_offers_only_what_the_syn_offered() {
    let config = Config { timestamps: true, ..plain("sack") };
    for k in 0..8 {
        let (scale, sack, stamp) = (k & 1 != 0, k & 2 != 0, k & 4 != 0);
        let mut server = listener(config.clone());
        let offer = Segment {
            window_scale: scale.then_some(3),
            sack_permitted: sack,
            timestamps: stamp.then_some(Timestamps { val: 77, ecr: 0 }),
            ..syn()
        };
        server.on_segment(NOW, &Received::plain(&offer));
        let answer = next(&mut server).expect("a SYN-ACK");
        assert_eq!((answer.flags, answer.ack, answer.seq), (Flags::SYN | Flags::ACK, SeqNum(8), ISS));
        let offered =
            (answer.window_scale.is_some(), answer.sack_permitted, answer.timestamps.map(|ts| ts.ecr));
        assert_eq!(offered, (scale, sack, stamp.then_some(77)));
    }
    // And nothing that we do not want ourselves.
    let bare = Config { timestamps: false, sack: false, window_scaling: false, ..config };
    let mut server = listener(bare);
    let timestamps = Some(Timestamps { val: 77, ecr: 0 });
    server.on_segment(
        NOW,
        &Received::plain(&Segment { window_scale: Some(3), sack_permitted: true, timestamps, ..syn() }),
    );
    let answer = next(&mut server).expect("a SYN-ACK");
    assert_eq!((answer.window_scale, answer.sack_permitted, answer.timestamps), (None, false, None));
}

#[test]
fn without_an_mss_option_segments_hold_536_octets() {
    // RFC 9293 §3.7.1 (MUST-15). An MSS of nothing is not taken at its word.
    for (mss, len) in [(None, 536), (Some(700), 700), (Some(9000), 1000), (Some(0), 88)] {
        let mut server = listener(plain("sack"));
        establish(&mut server, &Segment { mss, ..syn() });
        assert_eq!(largest(&mut server), len, "{mss:?}");
    }
    // RFC 6691 §2: the timestamps of each segment come out of it.
    let mut server = listener(Config { timestamps: true, ..plain("sack") });
    establish(
        &mut server,
        &Segment { mss: Some(700), timestamps: Some(Timestamps { val: 1, ecr: 0 }), ..syn() },
    );
    assert_eq!(largest(&mut server), 688);
}

#[test]
fn a_shift_above_fourteen_is_fourteen() {
    // RFC 7323 §2.3: a window of 1 is 16384 octets.
    let mut server =
        listener(Config { initial_window: handfast_tcp::InitialWindow::Ten, mss: 9000, ..plain("sack") });
    let offer = Segment { mss: Some(9000), window_scale: Some(200), window: 1, ..syn() };
    server.on_segment(NOW, &Received::plain(&offer));
    next(&mut server);
    server.on_segment(
        NOW,
        &Received::plain(&Segment { seq: SeqNum(8), ack: ISS + 1, flags: Flags::ACK, window: 1, ..syn() }),
    );
    server.write(Payload::Synthetic { stream: 0, offset: 0, len: 100_000 });
    let sent: usize = std::iter::from_fn(|| next(&mut server)).map(|s| s.payload.len()).sum();
    assert_eq!(sent, 9000, "and the rest, 7384 octets, is less than a segment and less than half");
}

#[test]
fn syn_sent_takes_only_answers_to_its_syn() {
    // RFC 9293 §3.10.7.3.
    let client = || {
        let mut c = Endpoint::connect(Arc::new(plain("sack")), 80, 4000, ISS, NOW);
        next(&mut c);
        c
    };
    let answer = Segment { ack: ISS + 1, flags: Flags::SYN | Flags::ACK, ..syn() };
    // First: an acknowledgement of something else is refused with <SEQ=SEG.ACK><CTL=RST>.
    for wrong in [0u32, 2] {
        let mut c = client();
        c.on_segment(NOW, &Received::plain(&Segment { ack: ISS + wrong, ..answer.clone() }));
        let reset = next(&mut c).expect("a reset");
        assert_eq!((reset.flags, reset.seq, c.state()), (Flags::RST, ISS + wrong, State::SynSent));
    }
    // Second: a reset counts with the right acknowledgement only.
    for (ack, flags, state) in [
        (ISS + 1, Flags::RST | Flags::ACK, State::Closed),
        (ISS + 2, Flags::RST | Flags::ACK, State::SynSent),
        (SeqNum(0), Flags::RST, State::SynSent),
    ] {
        let mut c = client();
        c.on_segment(NOW, &Received::plain(&Segment { ack, flags, ..answer.clone() }));
        assert_eq!((c.state(), next(&mut c)), (state, None));
    }
    // Fourth: neither SYN nor RST.
    let mut c = client();
    c.on_segment(NOW, &Received::plain(&Segment { flags: Flags::ACK, ..answer.clone() }));
    assert_eq!((c.state(), next(&mut c)), (State::SynSent, None));
    let mut c = client();
    c.on_segment(NOW, &Received::plain(&answer));
    let ack = next(&mut c).expect("an acknowledgement");
    assert_eq!((c.state(), ack.flags, ack.ack), (State::Established, Flags::ACK, SeqNum(8)));
}

#[test]
fn a_listener_refuses_acknowledgements_and_ignores_resets() {
    // RFC 9293 §3.10.7.2.
    let mut server = listener(plain("sack"));
    server.on_segment(NOW, &Received::plain(&Segment { flags: Flags::RST, ..syn() }));
    assert_eq!((server.state(), next(&mut server)), (State::Listen, None));
    server.on_segment(NOW, &Received::plain(&Segment { flags: Flags::ACK, ack: SeqNum(55), ..syn() }));
    let reset = next(&mut server).expect("a reset");
    assert_eq!((reset.flags, reset.seq, server.state()), (Flags::RST, SeqNum(55), State::Listen));
}

#[test]
fn what_does_not_exist_is_refused() {
    // RFC 9293 §3.10.7.1.
    let mut closed = Endpoint::connect(Arc::new(plain("sack")), 80, 4000, ISS, NOW);
    closed.abort();
    closed.on_segment(
        NOW,
        &Received::plain(&Segment { payload: Payload::Synthetic { stream: 0, offset: 0, len: 10 }, ..syn() }),
    );
    let reset = next(&mut closed).expect("a reset");
    assert_eq!((reset.flags, reset.seq, reset.ack), (Flags::RST | Flags::ACK, SeqNum(0), SeqNum(7 + 11)));
    closed.on_segment(NOW, &Received::plain(&Segment { flags: Flags::RST, ..syn() }));
    assert_eq!(next(&mut closed), None);
}

#[test]
fn a_repeated_syn_gets_its_answer_again() {
    let mut server = listener(plain("sack"));
    server.on_segment(NOW, &Received::plain(&syn()));
    let first = next(&mut server);
    server.on_segment(NOW, &Received::plain(&syn()));
    assert_eq!(next(&mut server), first);
    // RFC 9293 §3.10.7.4, fifth: a wrong acknowledgement in SYN-RECEIVED is refused.
    server.on_segment(
        NOW,
        &Received::plain(&Segment { seq: SeqNum(8), ack: ISS + 5, flags: Flags::ACK, ..syn() }),
    );
    let reset = next(&mut server).expect("a reset");
    assert_eq!((reset.flags, reset.seq, server.state()), (Flags::RST, ISS + 5, State::SynReceived));
}
