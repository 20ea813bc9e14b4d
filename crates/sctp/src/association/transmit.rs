//! Packets with DATA and SACK on their way out (§6.1, §6.2, §6.10).

use handfast_core::Instant;
use handfast_wire::sctp::{Chunk, DATA_HEADER_LEN, Sack};

use super::Association;
use crate::send::Loss;
use crate::tsn::Tsn;
use crate::{State, Transmit};

/// The next DATA to leave.
#[derive(Clone, Copy, Debug)]
enum Next {
    /// Chunks that are marked for retransmission.
    Again { path: usize },
    /// New ones.
    New { path: usize },
}

impl Association {
    /// A packet with DATA, SACK or both.
    pub(super) fn data_packet(&mut self, now: Instant) -> Option<Transmit> {
        let Some((next, len)) = self.next_data(now) else { return self.sack_packet() };
        let (Next::Again { path } | Next::New { path }) = next;
        let (mut room, mut chunks) = (self.pmdcs as usize, Vec::new());
        // §6.2: a SACK goes with DATA that leaves for where it has to go, if both fit.
        let sack_len = self.sack_len(1);
        let bundles = self.acks.path == path && sack_len + padded(len) <= room;
        if self.acks.is_pending() && self.state.takes_data() && bundles {
            chunks.push(self.sack(room - padded(len)));
            room -= chunks[0].wire_len();
        } else if self.acks.is_due() && self.state.takes_data() {
            return self.sack_packet();
        }
        match next {
            Next::Again { path } => self.repeat(now, path, room, &mut chunks),
            Next::New { path } => self.send_new(now, path, room, &mut chunks),
        }
        Some(self.transmit(path, chunks))
    }

    fn transmit(&self, path: usize, chunks: Vec<Chunk>) -> Transmit {
        let by = self.paths.get(path);
        Transmit { packet: self.packet(self.remote_tag, chunks), from: by.local, to: by.remote }
    }

    /// What leaves next, and how long its first chunk is.
    fn next_data(&self, now: Instant) -> Option<(Next, usize)> {
        if !self.state.sends_data() {
            return None;
        }
        // §6.1 C: what is marked goes before what is new.
        self.next_repeated(now).or_else(|| self.next_new(now))
    }

    fn next_repeated(&self, now: Instant) -> Option<(Next, usize)> {
        self.sent.lost().find_map(|(_, sent, loss)| {
            let path = self.path_of(loss, sent.path)?;
            // §6.1 B; §6.3.3 E3 and §7.2.4 step 3: one packet, whatever the window.
            let open = self.urgent || self.sent.flight(path) < self.paths.get(path).window.cwnd;
            // What is only moved leaves as new data does: §6.1 D.
            let open = open && (loss != Loss::Rerouted || self.may_burst(now, path));
            open.then(|| (Next::Again { path }, sent.data.chunk_len()))
        })
    }

    /// Where a chunk goes again that was sent on `path`.
    fn path_of(&self, loss: Loss, path: usize) -> Option<usize> {
        match loss {
            Loss::Timeout => self.paths.alternate(path),
            Loss::Misses => self.paths.same(path),
            Loss::Rerouted => self.paths.for_data(),
        }
    }

    fn next_new(&self, now: Instant) -> Option<(Next, usize)> {
        let len = self.queue.next_len(self.pmdcs as usize)?;
        let path = self.paths.for_data()?;
        if !self.may_burst(now, path) || !self.has_window(path, len) {
            return None;
        }
        Some((Next::New { path }, DATA_HEADER_LEN + len))
    }

    /// §6.1: whether a new chunk with so much user data may leave.
    fn has_window(&self, path: usize, len: usize) -> bool {
        let in_flight = self.sent.payload_in_flight();
        // A: of a closed window one chunk is a probe.
        let received =
            self.a_rwnd.saturating_sub(in_flight) >= len as u64 || self.sent.is_empty() && self.probe.due;
        // B. What an idle path would have lost of its window is looked at when the chunk leaves.
        received && self.sent.flight(path) < self.paths.get(path).window.cwnd
    }

