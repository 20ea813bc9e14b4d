//! One connection: which byte its receiver expects, as far as that can be told from counters.

use handfast_core::SeqNum;
use handfast_wire::tcp::{Flags, Segment};

/// How far a connection's receiver has got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Account {
    /// It has all before `anchor`, and the payload of the packets that switches have counted since.
    Counted { anchor: SeqNum, packets: u64, bytes: u64 },
    /// The controller answers in its place, and has answered for all before `next`.
    Answering { next: SeqNum },
    /// Some segment cannot be accounted for, so nothing will be any more (`[sdn]` §3.1: the scheme is disabled, and standard
    /// TCP takes over).
    Lost,
}

/// What is to be done with a segment for a station that is away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Judgement {
    /// Hold it.
    Hold,
    /// The station's peer is told once more that all before this has come, and to wait.
    Answer(SeqNum),
    /// Hold it, and if there is room tell the peer so.
    HoldAndAnswer(SeqNum),
    /// Drop it, as without help.
    Drop,
}

impl Account {
    /// A connection opens: its sequence numbers begin here.
    pub(super) fn opened(syn: &Segment) -> Self {
        Self::Counted { anchor: syn.seq + syn.seq_len(), packets: 0, bytes: 0 }
    }

    /// A switch has sent so many packets to the station, whose frames have so many bytes in all.
    pub(super) fn count(&mut self, more_packets: u64, more_bytes: u64) {
        if let Self::Counted { packets, bytes, .. } = self {
            *packets = packets.saturating_add(more_packets);
            *bytes = bytes.saturating_add(more_bytes);
        }
    }

    /// A segment has come for a station that is away.
    pub(super) fn judge(&mut self, segment: &Segment, frame: usize) -> Judgement {
        if segment.flags.contains(Flags::RST) || segment.flags.contains(Flags::SYN) {
            return Judgement::Hold;
        }
        if let Self::Counted { anchor, packets, bytes } = *self
            && segment.seq_len() > 0
        {
            // The options of a connection's data segments are all alike, timestamps or none: what is not payload now was
            // not payload before.
            let header = (frame as u64).saturating_sub(u64::from(payload(segment)));
            let delivered = packets.checked_mul(header).and_then(|headers| bytes.checked_sub(headers));
            // Modulo 2^32, as sequence numbers are.
            let next = delivered.map(|payload| anchor + payload as u32);
            // Before it, a segment may be one that was repeated before: then the counters hold some bytes twice.
            *self = match next.filter(|next| *next == segment.seq) {
                Some(next) => Self::Answering { next },
                None => Self::Lost,
            };
        }
        match *self {
            Self::Lost => Judgement::Drop,
            Self::Counted { .. } => Judgement::Hold,
            Self::Answering { next } => self.answer(next, segment),
        }
    }

    fn answer(&mut self, next: SeqNum, segment: &Segment) -> Judgement {
        let end = segment.seq + segment.seq_len();
        if segment.seq_len() == 0 && segment.seq == next {
            // An acknowledgment: the station's own data is none of the controller's business.
            return Judgement::Hold;
        }
        if !end.after(next) {
            // A repetition, or a probe of the window (RFC 9293 §3.8.6.1), which a receiver has to answer.
            return Judgement::Answer(next);
        }
        if segment.seq.after(next) {
            // Between what the station has and this, something went another way or was lost.
            *self = Self::Lost;
            return Judgement::Drop;
        }
        *self = Self::Answering { next: end };
        Judgement::HoldAndAnswer(end)
    }

    /// What was to be answered for found no room.
    pub(super) fn refuse(&mut self, segment: &Segment) {
        if matches!(self, Self::Answering { .. }) {
            *self = Self::Answering { next: segment.seq };
        }
    }

    /// The station is back and the controller answers no more: it hands over all before `next`.
    pub(super) fn hand_over(&mut self) {
        if let Self::Answering { next } = *self {
            *self = Self::Counted { anchor: next, packets: 0, bytes: 0 };
        }
    }

    /// A segment reaches the station through the controller, and past the switch's counters.
    pub(super) fn passed(&mut self, segment: &Segment) {
        if let Self::Counted { anchor, .. } = self {
            *anchor += payload(segment);
        }
    }
}

