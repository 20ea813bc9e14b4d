//! Which packets of a connection are timed, and when they passed (Documentation/networking/timestamping.rst of Linux).

use std::collections::{BTreeMap, VecDeque};

use handfast_core::Instant;

use super::MOST;

/// `SOF_TIMESTAMPING_`
const TX_SOFTWARE: u32 = 1 << 1;
pub(super) const RX_SOFTWARE: u32 = 1 << 3;
pub(super) const SOFTWARE: u32 = 1 << 4;
pub(super) const OPT_ID: u32 = 1 << 7;
const TX_SCHED: u32 = 1 << 8;
const TX_ACK: u32 = 1 << 9;
pub(super) const OPT_TSONLY: u32 = 1 << 11;
pub(super) const OPT_ID_TCP: u32 = 1 << 16;
/// `SOF_TIMESTAMPING_TX_RECORD_MASK` without hardware.
const RECORDS: u32 = TX_SOFTWARE | TX_SCHED | TX_ACK;

/// What has happened to an octet: `SCM_TSTAMP_SND`, `_SCHED`, `_ACK`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
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
    pub(super) flags: u32,
    /// `sk_tskey`, as a position of the send stream.
    pub(super) base: u64,
    marks: VecDeque<Mark>,
    /// `sk_error_queue`
    pub(super) queue: VecDeque<(Instant, What, u32)>,
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
        // `u32` as in the kernel: octets written before the numbering began count down from its end.
        let key = if self.flags & OPT_ID != 0 { key.wrapping_sub(self.base) as u32 } else { 0 };
        if self.queue.len() < MOST {
            self.queue.push_back((now, what, key));
        }
    }

    /// What ends at a position of the peer's stream has come.
    pub(super) fn note_arrival(&mut self, now: Instant, end: u64) {
        if self.came.len() < MOST {
            self.came.entry(end).or_insert(now);
        }
    }

    /// What ends at `position`, or goes beyond it, came then; what came before it is forgotten.
    pub(super) fn came_at(&mut self, position: u64) -> Option<Instant> {
        self.came = self.came.split_off(&position);
        self.came.first_key_value().map(|(_, &at)| at)
    }
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
    fn what_was_written_before_the_numbers_began_counts_down_to_them() {
        let mut stamps = stamps(TX_ACK);
        stamps.written(1, 101);
        stamps.flags |= OPT_ID;
        stamps.acknowledged(NOW, 101);
        assert_eq!(reports(&stamps), [(What::Acknowledged, u32::MAX)]);
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
