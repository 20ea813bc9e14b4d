use super::*;
use handfast_core::Duration;
use handfast_host::stack::BACKLOG;
use handfast_tcp::{Event, State};
use handfast_wire::Payload;

const A: [u8; 6] = [2, 0, 0, 0, 0, 1];
const B: [u8; 6] = [2, 0, 0, 0, 0, 2];

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// Two hosts; only A knows where B is.
fn hosts() -> (Stack, Stack) {
    let host = |mac, addresses: [&str; 2], neighbours: Vec<_>| {
        Stack::new(Identity { mac, addresses: addresses.map(ip).into() }, neighbours)
    };
    let a = host(A, ["10.0.0.1", "fd00::1"], vec![(ip("10.0.0.2"), B), (ip("fd00::2"), B)]);
    (a, host(B, ["10.0.0.2", "fd00::2"], Vec::new()))
}

/// Carries frames to and fro until both are silent; returns how many.
fn settle(now: Instant, a: &mut Stack, b: &mut Stack) -> usize {
    let (mut frames, mut frame) = (0, Vec::new());
    loop {
        let before = frames;
        while a.poll_frame(now, &mut frame) {
            frames += 1;
            b.on_frame(now, &frame, Checksums::Verify);
        }
        while b.poll_frame(now, &mut frame) {
            frames += 1;
            a.on_frame(now, &frame, Checksums::Verify);
        }
        if frames == before {
            return frames;
        }
    }
}

fn bytes(text: &'static str) -> Payload {
    Payload::Bytes(Bytes::from_static(text.as_bytes()))
}

fn read(stack: &mut Stack, id: ConnectionId) -> Option<Bytes> {
    stack.endpoint_mut(id)?.read(usize::MAX).map(|payload| payload.to_bytes())
}

#[test]
fn many_connections_to_one_port_over_both_families() {
    let (mut a, mut b) = hosts();
    let (now, config) = (Instant::ZERO, Arc::new(Config::default()));
    b.listen(80, Arc::clone(&config));
    let remotes = ["10.0.0.2:80", "[fd00::2]:80"].map(|text| text.parse().unwrap());
    let texts = ["zero", "one", "two", "three", "four", "five"];
    let ids: Vec<_> = (0..6).map(|n| a.connect(now, &config, remotes[n % 2]).unwrap()).collect();
    settle(now, &mut a, &mut b);
    for (id, text) in ids.iter().zip(texts) {
        assert_eq!(a.endpoint_mut(*id).unwrap().write(bytes(text)), text.len());
    }
    settle(now, &mut a, &mut b);
    let accepted: Vec<_> = std::iter::from_fn(|| b.accept(80)).collect();
    assert_eq!(accepted.len(), 6);
    for (n, id) in accepted.into_iter().enumerate() {
        assert_eq!(read(&mut b, id).unwrap(), texts[n]);
        assert_eq!(b.addresses(id).unwrap().1, a.addresses(ids[n]).unwrap().0);
        b.endpoint_mut(id).unwrap().write(bytes("answer"));
    }
    settle(now, &mut a, &mut b);
    for id in ids {
        assert_eq!(read(&mut a, id).unwrap(), "answer");
    }
}

#[test]
fn segments_of_ipv6_fit_the_link() {
    let (mut a, mut b) = hosts();
    let (now, config) = (Instant::ZERO, Arc::new(Config { mss: 9000, ..Config::default() }));
    b.listen(80, Arc::clone(&config));
    for (remote, longest) in [("10.0.0.2:80", 1514), ("[fd00::2]:80", 1514)] {
        let id = a.connect(now, &config, remote.parse().unwrap()).unwrap();
        settle(now, &mut a, &mut b);
        a.endpoint_mut(id).unwrap().write(Payload::Synthetic { stream: 0, offset: 0, len: 1_000_000 });
        let mut frame = Vec::new();
        assert!(a.poll_frame(now, &mut frame));
        assert_eq!(frame.len(), longest, "{remote}");
    }
}

#[test]
fn what_is_for_nobody_is_reset_and_what_is_not_for_us_ignored() {
    let (mut a, mut b) = hosts();
    let (now, config) = (Instant::ZERO, Arc::new(Config::default()));
    let id = a.connect(now, &config, "10.0.0.2:81".parse().unwrap()).unwrap();
    assert_eq!(settle(now, &mut a, &mut b), 2, "SYN and RST");
    assert!(matches!(a.endpoint_mut(id).unwrap().poll_event(), Some(Event::Died(_))));
    let other = a.connect(now, &config, "10.0.0.2:80".parse().unwrap()).unwrap();
    let mut frame = Vec::new();
    assert!(a.poll_frame(now, &mut frame));
    b.listen(80, config);
    for wrong in [0, 33] {
        // Another Ethernet address, another IP address (which also breaks the header's checksum).
        let mut frame = frame.clone();
        frame[wrong] ^= 4;
        b.on_frame(now, &frame, Checksums::Verify);
    }
    let last = frame.len() - 1;
    frame[last] ^= 1;
    b.on_frame(now, &frame, Checksums::Verify);
    assert_eq!((b.accept(80), b.dropped().corrupted), (None, 1));
    assert!(!b.poll_frame(now, &mut frame));
    b.on_frame(now, &frame, Checksums::Trust);
    assert!(b.accept(80).is_some(), "its sender has left the checksum to a network card");
    assert_eq!(a.endpoint(other).unwrap().state(), State::SynSent);
}

