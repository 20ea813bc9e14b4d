//! What the application has written, until the peer has acknowledged it by `DATA_ACK` (RFC 8684 §3.3.2).

use handfast_tcp::SendBuffer;
use handfast_wire::Payload;

use crate::SubflowId;

/// A range that leaves again, by another sub-flow than the one that had it (§3.3.6).
#[derive(Clone, Copy, Debug)]
struct Again {
    start: u64,
    end: u64,
    /// Who had it; [`None`]: whoever may have it.
    origin: Option<SubflowId>,
}

/// What one sub-flow is to carry.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    pub(crate) start: u64,
    pub(crate) payload: Payload,
    /// It was sent before.
    pub(crate) again: bool,
}

/// The sending half.
#[derive(Debug, Default)]
pub(crate) struct DataSender {
    buffer: SendBuffer,
    /// The first octet that is not acknowledged.
    una: u64,
    /// The first octet that no sub-flow has had.
    nxt: u64,
    /// The right edge of the peer's window: it is relative to `DATA_ACK` (§3.3.1), and never moves to the left (§3.3.5).
    edge: u64,
    again: Vec<Again>,
    /// Nothing more is written: `DATA_FIN` takes the number behind the last octet.
    closing: bool,
    fin_acked: bool,
}

impl DataSender {
    pub(crate) fn write(&mut self, payload: Payload, limit: u64) -> usize {
        if self.closing { 0 } else { self.buffer.write(payload, limit) }
    }

    pub(crate) fn close(&mut self) {
        self.closing = true;
    }

    pub(crate) fn una(&self) -> u64 {
        self.una
    }

    pub(crate) fn nxt(&self) -> u64 {
        self.nxt
    }

    pub(crate) fn end(&self) -> u64 {
        self.buffer.end()
    }

    /// Octets that no sub-flow has had.
    pub(crate) fn unsent(&self) -> u64 {
        self.end() - self.nxt
    }

    /// The position of `DATA_FIN`, once there is nothing more to send before it.
    pub(crate) fn fin(&self) -> Option<u64> {
        (self.closing && self.nxt == self.end()).then_some(self.end())
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.closing
    }

    /// Everything is acknowledged, `DATA_FIN` too.
    pub(crate) fn is_finished(&self) -> bool {
        self.fin_acked
    }

    /// Whether something is out that has to be acknowledged.
    pub(crate) fn is_outstanding(&self) -> bool {
        self.una < self.nxt || (self.fin().is_some() && !self.fin_acked)
    }

    /// The peer's window behind what is acknowledged.
    pub(crate) fn window(&self) -> u64 {
        self.edge.saturating_sub(self.una)
    }

    /// Whether the peer's window lets more go than any sub-flow has had.
    pub(crate) fn has_more(&self) -> bool {
        self.unsent() > 0 && self.edge > self.nxt
    }

    /// `DATA_ACK` of everything before `ack`, with a window of so many octets. Whether it acknowledged something new. One of what was
    /// never sent says nothing.
    pub(crate) fn on_ack(&mut self, ack: u64, window: u64) -> bool {
        let fin = self.fin();
        if ack > fin.map_or(self.nxt, |fin| fin + 1) || ack < self.una {
            return false;
        }
        self.edge = self.edge.max(ack + window);
        let acks_fin = fin.is_some_and(|fin| ack > fin);
        let fresh = ack > self.una && (ack.min(self.end()) > self.una || !self.fin_acked);
        self.una = ack.min(self.end());
        self.fin_acked |= acks_fin;
        self.buffer.release(self.una);
        let una = self.una;
        self.again.retain(|range| range.end > una);
        fresh
    }

    /// `start .. end` leaves again.
    pub(crate) fn send_again(&mut self, start: u64, end: u64, origin: Option<SubflowId>) {
        let start = start.max(self.una);
        if start >= end {
            return;
        }
        if let Some(last) = self.again.last_mut()
            && (last.end, last.origin) == (start, origin)
        {
            last.end = end;
            return;
        }
        let covered = |range: &Again| range.start <= start && end <= range.end && range.origin == origin;
        if !self.again.iter().any(covered) {
            self.again.push(Again { start, end, origin });
        }
    }

