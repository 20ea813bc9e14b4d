//! The socket table in virtual time: another stack is the peer.

use std::net::SocketAddr;
use std::task::Poll;

use bytes::Bytes;
use handfast_core::{Duration, Instant};

use super::{Errno, Fd, Message, Polled, Stack};
use crate::Settings;

/// Two stacks and a wire without delay between them.
struct Pair {
    server: Stack,
    client: Stack,
}

impl Pair {
    fn new() -> Self {
        Self::with(Settings::default())
    }

    fn with(settings: Settings) -> Self {
        let own = settings.clone();
        Self { server: Stack::new(move || own.clone()), client: Stack::new(move || settings.clone()) }
    }

    /// Everything that has left arrives, and what follows from it.
    fn exchange(&mut self) {
        loop {
            let (to_client, to_server) = (self.server.departure(), self.client.departure());
            if to_client.is_none() && to_server.is_none() {
                return;
            }
            if let Some((_, packet)) = to_client {
                self.client.arrive(&packet);
            }
            if let Some((_, packet)) = to_server {
                self.server.arrive(&packet);
            }
        }
    }

    fn pass(&mut self, time: Duration) {
        let to = self.server.now() + time;
        while let Some(at) = self.next(to) {
            self.server.advance(at);
            self.client.advance(at);
            self.exchange();
        }
        self.server.advance(to);
        self.client.advance(to);
    }

    fn next(&self, to: Instant) -> Option<Instant> {
        self.server.deadline().into_iter().chain(self.client.deadline()).min().filter(|&at| at <= to)
    }

    /// A connection: the server's descriptor and the client's.
    fn connect(&mut self) -> (Fd, Fd) {
        let listener = self.server.socket(libc::AF_INET, libc::SOCK_STREAM, 0).unwrap();
        self.server.bind(listener, address()).unwrap();
        self.server.listen(listener).unwrap();
        assert!(self.server.accept(listener).is_pending());
        self.connect_to(listener)
    }

    fn connect_to(&mut self, listener: Fd) -> (Fd, Fd) {
        let client = self.client.socket(libc::AF_INET, libc::SOCK_STREAM, libc::IPPROTO_TCP).unwrap();
        assert!(self.client.connect(client, Some(address()), false).is_pending());
        self.exchange();
        assert_eq!(self.client.connect(client, Some(address()), true), Poll::Ready(Ok(())));
        let Poll::Ready(Ok((server, _))) = self.server.accept(listener) else { panic!("nobody to accept") };
        (server, client)
    }
}

fn address() -> SocketAddr {
    "192.0.2.1:8080".parse().unwrap()
}

fn write(stack: &mut Stack, fd: Fd, len: usize) -> Poll<Result<usize, Errno>> {
    stack.write(fd, &vec![7; len].into(), &mut None, 0)
}

fn read(stack: &mut Stack, fd: Fd, len: usize) -> Poll<Result<usize, Errno>> {
    stack.read(fd, len, 0).map_ok(|Message { len, .. }| len)
}

fn error<T>(errno: i32) -> Poll<Result<T, Errno>> {
    Poll::Ready(Err(Errno(errno)))
}

fn found(stack: &Stack, fd: Fd, events: i16) -> i16 {
    let mut polled = [Polled { fd, events, found: 0 }];
    stack.poll(&mut polled);
    polled[0].found
}

#[test]
fn what_is_written_is_read_and_the_end_after_it() {
    let mut pair = Pair::new();
    let (server, client) = pair.connect();
    assert!(read(&mut pair.server, server, 10).is_pending());
    assert_eq!(write(&mut pair.client, client, 5000), Poll::Ready(Ok(5000)));
    pair.exchange();
    assert_eq!(pair.server.inq(server), Ok(5000));
    assert_eq!(read(&mut pair.server, server, 1000), Poll::Ready(Ok(1000)));
    assert_eq!(read(&mut pair.server, server, 9000), Poll::Ready(Ok(4000)));
    pair.client.close(client).unwrap();
    pair.exchange();
    assert_eq!(read(&mut pair.server, server, 10), Poll::Ready(Ok(0)));
    assert_eq!(pair.client.close(client), Err(Errno(libc::EBADF)));
    pair.server.close(server).unwrap();
    pair.exchange();
    pair.pass(Duration::from_secs(61));
    assert!(pair.server.connections.is_empty() && pair.client.connections.is_empty());
}

