//! A socket of this end by which a program's datagrams go straight to a target.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use handfast_io::net::UdpSocket;
use handfast_io::{EventLoop, Interest, SourceId, source_towards};

/// A socket that is connected to a target.
#[derive(Debug)]
pub(super) struct Port {
    socket: UdpSocket,
    pub(super) id: SourceId,
    pub(super) to: SocketAddr,
    /// Its address is one that a new socket would not have.
    pub(super) is_old: bool,
}

impl Port {
    pub(super) fn open(io: &mut EventLoop, to: SocketAddr) -> io::Result<Self> {
        let any: IpAddr =
            if to.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
        let mut socket = UdpSocket::bind((any, 0).into())?;
        // A network's own broadcast address looks like any other one.
        socket.set_broadcast(true)?;
        socket.connect(to)?;
        let id = io.add(&mut socket, Interest::READABLE)?;
        Ok(Self { socket, id, to, is_old: false })
    }

    /// Routes or addresses have changed.
    pub(super) fn look_at_routes(&mut self) {
        let own = self.socket.local_addr().map(|own| own.ip()).ok();
        let next = source_towards(self.to).ok();
        // While there is no route there is no other one either.
        self.is_old |= next.is_some() && next != own;
    }

    pub(super) fn send(&self, datagram: &[u8]) -> io::Result<usize> {
        self.socket.send(datagram)
    }

    /// The next one that has come, with its length.
    pub(super) fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        receive(buffer, |buffer| self.socket.recv(buffer))
    }
}

/// What ICMP says of one that was not taken, and a signal.
fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::ConnectionRefused | io::ErrorKind::Interrupted)
}

/// The next datagram, whatever is said of others.
pub(super) fn receive<T>(
    buffer: &mut [u8],
    mut call: impl FnMut(&mut [u8]) -> io::Result<T>,
) -> io::Result<T> {
    loop {
        match call(buffer) {
            Err(error) if is_passing(&error) => {}
            came => return came,
        }
    }
}