    /// Chunks that are marked and go by this path, the earliest first.
    fn repeat(&mut self, now: Instant, path: usize, mut room: usize, chunks: &mut Vec<Chunk>) {
        let (mut from, mut moved) = (0, false);
        loop {
            let next = self
                .sent
                .lost()
                .find(|&(index, sent, loss)| index >= from && self.path_of(loss, sent.path) == Some(path));
            let Some((index, sent, loss)) = next else { break };
            if padded(sent.data.chunk_len()) > room {
                break;
            }
            room -= padded(sent.data.chunk_len());
            let len = sent.data.payload.len();
            self.notice_probe(self.sent.first() + index as Tsn, len);
            let (data, is_earliest) = self.sent.resend(index, path);
            chunks.push(Chunk::Data(data));
            self.counters.retransmitted_chunks += 1;
            self.counters.data_chunks_sent += 1;
            // §7.2.4 step 4: anew where the earliest outstanding chunk is sent again.
            self.leaves(now, path, loss == Loss::Misses && is_earliest);
            moved |= loss == Loss::Rerouted;
            from = index + 1;
        }
        self.urgent = false;
        if moved {
            self.notice_packet(now, path);
        }
    }

    fn send_new(&mut self, now: Instant, path: usize, mut room: usize, chunks: &mut Vec<Chunk>) {
        self.notice_idleness(now, path);
        while let Some(len) = self.queue.next_len(self.pmdcs as usize)
            && padded(DATA_HEADER_LEN + len) <= room
            && self.has_window(path, len)
        {
            self.notice_probe(self.sent.next(), len);
            let tsn = crate::tsn::to_wire(self.sent.next());
            let Some(data) = self.queue.pop(tsn, self.pmdcs as usize) else { break };
            room -= padded(data.chunk_len());
            chunks.push(Chunk::Data(data.clone()));
            self.sent.push(now, data, path);
            self.counters.data_chunks_sent += 1;
            self.leaves(now, path, false);
        }
        self.notice_packet(now, path);
        let flight = self.sent.flight(path);
        let by = self.paths.get_mut(path);
        by.was_full = flight >= by.window.cwnd;
    }

    /// What goes with COOKIE ECHO. T1-cookie repeats it, not T3-rtx.
    pub(super) fn put_early(&mut self, now: Instant, mut room: usize, chunks: &mut Vec<Chunk>) {
        let path = self.attempt.path;
        if !self.config.early_data || self.state != State::CookieEchoed {
            return;
        }
        loop {
            let next = self.sent.lost().next().map(|(index, sent, _)| (index, sent.data.chunk_len()));
            let Some((index, len)) = next else { break };
            if padded(len) > room {
                return;
            }
            room -= padded(len);
            let (data, _) = self.sent.resend(index, path);
            chunks.push(Chunk::Data(data));
            self.counters.retransmitted_chunks += 1;
            self.counters.data_chunks_sent += 1;
        }
        if self.sent.is_empty() {
            self.send_new(now, path, room, chunks);
            self.paths.get_mut(path).t3 = None;
        }
    }

    /// §7.2.1: a path without data for an RTO loses half its window.
    fn notice_idleness(&mut self, now: Instant, path: usize) {
        let outstanding = self.sent.flight(path) > 0;
        let by = self.paths.get_mut(path);
        if !outstanding {
            let rtos = now.since(by.last_data).as_nanos() / by.rtt.rto().as_nanos().max(1);
            by.window.on_idle(rtos);
        }
    }

    /// §6.3.2 R1: DATA leaves, so T3-rtx runs.
    fn leaves(&mut self, now: Instant, path: usize, anew: bool) {
        let by = self.paths.get_mut(path);
        by.last_data = now;
        if anew || by.t3.is_none() {
            by.t3 = Some(now + by.rtt.rto());
        }
    }

    /// A SACK by itself.
    fn sack_packet(&mut self) -> Option<Transmit> {
        if !self.acks.is_due() || !self.state.takes_data() {
            return None;
        }
        let path = self.acks.path.min(self.paths.all().len() - 1);
        let path = if self.paths.get(path).suspended { self.paths.for_data()? } else { path };
        let sack = self.sack(self.pmdcs as usize);
        Some(self.transmit(path, vec![sack]))
    }

    /// Bytes of a SACK with so many gap blocks.
    fn sack_len(&self, gaps: usize) -> usize {
        Sack::chunk_len(gaps, self.acks.duplicates().len())
    }

    /// The SACK that leaves now, in at most `room` bytes; it has room for one gap block at least.
    fn sack(&mut self, room: usize) -> Chunk {
        // §6.2: as many gap blocks as fit, the lowest first.
        let gaps = room.saturating_sub(self.sack_len(0)) / 4;
        let duplicates = self.acks.take();
        Chunk::Sack(self.inbound.sack(duplicates, gaps))
    }
}

const fn padded(len: usize) -> usize {
    len.next_multiple_of(4)
}
