//! How a write fills the send queue: how much of it is taken, and where segments are pushed (Linux's `tcp_sendmsg_locked`).
//!
//! The kernel collects what is written in buffers of several segments, sends from the first while it fills the last, and asks after
//! each full one whether there is room for another. What a call returns, and which segments have PSH, follows from that.

use bytes::Bytes as Octets;
use handfast_core::Instant;
use handfast_wire::Payload;

use super::connection::Connection;

/// `tcp_wmem[1]` by default.
const DEFAULT_SEND_BUFFER: u64 = 16_384;

/// Octets that a buffer takes in memory besides what is in it: `SKB_TRUESIZE` of its headers.
const OVERHEAD: u64 = 1_280;

/// The most that a buffer holds (`GSO_MAX_SIZE`).
const MOST: u64 = 65_536;

/// How a call writes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Manner {
    /// `MSG_MORE`
    pub(super) more: bool,
    /// `MSG_EOR`
    pub(super) end_of_record: bool,
    /// `MSG_OOB`
    pub(super) urgent: bool,
}

impl Connection {
    /// One past the last octet written.
    pub(super) fn written_end(&self) -> u64 {
        let (_, _, max) = self.tcp().send_positions();
        max.max(1) + self.tcp().unsent()
    }

    /// `sk_wmem_queued`
    pub(super) fn queued(&self) -> u64 {
        let (una, _, _) = self.tcp().send_positions();
        self.written_end() - una.clamp(1, self.written_end()) + OVERHEAD * self.queue.ends.len() as u64
    }

    /// The size of the send buffer.
    pub(super) fn send_buffer(&self) -> u64 {
        let first = self.settings.wmem.map_or(DEFAULT_SEND_BUFFER, |[_, first, _]| first);
        self.options.send_buffer.unwrap_or(first)
    }

    /// Octets that may wait unsent (`tcp_notsent_lowat`).
    fn most_unsent(&self) -> u64 {
        let own = self.options.notsent_lowat.filter(|&octets| octets > 0);
        own.or(self.settings.notsent_lowat).unwrap_or(u64::from(u32::MAX))
    }

    /// `sk_stream_memory_free`
    fn has_room(&self) -> bool {
        self.queued() < self.send_buffer() && self.tcp().unsent() < self.most_unsent()
    }

    /// `sk_stream_is_writeable`
    pub(super) fn is_writable(&self) -> bool {
        let free = self.send_buffer().saturating_sub(self.queued());
        free >= self.queued() / 2 && 2 * self.tcp().unsent() < self.most_unsent()
    }

    /// `tcp_xmit_size_goal`: whole segments, at most half the peer's window.
    fn size_goal(&self) -> u64 {
        let smss = self.tcp().smss();
        let half = self.largest_window() / 2;
        (MOST.min(half.max(1)) / smss).max(1) * smss
    }

    fn largest_window(&self) -> u64 {
        self.tcp().report().largest_send_window
    }

    /// As much of `data` as is taken now; zero: nothing, for want of room.
    pub(super) fn write(&mut self, now: Instant, data: &Octets, manner: Manner) -> usize {
        let (una, _, _) = self.tcp().send_positions();
        self.queue.release(una);
        let cork = self.options.cork || manner.more;
        let mut taken = 0;
        while taken < data.len() {
            let Some(room) = self.room(taken == 0) else { break };
            let part = data.slice(taken..data.len().min(taken + room as usize));
            taken += self.append(part);
            self.tcp_mut().set_corked(true);
            self.push_full(now);
        }
        if taken > 0 {
            self.finish(manner, taken == data.len());
        }
        self.tcp_mut().set_corked(cork);
        self.pump(now, usize::MAX);
        taken
    }

    /// Octets that the last buffer takes, or a new one; [`None`]: there is no room for one. `first`: of this call.
    fn room(&mut self, first: bool) -> Option<u64> {
        let (goal, end) = (self.size_goal(), self.written_end());
        let (_, _, max) = self.tcp().send_positions();
        let begin = self.queue.tail.max(max).min(end);
        let last = self.queue.ends.back().copied();
        // A buffer all of which has been sent takes nothing more.
        let open = last == Some(end) && begin < end && !self.queue.is_closed(end);
        if open && end - begin < goal {
            if first {
                // What was to be pushed is not the end of it any more.
                self.queue.pushes.remove(&end);
            }
            return Some(goal - (end - begin));
        }
        if !self.has_room() {
            self.wants_room = true;
            return None;
        }
        self.queue.tail = end;
        self.queue.ends.push_back(end);
        Some(goal)
    }

    fn append(&mut self, part: Octets) -> usize {
        let before = self.written_end();
        let len = self.tcp_mut().write(Payload::Bytes(part));
        let end = before + len as u64;
        if let Some(last) = self.queue.ends.back_mut() {
            *last = end;
        }
        // PSH stays with the buffer that grows.
        if len > 0 && self.queue.pushes.remove(&before) {
            if self.queue.tail < before {
                self.queue.pushes.insert(end);
            } else {
                self.queue.pushes.insert(before);
            }
        }
        len
    }

    /// The buffer is full: what may leave does. `forced_push`: all of it, once half the peer's window was written since the last
    /// push; else one packet, if it is the first in the queue.
    fn push_full(&mut self, now: Instant) {
        let end = self.written_end();
        let (_, _, max) = self.tcp().send_positions();
        let begin = self.queue.tail.max(max);
        if end - begin.min(end) < self.size_goal() {
            return;
        }
        if end > self.queue.pushed + self.largest_window() / 2 {
            self.queue.push(end);
            self.pump(now, usize::MAX);
        } else if max.max(1) >= self.queue.tail {
            let most = self.offload.segments_at_once(&self.tcp().report(), self.tcp().smss());
            self.pump(now, most);
        }
    }

    /// What has been written is pushed.
    pub(super) fn push_written(&mut self) {
        let end = self.written_end();
        self.queue.push(end);
    }

    /// The call ends, having written something. `whole`: all that it wanted to.
    fn finish(&mut self, manner: Manner, whole: bool) {
        let end = self.written_end();
        let (_, _, max) = self.tcp().send_positions();
        self.stamps.written(self.queue.tail.max(max).min(end), end);
        if manner.urgent {
            self.urgent_out.mark(end);
        }
        if whole && manner.end_of_record {
            self.tcp_mut().end_record();
            self.queue.close(end);
        }
        if !whole || !manner.more {
            self.queue.push(end);
        }
    }
}
