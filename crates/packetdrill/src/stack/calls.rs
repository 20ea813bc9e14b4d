//! The calls that make, bind, connect, listen, accept, write, shut and close.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::task::Poll;

use bytes::Bytes;
use handfast_tcp::{Endpoint, State};

use super::connection::Connection;
use super::fill::Manner;
use super::options::Options;
use super::{Errno, Fd, Id, Kind, MOST, Socket, Stack, Step};

/// The port of an active open whose socket is not bound: the first that RFC 6335 §6 has for that.
const FIRST_PORT: u16 = 49_152;

impl Stack {
    /// `socket(2)`: a stream for TCP.
    ///
    /// # Errors
    /// Another family, type or protocol.
    pub fn socket(&mut self, domain: i32, kind: i32, protocol: i32) -> Result<Fd, Errno> {
        if !matches!(domain, libc::AF_INET | libc::AF_INET6) {
            return Err(Errno(libc::EAFNOSUPPORT));
        }
        if kind & !(libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC) != libc::SOCK_STREAM {
            return Err(Errno(libc::EPROTONOSUPPORT));
        }
        if !matches!(protocol, 0 | libc::IPPROTO_TCP) {
            return Err(Errno(libc::EPROTONOSUPPORT));
        }
        let nonblocking = kind & libc::SOCK_NONBLOCK != 0;
        let is_v6 = domain == libc::AF_INET6;
        let socket =
            Socket { kind: Kind::Fresh, options: Options::default(), nonblocking, is_v6, local: None };
        self.take_fd(socket)
    }

    fn take_fd(&mut self, socket: Socket) -> Result<Fd, Errno> {
        if self.sockets.len() >= MOST {
            return Err(Errno(libc::EMFILE));
        }
        let fd = self.next_fd;
        self.next_fd += 1;
        self.sockets.insert(fd, socket);
        Ok(fd)
    }

    /// Whether a descriptor is one of the stack's.
    pub fn knows(&self, fd: Fd) -> bool {
        self.sockets.contains_key(&fd)
    }

    pub(super) fn socket_of(&mut self, fd: Fd) -> Result<&mut Socket, Errno> {
        self.sockets.get_mut(&fd).ok_or(Errno(libc::EBADF))
    }

    /// The connection of a descriptor, if it has one.
    pub(super) fn stream_of(&self, fd: Fd) -> Result<Option<Id>, Errno> {
        match self.sockets.get(&fd) {
            None => Err(Errno(libc::EBADF)),
            Some(Socket { kind: Kind::Stream(id), .. }) => Ok(Some(*id)),
            Some(_) => Ok(None),
        }
    }

    /// A connection that is there.
    pub(super) fn connection(&mut self, fd: Fd, otherwise: i32) -> Result<(Id, &mut Connection), Errno> {
        let id = self.stream_of(fd)?.ok_or(Errno(otherwise))?;
        self.connections.get_mut(&id).map(|connection| (id, connection)).ok_or(Errno(otherwise))
    }

    /// `bind(2)`.
    ///
    /// # Errors
    /// The descriptor is none, or bound.
    pub fn bind(&mut self, fd: Fd, local: SocketAddr) -> Result<(), Errno> {
        let socket = self.socket_of(fd)?;
        if socket.local.is_some() || !matches!(socket.kind, Kind::Fresh) {
            return Err(Errno(libc::EINVAL));
        }
        socket.local = Some(local);
        Ok(())
    }

    /// `listen(2)`. A script has a few connections: the backlog is not bounded by what it says.
    ///
    /// # Errors
    /// The descriptor is none, or connected.
    pub fn listen(&mut self, fd: Fd) -> Result<(), Errno> {
        let socket = self.socket_of(fd)?;
        match socket.kind {
            Kind::Stream(_) => return Err(Errno(libc::EINVAL)),
            Kind::Listening(_) => {}
            Kind::Fresh => socket.kind = Kind::Listening(VecDeque::new()),
        }
        Ok(())
    }

    /// `accept(2)`: the descriptor and the peer's address.
    pub fn accept(&mut self, fd: Fd) -> Step<(Fd, SocketAddr)> {
        let socket = match self.socket_of(fd) {
            Ok(socket) => socket,
            Err(error) => return Poll::Ready(Err(error)),
        };
        let (nonblocking, is_v6) = (socket.nonblocking, socket.is_v6);
        let Kind::Listening(waiting) = &mut socket.kind else { return Poll::Ready(Err(Errno(libc::EINVAL))) };
        let Some(id) = waiting.pop_front() else {
            return if nonblocking { Poll::Ready(Err(Errno(libc::EAGAIN))) } else { Poll::Pending };
        };
        Poll::Ready(self.accept_connection(id, is_v6))
    }

