//! Urgent data: `MSG_OOB`, `SO_OOBINLINE`, `SIOCATMARK`. The rules are [`UrgentOut`](handfast_tcp::UrgentOut) and
//! [`UrgentIn`].

use handfast_tcp::{Endpoint, NoUrgent, Reading, State, UrgentIn};
use handfast_wire::tcp::{Flags, Segment};

use super::connection::Connection;
use super::{Errno, Fd, Message, Stack};

/// At most `len` octets out of the receive buffer, of which `copied` have been read: a call stops at the urgent octet, and passes over it
/// if it begins there.
pub(super) fn take(tcp: &mut Endpoint, urgent: &mut UrgentIn, copied: &mut u64, len: usize) -> Vec<u8> {
    let mut data = Vec::new();
    while data.len() < len && (data.is_empty() || !urgent.is_at_mark(*copied)) {
        let (most, stays) = match urgent.reading(*copied) {
            Reading::PassOver => (1, false),
            Reading::UpTo(octets) => {
                ((len - data.len()).min(usize::try_from(octets).unwrap_or(usize::MAX)), true)
            }
        };
        let Some(payload) = tcp.read(most).filter(|payload| !payload.is_empty()) else { break };
        *copied += payload.len() as u64;
        urgent.copied(*copied);
        if stays {
            data.extend_from_slice(&payload.to_bytes());
        }
    }
    data
}

impl Connection {
    /// Before something leaves: whether there is urgent data, for which Nagle's algorithm does not wait (`tcp_nagle_test`).
    pub(super) fn heed_urgent(&mut self) -> bool {
        let (una, ..) = self.tcp().send_positions();
        let is_urgent = self.urgent_out.is_on(una);
        let nagle = if is_urgent { handfast_tcp::Nagle::Off } else { self.options.nagle() };
        self.tcp_mut().set_nagle(nagle);
        is_urgent
    }

    /// A segment leaves.
    pub(super) fn tell_urgent(&self, segment: &mut Segment) {
        let (una, _, max) = self.tcp().send_positions();
        if self.urgent_out.is_on(una)
            && !segment.flags.contains(Flags::SYN)
            && let Some(start) = self.tcp().send_position(segment.seq)
        {
            self.urgent_out.tell(segment, start, max);
        }
    }

    /// A segment has arrived, and the endpoint has not seen it yet.
    pub(super) fn note_urgent(&mut self, segment: &Segment) {
        if self.finished || !self.tcp().believes(segment) {
            return;
        }
        let (copied, next) = (self.received_before, self.octets_received());
        let start = next.cast_signed() + i64::from(segment.seq.distance(self.tcp().rcv_nxt()));
        if self.urgent_in.arrive(segment, start, copied, next) && self.tcp_mut().read(1).is_some() {
            self.received_before += 1;
        }
    }

    /// Whether the next octet that waits is passed over by a read.
    pub(super) fn passes_over(&self) -> bool {
        self.tcp().readable() > 0 && self.urgent_in.reading(self.received_before) == Reading::PassOver
    }

    /// `recv(2)` with `MSG_OOB`: `tcp_recv_urg`.
    pub(super) fn read_urgent(&mut self, len: usize, peek: bool) -> Result<Message, Errno> {
        match self.urgent_in.read(peek) {
            Ok(byte) => {
                let data = if len > 0 { vec![byte] } else { Vec::new() };
                Ok(Message { len: data.len(), data, ..Message::default() })
            }
            Err(NoUrgent::None) => Err(Errno(libc::EINVAL)),
            Err(NoUrgent::NotYet)
                if self.read_shut || self.finished || self.tcp().state() == State::Closed =>
            {
                Ok(Message::default())
            }
            Err(NoUrgent::NotYet) => Err(Errno(libc::EAGAIN)),
        }
    }
}

impl Stack {
    /// `SIOCATMARK`: whether the next octet to be read is the urgent one.
    ///
    /// # Errors
    /// The descriptor is none.
    pub fn at_mark(&mut self, fd: Fd) -> Result<i32, Errno> {
        let Some(id) = self.stream_of(fd)? else { return Ok(0) };
        let connection = self.connections.get(&id);
        Ok(connection.is_some_and(|c| c.urgent_in.is_at_mark(c.received_before)).into())
    }
}
