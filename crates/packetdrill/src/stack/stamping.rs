//! The socket calls about times of packets: `SO_TIMESTAMPING` and its queue (`MSG_ERRQUEUE`), `SO_TIMESTAMP`, `SO_TIMESTAMPNS`.

use handfast_core::Instant;
use handfast_tcp::State;
use handfast_wire::tcp::Segment;

use super::connection::Connection;
use super::reading::{Control, Message};
use super::stamps::{OPT_ID, OPT_ID_TCP, OPT_TSONLY, RX_SOFTWARE, SOFTWARE, What};
use super::{Errno, Fd, Stack};

/// `SO_EE_ORIGIN_TIMESTAMPING`
const ORIGIN: u8 = 4;

impl Stack {
    /// `sock_set_timestamping`: octets can be numbered only of a connection.
    pub(super) fn check_numbering(&mut self, fd: Fd, flags: u32) -> Result<(), Errno> {
        let begins = flags & OPT_ID != 0 && self.options(fd)?.timestamping & OPT_ID == 0;
        let id = self.stream_of(fd)?;
        let connection = id.and_then(|id| self.connections.get(&id));
        let is_open = connection.is_some_and(|connection| connection.tcp().state() != State::Closed);
        if begins && !is_open { Err(Errno(libc::EINVAL)) } else { Ok(()) }
    }
}

impl Connection {
    /// `SO_TIMESTAMPING` is set (`sock_set_timestamping`): octets are numbered from here on.
    pub(super) fn set_stamps(&mut self, flags: u32) {
        if flags & OPT_ID != 0 && self.stamps.flags & OPT_ID == 0 {
            let (una, ..) = self.tcp().send_positions();
            self.stamps.base = if flags & OPT_ID_TCP != 0 { self.written_end() } else { una };
        }
        self.stamps.flags = flags;
    }

    /// A segment has arrived, and the endpoint has not seen it yet.
    pub(super) fn note_arrival_time(&mut self, now: Instant, segment: &Segment) {
        if segment.payload.is_empty() || !self.options.wants_times() {
            return;
        }
        let start =
            self.octets_received().cast_signed() + i64::from(segment.seq.distance(self.tcp().rcv_nxt()));
        if let Ok(end) = u64::try_from(start + segment.payload.len() as i64) {
            self.stamps.note_arrival(now, end);
        }
    }

    /// `tcp_recv_timestamp`: when the last of what was read came.
    pub(super) fn arrival_times(&mut self) -> Vec<Control> {
        if !self.options.wants_times() {
            return Vec::new();
        }
        let Some(at) = self.stamps.came_at(self.received_before) else { return Vec::new() };
        let flags = self.options.timestamping;
        let by = |on: bool, kind, data| on.then_some(Control { level: libc::SOL_SOCKET, kind, data });
        let software = flags & SOFTWARE != 0 && flags & RX_SOFTWARE != 0;
        [
            by(self.options.is_on(libc::SO_TIMESTAMP), libc::SO_TIMESTAMP, timeval(at)),
            by(self.options.is_on(libc::SO_TIMESTAMPNS), libc::SO_TIMESTAMPNS, timespec(Some(at))),
            by(software, libc::SO_TIMESTAMPING, timestamping(at)),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// `MSG_ERRQUEUE` (`ip_recv_error`): the oldest report. The kernel adds a copy of the segment unless
    /// `SOF_TIMESTAMPING_OPT_TSONLY` is set; here there is none, as if the caller had no room for it.
    pub(super) fn read_error(&mut self, is_v6: bool) -> Result<Message, Errno> {
        let (at, what, key) = self.stamps.queue.pop_front().ok_or(Errno(libc::EAGAIN))?;
        let mut control = Vec::new();
        if self.stamps.flags & SOFTWARE != 0 {
            let (level, kind) = (libc::SOL_SOCKET, libc::SO_TIMESTAMPING);
            control.push(Control { level, kind, data: timestamping(at) });
        }
        control.push(extended_error(what, key, is_v6));
        let cut = if self.stamps.flags & OPT_TSONLY == 0 { libc::MSG_TRUNC } else { 0 };
        Ok(Message { control, flags: libc::MSG_ERRQUEUE | cut, ..Message::default() })
    }
}

/// `struct sock_extended_err` and the address of who reports, which is nobody.
fn extended_error(what: What, key: u32, is_v6: bool) -> Control {
    let mut data = Vec::new();
    data.extend((libc::ENOMSG as u32).to_ne_bytes());
    data.extend([ORIGIN, 0, 0, 0]);
    data.extend((what as u32).to_ne_bytes());
    data.extend(key.to_ne_bytes());
    let (level, kind, address) = if is_v6 {
        (libc::SOL_IPV6, libc::IPV6_RECVERR, size_of::<libc::sockaddr_in6>())
    } else {
        (libc::SOL_IP, libc::IP_RECVERR, size_of::<libc::sockaddr_in>())
    };
    data.resize(data.len() + address, 0);
    Control { level, kind, data }
}

/// `struct scm_timestamping`: by software, and two more.
fn timestamping(at: Instant) -> Vec<u8> {
    [Some(at), None, None].into_iter().flat_map(timespec).collect()
}

fn timespec(at: Option<Instant>) -> Vec<u8> {
    let ns = at.map_or(0, Instant::as_nanos);
    pair(ns / 1_000_000_000, ns % 1_000_000_000)
}

fn timeval(at: Instant) -> Vec<u8> {
    let us = at.as_nanos() / 1000;
    pair(us / 1_000_000, us % 1_000_000)
}

fn pair(seconds: u64, fraction: u64) -> Vec<u8> {
    let long = |value: u64| libc::c_long::try_from(value).unwrap_or(libc::c_long::MAX).to_ne_bytes();
    [long(seconds), long(fraction)].concat()
}
