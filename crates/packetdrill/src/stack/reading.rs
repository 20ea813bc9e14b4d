//! The calls that read, and those that ask what could be done.

use std::task::Poll;

use handfast_tcp::{Reading, State};

use super::connection::Connection;
use super::urgent::take;
use super::{Errno, Fd, Kind, Stack, Step};

/// `TCP_CM_INQ`
const TCP_CM_INQ: i32 = 36;

/// What `recvmsg(2)` brings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// The octets.
    pub data: Vec<u8>,
    /// Octets read, where `MSG_TRUNC` has them discarded.
    pub len: usize,
    /// What comes beside them.
    pub control: Vec<Control>,
    /// `msg_flags`
    pub flags: i32,
}

/// A control message (cmsg(3)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Control {
    /// Who it is of: `cmsg_level`.
    pub level: i32,
    /// `cmsg_type`
    pub kind: i32,
    /// Its octets.
    pub data: Vec<u8>,
}

/// One descriptor of `poll(2)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Polled {
    /// It.
    pub fd: Fd,
    /// What is asked.
    pub events: i16,
    /// What holds.
    pub found: i16,
}

impl Connection {
    /// At most `len` octets out of the receive buffer; `peek`: they stay there.
    fn take_octets(&mut self, len: usize, peek: bool) -> Vec<u8> {
        if peek {
            let (mut copy, mut urgent, mut copied) =
                (self.tcp().clone(), self.urgent_in, self.received_before);
            return take(&mut copy, &mut urgent, &mut copied, len);
        }
        take(&mut self.endpoint.0, &mut self.urgent_in, &mut self.received_before, len)
    }

    /// Octets that a read of `len` waits for (`sock_rcvlowat`). It stops at the urgent octet.
    fn enough(&self, len: usize, all: bool) -> u64 {
        let least = if all { u64::MAX } else { self.options.receive_lowat() };
        let until_mark = match self.urgent_in.reading(self.received_before) {
            Reading::UpTo(octets) => octets,
            Reading::PassOver => u64::MAX,
        };
        least.min(len as u64).min(until_mark)
    }

    /// Octets that wait in front of the urgent one.
    pub(super) fn waiting(&self) -> u64 {
        self.urgent_in.waiting(self.received_before, self.tcp().readable())
    }

    /// `tcp_stream_is_readable`: enough waits, or no more can come.
    fn is_readable(&self) -> bool {
        let target = self.options.receive_lowat() + u64::from(self.passes_over());
        let waiting = self.tcp().readable();
        waiting >= target || waiting > 0 && self.tcp().receive_window() <= self.tcp().smss()
    }

    /// `TCP_INQ`, where it is on: octets that wait behind; one where nothing but the end does (`tcp_inq_hint`).
    fn inq(&self) -> Option<Control> {
        let octets = match i32::try_from(self.tcp().readable()).unwrap_or(i32::MAX) {
            0 if self.finished => 1,
            waiting => waiting,
        };
        let data = octets.to_ne_bytes().to_vec();
        self.options.inq.then_some(Control { level: libc::IPPROTO_TCP, kind: TCP_CM_INQ, data })
    }

    /// Whether a read returns at once though there is nothing: the end, or an error that was told.
    fn is_at_end(&self) -> bool {
        self.finished || self.read_shut || self.tcp().state() == State::Closed
    }

    fn found(&self) -> i16 {
        let mut found = 0;
        let closed = self.tcp().state() == State::Closed;
        if self.is_readable() || self.finished || self.read_shut || closed || self.error.is_some() {
            found |= libc::POLLIN | libc::POLLRDNORM;
        }
        if self.urgent_in.is_here() {
            found |= libc::POLLPRI;
        }
        if self.finished || self.read_shut {
            found |= libc::POLLRDHUP;
        }
        if closed || self.read_shut && self.write_shut {
            found |= libc::POLLHUP;
        }
        if self.write_shut || self.error.is_some() || self.is_open && self.is_writable() {
            found |= libc::POLLOUT | libc::POLLWRNORM;
        }
        if self.error.is_some() || self.stamps.is_waiting() {
            found |= libc::POLLERR;
        }
        found
    }
}