#[test]
fn a_released_connection_is_forgotten_after_time_wait() {
    let (mut a, mut b) = hosts();
    let (mut now, config) = (Instant::ZERO, Arc::new(Config::default()));
    b.listen(80, Arc::clone(&config));
    let id = a.connect(now, &config, "10.0.0.2:80".parse().unwrap()).unwrap();
    settle(now, &mut a, &mut b);
    let there = b.accept(80).unwrap();
    a.release(now, id);
    settle(now, &mut a, &mut b);
    b.release(now, there);
    settle(now, &mut a, &mut b);
    assert!(b.endpoint(there).is_none(), "it was the last to close");
    assert_eq!(a.endpoint(id).unwrap().state(), State::TimeWait);
    let pair = a.addresses(id).unwrap();
    assert!(a.connect_from(now, &config, pair).is_none(), "its addresses are taken");
    now += config.time_wait;
    assert_eq!(a.deadline(), Some(now));
    a.on_timer(now);
    settle(now, &mut a, &mut b);
    assert!(a.endpoint(id).is_none() && a.deadline().is_none());
    assert!(a.connect_from(now, &config, pair).is_some());
}

#[test]
fn neighbours_are_asked_for_and_the_syn_follows() {
    for (listen, ask) in [("10.0.0.1:80", "10.0.0.9:80"), ("[fd00::1]:80", "[fd00::9]:80")] {
        let (mut a, mut b) = hosts();
        let (now, config) = (Instant::ZERO, Arc::new(Config::default()));
        a.listen(80, Arc::clone(&config));
        let id = b.connect(now, &config, listen.parse().unwrap()).unwrap();
        // Question and answer, the handshake, and the window now that it can be scaled.
        assert_eq!(settle(now, &mut a, &mut b), 6);
        assert_eq!(b.endpoint(id).unwrap().state(), State::Established);
        let nobody = b.connect(now, &config, ask.parse().unwrap()).unwrap();
        assert_eq!(settle(now, &mut a, &mut b), 1, "a question that nobody answers");
        b.on_timer(now + Duration::from_secs(1));
        assert_eq!(settle(now, &mut a, &mut b), 1, "asked again with the next SYN");
        assert_eq!(b.endpoint(nobody).unwrap().state(), State::SynSent);
    }
}

#[test]
fn a_full_backlog_is_silent() {
    let (mut a, mut b) = hosts();
    let (now, config) = (Instant::ZERO, Arc::new(Config::default()));
    b.listen(80, Arc::clone(&config));
    let remote = "10.0.0.2:80".parse().unwrap();
    let ids: Vec<_> = (0..=BACKLOG).map(|_| a.connect(now, &config, remote).unwrap()).collect();
    settle(now, &mut a, &mut b);
    let waiting = ids.iter().filter(|id| a.endpoint(**id).unwrap().state() == State::SynSent);
    assert_eq!(waiting.count(), 1);
}

#[test]
fn datagrams_go_both_ways_and_damaged_ones_nowhere() {
    let (mut a, mut b) = hosts();
    let now = Instant::ZERO;
    for (here, there) in [("10.0.0.1:5001", "10.0.0.2:7"), ("[fd00::1]:5001", "[fd00::2]:7")] {
        let (here, there): (SocketAddr, SocketAddr) = (here.parse().unwrap(), there.parse().unwrap());
        // B does not know where A is: it asks first, and what it sends waits for the answer.
        b.send_datagram((there, here), Bytes::from_static(b"answer"));
        assert_eq!(settle(now, &mut a, &mut b), 3);
        assert_eq!(a.poll_datagram(), Some(((here, there), Bytes::from_static(b"answer"))));
        a.send_datagram((here, there), Bytes::from_static(b"call"));
        let mut frame = Vec::new();
        assert!(a.poll_frame(now, &mut frame));
        let last = frame.len() - 1;
        frame[last] ^= 1;
        b.on_frame(now, &frame, Checksums::Verify);
        assert_eq!(b.poll_datagram(), None);
        frame[last] ^= 1;
        b.on_frame(now, &frame, Checksums::Verify);
        assert_eq!(b.poll_datagram(), Some(((there, here), Bytes::from_static(b"call"))));
    }
    assert_eq!((a.dropped().corrupted, b.dropped().corrupted), (0, 2));
}
