//! The urgent mechanism (RFC 9293 §3.8.5) as RFC 6093 §6 asks for it and Linux has it: the urgent pointer names the octet that follows the
//! urgent one (`tcp_stdurg` = 0). The endpoint knows nothing of it: its owner marks segments that leave, and looks at those that come.
//!
//! Positions are octets of a stream as 64-bit numbers that never wrap.

use handfast_wire::tcp::{Flags, Segment};

/// The sender's half: `SND.UP`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UrgentOut {
    /// One past the urgent octet; zero before the first.
    up: u64,
}

impl UrgentOut {
    /// What has been written up to `end` is urgent (`tcp_mark_urg`).
    pub fn mark(&mut self, end: u64) {
        self.up = end;
    }

    /// Whether the peer has not acknowledged all of it, `una` being the first octet outstanding.
    pub fn is_on(&self, una: u64) -> bool {
        self.up > una
    }

    /// Tells the peer with a segment that begins at `start`. `nxt`: SND.NXT. Where the urgent octet is farther than the field reaches, the
    /// field is 65,535 unless SND.NXT is farther than that (`__tcp_transmit_skb`).
    pub fn tell(&self, segment: &mut Segment, start: u64, nxt: u64) {
        if start >= self.up {
            return;
        }
        let distance = match u16::try_from(self.up - start) {
            Ok(near) => near,
            Err(_) if start + u64::from(u16::MAX) > nxt => u16::MAX,
            Err(_) => return,
        };
        segment.urgent = distance;
        segment.flags = segment.flags | Flags::URG;
    }
}

/// What is known of the urgent octet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Octet {
    /// It is announced.
    Awaited,
    /// It has come.
    Here(u8),
    /// It was read out of line.
    Read,
}

/// Why there is no urgent octet to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoUrgent {
    /// None is announced, or it was read.
    None,
    /// It has not come.
    NotYet,
}

/// How far a read of the stream goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// So many octets at most.
    UpTo(u64),
    /// The next octet is the urgent one, which is not part of the stream: it is passed over.
    PassOver,
}

/// The receiver's half: one mark, whatever the peer sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UrgentIn {
    mark: Option<(u64, Octet)>,
    /// It stays in the stream (`SO_OOBINLINE`).
    pub inline: bool,
}

impl UrgentIn {
    /// An acceptable segment that begins at `start`, of which all up to `next` had come and all up to `copied` was read (`tcp_urg`). Whether
    /// the octet at `copied` is an urgent one that was read, which a newer mark must not bring back: it is to be passed over.
    pub fn arrive(&mut self, segment: &Segment, start: i64, copied: u64, next: u64) -> bool {
        let passes = segment.flags.contains(Flags::URG) && self.announce(segment.urgent, start, copied, next);
        if let Some((at, octet @ Octet::Awaited)) = &mut self.mark
            && let Ok(offset) = usize::try_from(at.cast_signed() - start)
            && offset < segment.payload.len()
        {
            let bytes = segment.payload.slice(offset, 1).to_bytes();
            *octet = bytes.first().map_or(Octet::Awaited, |&byte| Octet::Here(byte));
        }
        passes
    }

    /// `tcp_check_urg`: what was read, or has come without a mark, is no news, nor is an older mark.
    fn announce(&mut self, pointer: u16, start: i64, copied: u64, next: u64) -> bool {
        let at = start + i64::from(pointer.saturating_sub(1));
        let Some(at) = u64::try_from(at).ok().filter(|&at| at >= copied.max(next)) else { return false };
        if self.mark.is_some_and(|(before, _)| at <= before) {
            return false;
        }
        let stands_at_mark = self.mark.is_some_and(|(before, _)| before == copied);
        self.mark = Some((at, Octet::Awaited));
        stands_at_mark && !self.inline && copied != next
    }

    /// Whether the next octet to be read is the urgent one (`SIOCATMARK`).
    pub fn is_at_mark(&self, copied: u64) -> bool {
        self.mark.is_some_and(|(at, _)| at == copied)
    }

