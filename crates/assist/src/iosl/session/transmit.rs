//! What goes to the peer on a path.

use handfast_core::Instant;

use super::{Pool, Session};
use crate::iosl::frame::{DATA_OVERHEAD, Frame, emit_data};
use crate::iosl::secure::MOST_PLAIN;

/// Room for whatever is no octet of a program, or datagram: the longest of each.
const CONTROL: usize = 160;

impl Session {
    /// The frames of the next record on a path: at most `most` octets, beside what is no octet of a program, and a datagram that is
    /// longer. [`None`]: there is nothing to say there now.
    ///
    /// Frames are made when the path takes them, so that an acknowledgment says what is so then.
    pub fn poll_transmit(
        &mut self,
        now: Instant,
        epoch: u64,
        most: usize,
        pool: &mut Pool,
    ) -> Option<Vec<u8>> {
        let most = most.max(2 * CONTROL);
        let mut out = Vec::new();
        if let Some(farewell) = self.farewell.take_if(|_| self.paths.sending() == Some(epoch)) {
            farewell.emit(&mut out);
            self.paths.close();
            return Some(out);
        }
        if self.failed.is_some() || self.paths.get_mut(epoch).is_none() {
            return None;
        }
        self.incoming.grant(self.config.receive_buffer, pool);
        self.put_control(epoch, &mut out);
        if self.paths.sending() == Some(epoch) {
            self.put_octets(now, epoch, most, &mut out);
        }
        self.put_leave(epoch, &mut out);
        (!out.is_empty()).then_some(out)
    }

    fn put_control(&mut self, epoch: u64, out: &mut Vec<u8>) {
        let Some(path) = self.paths.get_mut(epoch) else { return };
        if path.is_suspended != self.is_suspended {
            path.is_suspended = self.is_suspended;
            (if self.is_suspended { Frame::Suspend } else { Frame::Continue }).emit(out);
        }
        let is_asked = std::mem::take(&mut path.is_asked);
        if std::mem::take(&mut path.is_asking) {
            Frame::Ping.emit(out);
        }
        let told = path.told;
        if is_asked || self.acknowledges(told) {
            let (offset, credit) = (self.received(), self.incoming.credit());
            Frame::Ack { offset, credit }.emit(out);
            if let Some(path) = self.paths.get_mut(epoch) {
                path.told = (offset, credit);
            }
            if self.paths.sending() == Some(epoch) {
                (self.acknowledge_at, self.is_acknowledging) = (None, false);
            }
        }
        self.put_windows(epoch, out);
    }

    fn put_windows(&mut self, epoch: u64, out: &mut Vec<u8>) {
        let is_wanted = self.peer.is_some_and(|(capabilities, _)| capabilities.windows);
        let (Some(windows), Some(path)) = (self.windows.filter(|_| is_wanted), self.paths.get_mut(epoch))
        else {
            return;
        };
        if !std::mem::replace(&mut path.has_windows, true) {
            Frame::Windows(windows).emit(out);
        }
    }

    fn put_octets(&mut self, now: Instant, epoch: u64, most: usize, out: &mut Vec<u8>) {
        let Some(path) = self.paths.get_mut(epoch) else { return };
        if self.is_suspended || path.is_suspended_by_peer {
            return;
        }
        // A path that began before another one may have been overtaken by what the peer has acknowledged.
        path.next = path.next.max(self.outgoing.acked());
        let before = out.len();
        // The first of a record is as long as it is: it would wait for ever for a room that does not come.
        let mut fits = MOST_PLAIN;
        while self.datagrams_out.first_len().is_some_and(|len| out.len() + len + CONTROL <= fits) {
            let Some(datagram) = self.datagrams_out.pop() else { break };
            Frame::Datagram(datagram).emit(out);
            (fits, path.has_sent) = (most, true);
        }
        let room = most.saturating_sub(out.len() + DATA_OVERHEAD + CONTROL / 2);
        if room > 0 && self.outgoing.has_octets(path.next) {
            let offset = path.next;
            let count = self.outgoing.send(offset, room);
            path.next += count as u64;
            out.reserve_exact(count + DATA_OVERHEAD + CONTROL);
            emit_data(offset, count, self.outgoing.pieces(offset, count), out);
        }
        if self.outgoing.is_finished() && !path.has_end && path.next >= self.outgoing.written() {
            path.has_end = true;
            if !self.outgoing.is_over() {
                Frame::Fin { offset: self.outgoing.send_end() }.emit(out);
            }
        }
        if out.len() > before {
            self.on_sent(now, epoch);
        }
    }

    /// Says that it is done, after the acknowledgment that says of what.
    fn put_leave(&mut self, epoch: u64, out: &mut Vec<u8>) {
        let received = self.received();
        let Some(path) = self.paths.get_mut(epoch) else { return };
        let is_told = path.told.0 == received;
        if self.done_since.is_none() || !is_told || std::mem::replace(&mut path.has_expire, true) {
            return;
        }
        Frame::Expire.emit(out);
        self.leave_when_told();
    }

    /// Both know that it is done, and that the other one does: nobody needs a path any more.
    pub(super) fn leave_when_told(&mut self) {
        let is_told = self
            .paths
            .sending()
            .and_then(|epoch| self.paths.get_mut(epoch))
            .is_none_or(|path| path.has_expire);
        if self.is_left && is_told {
            self.leave();
        }
    }
}