/// A segment's bytes of payload.
fn payload(segment: &Segment) -> u32 {
    segment.payload.len() as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use handfast_wire::Payload;

    const HEADER: usize = 66;

    fn data(seq: u32, len: u16) -> Segment {
        let payload = Payload::Synthetic { stream: 0, offset: 0, len: len.into() };
        Segment { seq: SeqNum(seq), payload, flags: Flags::ACK, ..Segment::EMPTY }
    }

    fn judge(account: &mut Account, segment: &Segment) -> Judgement {
        account.judge(segment, HEADER + segment.payload.len())
    }

    /// A connection whose sequence numbers begin at 100 and of which `bytes` of payload were counted in `packets`.
    fn counted(packets: u64, bytes: u64) -> Account {
        let syn = Segment { seq: SeqNum(99), flags: Flags::SYN, ..Segment::EMPTY };
        let mut account = Account::opened(&syn);
        account.count(packets, bytes + packets * HEADER as u64);
        account
    }

    #[test]
    fn what_goes_on_where_the_counters_end_is_answered_for() {
        let mut account = counted(12, 10_000);
        assert_eq!(judge(&mut account, &data(10_100, 1000)), Judgement::HoldAndAnswer(SeqNum(11_100)));
        assert_eq!(judge(&mut account, &data(11_100, 500)), Judgement::HoldAndAnswer(SeqNum(11_600)));
    }

    #[test]
    fn acknowledgments_among_what_was_counted_carry_no_payload() {
        let mut account = counted(2, 1000);
        account.count(5, 5 * HEADER as u64);
        assert_eq!(judge(&mut account, &data(1100, 10)), Judgement::HoldAndAnswer(SeqNum(1110)));
    }

    #[test]
    fn a_gap_before_a_segment_ends_the_help() {
        let mut account = counted(10, 10_000);
        assert_eq!(judge(&mut account, &data(10_101, 1000)), Judgement::Drop);
        assert_eq!(judge(&mut account, &data(10_100, 1000)), Judgement::Drop, "for good");
        let mut later = counted(10, 10_000);
        judge(&mut later, &data(10_100, 1000));
        assert_eq!(judge(&mut later, &data(12_100, 1000)), Judgement::Drop);
        assert_eq!(later, Account::Lost);
    }

    #[test]
    fn a_repetition_before_shows_in_the_counters() {
        // 1,000 bytes went twice: what the counters say lies beyond what the receiver has.
        let mut account = counted(11, 11_000);
        assert_eq!(judge(&mut account, &data(10_100, 1000)), Judgement::Drop);
    }

    #[test]
    fn fewer_bytes_than_headers_cannot_be() {
        let mut account = counted(1, 0);
        account.count(1, 10);
        assert_eq!(judge(&mut account, &data(100, 10)), Judgement::Drop);
    }

    #[test]
    fn repetitions_and_probes_are_answered_but_not_held() {
        let mut account = counted(0, 0);
        judge(&mut account, &data(100, 1000));
        assert_eq!(judge(&mut account, &data(100, 1000)), Judgement::Answer(SeqNum(1100)));
        assert_eq!(judge(&mut account, &data(600, 500)), Judgement::Answer(SeqNum(1100)));
        // Linux probes with the last byte that was acknowledged, and no payload.
        assert_eq!(judge(&mut account, &data(1099, 0)), Judgement::Answer(SeqNum(1100)));
        assert_eq!(judge(&mut account, &data(1100, 0)), Judgement::Hold, "an acknowledgment");
        assert_eq!(judge(&mut account, &data(600, 501)), Judgement::HoldAndAnswer(SeqNum(1101)));
    }

    #[test]
    fn what_opens_or_resets_a_connection_is_not_answered() {
        let mut account = counted(0, 0);
        for flags in [Flags::SYN, Flags::RST] {
            assert_eq!(account.judge(&Segment { flags, ..data(100, 0) }, HEADER), Judgement::Hold);
        }
        assert_eq!(account, counted(0, 0));
    }

    #[test]
    fn a_segment_without_room_is_not_answered_for() {
        let mut account = counted(0, 0);
        judge(&mut account, &data(100, 1000));
        account.refuse(&data(100, 1000));
        assert_eq!(account, Account::Answering { next: SeqNum(100) });
    }

    #[test]
    fn after_the_handover_counting_goes_on_from_there() {
        let mut account = counted(3, 3000);
        judge(&mut account, &data(3100, 1000));
        account.hand_over();
        account.passed(&data(4100, 500));
        account.count(2, 2 * (HEADER as u64 + 700));
        assert_eq!(judge(&mut account, &data(6000, 100)), Judgement::HoldAndAnswer(SeqNum(6100)));
    }

    #[test]
    fn the_sequence_space_goes_around() {
        let syn = Segment { seq: SeqNum(u32::MAX - 10), flags: Flags::SYN, ..Segment::EMPTY };
        let mut account = Account::opened(&syn);
        account.count(1, 66 + 100);
        let next = SeqNum(u32::MAX - 9) + 100;
        assert_eq!(judge(&mut account, &data(next.0, 10)), Judgement::HoldAndAnswer(next + 10));
    }
}
