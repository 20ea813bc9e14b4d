//! Both ends over a wire without a network.

use std::collections::VecDeque;

use handfast_core::{Bytes, Duration, Instant};
use handfast_tcp::{Config as TcpConfig, Received, Transmit};

use super::*;
use crate::app::App;
use crate::session::Ending;
use crate::transport::Way;

/// How long a segment is on its way.
const DELAY: Duration = Duration::from_millis(10);

/// An application sends to a host with two addresses, or from one; what the wire does not carry is said by `lost`, with the way.
fn run(
    app: App,
    homes: [usize; 2],
    lost: impl Fn(Instant, usize) -> bool,
    until: Instant,
) -> [Box<dyn Transport>; 2] {
    let host = |end: u8, count: usize| Host {
        addresses: (0..count as u8).map(|n| [10, 0, end, n].into()).collect(),
        port: 5001,
    };
    let hosts = [host(1, homes[0]), host(2, homes[1])];
    let start = Instant::from_millis(5);
    let flow = Flow { name: "flow", stream: 3, app, start, stop: None, seed: 7 };
    let tcp = TcpConfig::default();
    let mut ends = ends(&flow, [&tcp, &tcp], &hosts);
    let mut wire: VecDeque<(Instant, usize, Way, Transmit)> = VecDeque::new();
    loop {
        let arrival = wire.front().map(|&(at, ..)| at);
        let due = ends.iter().filter_map(|end| end.deadline()).chain(arrival).min();
        let Some(now) = due.filter(|&now| now <= until) else { return ends };
        if let Some((_, to, way, Transmit { segment, ip })) = wire.pop_front_if(|&mut (at, ..)| at <= now) {
            ends[to].on_segment(now, way, &Received { segment: &segment, ip });
        }
        for (number, end) in ends.iter_mut().enumerate() {
            if end.deadline().is_some_and(|due| due <= now) {
                end.on_timer(now);
            }
            while let Some((way, transmit)) = end.poll_segment(now) {
                // One address faces two: way n of either leads to address n, or from there.
                if !lost(now, way.0) {
                    wire.push_back((now + DELAY, 1 - number, way, transmit));
                }
            }
            assert!(end.deadline().is_none_or(|due| due > now), "{number} at {now}");
        }
    }
}

#[test]
fn a_transfer_arrives_by_both_ways_and_both_close() {
    for homes in [[1, 2], [2, 1]] {
        let seen = std::cell::Cell::new([0u64; 2]);
        let count = |_: Instant, way: usize| {
            let mut counts = seen.get();
            counts[way] += 1;
            seen.set(counts);
            false
        };
        let app = App::Transfer(Bytes(1_000_000));
        let [sender, receiver] = run(app, homes, count, Instant::from_millis(9_000));
        assert_eq!((receiver.meter().bytes, receiver.wrong_at()), (1_000_000, None), "{homes:?}");
        assert!(matches!(sender.ending(), Some(Ending::Done(at)) if at < Instant::from_millis(1_000)));
        assert!(seen.get().iter().all(|&segments| segments > 100), "{:?} {homes:?}", seen.get());
        assert_eq!(sender.counts().map(|counts| counts.retransmitted), Some(0));
    }
}

#[test]
fn it_goes_on_by_the_other_address_where_the_first_one_is_gone() {
    let gone = |now: Instant, way| way == 0 && now >= Instant::from_millis(1_000);
    let app = App::Paced { size: Bytes(1_000), interval: Duration::from_millis(10) };
    let [sender, receiver] = run(app, [1, 2], gone, Instant::from_millis(5_000));
    assert!(sender.ending().is_none() && receiver.wrong_at().is_none());
    // A timeout, and what was out leaves by the other one.
    assert!(receiver.meter().bytes > 490_000, "{}", receiver.meter().bytes);
}

#[test]
fn a_peer_that_is_not_there_is_given_up() {
    let [sender, receiver] = run(App::Bulk, [1, 2], |_, _| true, Instant::from_millis(500_000));
    assert!(matches!(sender.ending(), Some(Ending::Died(_, handfast_tcp::Death::HandshakeTimeout))));
    assert!(!receiver.has_begun() && sender.window().is_none());
}
