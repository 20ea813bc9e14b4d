//! Which sub-flow carries what, and the next segment (§3.3.8; the scheduler is Linux's default: the least round-trip time).

use handfast_core::{Bytes, Duration, Instant};
use handfast_tcp::{CongestionControl, coupling};

use super::{Connection, Mode};
use crate::data::Piece;
use crate::subflow::Subflow;
use crate::{State, Transmit};

/// Octets by which `MP_CAPABLE` with the first data is longer than a DSS option of the narrow form (§3.1).
const LONGER: u64 = 4;

impl Connection {
    /// The next segment to send now, or [`None`]. `budget`: octets of TCP segment that the driver can take.
    pub fn poll_transmit(&mut self, now: Instant, budget: Bytes) -> Option<Transmit> {
        self.schedule(now);
        for _ in 0..self.subflows.len() {
            let at = self.turn % self.subflows.len();
            if let Some(mut tcp) = self.subflows[at].endpoint.poll_transmit(now, budget) {
                self.decorate(now, at, &mut tcp);
                return Some(Transmit { flow: self.subflows[at].flow, tcp });
            }
            self.turn = (at + 1) % self.subflows.len();
        }
        self.forget_dead();
        self.hold_back();
        None
    }

    /// Sub-flows that are gone have had their last word.
    fn forget_dead(&mut self) {
        let is_dead = |subflow: &Subflow| subflow.told_down;
        if matches!(self.mode, Mode::Multipath { .. }) && self.subflows.iter().any(is_dead) {
            let gone: Vec<_> = self.subflows.extract_if(.., |subflow| is_dead(subflow)).collect();
            for subflow in gone {
                add(&mut self.past, subflow.endpoint.counters());
            }
        }
    }

    /// What all of its sub-flows have counted, those that are gone included.
    pub fn tcp_counters(&self) -> handfast_tcp::Counters {
        let mut all = self.past;
        self.subflows.iter().for_each(|subflow| add(&mut all, subflow.endpoint.counters()));
        all
    }

    /// Windows are used where there is more to send than they let go.
    fn hold_back(&mut self) {
        if self.tx.has_more() {
            let best = self.best_rank();
            for subflow in self.subflows.iter_mut().filter(|subflow| Some(rank(subflow)) == best) {
                subflow.endpoint.hold_back();
            }
        }
    }

    pub(super) fn best_rank(&self) -> Option<(bool, bool)> {
        self.subflows.iter().filter(|subflow| subflow.carries()).map(rank).min()
    }

    /// Gives sub-flows what they may send now.
    fn schedule(&mut self, now: Instant) {
        if self.mode == Mode::Opening || self.state == State::Closed {
            return;
        }
        while let Some((at, piece)) = self.pick() {
            if self.give(at, &piece) == 0 {
                break;
            }
        }
        self.start_data_timer(now);
        self.close_plain(now);
    }

    /// The next piece, and who carries it: of those with room the one with the least round-trip time. Backups only where nobody else
    /// serves (§3.3.8), and one that is silent only where all are.
    fn pick(&self) -> Option<(usize, Piece)> {
        let best = self.best_rank()?;
        let serves = |subflow: &Subflow| subflow.carries() && rank(subflow) == best;
        let mut order: Vec<(Duration, usize)> = (0..self.subflows.len())
            .filter(|&at| serves(&self.subflows[at]))
            .map(|at| (self.subflows[at].endpoint.path_window().1, at))
            .collect();
        order.sort_unstable();
        order.into_iter().find_map(|(_, at)| Some((at, self.piece_for(at)?)))
    }

    fn piece_for(&self, at: usize) -> Option<Piece> {
        let subflow = &self.subflows[at];
        let vacancy = subflow.endpoint.vacancy();
        if vacancy == 0 {
            return None;
        }
        let is_first = subflow.id.0 == 0 && subflow.written == 0;
        let room = subflow.endpoint.smss() - if is_first { LONGER } else { 0 };
        self.tx.next_for(subflow.id, room, vacancy)
    }

    pub(super) fn give(&mut self, at: usize, piece: &Piece) -> u64 {
        let subflow = &mut self.subflows[at];
        let taken = subflow.endpoint.write(piece.payload.clone()) as u64;
        if taken > 0 {
            subflow.sent.push(subflow.written, piece.start, taken);
            subflow.written += taken;
            self.tx.taken(piece, taken);
            if piece.again {
                self.counters.reinjected_bytes += taken;
            }
        }
        taken
    }

    /// RFC 6356: every path learns how the others are.
    pub(super) fn couple(&mut self) {
        if self.config.tcp.congestion_control != CongestionControl::Lia {
            return;
        }
        let carriers = self.subflows.iter().filter(|subflow| subflow.carries());
        let octets = coupling(carriers.map(|subflow| subflow.endpoint.path_window()));
        for subflow in &mut self.subflows {
            subflow.endpoint.couple(octets);
        }
    }
}

/// The lower, the sooner it serves.
pub(super) fn rank(subflow: &Subflow) -> (bool, bool) {
    (subflow.silent, subflow.is_backup())
}

fn add(to: &mut handfast_tcp::Counters, more: &handfast_tcp::Counters) {
    to.segments_sent += more.segments_sent;
    to.data_segments_sent += more.data_segments_sent;
    to.retransmitted_segments += more.retransmitted_segments;
    to.segments_received += more.segments_received;
    to.data_segments_received += more.data_segments_received;
    to.retransmitted_bytes += more.retransmitted_bytes;
    to.timeouts += more.timeouts;
    to.fast_retransmits += more.fast_retransmits;
    to.spurious_timeouts += more.spurious_timeouts;
    to.duplicate_segments_received += more.duplicate_segments_received;
}
