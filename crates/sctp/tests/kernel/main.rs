//! Against Linux's SCTP: `boot` starts a virtual machine whose two network cards are two UDP sockets. Real time, two paths.
//!
//! ```text
//! crates/sctp/tests/kernel/boot FOLDER &
//! cargo test -p handfast-sctp --test kernel -- --ignored --nocapture
//! ```
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a real peer has a real clock and sockets"
)]

mod host;

use bytes::Bytes;
use handfast_core::{Duration, Stream};
use handfast_sctp::{Config, CookieKey, Event, Failure, Listener, Message};

use host::{Host, ours};

/// Message `n`, of one byte to twenty thousand.
fn body(n: u32) -> Bytes {
    let len = 1 + (n * 7919) % 20_000;
    (0..len).map(|at| (at * 3 + n) as u8).collect()
}

/// Failovers take seconds.
fn config() -> Config {
    Config {
        rto_min: Duration::from_millis(300),
        path_max_retrans: 1,
        heartbeat_interval: Some(Duration::from_secs(2)),
        ..Config::default()
    }
}

/// So many messages on three streams come back whole, those of a stream in their order.
fn exchange(host: &mut Host, count: u32) {
    let (first, start) = (host.read.len(), host.now());
    for n in 0..count {
        let message = Message { stream: (n % 3) as u16, ppid: n, unordered: n % 10 == 9, data: body(n) };
        host.to_write.push_back(message);
    }
    let done = host.run(120, |host| host.read.len() - first == count as usize);
    println!("{} of {count} in {}: {:?}", host.read.len() - first, host.now().since(start), host.counters());
    assert!(done, "they are not all there");
    let read = &host.read[first..];
    for stream in 0..3 {
        assert!(read.iter().filter(|m| m.stream == stream && !m.unordered).map(|m| m.ppid).is_sorted());
    }
    let mut numbers: Vec<_> = read.iter().map(|message| message.ppid).collect();
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq(0..count));
    assert!(read.iter().all(|message| message.data == body(message.ppid)), "bytes differ");
}

fn connected(host: &mut Host, port: u16) {
    host.connect(port, config());
    assert!(host.run(20, |host| host.has(Event::Connected)), "no handshake");
}

fn closed(host: &mut Host) {
    host.shutdown();
    assert!(host.run(30, |host| host.has(Event::Closed)), "it does not close");
}

#[test]
#[ignore = "needs the virtual machine of tests/kernel/boot"]
fn against_linux() {
    let mut host = Host::new();
    println!("an association of two paths");
    connected(&mut host, 5000);
    assert!(host.run(10, |host| host.has(Event::PathUp { path: 1 })), "the second path");
    exchange(&mut host, 300);
    closed(&mut host);

    println!("3 % of all packets lost");
    host.loss = 0.03;
    connected(&mut host, 5001);
    exchange(&mut host, 300);
    closed(&mut host);
    host.loss = 0.0;

    println!("the first path goes and comes back");
    connected(&mut host, 5002);
    assert!(host.run(10, |host| host.has(Event::PathUp { path: 1 })), "the second path");
    exchange(&mut host, 50);
    host.down[0] = true;
    exchange(&mut host, 100);
    assert!(host.run(30, |host| host.has(Event::PathDown { path: 0 })), "it is not noticed");
    host.down[0] = false;
    host.events.clear();
    assert!(host.run(60, |host| host.has(Event::PathUp { path: 0 })), "it is not found again");
    exchange(&mut host, 50);
    closed(&mut host);

    println!("Linux opens and closes");
    connected(&mut host, 5003);
    let (key, random) = (CookieKey::new([9; 32]), Stream::new(5, "listener"));
    host.listener = Some(Listener::new(config(), 7000, &[ours(0), ours(1)], key, random));
    // The guest looks at our port.
    host.run(2, |_| false);
    closed(&mut host);
    host.forget();
    assert!(host.run(30, |host| host.read.len() == 100 && host.has(Event::Closed)));
    assert!(host.read.iter().enumerate().all(|(n, message)| message.data.len() == 1 + n * 19));

    println!("an abort");
    connected(&mut host, 5004);
    host.abort();
    assert!(host.run(5, |host| host.has(Event::Failed(Failure::LocalAbort))));
    connected(&mut host, 5004);
    closed(&mut host);
}
