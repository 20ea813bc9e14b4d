//! The retransmission function of a node: a [`Retransmission`] for each stream whose data comes by, and one timer for all.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use handfast_core::{Duration, Instant, SeqNum};
use handfast_wire::sdtp::{Data, Information, Outcome, Stream};

use super::following::Following;
use super::repairs::Repairs;
use super::requests::RepeatOf;
use super::retransmission::{Arrival, Output, Retransmission};
use super::thresholds::Thresholds;
use crate::recent::{Place, Recent};

#[derive(Debug)]
struct Watched {
    retransmission: Retransmission,
    /// The time of its entry among the timers, which is not after its deadline.
    entered: Option<Instant>,
}

/// The retransmission machines of a node.
#[derive(Debug)]
pub(super) struct Detection {
    watched: Recent<Watched, Stream>,
    timers: BTreeSet<(Instant, Stream)>,
    /// By the edges of streams, the sending one first: no more than a node has functions for.
    repairs: BTreeMap<(IpAddr, IpAddr), Repairs>,
    thresholds: Thresholds,
    following: Following,
}

/// A packet's place in its stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    pub(super) seq: SeqNum,
    /// More than 0.
    pub(super) len: u32,
    /// As [`Data::since_start`].
    pub(super) since_start: u16,
}

impl Extent {
    /// [`None`]: it takes no sequence numbers, so nobody would miss it.
    pub(super) fn of(seq: SeqNum, data: &Data) -> Option<Self> {
        let len = data.seq_len();
        (len > 0).then_some(Self { seq, len, since_start: data.since_start })
    }

    /// The first number of the connection; the packet's own, if it began too long ago.
    pub(super) fn start(self) -> SeqNum {
        let since = if self.since_start == u16::MAX { 0 } else { u32::from(self.since_start) };
        SeqNum(self.seq.0.wrapping_sub(since))
    }
}

impl Detection {
    /// Watches `most` streams at most.
    pub(super) fn new(thresholds: Thresholds, most: usize) -> Self {
        Self {
            watched: Recent::new(most),
            timers: BTreeSet::new(),
            repairs: BTreeMap::new(),
            thresholds,
            following: Following::default(),
        }
    }

    /// What became of the losses of streams between two edges, the sending one first.
    pub(super) fn repairs(&self) -> impl Iterator<Item = ((IpAddr, IpAddr), Repairs)> + '_ {
        self.repairs.iter().map(|(&edges, &repairs)| (edges, repairs))
    }

    /// Another node was here until now.
    pub(super) fn follow(&mut self, now: Instant) {
        self.following.begin(now);
    }

    /// It watches none any more, until data comes.
    pub(super) fn clear(&mut self) {
        self.watched.clear();
        self.timers.clear();
    }

    /// Streams that it watches.
    pub(super) fn len(&self) -> usize {
        self.watched.len()
    }

    /// Data has come. `round_trip`: that of the stream's segment.
    pub(super) fn on_data(
        &mut self,
        now: Instant,
        stream: &Stream,
        extent: Extent,
        repeat: Option<&RepeatOf>,
        round_trip: Duration,
        out: &mut Vec<Output>,
    ) -> Arrival {
        let place = self.watched.find(stream).unwrap_or_else(|| {
            let start = self.following.start(now, extent.seq, extent.start());
            self.begin(now, stream, start, round_trip)
        });
        let watched = self.watched.touch(now, place);
        let arrival = watched.retransmission.on_data(now, extent.seq, extent.len, repeat, out);
        self.rearm(now, *stream, place);
        arrival
    }

    fn begin(&mut self, now: Instant, stream: &Stream, start: SeqNum, round_trip: Duration) -> Place {
        if let Some(silent) = self.watched.in_the_way() {
            self.forget(&silent);
        }
        let thresholds = Thresholds { segment_round_trip: round_trip, ..self.thresholds };
        let retransmission = Retransmission::new(start, &thresholds);
        self.watched.insert(now, *stream, Watched { retransmission, entered: None })
    }

    fn forget(&mut self, stream: &Stream) {
        if let Some(Watched { entered: Some(entered), .. }) = self.watched.remove(stream) {
            self.timers.remove(&(entered, *stream));
        }
    }

    /// An RI has come from upstream. The first packets of a stream may be what will not come.
    pub(super) fn on_information(
        &mut self,
        now: Instant,
        stream: &Stream,
        information: &Information,
        round_trip: Duration,
    ) {
        let found = self.watched.find(stream);
        let is_first = information.outcome == Outcome::Never && information.expected.end.is_some();
        let begun = || is_first.then(|| self.begin(now, stream, information.expected.start, round_trip));
        let Some(place) = found.or_else(begun) else { return };
        self.watched.get_mut(place).retransmission.on_information(information);
        self.rearm(now, *stream, place);
    }

    /// What is due at this time, of which stream.
    pub(super) fn on_timer(&mut self, now: Instant, out: &mut Vec<(Stream, Output)>) {
        let mut outputs = Vec::new();
        while let Some(&(entered, stream)) = self.timers.first()
            && entered <= now
        {
            self.timers.pop_first();
            let Some(place) = self.watched.find(&stream) else { continue };
            let watched = self.watched.get_mut(place);
            watched.entered = None;
            if watched.retransmission.deadline().is_some_and(|due| due <= now) {
                watched.retransmission.on_timer(now, &mut outputs);
            }
            out.extend(outputs.drain(..).map(|output| (stream, output)));
            self.rearm(now, stream, place);
        }
    }

    /// Takes up what became of losses, and enters a deadline anew. One that moves later leaves its entry where it is until that
    /// comes up: nearly every packet moves the interarrival timeout.
    fn rearm(&mut self, now: Instant, stream: Stream, place: Place) {
        let watched = self.watched.get_mut(place);
        let repairs = watched.retransmission.take_repairs();
        if repairs != Repairs::default() {
            *self.repairs.entry((stream.from, stream.to)).or_default() += repairs;
        }
        // A sample of the round trip may show that a request is overdue.
        let due = watched.retransmission.deadline().map(|due| due.max(now));
        match (watched.entered, due) {
            (None, None) => return,
            (Some(entered), Some(due)) if entered <= due => return,
            _ => {}
        }
        if let Some(old) = std::mem::replace(&mut watched.entered, due) {
            self.timers.remove(&(old, stream));
        }
        self.timers.extend(due.map(|due| (due, stream)));
    }

    /// Not after the first deadline of a stream.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.timers.first().map(|&(entered, _)| entered)
    }
}
