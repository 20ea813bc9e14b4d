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
    stack.write(fd, &vec![7; len].into(), &mut 0, 0)
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
    assert_eq!(pair.server.now().since(begin), Duration::from_secs(3));
}

#[test]
fn a_full_send_buffer_takes_no_more_until_something_is_acknowledged() {
    let mut pair = Pair::with(Settings { wmem: Some([4096, 50_000, 4_194_304]), ..Settings::default() });
    let (server, client) = pair.connect();
    pair.server.fcntl(server, libc::F_SETFL, libc::O_NONBLOCK).unwrap();
    let Poll::Ready(Ok(taken)) = write(&mut pair.server, server, 500_000) else { panic!("nothing taken") };
    assert!((50_000..150_000).contains(&taken), "{taken}");
    assert_eq!(write(&mut pair.server, server, 1), error(libc::EAGAIN));
    assert_eq!(found(&pair.server, server, libc::POLLOUT), 0);
    pair.exchange();
    assert_eq!(read(&mut pair.client, client, 500_000), Poll::Ready(Ok(taken)));
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
    assert_eq!(pair.server.write(server, &data, &mut 0, libc::MSG_EOR), Poll::Ready(Ok(100)));
    assert_eq!(pair.server.write(server, &data, &mut 0, 0), Poll::Ready(Ok(100)));
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