#[test]
fn a_call_that_would_block_says_so_where_it_must_not() {
    let mut pair = Pair::new();
    let (server, _) = pair.connect();
    pair.server.fcntl(server, libc::F_SETFL, libc::O_RDWR | libc::O_NONBLOCK).unwrap();
    assert_eq!(read(&mut pair.server, server, 10), error(libc::EAGAIN));
    let listener = pair.server.socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_NONBLOCK, 0).unwrap();
    assert_eq!(read(&mut pair.server, listener, 10), error(libc::ENOTCONN));
    pair.server.listen(listener).unwrap();
    assert_eq!(pair.server.accept(listener), error(libc::EAGAIN));
}

#[test]
fn closing_with_unread_data_resets() {
    let mut pair = Pair::new();
    let (server, client) = pair.connect();
    let _ = write(&mut pair.client, client, 100);
    pair.exchange();
    pair.server.close(server).unwrap();
    pair.exchange();
    assert_eq!(write(&mut pair.client, client, 1), error(libc::ECONNRESET));
    assert_eq!(write(&mut pair.client, client, 1), error(libc::EPIPE));
    assert_eq!(read(&mut pair.client, client, 1), Poll::Ready(Ok(0)));
}

#[test]
fn lingering_for_no_time_resets() {
    let mut pair = Pair::new();
    let (server, client) = pair.connect();
    let linger = [1, 0].map(i32::to_ne_bytes).concat();
    pair.server.set_option(server, libc::SOL_SOCKET, libc::SO_LINGER, &linger).unwrap();
    pair.server.close(server).unwrap();
    pair.exchange();
    assert_eq!(found(&pair.client, client, libc::POLLIN) & libc::POLLERR, libc::POLLERR);
    let told = pair.client.option(client, libc::SOL_SOCKET, libc::SO_ERROR, 4).unwrap();
    assert_eq!(told, libc::ECONNRESET.to_ne_bytes());
    let again = pair.client.option(client, libc::SOL_SOCKET, libc::SO_ERROR, 4).unwrap();
    assert_eq!(again, 0i32.to_ne_bytes());
}

#[test]
fn nobody_there_refuses() {
    let mut pair = Pair::new();
    let client = pair.client.socket(libc::AF_INET, libc::SOCK_STREAM, 0).unwrap();
    assert!(pair.client.connect(client, Some(address()), false).is_pending());
    pair.exchange();
    assert_eq!(pair.client.connect(client, Some(address()), true), error(libc::ECONNREFUSED));
}

#[test]
fn a_user_timeout_ends_what_is_not_acknowledged() {
    let mut pair = Pair::new();
    let (server, _) = pair.connect();
    let ms = 3000i32.to_ne_bytes();
    pair.server.set_option(server, libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT, &ms).unwrap();
    let _ = write(&mut pair.server, server, 100);
    let begin = pair.server.now();
    while pair.server.departure().is_some() {}
    while let Some(at) = pair.server.deadline() {
        pair.server.advance(at);
        while pair.server.departure().is_some() {}
        if found(&pair.server, server, 0) & libc::POLLERR != 0 {
            break;
        }
    }
    assert_eq!(write(&mut pair.server, server, 1), error(libc::ETIMEDOUT));
    // Linux counts from the first repetition by the timer: a probe leaves before it.
    assert_eq!(pair.server.now().since(begin), Duration::from_millis(3000 + 416));
}

