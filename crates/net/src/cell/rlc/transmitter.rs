//! The sending side of RLC: what is not acknowledged, what is to be sent again, and when it asks.

use std::collections::VecDeque;
use std::ops::Range;

use handfast_core::{Bytes, Instant};

use super::Status;
use crate::cell::profile::RlcProfile;

/// What a transport block carries: a part of the row of packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cell) struct Block {
    /// The numbers of the packets of which it has a part.
    pub(in crate::cell) packets: Range<u64>,
    /// The packets before this one are complete once all blocks up to this one are there.
    pub(in crate::cell) complete: u64,
    pub(in crate::cell) bytes: u64,
}

/// A block that was sent.
#[derive(Debug)]
struct Sent {
    block: Block,
    acknowledged: bool,
    /// It stands in the retransmission buffer.
    waits: bool,
    /// `RETX_COUNT`; [`None`]: it was never considered for retransmission.
    retx_count: Option<u32>,
}

/// The state variables of TS 36.322 §7.1, by their names there.
#[derive(Debug)]
pub(in crate::cell) struct Transmitter {
    /// From VT(A), the first without an acknowledgment, to VT(S), the next new one.
    sent: VecDeque<Sent>,
    vt_a: u64,
    /// The retransmission buffer.
    again: VecDeque<u64>,
    pdu_without_poll: u32,
    byte_without_poll: u64,
    poll_sn: u64,
    /// When t-PollRetransmit expires.
    poll_retransmit: Option<Instant>,
    /// It has expired: the next block polls.
    polls: bool,
    profile: RlcProfile,
}

impl Transmitter {
    pub(in crate::cell) fn new(profile: RlcProfile) -> Self {
        Self {
            sent: VecDeque::new(),
            vt_a: 0,
            again: VecDeque::new(),
            pdu_without_poll: 0,
            byte_without_poll: 0,
            poll_sn: 0,
            poll_retransmit: None,
            polls: false,
            profile,
        }
    }

    /// VT(S).
    fn vt_s(&self) -> u64 {
        self.vt_a + self.sent.len() as u64
    }

    /// §5.1.3.1.1: whether the window has room for a new block.
    pub(in crate::cell) fn has_room(&self) -> bool {
        self.sent.len() < self.profile.window
    }

    /// Whether something is to be sent again.
    pub(in crate::cell) fn repeats(&self) -> bool {
        !self.again.is_empty()
    }

    fn get(&self, sn: u64) -> Option<&Sent> {
        self.sent.get(sn.checked_sub(self.vt_a)? as usize)
    }

    fn get_mut(&mut self, sn: u64) -> Option<&mut Sent> {
        self.sent.get_mut(sn.checked_sub(self.vt_a)? as usize)
    }

    /// A block that the receiver may not have acknowledged yet.
    pub(in crate::cell) fn block(&self, sn: u64) -> Option<&Block> {
        self.get(sn).map(|sent| &sent.block)
    }

    /// A new block: its number, and whether it polls. `more` says whether new packets wait behind it.
    pub(in crate::cell) fn send(&mut self, now: Instant, block: Block, more: bool) -> (u64, bool) {
        let sn = self.vt_s();
        self.pdu_without_poll += 1;
        self.byte_without_poll += block.bytes;
        self.sent.push_back(Sent { block, acknowledged: false, waits: false, retx_count: None });
        // §5.2.2.1: after so many PDUs or bytes.
        let often = self.pdu_without_poll >= self.profile.poll_pdu
            || self.profile.poll_byte.is_some_and(|Bytes(most)| self.byte_without_poll >= most);
        (sn, self.poll(now, often || !more || !self.has_room()))
    }

    /// §5.1.3.1.1: what is to be sent again goes before what is new: its number, and whether it polls.
    pub(in crate::cell) fn repeat(&mut self, now: Instant, more: bool) -> Option<(u64, bool)> {
        let sn = self.again.pop_front()?;
        if let Some(sent) = self.get_mut(sn) {
            sent.waits = false;
        }
        let last = !self.repeats() && (!more || !self.has_room());
        Some((sn, self.poll(now, last)))
    }

    /// §5.2.2: a poll is included where `wanted`, or after t-PollRetransmit.
    fn poll(&mut self, now: Instant, wanted: bool) -> bool {
        if !(wanted || self.polls) {
            return false;
        }
        (self.pdu_without_poll, self.byte_without_poll, self.polls) = (0, 0, false);
        self.poll_sn = self.vt_s().saturating_sub(1);
        self.poll_retransmit = Some(now + self.profile.t_poll_retransmit);
        true
    }

    /// When [`Transmitter::on_timer`] has something to do.
    pub(in crate::cell) fn deadline(&self) -> Instant {
        self.poll_retransmit.unwrap_or(Instant::MAX)
    }

    /// §5.2.2.3: t-PollRetransmit may have expired. `more` says whether new packets wait. The block that was given up over it.
    pub(in crate::cell) fn on_timer(&mut self, now: Instant, more: bool) -> Option<u64> {
        self.poll_retransmit.take_if(|at| *at <= now)?;
        self.polls = true;
        if self.repeats() || (more && self.has_room()) {
            return None;
        }
        // The last one, or any that is not acknowledged.
        let last = self.vt_s().checked_sub(1).filter(|&sn| self.lacks(sn));
        let sn = last.or_else(|| (self.vt_a..self.vt_s()).find(|&sn| self.lacks(sn)))?;
        self.consider(sn)
    }

    fn lacks(&self, sn: u64) -> bool {
        self.get(sn).is_some_and(|sent| !sent.acknowledged)
    }