    /// Whether an urgent octet has come and can be read (`POLLPRI`).
    pub fn is_here(&self) -> bool {
        matches!(self.mark, Some((_, Octet::Here(_))))
    }

    /// The urgent octet out of line (`MSG_OOB`). `keep`: it can be read again.
    ///
    /// # Errors
    /// None can be read.
    pub fn read(&mut self, keep: bool) -> Result<u8, NoUrgent> {
        match &mut self.mark {
            Some((_, octet)) if !self.inline => match *octet {
                Octet::Here(byte) => {
                    if !keep {
                        *octet = Octet::Read;
                    }
                    Ok(byte)
                }
                Octet::Awaited => Err(NoUrgent::NotYet),
                Octet::Read => Err(NoUrgent::None),
            },
            _ => Err(NoUrgent::None),
        }
    }

    /// How a read of the stream from `copied` on goes. A call that has read something stops at the mark.
    pub fn reading(&self, copied: u64) -> Reading {
        match self.mark {
            Some((at, _)) if at == copied && !self.inline => Reading::PassOver,
            Some((at, _)) if at > copied => Reading::UpTo(at - copied),
            _ => Reading::UpTo(u64::MAX),
        }
    }

    /// All up to `copied` was read or passed over: a mark behind it is forgotten.
    pub fn copied(&mut self, copied: u64) {
        self.mark = self.mark.filter(|&(at, _)| at >= copied);
    }