#[test]
fn a_full_send_buffer_takes_no_more_until_something_is_acknowledged() {
    // The receiver has memory for all of it.
    let (rmem, wmem) = (Some([4096, 1_000_000, 6_291_456]), Some([4096, 50_000, 4_194_304]));
    let mut pair = Pair::with(Settings { rmem, wmem, ..Settings::default() });
    let (server, client) = pair.connect();
    pair.server.fcntl(server, libc::F_SETFL, libc::O_NONBLOCK).unwrap();
    let Poll::Ready(Ok(taken)) = write(&mut pair.server, server, 500_000) else { panic!("nothing taken") };
    assert!((50_000..150_000).contains(&taken), "{taken}");
    assert_eq!(write(&mut pair.server, server, 1), error(libc::EAGAIN));
    assert_eq!(found(&pair.server, server, libc::POLLOUT), 0);
    pair.exchange();
    assert_eq!(read(&mut pair.client, client, 500_000), Poll::Ready(Ok(taken)));
    // The acknowledgement of the last of it may wait.
    pair.pass(Duration::from_millis(200));
    assert_eq!(found(&pair.server, server, libc::POLLOUT), libc::POLLOUT);
    assert_eq!(pair.server.outq(server, false), Ok(0));
}

#[test]
fn a_record_ends_a_segment() {
    let mut pair = Pair::new();
    let (server, _) = pair.connect();
    let nodelay = 1i32.to_ne_bytes();
    pair.server.set_option(server, libc::IPPROTO_TCP, libc::TCP_NODELAY, &nodelay).unwrap();
    let cork = |stack: &mut Stack, on: i32| {
        stack.set_option(server, libc::IPPROTO_TCP, libc::TCP_CORK, &on.to_ne_bytes()).unwrap();
    };
    cork(&mut pair.server, 1);
    let data = Bytes::from_static(&[1; 100]);
    assert_eq!(pair.server.write(server, &data, &mut None, libc::MSG_EOR), Poll::Ready(Ok(100)));
    assert_eq!(pair.server.write(server, &data, &mut None, 0), Poll::Ready(Ok(100)));
    assert_eq!(pair.server.departure(), None);
    cork(&mut pair.server, 0);
    let mut sizes = Vec::new();
    while let Some((_, packet)) = pair.server.departure() {
        sizes.push(packet.len() - 20 - 32);
    }
    assert_eq!(sizes, [100, 100]);
}

#[test]
fn malformed_packets_are_dropped() {
    let mut stack = Stack::new(Settings::default);
    for len in 0..80 {
        for first in [0x45, 0x60, 0] {
            let mut packet = vec![0; len];
            if let Some(byte) = packet.first_mut() {
                *byte = first;
            }
            stack.arrive(&packet);
        }
    }
    assert_eq!(stack.departure(), None);
}

fn set(stack: &mut Stack, fd: Fd, name: i32, value: i32) {
    stack.set_option(fd, libc::SOL_SOCKET, name, &value.to_ne_bytes()).unwrap();
}

fn receive(stack: &mut Stack, fd: Fd, flags: i32) -> Poll<Result<Vec<u8>, Errno>> {
    stack.read(fd, 100, flags).map_ok(|message| message.data)
}

#[test]
fn the_urgent_octet_arrives_beside_the_stream() {
    let mut pair = Pair::new();
    let (server, client) = pair.connect();
    let urgent = Bytes::from_static(b"abc");
    assert_eq!(pair.server.write(server, &urgent, &mut None, libc::MSG_OOB), Poll::Ready(Ok(3)));
    assert_eq!(write(&mut pair.server, server, 2), Poll::Ready(Ok(2)));
    pair.exchange();
    assert_eq!(found(&pair.client, client, libc::POLLIN | libc::POLLPRI), libc::POLLIN | libc::POLLPRI);
    assert_eq!((pair.client.inq(client), pair.client.at_mark(client)), (Ok(2), Ok(0)));
    assert_eq!(receive(&mut pair.client, client, 0), Poll::Ready(Ok(b"ab".to_vec())));
    assert_eq!(pair.client.at_mark(client), Ok(1));
    assert_eq!(receive(&mut pair.client, client, libc::MSG_OOB), Poll::Ready(Ok(b"c".to_vec())));
    assert_eq!(receive(&mut pair.client, client, libc::MSG_OOB), error(libc::EINVAL));
    assert_eq!(receive(&mut pair.client, client, 0), Poll::Ready(Ok(vec![7, 7])));
    assert_eq!(pair.client.at_mark(client), Ok(0));
}

