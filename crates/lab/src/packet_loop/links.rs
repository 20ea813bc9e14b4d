//! All directions of all links, in the lab's time: frames go in and come out. No sockets here.
//!
//! The machines are driven at nominal times, as in the simulator: a frame enters at the moment the kernel got it, however
//! late it is read, and what comes out carries the moment at which it should have. Only the sending is late.

use std::collections::VecDeque;

use handfast_core::{Bytes, Duration, Instant};
use handfast_net::{Counters, Direction, DownMode, Exit, Link, Occupancy};
use handfast_plan::change::Change;
use handfast_plan::radios::Radios;
use handfast_plan::timeline::Timeline;
use handfast_plan::topology::{ChannelId, channel};
use handfast_scenario::{LinkId, Scenario};
use handfast_wire::Glance;

use super::books::Books;
use super::class;
use super::frames::{Frames, Handle};
use crate::names::wire_of;

/// A frame that has crossed a link and is to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Departure {
    /// When it should leave.
    pub(super) due: Instant,
    pub(super) channel: ChannelId,
    pub(super) handle: Handle,
}

/// One direction of a link.
struct LinkDirection {
    link: Link<Handle>,
    /// Frames without an IP packet (ARP, LLDP) bypass the link. They have its propagation delay, but are neither queued nor
    /// counted nor impaired, so that they change no result.
    beside: VecDeque<(Instant, Handle)>,
    delay: Duration,
    /// The number of outages of mode [`DownMode::Drop`] that last. A radio link without a station counts as one.
    down: u32,
    /// The latest time that the link was given: it must not go back.
    driven: Instant,
}

impl LinkDirection {
    fn due(&self) -> Instant {
        let beside = self.beside.front().map_or(Instant::MAX, |&(due, _)| due);
        self.link.deadline().unwrap_or(Instant::MAX).min(beside)
    }
}

pub(super) struct Links {
    pub(super) frames: Frames,
    all: Vec<LinkDirection>,
    /// For each channel when a frame leaves it next.
    due: Vec<Instant>,
    timeline: Timeline,
    /// For each channel the one that takes its frames. A station has one interface for all of its radio links: all its frames
    /// arrive at the first of their channels, and the channel of its present association, or of its last one, takes them.
    enters: Vec<ChannelId>,
    /// For each radio link the first channel of its station's radio, and the channel that leads from the station.
    from_station: Vec<Option<(ChannelId, ChannelId)>>,
    /// The first change that has not happened yet.
    next_change: usize,
    pub(super) departures: Vec<Departure>,
    pub(super) books: Books,
}

impl Links {
    pub(super) fn new(scenario: &Scenario, timeline: Timeline, seed: u64) -> Self {
        let directions = scenario.links.iter().flat_map(|link| [&link.forward, &link.backward]);
        let direction = |(link, direction): (_, &Direction)| LinkDirection {
            link,
            beside: VecDeque::new(),
            delay: direction.delay,
            down: 0,
            driven: Instant::ZERO,
        };
        let mut all: Vec<_> = handfast_plan::links(scenario, seed).zip(directions).map(direction).collect();
        for idle in Radios::new(scenario).idle() {
            for end in [0, 1] {
                all[channel(idle, end)].down = 1;
            }
        }
        let due = vec![Instant::MAX; all.len()];
        let mut enters: Vec<_> = (0..all.len()).collect();
        let from_station = |link: LinkId| {
            let (station, _) = scenario.radio(link)?;
            let out = channel(link, usize::from(scenario.links[link].between[1] == station));
            Some((wire_of(scenario, out), out))
        };
        let from_station: Vec<_> = (0..scenario.links.len()).map(from_station).collect();
        for &(first, out) in from_station.iter().flatten() {
            if all[out].down == 0 {
                enters[first] = out;
            }
        }
        let (frames, books) = (Frames::default(), Books::default());
        Self {
            frames,
            all,
            due,
            timeline,
            enters,
            from_station,
            next_change: 0,
            departures: Vec::new(),
            books,
        }
    }

