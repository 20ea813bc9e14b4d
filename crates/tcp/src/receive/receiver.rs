//! The data receiver's state: RFC 9293 §3.3.1's receive variables, the window we offer, acknowledgements owed.

use std::mem::offset_of;

use handfast_core::{Instant, SeqNum};

use crate::receive::autotune::{Autotune, Echo};
use crate::receive::memory::Memory;
use crate::receive::quick_ack::QuickAck;
use crate::receive::receive_buffer::ReceiveBuffer;
use crate::{Acks, Config};

/// Everything about the direction in which we receive. Positions count payload octets from 0.
#[derive(Clone)]
// In the order of the fields: see [`crate::Endpoint`].
#[repr(C)]
pub(crate) struct Receiver {
    /// Where the peer's FIN stands, once it is known.
    pub(crate) fin: Option<u64>,
    pub(crate) buffer: ReceiveBuffer,
    /// Octets received twice, to be reported once (RFC 2883).
    pub(crate) dsack: Option<(u64, u64)>,
    /// The right edge of the window last offered.
    edge: u64,
    /// Octets that the receive buffer holds.
    capacity: u64,
    /// Linux's rules for acknowledgements, where they hold.
    pub(crate) quick_ack: Option<Box<QuickAck>>,
    /// Linux's window, where it is on; `capacity` follows it.
    autotune: Option<Box<Autotune>>,
    /// What the window follows from instead, where the socket counts memory.
    pub(crate) memory: Option<Box<Memory>>,
    pub(crate) ts_recent_at: Instant,
    /// The peer's initial sequence number.
    pub(crate) irs: SeqNum,
    /// TS.Recent (RFC 7323 §4.3) and when it was set.
    pub(crate) ts_recent: u32,
    /// Last.ACK.sent.
    pub(crate) last_ack_sent: SeqNum,
    /// Our window scale shift.
    pub(crate) shift: u8,
    /// The FIN is in order: nothing more will come.
    pub(crate) finished: bool,
    /// An acknowledgement is owed at once.
    pub(crate) ack_now: bool,
    /// The next acknowledgement says that a handover is complete ([eln] §3.2).
    pub(crate) handed_over: bool,
    /// The window on offer is zero until the path is back ([iosl] §VI.A).
    pub(crate) frozen: bool,
    /// So many acknowledgements go again.
    pub(crate) duplicates: u8,
    /// In-order segments not yet acknowledged.
    pub(crate) unacknowledged: u8,
}

impl Receiver {
    /// How many of its first bytes nobody touches who only sends.
    pub(crate) const ONLY_RECEIVING: usize = offset_of!(Self, buffer) + ReceiveBuffer::RECEIVING;

    pub(crate) fn new(config: &Config) -> Self {
        let most = config.receive_buffer.get();
        // RFC 7323 §2.3: the smallest shift (14 at most) whose window field holds the buffer.
        let shift = (0..14).find(|&s| u16::try_from(most >> s).is_ok()).unwrap_or(14);
        let most = most.min(u64::from(u16::MAX) << shift);
        let autotune = config.receive_autotuning.then(|| Autotune::new(most, u64::from(config.mss)));
        Self {
            irs: SeqNum(0),
            buffer: ReceiveBuffer::default(),
            fin: None,
            finished: false,
            edge: 0,
            shift,
            capacity: autotune.map_or(most, |(_, space)| space),
            ts_recent: 0,
            ts_recent_at: Instant::ZERO,
            last_ack_sent: SeqNum(0),
            ack_now: false,
            handed_over: false,
            frozen: false,
            duplicates: 0,
            unacknowledged: 0,
            dsack: None,
            quick_ack: (config.acks == Acks::Linux).then(|| Box::new(QuickAck::new(config.delayed_ack))),
            autotune: autotune.map(|(tune, _)| Box::new(tune)),
            memory: None,
        }
    }

    /// The peer sent its SYN, with this sequence number.
    pub(crate) fn synchronise(&mut self, irs: SeqNum) {
        self.irs = irs;
        self.last_ack_sent = irs + 1;
        // The window of our SYN is never scaled (RFC 7323 §2.2).
        let offered = self.memory.as_ref().map(|memory| memory.offered());
        self.edge = offered.unwrap_or_else(|| u64::from(self.offer_on_syn()));
    }

    /// Window scaling is off: the peer did not offer it.
    pub(crate) fn without_scaling(&mut self) {
        self.shift = 0;
        self.capacity = self.capacity.min(u64::from(u16::MAX));
        if let Some(memory) = &mut self.memory {
            memory.without_scaling();
            self.edge = self.edge.min(memory.offered());
        }
        if let Some(tune) = &mut self.autotune {
            tune.bound(self.capacity);
        }
    }