    /// §5.2.1: a status report has come. The blocks that were given up over it are put into `lost`.
    pub(in crate::cell) fn on_status(&mut self, status: &Status, lost: &mut Vec<u64>) {
        let mut nacks = status.nacks.iter().copied().peekable();
        for sn in self.vt_a..status.ack.min(self.vt_s()) {
            if nacks.next_if_eq(&sn).is_some() {
                lost.extend(self.consider(sn));
            } else {
                self.acknowledge(sn);
            }
        }
        // §5.2.2.2: the poll is answered.
        if self.poll_sn < status.ack {
            self.poll_retransmit = None;
        }
    }

    fn acknowledge(&mut self, sn: u64) {
        let Some(sent) = self.get_mut(sn) else { return };
        sent.acknowledged = true;
        if std::mem::take(&mut sent.waits) {
            self.again.retain(|&waits| waits != sn);
        }
    }

    /// §5.2.1: a block is considered for retransmission: its number where that was once too often.
    fn consider(&mut self, sn: u64) -> Option<u64> {
        let max_retx = self.profile.max_retx;
        let sent = self.get_mut(sn).filter(|sent| !sent.acknowledged && !sent.waits)?;
        let count = sent.retx_count.map_or(0, |count| count + 1);
        sent.retx_count = Some(count);
        if count >= max_retx {
            sent.acknowledged = true;
            return Some(sn);
        }
        sent.waits = true;
        self.again.push_back(sn);
        None
    }

    /// VT(A) moves on: what is acknowledged in a row is forgotten.
    pub(in crate::cell) fn release(&mut self) {
        while self.sent.front().is_some_and(|sent| sent.acknowledged) {
            self.sent.pop_front();
            self.vt_a += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::Profile;

    fn ms(at: u64) -> Instant {
        Instant::from_millis(at)
    }

    fn transmitter() -> Transmitter {
        Transmitter::new(RlcProfile { poll_pdu: 4, max_retx: 2, ..Profile::lte().rlc })
    }

    fn block(bytes: u64) -> Block {
        Block { packets: 0..1, complete: 0, bytes }
    }

    fn status(ack: u64, nacks: &[u64]) -> Status {
        Status { ack, nacks: nacks.to_vec() }
    }

    #[test]
    fn it_polls_when_nothing_follows_and_after_so_many_blocks_or_bytes() {
        let mut rlc = transmitter();
        let mut send = |bytes, more| rlc.send(ms(0), block(bytes), more).1;
        assert_eq!([1, 1, 1, 1, 1].map(|bytes| send(bytes, true)), [false, false, false, true, false]);
        assert!(send(750_000, true));
        assert!(send(1, false));
    }

    #[test]
    fn what_is_reported_missing_is_sent_again_and_the_rest_is_acknowledged() {
        let mut rlc = transmitter();
        for _ in 0..3 {
            rlc.send(ms(0), block(1), true);
        }
        let mut lost = Vec::new();
        rlc.on_status(&status(3, &[1]), &mut lost);
        rlc.release();
        assert_eq!((rlc.vt_a, lost.len()), (1, 0));
        assert_eq!(rlc.repeat(ms(1), true), Some((1, false)));
        assert_eq!(rlc.repeat(ms(1), true), None);
        rlc.on_status(&status(3, &[]), &mut lost);
        rlc.release();
        assert_eq!(rlc.vt_a, 3);
    }

    #[test]
    fn a_poll_without_an_answer_sends_the_last_block_again() {
        let mut rlc = transmitter();
        rlc.send(ms(0), block(1), true);
        assert_eq!(rlc.send(ms(1), block(1), false), (1, true));
        assert_eq!(rlc.deadline(), ms(121));
        assert_eq!(rlc.on_timer(ms(121), false), None);
        assert_eq!(rlc.repeat(ms(121), false), Some((1, true)));
        rlc.on_status(&status(2, &[0]), &mut Vec::new());
        assert_eq!((rlc.deadline(), rlc.repeats()), (Instant::MAX, true));
    }

    #[test]
    fn a_poll_without_an_answer_is_put_into_what_is_sent_anyway() {
        let mut rlc = transmitter();
        rlc.send(ms(0), block(1), false);
        rlc.on_timer(ms(120), true);
        assert!(!rlc.repeats());
        assert!(rlc.send(ms(121), block(1), true).1);
    }

    #[test]
    fn a_block_is_given_up_after_max_retx_retransmissions() {
        let mut rlc = transmitter();
        let mut lost = Vec::new();
        rlc.send(ms(0), block(1), true);
        for _ in 0..2 {
            rlc.on_status(&status(1, &[0]), &mut lost);
            assert_eq!(rlc.repeat(ms(1), true), Some((0, false)));
        }
        assert_eq!(lost, []);
        rlc.on_status(&status(1, &[0]), &mut lost);
        assert_eq!((lost, rlc.repeats()), (vec![0], false));
    }

    #[test]
    fn what_waits_for_its_turn_is_not_counted_again() {
        let mut rlc = transmitter();
        let mut lost = Vec::new();
        rlc.send(ms(0), block(1), true);
        for _ in 0..5 {
            rlc.on_status(&status(1, &[0]), &mut lost);
        }
        assert_eq!((lost.len(), rlc.again.len()), (0, 1));
    }

    #[test]
    fn the_window_is_full_until_the_first_is_acknowledged() {
        let mut rlc = Transmitter::new(RlcProfile { window: 2, ..Profile::lte().rlc });
        rlc.send(ms(0), block(1), true);
        assert!(rlc.has_room());
        assert!(rlc.send(ms(0), block(1), true).1, "a full window polls");
        assert!(!rlc.has_room());
        rlc.on_status(&status(1, &[]), &mut Vec::new());
        rlc.release();
        assert!(rlc.has_room());
    }
}
