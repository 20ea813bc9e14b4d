//! What anybody may send to a socket of UDP: also a fuzz target.

use std::net::SocketAddr;

use bytes::Bytes;
use handfast_assist::iosl::inside::{Config, Connections, Kind, Leaving};
use handfast_core::{Duration, Instant};
use handfast_wire::tcp::in_udp::InUdp;

/// Datagrams, each behind its length, from two addresses in turn.
pub(crate) fn survive_input(input: &[u8]) {
    let from: [SocketAddr; 2] = [([192, 0, 2, 1], 9).into(), ([192, 0, 2, 2], 9).into()];
    let config = Config { most: 4, shaking: 3, trusting: 1, ..Config::default() };
    let (mut server, mut client) =
        (Connections::new(config.clone(), [3; 32]), Connections::new(config, [4; 32]));
    server.listen(Kind::Tcp);
    let mut now = Instant::from_millis(1);
    let id = client.connect(now, Kind::Tcp, from[0], &[from[1].ip()]).unwrap();
    let (mut rest, mut turn, mut received, mut sent) = (input, 0, [0; 2], [0; 2]);
    while let Some((&len, behind)) = rest.split_first() {
        let (datagram, behind) = behind.split_at(usize::from(len).min(behind.len()));
        rest = behind;
        let datagram = Bytes::copy_from_slice(datagram);
        if let Some(parsed) = InUdp::parse(&datagram) {
            let mut again = Vec::new();
            parsed.emit(&mut again).unwrap();
            assert_eq!(again, datagram, "every datagram has one form");
            received[turn] += datagram.len();
        }
        server.on_datagram(now, from[turn], None, &datagram);
        client.on_answer(now, id, from[1].ip(), &datagram);
        while server.accept().is_some() {}
        for streams in [&mut server, &mut client] {
            while let Some(id) = streams.poll_touched() {
                streams.read(now, id, 1 << 16);
            }
            assert!(streams.len() <= 4);
        }
        let mut out = Vec::new();
        while let Some(Leaving { to, .. }) = server.poll_transmit(now, &mut out, |_| true) {
            sent[from.iter().position(|from| *from == to).unwrap()] += out.len();
            out.clear();
        }
        // Nobody has shown to be anywhere: numbers of ours were sent to nobody who is there. An answer to a stranger is no longer
        // than what it answers.
        assert!(sent[turn] <= 4 * received[turn], "{sent:?} for {received:?}");
        while client.poll_transmit(now, &mut out, |_| true).is_some() {}
        turn = 1 - turn;
        now += Duration::from_millis(u64::from(len) * 7);
        for streams in [&mut server, &mut client] {
            streams.on_timer(now);
            assert!(streams.deadline().is_none_or(|at| at > now), "a deadline is in the future");
        }
    }
}
