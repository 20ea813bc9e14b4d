//! A sending application on a connection whose peer answers after a millisecond.

use std::sync::Arc;

use handfast_core::{Bytes, Duration, Instant, SeqNum};
use handfast_host::App;
use handfast_host::app::Source;
use handfast_host::meter::FlowSample;
use handfast_host::session::{Ending, LOW_WATER, Next, Sending};
use handfast_tcp::{Config, Endpoint, Received, State};
use handfast_wire::tcp::{Flags, Segment};

const NO_LIMIT: Bytes = Bytes(u64::MAX);

fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

fn sending(app: App, stop: Option<Instant>) -> Sending {
    Sending::new(9, Source::new(app, at(0), stop))
}

/// Both ends of a connection, not open yet.
fn ends() -> [Endpoint; 2] {
    let config = Arc::new(Config::default());
    [
        Endpoint::connect(Arc::clone(&config), 5001, 80, SeqNum(1), at(0)),
        Endpoint::listen(config, 80, SeqNum(2)),
    ]
}

fn sent(endpoint: &mut Endpoint, now: Instant) -> Vec<Segment> {
    std::iter::from_fn(|| endpoint.poll_transmit(now, NO_LIMIT)).map(|transmit| transmit.segment).collect()
}

/// Carries what each end has to the other end, which has it a millisecond later; the next millisecond.
fn step(now: Instant, [one, other]: &mut [Endpoint; 2]) -> Instant {
    let later = now + Duration::from_millis(1);
    let (there, back) = (sent(one, now), sent(other, now));
    for segment in &there {
        other.on_segment(later, &Received::plain(segment));
    }
    for segment in &back {
        one.on_segment(later, &Received::plain(segment));
    }
    later
}

/// Both ends, connected; they exchanged SYNs from 0 to 3 ms.
fn connected() -> [Endpoint; 2] {
    let mut both = ends();
    let now = (0..3).fold(at(0), |now, _| step(now, &mut both));
    assert_eq!(now, at(3));
    assert!(both.iter().all(|end| end.state() == State::Established));
    both
}

#[test]
fn a_sample_says_only_what_is_known() {
    let [fresh, _] = ends();
    let sample = FlowSample::of(&fresh, at(0), 0);
    assert_eq!((sample.srtt, sample.ssthresh), (None, None));
    let mut both = connected();
    let mut sending = sending(App::Bulk, None);
    sending.fill(at(3), &mut both[0]);
    step(at(3), &mut both);
    let sample = sending.sample(&both[0], at(4), 5);
    assert_eq!((sample.srtt, sample.ssthresh, sample.delivered), (Some(Duration::from_millis(2)), None, 5));
    // Three segments of 1,460 bytes less 12 of timestamps (RFC 7323).
    assert_eq!(sample.sent, Some(3 * 1448));
    assert_eq!(sample.acknowledged, Some(0));
    // Its timer expires: the window is reduced.
    let due = both[0].deadline().unwrap();
    both[0].on_timer(due);
    assert!(FlowSample::of(&both[0], due, 0).ssthresh.is_some_and(|ssthresh| ssthresh < sample.cwnd));
}

#[test]
fn the_window_is_metered_from_the_handshake_on() {
    let [mut sender, mut peer] = ends();
    let mut sending = sending(App::Bulk, None);
    assert_eq!(sending.take_stock(at(0), &mut sender), Next::Wait);
    assert!(sending.window().is_none() && sending.stream() == 9);
    for segment in sent(&mut sender, at(0)) {
        peer.on_segment(at(1), &Received::plain(&segment));
    }
    for segment in sent(&mut peer, at(1)) {
        sender.on_segment(at(2), &Received::plain(&segment));
    }
    sending.take_stock(at(2), &mut sender);
    let window = sending.window().expect("it is connected");
    assert_eq!((window.mean(at(3)), window.min()), (Some(sender.cwnd() as f64), sender.cwnd()));
}

#[test]
fn a_greedy_application_keeps_its_endpoint_supplied_and_no_more() {
    let [mut sender, _] = connected();
    let mut bulk = sending(App::Bulk, None);
    bulk.fill(at(3), &mut sender);
    let waiting = sender.unsent();
    assert!((LOW_WATER..LOW_WATER * 4).contains(&waiting), "{waiting}");
    bulk.fill(at(3), &mut sender);
    assert_eq!(sender.unsent(), waiting, "there is enough");
}

#[test]
fn an_application_that_writes_at_set_times_writes_then_and_ends_when_stopped() {
    let app = App::Paced { size: Bytes(100_000), interval: Duration::from_millis(2) };
    let [mut sender, mut peer] = connected();
    let mut paced = sending(app, Some(at(5)));
    assert_eq!(paced.deadline(), Some(at(0)));
    paced.on_timer(at(3));
    paced.fill(at(3), &mut sender);
    assert_eq!((sender.unsent(), paced.deadline()), (200_000, Some(at(4))), "it does not wait for room");
    paced.on_timer(at(4));
    paced.fill(at(4), &mut sender);
    assert_eq!((sender.unsent(), paced.deadline()), (300_000, Some(at(5))));
    paced.on_timer(at(5));
    paced.fill(at(5), &mut sender);
    assert_eq!(paced.deadline(), None, "it has closed");
    // All of it arrives, and is acknowledged with the FIN.
    let mut now = at(5);
    for _ in 0..200 {
        for segment in sent(&mut sender, now) {
            peer.on_segment(now, &Received::plain(&segment));
        }
        while peer.read(usize::MAX).is_some() {}
        for segment in sent(&mut peer, now) {
            sender.on_segment(now, &Received::plain(&segment));
        }
        paced.take_stock(now, &mut sender);
        now += Duration::from_millis(1);
    }
    let ending = paced.ending().expect("it has ended");
    assert!(matches!(ending, Ending::Done(_)) && ending.at() > at(5), "{ending:?}");
    assert_eq!(paced.sample(&sender, now, 0).acknowledged, Some(300_000));
}

#[test]
fn a_sender_closes_after_its_peer() {
    let mut both = connected();
    let mut bulk = sending(App::Bulk, None);
    bulk.take_stock(at(3), &mut both[0]);
    both[1].close(at(3));
    step(at(3), &mut both);
    assert_eq!(both[0].state(), State::CloseWait);
    assert_eq!(bulk.take_stock(at(4), &mut both[0]), Next::Send);
    let fin = sent(&mut both[0], at(4));
    assert!(fin.last().is_some_and(|segment| segment.flags.contains(Flags::FIN)), "{fin:?}");
    assert_eq!(both[0].state(), State::LastAck);
}
