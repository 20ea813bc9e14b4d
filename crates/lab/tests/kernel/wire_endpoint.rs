//! Our endpoint on a wire against the kernel's TCP, both ways, both families, over a bad link: every byte compared.

use std::net::SocketAddr;

use bytes::Bytes;
use handfast_core::{Duration, Instant};
use handfast_lab::{ConnectionId, LoopReport, WireHost};
use handfast_net::{Direction, DownMode, Loss};
use handfast_scenario::{Action, Event, Scenario};
use handfast_tcp::{Endpoint, Event as TcpEvent};
use handfast_wire::Payload;

use crate::bench::{Bench, config, kernel_client, kernel_server, link, noise, our_host, plain};
use crate::spaces::spaces;

/// What one connection of ours did.
struct Done {
    got: Vec<u8>,
    events: Vec<TcpEvent>,
}

/// Writes `send`, reads until the other end closes, and closes; until the connection is closed on both sides.
fn exchange(host: &mut WireHost, id: ConnectionId, send: Vec<u8>) -> Done {
    let deadline = host.clock().now() + Duration::from_secs(20);
    let (mut left, mut done) = (Bytes::from(send), Done { got: Vec::new(), events: Vec::new() });
    loop {
        let now = host.clock().now();
        assert!(now < deadline, "{} bytes left, {} read, {:?}", left.len(), done.got.len(), done.events);
        let endpoint = host.stack().endpoint_mut(id).unwrap();
        let _ = left.split_to(endpoint.write(Payload::Bytes(left.clone())));
        if left.is_empty() {
            endpoint.close(now);
        }
        while let Some(payload) = endpoint.read(usize::MAX) {
            done.got.extend_from_slice(&payload.to_bytes());
        }
        done.events.extend(std::iter::from_fn(|| endpoint.poll_event()));
        if finished(endpoint) {
            host.stack().release(now, id);
            // The last acknowledgement still has to go out.
            host.turn(&mut [], Duration::ZERO).unwrap();
            return done;
        }
        host.turn(&mut [], Duration::from_millis(50)).unwrap();
    }
}

fn finished(endpoint: &Endpoint) -> bool {
    use handfast_tcp::State::{Closed, TimeWait};
    matches!(endpoint.state(), TimeWait | Closed)
}

/// Losses, reordering, duplicates and bit errors both ways, and an outage.
fn bad_link() -> Scenario {
    let losses = vec![Loss::Packet(0.01), Loss::Bit(3e-6)];
    let reorder = Some((0.02, Duration::from_millis(4)));
    let mut scenario = link(Direction { losses, reorder, duplicate: 0.02, ..plain(30, 5) });
    let action = Action::Outage { link: 0, gap: Duration::from_millis(250), mode: DownMode::Drop };
    scenario.events = vec![Event::new(Instant::from_millis(150), action)];
    scenario
}

/// The link was as bad as it should be, and nothing went wrong besides.
fn assert_bad(report: &LoopReport) {
    assert!(report.faults.is_clean(), "{}", report.faults);
    for counters in &report.channels {
        let all = [counters.loss, counters.corrupted, counters.duplicated, counters.reordered];
        assert!(all.iter().all(|count| *count > 0) && counters.outage > 0, "{counters:?}");
    }
}

/// `a` is our endpoint and connects, to the kernel of `b`; both send.
fn as_client(peer: &str, profile: &str) {
    let Some(mut spaces) = spaces() else { return };
    let bench = Bench::start(&mut spaces, bad_link(), &[1]);
    let peer: SocketAddr = peer.parse().unwrap();
    let (question, answer) = (noise(1, 1_500_000), noise(2, 1_000_000));
    let server = kernel_server(&bench.hosts[1], peer, answer.clone());
    let (mut host, config) = (our_host(&bench), config(profile));
    std::thread::sleep(std::time::Duration::from_millis(50));
    let now = host.clock().now();
    let id = host.stack().connect(now, &config, peer).unwrap();
    let done = exchange(&mut host, id, question.clone());
    let got = server.join().unwrap();
    assert!(got == question, "{} bytes of {} at the kernel", got.len(), question.len());
    assert!(done.got == answer, "{} bytes of {} at our endpoint", done.got.len(), answer.len());
    assert!(done.events.contains(&TcpEvent::PeerClosed), "{:?}", done.events);
    assert!(host.stack().dropped().corrupted > 0);
    assert_bad(&bench.finish());
}

/// `a` is our endpoint and listens; the kernel of `b` connects; both send.
fn as_server(ours: &str, profile: &str) {
    let Some(mut spaces) = spaces() else { return };
    let bench = Bench::start(&mut spaces, bad_link(), &[1]);
    let ours: SocketAddr = ours.parse().unwrap();
    let (question, answer) = (noise(3, 1_500_000), noise(4, 1_000_000));
    let (mut host, config) = (our_host(&bench), config(profile));
    host.stack().listen(ours.port(), config);
    let client = kernel_client(&bench.hosts[1], ours, question.clone());
    let id = loop {
        host.turn(&mut [], Duration::from_millis(50)).unwrap();
        if let Some(id) = host.stack().accept(ours.port()) {
            break id;
        }
        assert!(host.clock().now() < Instant::from_millis(15_000), "nobody connected");
    };
    let done = exchange(&mut host, id, answer.clone());
    let got = client.join().unwrap();
    assert!(got == answer, "{} bytes of {} at the kernel", got.len(), answer.len());
    assert!(done.got == question, "{} bytes of {} at our endpoint", done.got.len(), question.len());
    assert_bad(&bench.finish());
}

#[test]
fn our_client_and_the_kernel_over_ipv4() {
    as_client("10.0.0.2:5001", "sack");
}

#[test]
fn our_client_and_the_kernel_over_ipv6() {
    as_client("[fd00::2]:5001", "cubic");
}

#[test]
fn our_server_and_the_kernel_over_ipv4() {
    as_server("10.0.0.1:5001", "newreno");
}

#[test]
fn our_server_and_the_kernel_over_ipv6() {
    as_server("[fd00::1]:5001", "sack");
}
