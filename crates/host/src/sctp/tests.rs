//! Both ends over a wire without a network.

use std::collections::VecDeque;

use super::*;
use crate::session::Ending;
use crate::transport::Way;
use handfast_core::Duration;

/// How long a datagram is on its way.
const DELAY: Duration = Duration::from_millis(10);

/// An application sends to a host with two addresses; what the wire does not carry is said by `lost`, with the way at the host with two.
fn run(app: App, lost: impl Fn(Instant, usize) -> bool, until: Instant) -> [Box<dyn Transport>; 2] {
    let host = |addresses: &[[u8; 4]]| Host {
        addresses: addresses.iter().map(|&address| address.into()).collect(),
        port: 5001,
    };
    let hosts = [host(&[[10, 0, 0, 1]]), host(&[[10, 0, 0, 2], [10, 0, 0, 3]])];
    let start = Instant::from_millis(5);
    let flow = Flow { name: "flow", stream: 3, app, start, stop: None, seed: 7 };
    let mut ends = ends(&flow, config(Bytes(1 << 20)), &hosts, [None; 2]);
    let mut wire: VecDeque<(Instant, usize, Way, bytes::Bytes)> = VecDeque::new();
    loop {
        let arrival = wire.front().map(|&(at, ..)| at);
        let due = ends.iter().filter_map(|end| end.deadline()).chain(arrival).min();
        let Some(now) = due.filter(|&now| now <= until) else { return ends };
        if let Some((_, to, way, data)) = wire.pop_front_if(|&mut (at, ..)| at <= now) {
            ends[to].on_datagram(now, way, &data);
        }
        for (number, end) in ends.iter_mut().enumerate() {
            if end.deadline().is_some_and(|due| due <= now) {
                end.on_timer(now);
            }
            while let Some((way, data)) = end.poll_transmit(now) {
                // One address faces two: way n of either leads to address n, or from there.
                if !lost(now, way.0) {
                    wire.push_back((now + DELAY, 1 - number, way, data));
                }
            }
            assert!(end.deadline().is_none_or(|due| due > now), "{number} at {now}");
        }
    }
}

#[test]
fn a_transfer_arrives_and_both_close() {
    let [sender, receiver] = run(App::Transfer(Bytes(1_000_000)), |_, _| false, Instant::from_millis(9_000));
    assert_eq!((receiver.meter().bytes, receiver.wrong_at()), (1_000_000, None));
    assert!(matches!(sender.ending(), Some(Ending::Done(at)) if at < Instant::from_millis(1_000)));
    // 692 packets of 1,444 bytes and the rest.
    assert_eq!(sender.counts().unwrap(), crate::transport::Counts { data: 693, ..Default::default() });
}

#[test]
fn it_goes_on_by_the_other_address_where_the_first_one_is_gone() {
    let gone = |now: Instant, way| way == 0 && now >= Instant::from_millis(100);
    let app = App::Paced { size: Bytes(1_000), interval: Duration::from_millis(10) };
    let delivered = |seconds: u64| {
        let [sender, receiver] = run(app, gone, Instant::from_millis(1000 * seconds));
        assert!(sender.ending().is_none() && receiver.wrong_at().is_none());
        (sender.counts().unwrap().timeouts, receiver.meter().bytes)
    };
    // §6.4.1: what has timed out goes by the other path, and new data still tries the first, until that has failed (§8.2).
    let [(few, little), (six, all)] = [10, 70].map(delivered);
    assert!(few == 3 && little < 30_000, "{few} {little}");
    assert!(six == 6 && all > 6_900_000, "{six} {all}");
}

#[test]
fn a_peer_that_is_not_there_is_given_up() {
    let [sender, receiver] = run(App::Bulk, |_, _| true, Instant::from_millis(500_000));
    assert!(matches!(sender.ending(), Some(Ending::Died(_, handfast_tcp::Death::HandshakeTimeout))));
    assert!(!receiver.has_begun() && sender.window().is_none());
}
