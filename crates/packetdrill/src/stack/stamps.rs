//! Times of packets: `SO_TIMESTAMPING` and its queue (`MSG_ERRQUEUE`), `SO_TIMESTAMP`, `SO_TIMESTAMPNS`
//! (Documentation/networking/timestamping.rst of Linux).

use std::collections::{BTreeMap, VecDeque};

use handfast_core::Instant;
use handfast_wire::tcp::Segment;

use super::connection::Connection;
use super::reading::{Control, Message};
use super::{Errno, MOST};

/// `SOF_TIMESTAMPING_`
const TX_SOFTWARE: u32 = 1 << 1;
const RX_SOFTWARE: u32 = 1 << 3;
const SOFTWARE: u32 = 1 << 4;
const OPT_ID: u32 = 1 << 7;
const TX_SCHED: u32 = 1 << 8;
const TX_ACK: u32 = 1 << 9;
const OPT_TSONLY: u32 = 1 << 11;
const OPT_ID_TCP: u32 = 1 << 16;
/// `SOF_TIMESTAMPING_TX_RECORD_MASK` without hardware.
const RECORDS: u32 = TX_SOFTWARE | TX_SCHED | TX_ACK;

/// `SO_EE_ORIGIN_TIMESTAMPING`
const ORIGIN: u8 = 4;

/// What has happened to an octet: `SCM_TSTAMP_SND`, `_SCHED`, `_ACK`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Sent = 0,
    Scheduled = 1,
    Acknowledged = 2,
}

/// The last octet of a write, whose way is watched.
#[derive(Clone, Copy, Debug)]
struct Mark {
    /// Its position in the send stream.
    key: u64,
    wanted: u32,
}

/// The times of a connection's packets.
#[derive(Clone, Debug, Default)]
pub(super) struct Stamps {
    /// `sk_tsflags`
    flags: u32,
    /// `sk_tskey`, as a position of the send stream.
    base: u64,
    marks: VecDeque<Mark>,
    /// `sk_error_queue`
    queue: VecDeque<(Instant, What, u32)>,
    /// When what ends at a position of the peer's stream came.
    came: BTreeMap<u64, Instant>,
}

impl Stamps {
    /// Whether something waits in the queue of errors.
    pub(super) fn is_waiting(&self) -> bool {
        !self.queue.is_empty()
    }

    /// `tcp_tx_timestamp`: a call has written up to the octet before `end`. Where that shares a buffer, which begins at `begin`, with
    /// the end of the write before, only this one is watched.
    pub(super) fn written(&mut self, begin: u64, end: u64) {
        if self.flags & RECORDS == 0 || self.marks.len() >= MOST {
            return;
        }
        if self.marks.back().is_some_and(|mark| mark.key >= begin) {
            self.marks.pop_back();
        }
        self.marks.push_back(Mark { key: end - 1, wanted: self.flags & RECORDS });
    }

    /// Octets leave.
    pub(super) fn left(&mut self, now: Instant, start: u64, end: u64) {
        for Mark { key, wanted } in self.marks.clone().into_iter().filter(|m| (start..end).contains(&m.key)) {
            for (flag, what) in [(TX_SCHED, What::Scheduled), (TX_SOFTWARE, What::Sent)] {
                if wanted & flag != 0 {
                    self.report(now, what, key);
                }
            }
        }
    }

    /// All before `una` is acknowledged.
    pub(super) fn acknowledged(&mut self, now: Instant, una: u64) {
        while let Some(Mark { key, wanted }) = self.marks.front().copied().filter(|mark| mark.key < una) {
            self.marks.pop_front();
            if wanted & TX_ACK != 0 {
                self.report(now, What::Acknowledged, key);
            }
        }
    }

    fn report(&mut self, now: Instant, what: What, key: u64) {
        let key = if self.flags & OPT_ID != 0 { (key - self.base) as u32 } else { 0 };
        if self.queue.len() < MOST {
            self.queue.push_back((now, what, key));
        }
    }

    /// What ends at a position of the peer's stream has come.
    fn note_arrival(&mut self, now: Instant, end: u64) {
        if self.came.len() < MOST {
            self.came.entry(end).or_insert(now);
        }
    }

    /// What ends at `position`, or goes beyond it, came then; what came before it is forgotten.
    fn came_at(&mut self, position: u64) -> Option<Instant> {
        self.came = self.came.split_off(&position);
        self.came.first_key_value().map(|(_, &at)| at)
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

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Instant = Instant::from_millis(5);

    fn stamps(flags: u32) -> Stamps {
        Stamps { flags, base: 101, ..Stamps::default() }
    }

    fn reports(stamps: &Stamps) -> Vec<(What, u32)> {
        stamps.queue.iter().map(|&(_, what, key)| (what, key)).collect()
    }

    #[test]
    fn the_last_octet_of_a_write_is_watched_on_its_way() {
        let mut stamps = stamps(OPT_ID | TX_SCHED | TX_SOFTWARE | TX_ACK);
        stamps.written(101, 1101);
        stamps.left(NOW, 101, 1100);
        assert_eq!(reports(&stamps), [], "not yet");
        stamps.left(NOW, 1100, 1101);
        stamps.acknowledged(NOW, 1100);
        assert_eq!(reports(&stamps), [(What::Scheduled, 999), (What::Sent, 999)]);
        stamps.acknowledged(NOW, 1101);
        stamps.acknowledged(NOW, 1101);
        assert_eq!(reports(&stamps)[2..], [(What::Acknowledged, 999)]);
    }

    #[test]
    fn of_two_writes_in_one_buffer_the_last_counts() {
        let mut stamps = stamps(OPT_ID | TX_ACK);
        stamps.written(101, 201);
        stamps.written(101, 301);
        stamps.written(301, 401);
        stamps.left(NOW, 101, 401);
        stamps.acknowledged(NOW, 401);
        assert_eq!(reports(&stamps), [(What::Acknowledged, 199), (What::Acknowledged, 299)]);
    }

    #[test]
    fn without_numbers_octets_have_none_and_without_wishes_nothing_is_watched() {
        let mut unnumbered = stamps(TX_ACK);
        unnumbered.written(101, 201);
        unnumbered.acknowledged(NOW, 201);
        assert_eq!(reports(&unnumbered), [(What::Acknowledged, 0)]);
        let mut unwatched = stamps(OPT_ID | SOFTWARE);
        unwatched.written(101, 201);
        unwatched.acknowledged(NOW, 201);
        assert_eq!(reports(&unwatched), []);
    }

    #[test]
    fn the_time_of_what_was_read_is_that_of_its_last_octet() {
        let mut stamps = Stamps::default();
        stamps.note_arrival(Instant::from_millis(1), 100);
        stamps.note_arrival(Instant::from_millis(3), 300);
        stamps.note_arrival(Instant::from_millis(4), 100);
        assert_eq!(stamps.came_at(50), Some(Instant::from_millis(1)));
        assert_eq!(stamps.came_at(100), Some(Instant::from_millis(1)));
        assert_eq!(stamps.came_at(101), Some(Instant::from_millis(3)));
        assert_eq!(stamps.came.len(), 1);
    }
}
