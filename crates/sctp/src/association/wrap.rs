//! Data across the TSN 2^32 - 1, with losses: a test that chooses the first TSN.

use std::collections::VecDeque;
use std::net::IpAddr;

use bytes::Bytes;
use handfast_core::{Bytes as Size, Duration, Instant, SeqNum, Stream};

use crate::{Answer, Association, Config, CookieKey, Endpoints, Listener, Message, Received, Transmit};

const CLIENT: [u8; 4] = [10, 0, 0, 1];
const SERVER: [u8; 4] = [10, 0, 0, 2];
const MESSAGES: u32 = 200;

struct Ends {
    client: Association,
    listener: Listener,
    server: Option<Association>,
}

impl Ends {
    fn open(first: SeqNum) -> Self {
        let endpoints =
            Endpoints { local_port: 1, remote_port: 2, local: &[CLIENT.into()], remote: &[SERVER.into()] };
        let (key, random) = (CookieKey::new([1; 32]), Stream::new(1, "client"));
        let config = Config::default();
        let client = Association::connect_from(Instant::ZERO, config, key, random, &endpoints, first);
        let (key, random) = (CookieKey::new([2; 32]), Stream::new(1, "server"));
        Self { client, listener: Listener::new(config, 2, &[SERVER.into()], key, random), server: None }
    }

    /// All that leaves now.
    fn poll(&mut self, now: Instant) -> VecDeque<Transmit> {
        let both = [Some(&mut self.client), self.server.as_mut()];
        let poll = |end: &mut Association| -> Vec<_> {
            std::iter::from_fn(|| end.poll_transmit(now, Size(1 << 16))).collect()
        };
        both.into_iter().flatten().flat_map(poll).collect()
    }

    fn deliver(&mut self, now: Instant, transmit: &Transmit) -> Option<Transmit> {
        let received = Received { packet: &transmit.packet, from: transmit.from, to: transmit.to };
        match &mut self.server {
            _ if transmit.to == IpAddr::from(CLIENT) => self.client.on_packet(now, &received),
            Some(server) => server.on_packet(now, &received),
            None => match self.listener.on_packet(now, &received) {
                Answer::Open(server) => self.server = Some(*server),
                Answer::Reply(reply) => return Some(reply),
                Answer::Nothing => {}
            },
        }
        None
    }

    fn expire(&mut self, now: Instant) {
        for end in [Some(&mut self.client), self.server.as_mut()].into_iter().flatten() {
            if end.deadline().is_some_and(|at| at <= now) {
                end.on_timer(now);
            }
        }
    }
}

/// Every seventh packet is lost: there are gaps, repetitions and timeouts on both sides of the wrap.
#[test]
fn data_goes_on_across_the_wrap() {
    let mut ends = Ends::open(SeqNum(u32::MAX - MESSAGES / 2));
    for n in 0..MESSAGES {
        let data = Bytes::from(n.to_be_bytes().repeat(300));
        ends.client.write(Message { data, ..Message::default() }).unwrap();
    }
    let (mut now, mut count, mut read) = (Instant::ZERO, 0, Vec::new());
    while read.len() < MESSAGES as usize || ends.client.buffered() > 0 {
        assert!(now < Instant::ZERO + Duration::from_secs(300), "{} messages", read.len());
        let mut leaving = ends.poll(now);
        now += Duration::from_millis(20);
        while let Some(transmit) = leaving.pop_front() {
            count += 1;
            if count % 7 != 0 {
                leaving.extend(ends.deliver(now, &transmit));
            }
        }
        ends.expire(now);
        read.extend(ends.server.iter_mut().flat_map(|server| std::iter::from_fn(|| server.read())));
    }
    let numbers = read.iter().map(|message| u32::from_be_bytes(*message.data.first_chunk().unwrap()));
    assert!(numbers.eq(0..MESSAGES));
    assert!(ends.client.last_tsn().0 < MESSAGES, "it has wrapped");
    assert!(ends.client.counters().retransmitted_chunks > 10);
}