impl Stack {
    /// `recvmsg(2)` and its kin: at most `len` octets. `flags`: its `MSG_`.
    pub fn read(&mut self, fd: Fd, len: usize, flags: i32) -> Step<Message> {
        let (nonblocking, is_v6) = match self.socket_of(fd) {
            Ok(socket) => (socket.nonblocking || flags & libc::MSG_DONTWAIT != 0, socket.is_v6),
            Err(error) => return Poll::Ready(Err(error)),
        };
        let (id, connection) = match self.connection(fd, libc::ENOTCONN) {
            Ok(found) => found,
            Err(error) => return Poll::Ready(Err(error)),
        };
        if flags & libc::MSG_ERRQUEUE != 0 {
            return Poll::Ready(connection.read_error(is_v6));
        }
        if flags & libc::MSG_OOB != 0 {
            return Poll::Ready(connection.read_urgent(len, flags & libc::MSG_PEEK != 0));
        }
        // What is there may be the urgent octet alone.
        let waiting = connection.tcp().readable() - u64::from(connection.passes_over());
        let enough = connection.enough(len, flags & libc::MSG_WAITALL != 0);
        if waiting >= enough || waiting > 0 && (nonblocking || connection.is_at_end()) {
            let mut data = connection.take_octets(len, flags & libc::MSG_PEEK != 0);
            let read = data.len();
            if flags & libc::MSG_TRUNC != 0 {
                data.clear();
            }
            let mut control = connection.arrival_times();
            control.extend(connection.inq());
            self.after(id);
            return Poll::Ready(Ok(Message { data, len: read, control, flags: 0 }));
        }
        if let Some(errno) = connection.error.take() {
            return Poll::Ready(Err(Errno(errno)));
        }
        if connection.is_at_end() {
            let control = connection.inq().into_iter().collect();
            return Poll::Ready(Ok(Message { control, ..Message::default() }));
        }
        if nonblocking { Poll::Ready(Err(Errno(libc::EAGAIN))) } else { Poll::Pending }
    }

    /// What `splice(2)` moves out of a stream: where the urgent octet is next it stops, and does not wait (`tcp_splice_read`).
    pub fn read_to_splice(&mut self, fd: Fd, len: usize, flags: i32) -> Step<Message> {
        match self.connection(fd, libc::ENOTCONN) {
            Ok((_, connection)) if connection.passes_over() => Poll::Ready(Ok(Message::default())),
            _ => self.read(fd, len, flags),
        }
    }

    /// What of [`Polled::events`] holds now, for each; how many have any.
    pub fn poll(&self, polled: &mut [Polled]) -> usize {
        for one in &mut *polled {
            let always = libc::POLLERR | libc::POLLHUP | libc::POLLNVAL;
            one.found = self.found(one.fd) & (one.events | always);
        }
        polled.iter().filter(|one| one.found != 0).count()
    }

    fn found(&self, fd: Fd) -> i16 {
        match self.sockets.get(&fd).map(|socket| &socket.kind) {
            None => libc::POLLNVAL,
            Some(Kind::Fresh) => libc::POLLOUT | libc::POLLHUP,
            Some(Kind::Listening(waiting)) if waiting.is_empty() => 0,
            Some(Kind::Listening(_)) => libc::POLLIN | libc::POLLRDNORM,
            Some(Kind::Stream(id)) => self.connections.get(id).map_or(libc::POLLHUP, Connection::found),
        }
    }

    /// `SIOCINQ`: octets that wait to be read.
    ///
    /// # Errors
    /// The descriptor is none, or listens.
    pub fn inq(&mut self, fd: Fd) -> Result<i32, Errno> {
        let waiting = |stack: &mut Self| {
            let (_, connection) = stack.connection(fd, libc::EINVAL)?;
            Ok(i32::try_from(connection.waiting()).unwrap_or(i32::MAX))
        };
        match self.stream_of(fd)? {
            None if matches!(self.socket_of(fd)?.kind, Kind::Fresh) => Ok(0),
            _ => waiting(self),
        }
    }

    /// `SIOCOUTQ`: octets written and not acknowledged; `unsent`, `SIOCOUTQNSD`: those that have not left.
    ///
    /// # Errors
    /// The descriptor is none, or listens.
    pub fn outq(&mut self, fd: Fd, unsent: bool) -> Result<i32, Errno> {
        let (_, connection) = self.connection(fd, libc::EINVAL)?;
        let octets = if unsent { connection.tcp().unsent() } else { connection.unacknowledged() };
        Ok(i32::try_from(octets).unwrap_or(i32::MAX))
    }
}