    fn accept_connection(&mut self, id: Id, is_v6: bool) -> Result<(Fd, SocketAddr), Errno> {
        let connection = self.connections.get(&id).ok_or(Errno(libc::ECONNABORTED))?;
        let (remote, local, options) = (connection.remote, connection.local, connection.options.clone());
        let kind = Kind::Stream(id);
        let fd = self.take_fd(Socket { kind, options, nonblocking: false, is_v6, local: Some(local) })?;
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.fd = Some(fd);
            connection.tcp_mut().set_accepted();
        }
        let remote = if is_v6 { SocketAddr::new(mapped(remote.ip()), remote.port()) } else { remote };
        Ok((fd, remote))
    }

    /// `connect(2)`; `waits`: it was called before, and waited. `None` disconnects (`AF_UNSPEC`).
    pub fn connect(&mut self, fd: Fd, remote: Option<SocketAddr>, waits: bool) -> Step<()> {
        let nonblocking = match self.socket_of(fd) {
            Ok(socket) => socket.nonblocking,
            Err(error) => return Poll::Ready(Err(error)),
        };
        let Some(remote) = remote else { return Poll::Ready(self.disconnect(fd)) };
        let remote = SocketAddr::new(remote.ip().to_canonical(), remote.port());
        match self.stream_of(fd) {
            Ok(None) => match self.begin_connecting(fd, remote) {
                Ok(()) if nonblocking => Poll::Ready(Err(Errno(libc::EINPROGRESS))),
                Ok(()) => Poll::Pending,
                Err(error) => Poll::Ready(Err(error)),
            },
            Ok(Some(_)) => self.go_on_connecting(fd, nonblocking, waits),
            Err(error) => Poll::Ready(Err(error)),
        }
    }

    fn begin_connecting(&mut self, fd: Fd, remote: SocketAddr) -> Result<(), Errno> {
        let settings = self.settings();
        let iss = self.iss();
        let port = FIRST_PORT + u16::try_from(self.next_id % 16_384).unwrap_or(0);
        let (now, joined) = (self.now, self.joined);
        let way = self.way_to(&settings, remote.ip());
        let socket = self.socket_of(fd)?;
        if !matches!(socket.kind, Kind::Fresh) {
            return Err(Errno(libc::EISCONN));
        }
        let local = socket.local.filter(|local| local.port() != 0);
        let port = local.map_or(port, |local| local.port());
        let from = local.map(|local| local.ip()).filter(|ip| !ip.is_unspecified());
        let local = SocketAddr::new(from.unwrap_or_else(|| source_for(remote.ip())), port);
        let options = socket.options.clone();
        let config = options.config(&settings, &way, remote.ip(), false);
        let endpoint = Endpoint::connect(Arc::new(config), port, remote.port(), iss, now);
        let mut connection = Connection::new(endpoint, (local, remote), options, settings, &way);
        connection.begin_path(now, way.mtu, joined);
        connection.tcp_mut().set_accepted();
        connection.apply_options(now);
        connection.set_stamps(connection.options.timestamping);
        connection.fd = Some(fd);
        let id = self.insert(connection);
        self.socket_of(fd)?.kind = Kind::Stream(id);
        self.after(id);
        Ok(())
    }

    fn go_on_connecting(&mut self, fd: Fd, nonblocking: bool, waits: bool) -> Step<()> {
        let connection = match self.connection(fd, libc::EBADF) {
            Ok((_, connection)) => connection,
            Err(error) => return Poll::Ready(Err(error)),
        };
        if let Some(errno) = connection.error.take() {
            return Poll::Ready(Err(Errno(errno)));
        }
        match connection.tcp().state() {
            State::SynSent | State::SynReceived if nonblocking => Poll::Ready(Err(Errno(libc::EALREADY))),
            State::SynSent | State::SynReceived => Poll::Pending,
            State::Closed => Poll::Ready(Err(Errno(libc::ECONNABORTED))),
            _ if waits => Poll::Ready(Ok(())),
            _ => Poll::Ready(Err(Errno(libc::EISCONN))),
        }
    }

    /// The connection is reset and the socket as new.
    fn disconnect(&mut self, fd: Fd) -> Result<(), Errno> {
        let Some(id) = self.stream_of(fd)? else { return Ok(()) };
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.orphaned = true;
            connection.fd = None;
            connection.reset();
        }
        self.after(id);
        let socket = self.socket_of(fd)?;
        socket.kind = Kind::Fresh;
        socket.local = None;
        Ok(())
    }

    /// `write(2)` and its kin. `waited`: how many of `data` were taken before this call had to wait; [`None`]: it has not. `flags`: `MSG_`
    /// of `send(2)`.
    pub fn write(&mut self, fd: Fd, data: &Bytes, waited: &mut Option<usize>, flags: i32) -> Step<usize> {
        let (now, from) = (self.now, waited.unwrap_or(0));
        let nonblocking = match self.socket_of(fd) {
            Ok(socket) => socket.nonblocking || flags & libc::MSG_DONTWAIT != 0,
            Err(error) => return Poll::Ready(Err(error)),
        };
        let (id, connection) = match self.connection(fd, libc::EPIPE) {
            Ok(found) => found,
            Err(error) => return Poll::Ready(Err(error)),
        };
        if let Some(errno) = connection.error.take() {
            return Poll::Ready(if from > 0 { Ok(from) } else { Err(Errno(errno)) });
        }
        if connection.write_shut || connection.tcp().state() == State::Closed {
            return Poll::Ready(if from > 0 { Ok(from) } else { Err(Errno(libc::EPIPE)) });
        }
        if !connection.is_open {
            return if nonblocking { Poll::Ready(Err(Errno(libc::EAGAIN))) } else { Poll::Pending };
        }
        if waited.is_some() && !connection.is_writable() {
            // `sk_stream_write_space` wakes who waits once a third of the buffer is free.
            return Poll::Pending;
        }
        self.sync_mtu(id);
        let (_, connection) = self.connection(fd, libc::EPIPE)?;
        let given = |flag| flags & flag != 0;
        let manner = Manner {
            more: given(libc::MSG_MORE),
            end_of_record: given(libc::MSG_EOR),
            urgent: given(libc::MSG_OOB),
        };
        let taken = from + connection.write(now, &data.slice(from..), manner);
        *waited = Some(taken);
        self.after(id);
        match taken {
            all if all == data.len() => Poll::Ready(Ok(all)),
            0 if nonblocking => Poll::Ready(Err(Errno(libc::EAGAIN))),
            some if nonblocking => Poll::Ready(Ok(some)),
            _ => Poll::Pending,
        }
    }

    /// `shutdown(2)`.
    ///
    /// # Errors
    /// The descriptor is none, or not connected, or `how` is none of the three.
    pub fn shutdown(&mut self, fd: Fd, how: i32) -> Result<(), Errno> {
        let now = self.now;
        if let Socket { kind: kind @ Kind::Listening(_), .. } = self.socket_of(fd)? {
            // Linux: a listener that is shut for reading listens no more.
            if how != libc::SHUT_WR {
                *kind = Kind::Fresh;
                self.forget_listener(fd);
            }
            return Ok(());
        }
        let (id, connection) = self.connection(fd, libc::ENOTCONN)?;
        if !matches!(how, libc::SHUT_RD | libc::SHUT_WR | libc::SHUT_RDWR) {
            return Err(Errno(libc::EINVAL));
        }
        if connection.tcp().state() == State::Closed {
            return Err(Errno(libc::ENOTCONN));
        }
        connection.read_shut |= how != libc::SHUT_WR;
        if how != libc::SHUT_RD {
            connection.write_shut = true;
            connection.tcp_mut().set_corked(false);
            connection.tcp_mut().close(now);
        }
        self.after(id);
        Ok(())
    }

    /// `close(2)`.
    ///
    /// # Errors
    /// The descriptor is none.
    pub fn close(&mut self, fd: Fd) -> Result<(), Errno> {
        let now = self.now;
        let socket = self.sockets.remove(&fd).ok_or(Errno(libc::EBADF))?;
        match socket.kind {
            Kind::Fresh => {}
            Kind::Listening(_) => self.forget_listener(fd),
            Kind::Stream(id) => {
                if let Some(connection) = self.connections.get_mut(&id) {
                    connection.close(now);
                }
                self.after(id);
            }
        }
        Ok(())
    }

    /// `fcntl(2)` of `F_GETFL` and `F_SETFL`.
    ///
    /// # Errors
    /// The descriptor is none, or the command another.
    pub fn fcntl(&mut self, fd: Fd, command: i32, argument: i32) -> Result<i32, Errno> {
        let socket = self.socket_of(fd)?;
        match command {
            libc::F_GETFL if socket.nonblocking => Ok(libc::O_RDWR | libc::O_NONBLOCK),
            libc::F_GETFL => Ok(libc::O_RDWR),
            libc::F_SETFL => {
                socket.nonblocking = argument & libc::O_NONBLOCK != 0;
                Ok(0)
            }
            libc::F_GETFD | libc::F_SETFD => Ok(0),
            _ => Err(Errno(libc::EINVAL)),
        }
    }
}

/// The address of an active open whose socket is not bound: of those for documentation (RFC 5737, RFC 3849), as the tool takes any.
fn source_for(remote: IpAddr) -> IpAddr {
    match remote {
        IpAddr::V4(_) => Ipv4Addr::new(198, 51, 100, 1).into(),
        IpAddr::V6(_) => Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1).into(),
    }
}

/// As a socket of IPv6 sees an address.
fn mapped(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().into(),
        v6 @ IpAddr::V6(_) => v6,
    }
}