    /// The window begins with so much, as far as there is room: the path before had it. One that does not follow what arrives is
    /// as large as it gets anyway.
    pub(crate) fn begin_with(&mut self, window: u64) {
        if let Some(tune) = &mut self.autotune {
            self.capacity = self.capacity.max(tune.begin_with(window));
        }
    }

    /// RCV.NXT as a position, the FIN included.
    pub(crate) fn next(&self) -> u64 {
        self.buffer.next() + u64::from(self.finished)
    }

    /// RCV.NXT.
    pub(crate) fn rcv_nxt(&self) -> SeqNum {
        self.seq(self.next())
    }

    /// RCV.WND in octets.
    pub(crate) fn window(&self) -> u64 {
        self.edge.saturating_sub(self.next())
    }

    pub(crate) fn seq(&self, position: u64) -> SeqNum {
        self.irs + 1 + position as u32
    }

    /// How far the window could move to the right.
    fn slack(&self) -> u64 {
        let right = self.buffer.next() - self.buffer.readable() + self.capacity;
        let right = match &self.autotune {
            // __tcp_select_window
            Some(tune) => right.min(self.buffer.next() + tune.ssthresh()),
            None => right,
        };
        right.saturating_sub(self.edge)
    }

    /// The window field of the next segment; moves the right edge, never to the left (RFC 9293 §3.8.6).
    pub(crate) fn offer(&mut self, mss: u64) -> u16 {
        if self.frozen {
            // What is on its way is still taken: the edge stays.
            return 0;
        }
        if self.memory.is_some() {
            return self.offer_memory();
        }
        // RFC 9293 §3.8.6.2.2, SWS avoidance: in steps of a segment or half the buffer, whichever is smaller.
        let slack = self.slack();
        if slack >= mss.min(self.capacity / 2).max(1) {
            self.edge += slack;
        }
        u16::try_from(self.window() >> self.shift).unwrap_or(u16::MAX)
    }

    /// As the memory that is left has it.
    #[cold]
    fn offer_memory(&mut self) -> u16 {
        let (next, current) = (self.next(), self.window());
        let offered = self.memory.as_mut().map_or(0, |memory| memory.offer(current, self.shift));
        self.edge = next + offered;
        u16::try_from(offered >> self.shift).unwrap_or(u16::MAX)
    }

    /// The window field of a SYN: not scaled.
    pub(crate) fn offer_on_syn(&self) -> u16 {
        let window = match &self.autotune {
            // Data that came with the peer's SYN take from it (RFC 7413).
            _ if self.buffer.next() > 0 => self.window(),
            _ if self.memory.is_some() => self.memory.as_ref().map_or(0, |memory| memory.offered()),
            Some(tune) => tune.ssthresh(),
            None => self.capacity,
        };
        u16::try_from(window).unwrap_or(u16::MAX)
    }

    /// Whether reading has opened the window far enough to tell the peer without waiting for data: by two segments or half
    /// the buffer, as 4.4BSD does; where Linux's rules hold, if it is half closed and doubles (`tcp_cleanup_rbuf`).
    pub(crate) fn owes_window_update(&self, mss: u64) -> bool {
        if self.frozen {
            return false;
        }
        if self.memory.is_some() {
            // It is asked for when something is read.
            return false;
        }
        if self.autotune.is_some() {
            let window = self.window();
            return !self.finished
                && 2 * window <= self.capacity
                && self.slack() >= window.max(mss.min(self.capacity / 2));
        }
        !self.finished && self.slack() >= (2 * mss).min(self.capacity / 2).max(1)
    }

    /// Whether an acknowledgement goes again now.
    pub(crate) fn takes_duplicate(&mut self) -> bool {
        let takes = self.duplicates > 0;
        self.duplicates = self.duplicates.saturating_sub(1);
        takes
    }

    /// A segment with `len` octets of payload was taken; whether the window has opened.
    pub(crate) fn after_segment(&mut self, now: Instant, len: u64, echoed: Option<Echo>) -> bool {
        let free = self.capacity.saturating_sub(self.buffer.readable());
        let next = self.buffer.next();
        self.autotune.as_mut().is_some_and(|tune| tune.on_segment(now, len, next, free, echoed))
    }