    /// What `subflow` may carry next, of at most `room` octets; less only where there is no more, or nothing is out. `vacancy`: octets
    /// for which it has room.
    pub(crate) fn next_for(&self, subflow: SubflowId, room: u64, vacancy: u64) -> Option<Piece> {
        let again = self.again.iter().find(|range| range.origin != Some(subflow));
        if let Some(range) = again {
            let start = range.start.max(self.una);
            return self.piece(start, range.end - start, room.min(vacancy), true);
        }
        let allowed = self.unsent().min(self.edge.saturating_sub(self.nxt));
        // RFC 9293 §3.8.6.2.1, for the connection's window.
        let is_small = allowed < room && allowed < self.unsent() && self.una < self.nxt;
        let wanted = allowed.min(room);
        if is_small || wanted > vacancy {
            return None;
        }
        self.piece(self.nxt, wanted, room, false)
    }

    /// The octet that probes a closed window.
    pub(crate) fn probe(&self) -> Option<Piece> {
        let again = self.una < self.nxt;
        let start = if again { self.una } else { self.nxt };
        self.piece(start, (self.end() - start).min(1), 1, again)
    }

    fn piece(&self, start: u64, available: u64, room: u64, again: bool) -> Option<Piece> {
        let payload = self.buffer.slice(start, available.min(room) as usize);
        (!payload.is_empty()).then_some(Piece { start, payload, again })
    }

    /// A sub-flow has taken so many octets of a piece.
    pub(crate) fn taken(&mut self, piece: &Piece, octets: u64) {
        let end = piece.start + octets;
        if !piece.again {
            self.nxt = self.nxt.max(end);
            return;
        }
        if let Some(at) =
            self.again.iter().position(|range| range.start.max(self.una) == piece.start && range.end >= end)
        {
            self.again[at].start = end;
            if self.again[at].start >= self.again[at].end {
                self.again.remove(at);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sender() -> DataSender {
        let mut sender = DataSender::default();
        sender.write(Payload::Synthetic { stream: 1, offset: 0, len: 10_000 }, 0);
        sender.on_ack(0, 4000);
        sender
    }

    fn take(sender: &mut DataSender, subflow: u32, room: u64) -> Option<(u64, usize)> {
        let piece = sender.next_for(SubflowId(subflow), room, u64::MAX)?;
        sender.taken(&piece, piece.payload.len() as u64);
        Some((piece.start, piece.payload.len()))
    }

    #[test]
    fn the_window_is_relative_to_data_ack_and_no_tiny_piece_leaves() {
        let mut s = sender();
        assert_eq!(take(&mut s, 0, 1500), Some((0, 1500)));
        assert_eq!(take(&mut s, 1, 1500), Some((1500, 1500)));
        assert_eq!(take(&mut s, 0, 1500), None, "a thousand octets are no full piece");
        assert!(s.on_ack(1500, 4000));
        assert_eq!(take(&mut s, 0, 1500), Some((3000, 1500)));
        // The edge never moves to the left.
        assert!(!s.on_ack(1500, 0));
        assert_eq!(take(&mut s, 0, 900), Some((4500, 900)));
    }

    #[test]
    fn what_was_never_sent_is_not_acknowledged() {
        let mut s = sender();
        take(&mut s, 0, 1500);
        assert!(!s.on_ack(1501, 1 << 30));
        assert_eq!((s.una(), s.edge), (0, 4000));
    }

    #[test]
    fn a_range_leaves_again_by_another_sub_flow() {
        let mut s = sender();
        take(&mut s, 0, 1000);
        take(&mut s, 0, 1000);
        s.send_again(0, 1000, Some(SubflowId(0)));
        s.send_again(1000, 2000, Some(SubflowId(0)));
        s.send_again(500, 700, Some(SubflowId(0)));
        assert_eq!(s.again.len(), 1);
        assert!(s.on_ack(300, 4000));
        assert_eq!(take(&mut s, 1, 1000), Some((300, 1000)));
        assert_eq!(take(&mut s, 0, 1000), Some((2000, 1000)), "the one that had it does not");
        assert_eq!(take(&mut s, 1, 1000), Some((1300, 700)));
        assert!(s.again.is_empty());
    }

    #[test]
    fn data_fin_has_the_number_behind_the_last_octet() {
        let mut s = sender();
        s.on_ack(0, 20_000);
        s.close();
        assert_eq!((s.write(Payload::Synthetic { stream: 1, offset: 0, len: 1 }, 9), s.fin()), (0, None));
        while take(&mut s, 0, 1000).is_some() {}
        assert_eq!(s.fin(), Some(10_000));
        assert!(s.on_ack(10_000, 0) && s.is_outstanding() && !s.is_finished());
        assert!(!s.on_ack(10_002, 0));
        assert!(s.on_ack(10_001, 0) && s.is_finished() && !s.is_outstanding());
        assert!(!s.on_ack(10_001, 0));
    }
}