#[test]
fn a_read_of_which_only_the_urgent_octet_is_there_waits() {
    let mut pair = Pair::new();
    let (server, client) = pair.connect();
    let urgent = Bytes::from_static(b"c");
    assert_eq!(pair.server.write(server, &urgent, &mut None, libc::MSG_OOB), Poll::Ready(Ok(1)));
    pair.exchange();
    assert_eq!(found(&pair.client, client, libc::POLLIN), 0);
    assert!(receive(&mut pair.client, client, 0).is_pending());
    set(&mut pair.client, client, libc::SO_OOBINLINE, 1);
    assert_eq!(receive(&mut pair.client, client, 0), Poll::Ready(Ok(b"c".to_vec())));
}

#[test]
fn reads_and_polls_wait_for_the_low_water_mark() {
    let mut pair = Pair::new();
    let (server, client) = pair.connect();
    set(&mut pair.client, client, libc::SO_RCVLOWAT, 10);
    for (waiting, is_enough) in [(9, false), (10, true)] {
        let more = if waiting == 9 { 9 } else { 1 };
        assert_eq!(write(&mut pair.server, server, more), Poll::Ready(Ok(more)));
        pair.exchange();
        assert_eq!(found(&pair.client, client, libc::POLLIN) != 0, is_enough, "{waiting}");
        assert_eq!(read(&mut pair.client, client, 100).is_ready(), is_enough, "{waiting}");
    }
}

#[test]
fn deferred_accept_waits_for_data() {
    let mut pair = Pair::new();
    let listener = pair.server.socket(libc::AF_INET, libc::SOCK_STREAM, 0).unwrap();
    for (seconds, covered) in [(1, 1), (2, 3), (3, 3), (4, 7), (0, 0)] {
        let value = i32::to_ne_bytes(seconds);
        pair.server.set_option(listener, libc::IPPROTO_TCP, libc::TCP_DEFER_ACCEPT, &value).unwrap();
        let found = pair.server.option(listener, libc::IPPROTO_TCP, libc::TCP_DEFER_ACCEPT, 4).unwrap();
        assert_eq!(found, i32::to_ne_bytes(covered));
    }
    let value = 1_i32.to_ne_bytes();
    pair.server.set_option(listener, libc::IPPROTO_TCP, libc::TCP_DEFER_ACCEPT, &value).unwrap();
    pair.server.bind(listener, address()).unwrap();
    pair.server.listen(listener).unwrap();
    let client = pair.client.socket(libc::AF_INET, libc::SOCK_STREAM, 0).unwrap();
    assert!(pair.client.connect(client, Some(address()), false).is_pending());
    pair.exchange();
    assert!(pair.server.accept(listener).is_pending());
    assert_eq!(write(&mut pair.client, client, 5), Poll::Ready(Ok(5)));
    pair.exchange();
    let Poll::Ready(Ok((server, _))) = pair.server.accept(listener) else { panic!("nobody to accept") };
    assert_eq!(read(&mut pair.server, server, 10), Poll::Ready(Ok(5)));
}