    /// When [`Links::advance`] has something to do next.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let change = self.timeline.due(self.next_change).unwrap_or(Instant::MAX);
        let next = self.due.iter().copied().fold(change, Instant::min);
        (next < Instant::MAX).then_some(next)
    }

    /// A frame has come to the near end of a channel at `at`, or at the link's latest time if that is later.
    pub(super) fn arrive(&mut self, at: Instant, channel: ChannelId, bytes: &[u8]) {
        if self.change_due().is_some_and(|due| due <= at) {
            self.advance(at);
        }
        let channel = self.enters[channel];
        self.drain(channel, at);
        let glance = Glance::at(bytes);
        let Some(handle) = self.frames.insert(bytes, glance.map_or(0, |glance| glance.end)) else {
            self.books.faults.no_room += 1;
            return;
        };
        let direction = &mut self.all[channel];
        direction.driven = direction.driven.max(at);
        match glance {
            Some(glance) => self.enter(channel, handle, glance),
            None => self.pass_beside(channel, handle),
        }
        self.due[channel] = self.all[channel].due();
    }

    fn enter(&mut self, channel: ChannelId, handle: Handle, glance: Glance) {
        let direction = &mut self.all[channel];
        let size = Bytes(glance.ip_len as u64);
        let class = || class::of(&self.frames.get(handle).bytes);
        let accepted =
            direction.link.enqueue_classed(direction.driven, handle, size, glance.has_tcp_payload, class);
        if accepted.is_err() {
            self.lose(handle);
        }
    }

    fn pass_beside(&mut self, channel: ChannelId, handle: Handle) {
        let direction = &mut self.all[channel];
        if direction.down > 0 {
            return self.frames.free(handle);
        }
        // After a delay was shortened, not before the one in front.
        let earliest = direction.beside.back().map_or(Instant::ZERO, |&(due, _)| due);
        direction.beside.push_back(((direction.driven + direction.delay).max(earliest), handle));
    }

    /// Does all that is due by `to`, in order of time; what comes out is in `departures`.
    pub(super) fn advance(&mut self, to: Instant) {
        while let Some(due) = self.change_due().filter(|&due| due <= to) {
            self.drain_all(due);
            self.change(due);
            self.next_change += 1;
        }
        self.drain_all(to);
    }

    fn change_due(&self) -> Option<Instant> {
        self.timeline.due(self.next_change)
    }

    fn drain_all(&mut self, to: Instant) {
        for channel in 0..self.all.len() {
            if self.due[channel] <= to {
                self.drain(channel, to);
            }
        }
    }

    /// Takes out of a channel all that is due by `to`, each at its moment.
    fn drain(&mut self, channel: ChannelId, to: Instant) {
        while self.due[channel] <= to {
            // A link that was just cut has lost frames due at once, and so in its past.
            let at = self.due[channel].max(self.all[channel].driven);
            self.all[channel].driven = at;
            while let Some(exit) = self.all[channel].link.poll(at) {
                self.exit(at, channel, exit);
            }
            while let Some(&(due, handle)) = self.all[channel].beside.front().filter(|&&(due, _)| due <= at) {
                self.all[channel].beside.pop_front();
                self.departures.push(Departure { due, channel, handle });
            }
            self.due[channel] = self.all[channel].due();
        }
    }

    fn exit(&mut self, due: Instant, channel: ChannelId, exit: Exit<Handle>) {
        let (handle, corrupted) = match exit {
            Exit::Lost { handle, .. } => return self.lose(handle),
            Exit::Marked { handle } => return class::mark(&mut self.frames.get_mut(handle).bytes),
            Exit::Delivered { handle, corrupted } => (handle, corrupted),
            Exit::Duplicated { handle, corrupted } => match self.frames.duplicate(handle) {
                Some(copy) => (copy, corrupted),
                None => return self.books.faults.no_room += 1,
            },
        };
        if corrupted {
            self.corrupt(channel, handle);
        }
        self.departures.push(Departure { due, channel, handle });
    }

    /// Makes the checksum wrong, and nothing that a switch looks at.
    fn corrupt(&mut self, channel: ChannelId, handle: Handle) {
        // A host that verifies checksums will not take it: it is as good as lost.
        self.books.note_lost(&self.frames.get(handle).bytes);
        let frame = self.frames.get_mut(handle);
        // The last six bytes are payload, options, or the window, checksum and urgent pointer: whatever stands there, it is
        // still a segment. Each link inverts a bit of its own, so that two links do not cancel out.
        let (byte, bit) = (1 + channel / 8 % 6, channel % 8);
        if let Some(byte) = frame.ip_end.checked_sub(byte).and_then(|at| frame.bytes.get_mut(at)) {
            *byte ^= 1 << bit;
        }
    }

    fn lose(&mut self, handle: Handle) {
        self.books.note_lost(&self.frames.get(handle).bytes);
        self.frames.free(handle);
    }

    fn change(&mut self, at: Instant) {
        match self.timeline.change(self.next_change) {
            Change::LinkDown(link, mode) => self.each_way(at, link, |direction| {
                direction.link.down(at, mode);
                direction.down += u32::from(mode == DownMode::Drop);
            }),
            Change::LinkUp(link, mode) => self.each_way(at, link, |direction| {
                direction.link.up(at, mode);
                direction.down -= u32::from(mode == DownMode::Drop);
            }),
            Change::AssociationBegins { new_link, .. } => {
                if let Some((first, out)) = self.from_station[new_link] {
                    self.enters[first] = out;
                }
            }
            Change::Rate(channel, rate) => {
                self.touch(at, channel, |direction| direction.link.set_rate(at, rate));
            }
            Change::Delay(channel, delay) => self.touch(at, channel, |direction| {
                direction.link.set_delay(at, delay);
                direction.delay = delay;
            }),
            // No link of the lab is on the air, none drains, no node begins anew and none gets another address: the lab refuses
            // that. The others are carried out
            // by the trackers of outages and by the announcer.
            Change::Signal(..)
            | Change::LinkDrains(_)
            | Change::RateWindowBegins(_)
            | Change::OutageBegins(_)
            | Change::OutageEnds(_)
            | Change::AssociationEnds { .. }
            | Change::AddressEnds(_)
            | Change::AddressBegins(_)
            | Change::Restart(_) => {}
        }
    }

    fn each_way(&mut self, at: Instant, link: LinkId, change: impl Fn(&mut LinkDirection)) {
        for end in [0, 1] {
            self.touch(at, channel(link, end), &change);
        }
    }

    fn touch(&mut self, at: Instant, channel: ChannelId, change: impl FnOnce(&mut LinkDirection)) {
        let direction = &mut self.all[channel];
        direction.driven = at;
        change(direction);
        self.due[channel] = direction.due();
    }

    /// What a channel's queue holds at `at`, and what became of its packets so far.
    pub(super) fn look(&mut self, channel: ChannelId, at: Instant) -> (Occupancy, Counters) {
        let direction = &mut self.all[channel];
        direction.driven = direction.driven.max(at);
        (direction.link.queue(direction.driven), direction.link.counters())
    }

    /// How many channels there are.
    pub(super) fn channels(&self) -> usize {
        self.all.len()
    }
}

#[cfg(test)]
mod tests;
