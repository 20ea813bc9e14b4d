//! Whatever hosts send, a proxy keeps its bounds and its deadlines.

use handfast_assist::proxy::{Bounds, Proxy};
use handfast_assist::{Agent, Verdict, View};
use handfast_core::{Bytes, Duration, Instant, SeqNum};
use handfast_net::{Outbox, Port};
use handfast_wire::tcp::{Flags, Segment, Timestamps};
use handfast_wire::{Packet, Payload};
use proptest::prelude::*;

use crate::world::{ip, proxy, segment};

const MOST: usize = 4;
const BUFFER: u64 = 5_000;

/// A segment between one of two clients and a server, either way: numbers that are near the proxy's, or anything.
#[derive(Clone, Debug)]
struct Thrown {
    host: usize,
    port: u16,
    to_server: bool,
    flags: u8,
    near: bool,
    numbers: [i32; 2],
    window: u16,
    len: usize,
    wait: u64,
}

fn thrown() -> impl Strategy<Value = Thrown> {
    let flags =
        prop_oneof![3 => Just(0x10_u8), 2 => Just(0x02), 1 => Just(0x12), 1 => Just(0x11), 1 => any::<u8>()];
    let number = prop_oneof![3 => -2_i32..3_000, 1 => any::<i32>()];
    (
        (0_usize..3, 0_u16..3, any::<bool>(), flags, prop::bool::weighted(0.8)),
        ([number.clone(), number], any::<u16>(), 0_usize..1_500, prop_oneof![0_u64..50, 0_u64..100_000]),
    )
        .prop_map(|((host, port, to_server, flags, near), (numbers, window, len, wait))| Thrown {
            host,
            port,
            to_server,
            flags,
            near,
            numbers,
            window,
            len,
            wait,
        })
}

/// What a proxy has sent last to each side: the number it uses and the one that it expects.
#[derive(Clone, Copy, Default)]
struct Heard([Option<(SeqNum, SeqNum)>; 2]);

fn packet(thrown: &Thrown, heard: &Heard) -> Packet {
    let (client, server) = (ip(thrown.host + 2), ip(1));
    let (src, dst) = if thrown.to_server { (client, server) } else { (server, client) };
    let ports = [40_000 + thrown.port, 80];
    let (src_port, dst_port) = if thrown.to_server { (ports[0], ports[1]) } else { (ports[1], ports[0]) };
    let (ack, seq) = heard.0[usize::from(thrown.to_server)].filter(|_| thrown.near).unwrap_or_default();
    let [seq, ack] = [seq + thrown.numbers[0] as u32, ack + thrown.numbers[1] as u32];
    let payload = Payload::Bytes(vec![7; thrown.len].into());
    let flags = Flags(thrown.flags.into());
    let timestamps = thrown.len.is_multiple_of(2).then_some(Timestamps { val: thrown.len as u32, ecr: 0 });
    let window = thrown.window;
    Packet::tcp(
        src,
        dst,
        Segment { src_port, dst_port, seq, ack, flags, window, timestamps, payload, ..Segment::EMPTY },
    )
}

fn survive(all: &[Thrown]) -> Proxy {
    let mut proxy = proxy(Bounds { buffer: Bytes(BUFFER), connections: MOST });
    let (mut now, mut out, mut heard) = (Instant::from_millis(1_000), Outbox::default(), Heard::default());
    for thrown in all {
        let packet = packet(thrown, &heard);
        if proxy.look(now, Port(0), &View::of(&packet), &mut out) == Verdict::Take {
            proxy.on_packet(now, Port(0), packet, &mut out);
        }
        let mut sent = 0;
        for forward in out.drain() {
            let handfast_net::Forward::Routed(packet) = forward else { panic!("{forward:?}") };
            let made = segment(&packet);
            heard.0[usize::from(packet.src == ip(1))] = Some((made.seq + made.seq_len(), made.ack));
            sent += 1;
        }
        // An initial window towards each host, and what is owed to the other one.
        assert!(sent <= 200, "{sent}");
        let deadline = proxy.deadline();
        now += Duration::from_millis(thrown.wait);
        if deadline.is_some_and(|due| due <= now) {
            proxy.on_timer(now, &mut out);
            out.drain().for_each(drop);
        }
        assert!(proxy.deadline().is_none_or(|due| due > now), "the deadline is in the future");
        assert!(proxy.connections() <= MOST);
    }
    proxy
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn whatever_hosts_send_is_survived(all in prop::collection::vec(thrown(), 0..150)) {
        let mut proxy = survive(&all);
        // Without another word every connection ends: handshakes, data and keep-alive probes give up.
        let mut out = Outbox::default();
        let mut turns = 0;
        while let Some(due) = proxy.deadline() {
            proxy.on_timer(due, &mut out);
            out.drain().for_each(drop);
            turns += 1;
            prop_assert!(turns < 5_000, "{:?}", proxy.counters());
        }
        prop_assert_eq!(proxy.connections(), 0);
    }
}