    /// Octets that wait before the mark, of `readable` (`SIOCINQ`).
    pub fn waiting(&self, copied: u64, readable: u64) -> u64 {
        match self.mark {
            Some((at, _)) if !self.inline && (copied..copied + readable).contains(&at) => at - copied,
            _ => readable,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use handfast_wire::Payload;
    use proptest::prelude::*;

    fn segment(urgent: Option<u16>, payload: &'static [u8]) -> Segment {
        let flags = if urgent.is_some() { Flags::ACK | Flags::URG } else { Flags::ACK };
        let payload = Payload::Bytes(payload.into());
        Segment { flags, urgent: urgent.unwrap_or(0), payload, ..Segment::EMPTY }
    }

    #[test]
    fn segments_before_the_urgent_octet_tell_of_it() {
        let mut out = UrgentOut::default();
        let told = |out: &UrgentOut, start, nxt| {
            let mut segment = segment(None, b"");
            out.tell(&mut segment, start, nxt);
            (segment.flags.contains(Flags::URG), segment.urgent)
        };
        assert_eq!(told(&out, 1, 1), (false, 0));
        out.mark(70_001);
        for (start, nxt, expected) in [
            (70_000, 70_000, (true, 1)),
            (70_001, 70_001, (false, 0)),
            (4_466, 4_466, (true, 65_535)),
            (4_465, 4_465, (true, 65_535)),
            (1_001, 70_001, (false, 0)),
        ] {
            assert_eq!(told(&out, start, nxt), expected, "{start}");
        }
        assert!(out.is_on(70_000) && !out.is_on(70_001));
    }

    #[test]
    fn the_urgent_octet_is_read_out_of_line_once_and_the_stream_stops_at_it() {
        let mut mark = UrgentIn::default();
        assert_eq!(mark.read(false), Err(NoUrgent::None));
        assert!(!mark.arrive(&segment(Some(3), b"abcde"), 0, 0, 0));
        assert_eq!((mark.waiting(0, 5), mark.reading(0)), (2, Reading::UpTo(2)));
        mark.copied(2);
        assert_eq!((mark.is_at_mark(2), mark.reading(2)), (true, Reading::PassOver));
        assert_eq!(
            (mark.read(true), mark.read(false), mark.read(false)),
            (Ok(b'c'), Ok(b'c'), Err(NoUrgent::None))
        );
        mark.copied(3);
        assert_eq!((mark, mark.reading(3)), (UrgentIn::default(), Reading::UpTo(u64::MAX)));
    }

    #[test]
    fn in_line_it_is_an_octet_like_others_at_which_a_read_stops() {
        let mut mark = UrgentIn { inline: true, ..UrgentIn::default() };
        mark.arrive(&segment(Some(3), b"abcde"), 0, 0, 0);
        assert_eq!((mark.read(false), mark.waiting(0, 5)), (Err(NoUrgent::None), 5));
        assert_eq!((mark.reading(0), mark.reading(2)), (Reading::UpTo(2), Reading::UpTo(u64::MAX)));
    }

    #[test]
    fn it_may_be_announced_before_it_comes() {
        let mut mark = UrgentIn::default();
        mark.arrive(&segment(Some(3), b""), 0, 0, 0);
        assert_eq!((mark.read(false), mark.is_here()), (Err(NoUrgent::NotYet), false));
        mark.arrive(&segment(None, b"ab"), 0, 0, 0);
        assert!(!mark.is_here());
        mark.arrive(&segment(None, b"cd"), 2, 0, 2);
        assert_eq!(mark.read(false), Ok(b'c'));
    }

    #[test]
    fn what_is_no_news_changes_nothing() {
        let mut mark = UrgentIn::default();
        mark.arrive(&segment(Some(10), b""), 0, 0, 0);
        for (pointer, start, copied, next) in
            [(5, 0, 0, 0), (10, 0, 0, 0), (40, 0, 0, 50), (40, 0, 50, 50), (0, -1, 0, 0)]
        {
            let before = mark;
            assert!(!mark.arrive(&segment(Some(pointer), b""), start, copied, next));
            assert_eq!(mark, before, "{pointer} at {start}");
        }
    }

    proptest! {
        /// Whatever pointers come, in whatever order they are read: the octets read in line are the stream without those that were passed
        /// over, each of which was the mark, and a call never reads across it.
        #[test]
        fn the_stream_is_whole_but_for_the_marks(
            arrivals in prop::collection::vec((1usize..9, prop::option::of(0u16..12)), 1..30),
            reads in prop::collection::vec(1u64..12, 1..60),
            inline in any::<bool>(),
        ) {
            let mut mark = UrgentIn { inline, ..UrgentIn::default() };
            let (mut copied, mut next) = (0_u64, 0_u64);
            let mut passed = Vec::new();
            let mut read = Vec::new();
            let mut reads = reads.into_iter();
            for (len, urgent) in arrivals {
                let payload = (next..next + len as u64).map(|at| at as u8).collect::<Vec<_>>();
                let mut arriving = segment(urgent, b"");
                arriving.payload = Payload::Bytes(payload.into());
                if mark.arrive(&arriving, next.cast_signed(), copied, next) {
                    passed.push(copied);
                    copied += 1;
                }
                next += len as u64;
                if let Ok(octet) = mark.read(true) {
                    let (at, _) = mark.mark.unwrap_or((u64::MAX, Octet::Read));
                    prop_assert_eq!(octet, at as u8);
                }
                let Some(wanted) = reads.next() else { continue };
                if copied == next {
                    continue;
                }
                match mark.reading(copied) {
                    Reading::PassOver => {
                        prop_assert!(mark.is_at_mark(copied) && !inline);
                        passed.push(copied);
                        copied += 1;
                    }
                    Reading::UpTo(most) => {
                        let end = copied + wanted.min(most).min(next - copied);
                        prop_assert!((copied + 1..end).all(|at| !mark.is_at_mark(at)), "it stops at the mark");
                        read.extend(copied..end);
                        copied = end;
                    }
                }
                mark.copied(copied);
            }
            let mut all = [read, passed.clone()].concat();
            all.sort_unstable();
            prop_assert_eq!(all, (0..copied).collect::<Vec<_>>());
            prop_assert!(!inline || passed.is_empty());
        }
    }

    #[test]
    fn a_newer_mark_does_not_bring_back_an_urgent_octet_that_was_read() {
        let mut mark = UrgentIn::default();
        mark.arrive(&segment(Some(1), b"ab"), 0, 0, 0);
        assert_eq!(mark.read(false), Ok(b'a'));
        assert!(mark.arrive(&segment(Some(1), b"c"), 2, 0, 2));
    }
}
