//! Both ends over a wire without a network.

use std::collections::VecDeque;

use handfast_core::{BitRate, Bytes, Duration, Instant};
use handfast_tcp::{Config as TcpConfig, Received, Transmit};

use super::*;
use crate::app::App;
use crate::session::Ending;
use crate::transport::Way;

/// How long a segment is on its way; by the second way twice as long.
const DELAY: Duration = Duration::from_millis(10);

/// An application sends to a host with two addresses, or from one; what the wire does not carry is said by `lost`, with the way.
fn run(
    app: App,
    homes: [usize; 2],
    lost: impl Fn(Instant, usize) -> bool,
    until: Instant,
) -> [Box<dyn Transport>; 2] {
    run_with(app, homes, lost, until, [None; 2], &[])
}

/// The same with layers, and with what they are told: when, at which end, of which address, whether its radio is there.
fn run_with(
    app: App,
    homes: [usize; 2],
    lost: impl Fn(Instant, usize) -> bool,
    until: Instant,
    layers: [Option<Rules>; 2],
    radios: &[(Instant, usize, usize, bool)],
) -> [Box<dyn Transport>; 2] {
    let mut radios: VecDeque<_> = radios.iter().copied().collect();
    let host = |end: u8, count: usize| Host {
        addresses: (0..count as u8).map(|n| [10, 0, end, n].into()).collect(),
        port: 5001,
    };
    let hosts = [host(1, homes[0]), host(2, homes[1])];
    let start = Instant::from_millis(5);
    let flow = Flow { name: "flow", stream: 3, app, start, stop: None, seed: 7 };
    let tcp = TcpConfig::default();
    let mut ends = ends(&flow, [&tcp, &tcp], &hosts, layers);
    let mut wire: VecDeque<(Instant, usize, Way, Transmit)> = VecDeque::new();
    loop {
        let arrival = wire.front().map(|&(at, ..)| at);
        let told = radios.front().map(|&(at, ..)| at);
        let due = ends.iter().filter_map(|end| end.deadline()).chain(arrival).chain(told).min();
        let Some(now) = due.filter(|&now| now <= until) else { return ends };
        if let Some((_, to, way, Transmit { segment, ip })) = wire.pop_front_if(|&mut (at, ..)| at <= now) {
            ends[to].on_segment(now, way, &Received { segment: &segment, ip });
        }
        if let Some((_, end, address, is_there)) = radios.pop_front_if(|&mut (at, ..)| at <= now) {
            ends[end].on_radio(now, address, is_there.then_some(BitRate::from_bps(20_000_000)));
        }
        for (number, end) in ends.iter_mut().enumerate() {
            if end.deadline().is_some_and(|due| due <= now) {
                end.on_timer(now);
            }
            while let Some((way, transmit)) = end.poll_segment(now) {
                // One address faces two: way n of either leads to address n, or from there.
                if !lost(now, way.0) {
                    wire.push_back((now + DELAY * (1 + way.0 as u64), 1 - number, way, transmit));
                    wire.make_contiguous().sort_by_key(|&(at, ..)| at);
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
        assert!(seen.get().iter().all(|&segments| segments > 20), "{:?} {homes:?}", seen.get());
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

fn rules(tells: bool) -> Rules {
    Rules { id: [0; crate::sctp::ID_LEN], tells, restores: true, mu_permille: 100 }
}

/// The radio of an address goes after 1 s and is back after 2 s, at the end that has two.
#[test]
fn a_layer_leaves_an_address_at_once_and_comes_back_to_it() {
    for (homes, end) in [([2, 1], 0), ([1, 2], 1)] {
        let (cut, back) = (Instant::from_millis(1_000), Instant::from_millis(2_000));
        let seen = std::cell::Cell::new(0u64);
        let gone = |now: Instant, way: usize| {
            seen.set(seen.get() + u64::from(way == 0 && now > back));
            way == 0 && now >= cut && now < back
        };
        let app = App::Paced { size: Bytes(1_000), interval: Duration::from_millis(1) };
        let told = [(cut, end, 0, false), (back, end, 0, true)];
        let layers = [Some(rules(end == 0)), Some(rules(end == 1))];
        let until = Instant::from_millis(4_000);
        let [sender, receiver] = run_with(app, homes, gone, until, layers, &told);
        assert!(sender.ending().is_none() && receiver.wrong_at().is_none());
        assert_eq!((sender.moves(), sender.counts().map(|counts| counts.timeouts)), (Some(1), Some(0)));
        assert!(receiver.meter().bytes > 3_900_000, "{homes:?}");
        assert!(seen.get() > 100, "{homes:?}: {} segments by the first way when it is back", seen.get());
    }
}
