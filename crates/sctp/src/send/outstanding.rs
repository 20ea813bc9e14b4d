//! Chunks that have left and are not cumulatively acknowledged (§6.1, §6.3). What SACKs do to them is in `acknowledge.rs`.

use std::collections::VecDeque;

use handfast_core::{Instant, SeqNum};
use handfast_wire::sctp::Data;

use crate::MAX_PATHS;
use crate::tsn::{self, Tsn};

/// A value for each path.
pub(crate) type PerPath<T> = [T; MAX_PATHS];

/// A chunk that has left.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) data: Data,
    /// The path by which it left last.
    pub(crate) path: usize,
    pub(crate) fate: Fate,
    pub(super) misses: u8,
    /// It was sent again for misses once: only T3-rtx sends it another time (§7.2.4).
    pub(super) fast: bool,
}

/// What has become of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    InFlight,
    /// A gap block names it.
    Acknowledged,
    /// It is marked for retransmission.
    Lost(Loss),
}

/// Why a chunk is to be sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loss {
    Timeout,
    Misses,
    /// It is to take another path, without a sign of loss.
    Rerouted,
}

/// All that is outstanding, by TSN in a row.
#[derive(Clone, Debug)]
pub(crate) struct Outstanding {
    pub(super) chunks: VecDeque<Sent>,
    /// The TSN of the first; the next to use where there is none.
    pub(super) first: Tsn,
    /// Bytes of chunks in flight.
    pub(super) flight: PerPath<u64>,
    /// User data in flight, on all paths; and of all chunks here.
    pub(super) payload_in_flight: u64,
    pub(super) payload: u64,
    pub(super) lost: usize,
    pub(super) by_gap: usize,
    /// The chunk whose round trip is measured, and when it left (§6.3.1 C4: one at a time).
    pub(super) timed: PerPath<Option<(Tsn, Instant)>>,
}

impl Outstanding {
    pub(crate) fn new(first: SeqNum) -> Self {
        Self {
            chunks: VecDeque::new(),
            first: tsn::first(first),
            flight: PerPath::default(),
            payload_in_flight: 0,
            payload: 0,
            lost: 0,
            by_gap: 0,
            timed: PerPath::default(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.chunks.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// The first that is not cumulatively acknowledged; [`Outstanding::next`] where all are.
    pub(crate) const fn first(&self) -> Tsn {
        self.first
    }

    /// The chunk of that TSN.
    pub(crate) fn earliest(&self) -> Option<&Sent> {
        self.chunks.front()
    }

    pub(crate) const fn flight(&self, path: usize) -> u64 {
        self.flight[path]
    }

    pub(crate) const fn payload_in_flight(&self) -> u64 {
        self.payload_in_flight
    }

    /// User data that the sender keeps.
    pub(crate) const fn payload(&self) -> u64 {
        self.payload
    }

    pub(crate) const fn has_lost(&self) -> bool {
        self.lost > 0
    }

    /// The TSN behind the last one used.
    pub(crate) fn next(&self) -> Tsn {
        self.first + self.chunks.len() as Tsn
    }

    /// A new chunk leaves; its TSN is [`Outstanding::next`].
    pub(crate) fn push(&mut self, now: Instant, data: Data, path: usize) {
        let tsn = self.next();
        self.payload += data.payload.len() as u64;
        self.timed[path].get_or_insert((tsn, now));
        let fate = Fate::InFlight;
        self.chunks.push_back(Sent { data, path, fate, misses: 0, fast: false });
        self.count(path, self.sizes(self.chunks.len() - 1), true);
    }

    /// The chunks that are marked for retransmission, with their indices, the earliest first.
    pub(crate) fn lost(&self) -> impl Iterator<Item = (usize, &Sent, Loss)> {
        let of = |(index, sent)| match sent {
            &Sent { fate: Fate::Lost(loss), .. } => Some((index, sent, loss)),
            _ => None,
        };
        let all = if self.has_lost() { self.chunks.len() } else { 0 };
        self.chunks.iter().take(all).enumerate().filter_map(of)
    }

    /// A chunk that is marked leaves again: the chunk, and whether it is the earliest outstanding of its path.
    pub(crate) fn resend(&mut self, index: usize, path: usize) -> (Data, bool) {
        let sent = &mut self.chunks[index];
        (sent.path, sent.fate) = (path, Fate::InFlight);
        sent.misses = 0;
        let data = sent.data.clone();
        self.lost -= 1;
        self.count(path, self.sizes(index), true);
        let in_flight = |sent: &Sent| sent.path == path && sent.fate == Fate::InFlight;
        let earliest = self.chunks.iter().take(index).all(|sent| !in_flight(sent));
        (data, earliest)
    }

    /// Marks what is in flight on `path` for retransmission: how many chunks.
    pub(crate) fn mark(&mut self, path: usize, loss: Loss) -> usize {
        let before = self.lost;
        for index in 0..self.chunks.len() {
            let sent = &self.chunks[index];
            if sent.path == path && sent.fate == Fate::InFlight {
                self.lose(index, loss);
            }
        }
        self.lost - before
    }

    pub(super) fn lose(&mut self, index: usize, loss: Loss) {
        let tsn = self.first + index as Tsn;
        let sent = &mut self.chunks[index];
        sent.fate = Fate::Lost(loss);
        sent.misses = 0;
        sent.fast |= loss == Loss::Misses;
        let path = sent.path;
        self.lost += 1;
        self.count(path, self.sizes(index), false);
        // §6.3.1 C5, Karn's rule.
        self.timed[path].take_if(|(timed, _)| *timed == tsn);
    }

    /// The round trip that is measured on `path` is none.
    pub(crate) fn stop_timing(&mut self, path: usize) {
        self.timed[path] = None;
    }

    /// Bytes of the chunk at `index`, and of its user data.
    pub(super) fn sizes(&self, index: usize) -> (u64, u64) {
        let data = &self.chunks[index].data;
        (data.chunk_len() as u64, data.payload.len() as u64)
    }

    pub(super) fn count(&mut self, path: usize, (chunk, payload): (u64, u64), more: bool) {
        if more {
            self.flight[path] += chunk;
            self.payload_in_flight += payload;
        } else {
            self.flight[path] -= chunk;
            self.payload_in_flight -= payload;
        }
    }
}