    /// The application has read something.
    pub(crate) fn after_read(&mut self) {
        if let Some(tune) = &mut self.autotune {
            let (next, waiting, beyond) = (self.buffer.next(), self.buffer.readable(), self.buffer.beyond());
            let space = tune.on_read(next - waiting, waiting, beyond);
            if let (Some(memory), Some(window)) = (&mut self.memory, space) {
                memory.follow_reading(tune.space(), window);
            }
            self.capacity = self.capacity.max(space.unwrap_or_default());
        }
        let current = self.window();
        if let Some(memory) = &mut self.memory {
            memory.read(self.buffer.next() - self.buffer.readable());
            if current < memory.segment()
                && let Some(kept) = memory.prune(self.buffer.next(), self.shift)
            {
                self.buffer.forget(kept);
            }
            self.ack_now |= !self.finished && memory.owes_update(current, self.shift);
        }
        if let Some(engine) = &self.quick_ack
            && self.unacknowledged > 0
            && self.buffer.readable() == 0
            && engine.on_drained()
        {
            self.ack_now = true;
        }
    }

    /// The position of a sequence number relative to RCV.NXT.
    pub(crate) fn relative(&self, seq: SeqNum) -> i64 {
        i64::from(seq.distance(self.rcv_nxt()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::receive::memory::ReceiveMemory;
    use handfast_core::Bytes;
    use handfast_wire::Payload;

    fn receiver(buffer: u64) -> Receiver {
        let mut r = Receiver::new(&Config { receive_buffer: Bytes(buffer), ..Config::default() });
        r.synchronise(SeqNum(u32::MAX));
        r
    }

    #[test]
    fn the_shift_is_the_smallest_that_holds_the_buffer() {
        for (buffer, shift) in [(65_535, 0), (65_536, 1), (6_000_000, 7), (u64::MAX, 14)] {
            assert_eq!(receiver(buffer).shift, shift, "{buffer}");
        }
    }

    /// Every other octet beyond a hole of 1,000 takes memory for hundreds.
    #[test]
    fn what_lies_beyond_a_hole_does_not_close_the_window_for_ever() {
        for (buffer, pieces) in [(131_072, 158), (10_000, 13)] {
            let mut r = receiver(6_291_456);
            let how = ReceiveMemory {
                buffer,
                most: buffer,
                locked: true,
                mss: 1460,
                headers: 40,
                joined: None,
                shrinks: false,
            };
            r.memory = Some(Box::new(Memory::new(how)));
            r.edge = r.memory.as_ref().map_or(0, |memory| memory.offered());
            for at in (0..pieces).map(|n| 1000 + 2 * n) {
                assert!(take(&mut r, at, 1), "{at}");
            }
            assert!(take(&mut r, 0, 500), "nothing waits");
            assert_eq!(r.offer(1460), 0);
            r.buffer.read(500);
            r.after_read();
            assert!(r.ack_now);
            assert!(r.offer(1460) > 0, "{buffer}");
            assert!(r.buffer.has_holes(), "not all of it is forgotten");
            assert!(take(&mut r, 500, 500));
            assert_eq!(r.buffer.next(), 1001);
        }
    }

    /// What the endpoint does with a segment where memory counts.
    fn take(r: &mut Receiver, at: u64, len: u32) -> bool {
        let (window, waits, in_order) = (r.window(), r.buffer.readable() > 0, at <= r.buffer.next());
        let Some(memory) = &mut r.memory else { return false };
        if window == 0 || !memory.schedule(len.into(), in_order, waits) {
            return false;
        }
        r.buffer.insert(at, &Payload::Synthetic { stream: 0, offset: at, len });
        let (len, next) = (len.into(), r.buffer.next());
        if in_order {
            memory.take_in_order(at + len, next, len, true);
        } else {
            memory.take_beyond(at, next, len, true, true);
        }
        true
    }

    #[test]
    fn the_window_opens_in_steps() {
        let mut r = receiver(10_000);
        assert_eq!(r.offer(1000), 10_000);
        r.buffer.insert(0, &Payload::Synthetic { stream: 0, offset: 0, len: 4000 });
        assert_eq!(r.offer(1000), 6_000);
        r.buffer.read(999);
        assert_eq!(r.offer(1000), 6_000, "less than a segment: the edge stays");
        r.buffer.read(1);
        assert_eq!(r.offer(1000), 7_000);
        assert!(!r.owes_window_update(1000));
        r.buffer.read(2000);
        assert!(r.owes_window_update(1000));
        assert_eq!(r.offer(1000), 9_000);
        assert!(!r.owes_window_update(1000));
    }
}