#[test]
fn icmp_makes_segments_smaller_for_all_connections_on_the_way() {
    let mut pair = Pair::new();
    let (server, client) = pair.connect();
    assert_eq!(write(&mut pair.server, server, 3000), Poll::Ready(Ok(3000)));
    let Some((_, lost)) = pair.server.departure() else { panic!("nothing left") };
    while pair.server.departure().is_some() {}
    pair.server.arrive(&too_big(&lost, 1000));
    let mtu = |stack: &mut Stack, fd| stack.option(fd, libc::IPPROTO_IP, libc::IP_MTU, 4).unwrap();
    assert_eq!(mtu(&mut pair.server, server), 1000_i32.to_ne_bytes());
    pair.exchange();
    assert_eq!(read(&mut pair.client, client, 5000), Poll::Ready(Ok(3000)));
    let listener = super::FIRST_FD;
    let (other, _) = pair.connect_to(listener);
    assert_eq!(mtu(&mut pair.server, other), 1000_i32.to_ne_bytes());
    assert_eq!(write(&mut pair.server, other, 1000), Poll::Ready(Ok(1000)));
    assert_eq!(pair.server.departure().map(|(_, packet)| packet.len()), Some(1000));
}

/// RFC 792: "fragmentation needed" about a packet. Its outer header is that packet's, turned around.
fn too_big(about: &[u8], mtu: u16) -> Vec<u8> {
    let mut icmp = vec![3, 4, 0, 0, 0, 0];
    icmp.extend(mtu.to_be_bytes());
    icmp.extend(&about[..28]);
    let mut packet = about[..20].to_vec();
    packet[2..4].copy_from_slice(&56_u16.to_be_bytes());
    (packet[9], packet[10], packet[11]) = (1, 0, 0);
    packet[12..16].copy_from_slice(&about[16..20]);
    packet[16..20].copy_from_slice(&about[12..16]);
    let sum = checksum(&packet);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    let sum = checksum(&icmp);
    icmp[2..4].copy_from_slice(&sum.to_be_bytes());
    packet.extend(icmp);
    packet
}

fn checksum(bytes: &[u8]) -> u16 {
    let sum: u32 = bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
    !((sum & 0xffff) + (sum >> 16)) as u16
}

#[test]
fn packets_of_a_connection_are_timed_as_its_socket_was_told_before() {
    // `SOF_TIMESTAMPING_`: `TX_SOFTWARE`, `TX_ACK`, `SOFTWARE`; `OPT_ID`.
    let (reports, numbers) = (1_u32 << 1 | 1 << 9 | 1 << 4, 1_u32 << 7);
    let set = |stack: &mut Stack, fd, flags: u32| {
        stack.set_option(fd, libc::SOL_SOCKET, libc::SO_TIMESTAMPING, &flags.to_ne_bytes())
    };
    let mut pair = Pair::new();
    let listener = pair.server.socket(libc::AF_INET, libc::SOCK_STREAM, 0).unwrap();
    assert_eq!(set(&mut pair.server, listener, reports | numbers), Err(Errno(libc::EINVAL)));
    pair.server.bind(listener, address()).unwrap();
    pair.server.listen(listener).unwrap();
    assert_eq!(set(&mut pair.server, listener, reports | numbers), Err(Errno(libc::EINVAL)));
    assert_eq!(set(&mut pair.server, listener, reports), Ok(()));
    assert!(pair.server.accept(listener).is_pending());
    let client = pair.client.socket(libc::AF_INET, libc::SOCK_STREAM, 0).unwrap();
    assert_eq!(set(&mut pair.client, client, reports), Ok(()));
    assert!(pair.client.connect(client, Some(address()), false).is_pending());
    pair.exchange();
    let Poll::Ready(Ok((server, _))) = pair.server.accept(listener) else { panic!("nobody to accept") };
    for (stack, fd) in [(&mut pair.server, server), (&mut pair.client, client)] {
        assert_eq!(write(stack, fd, 100), Poll::Ready(Ok(100)));
    }
    pair.exchange();
    for (stack, fd) in [(&mut pair.server, server), (&mut pair.client, client)] {
        let Poll::Ready(Ok(report)) = stack.read(fd, 0, libc::MSG_ERRQUEUE) else { panic!("no report") };
        assert_eq!(report.control.len(), 2);
        assert_eq!(set(stack, fd, reports | numbers), Ok(()), "a connection");
    }
}
