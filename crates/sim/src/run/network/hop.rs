//! Hops: what comes out of a link crosses a node and enters the next link, or ends.
//!
//! A packet crosses a node within the event of its arrival, so a hop costs one event, and one between links in tandem none
//! (`flight.rs`).

use handfast_core::Instant;
use handfast_net::{Cause, Exit, Port};
use handfast_plan::topology::{ChannelId, reverse};
use handfast_scenario::NodeId;

use crate::agents::chain::{Course, Leave};
use crate::engine::entry::Entry;
use crate::engine::fast_path::transit::Transit;
use crate::engine::ids::Handle;
use crate::net::packets::Passing;
use crate::run::network::{Network, assert_later};

impl Network {
    #[inline]
    pub(crate) fn wake_link(&mut self, now: Instant, id: ChannelId, entry: Entry) {
        self.queue.pop_link(&mut self.links[id].timer, entry);
        let (next, flight) = self.queue.next();
        self.prefetch_next(next, flight);
        self.empty_channel(now, id);
        let channel = &mut self.links[id];
        let next = channel.link.next();
        assert_later(now, next, "a link");
        // What came out may have led to something new on this very link.
        self.queue.arm_link(&mut channel.timer, next);
        if !self.fits_cache
            && let Some(&passing) = channel.link.front()
        {
            self.packets.prefetch(passing.handle);
            self.prefetch_hop(id, passing);
        }
    }

    /// Takes from a channel what has come out, and enters its deadline anew: after something was done to the link.
    pub(crate) fn wake_channel(&mut self, now: Instant, id: ChannelId) {
        self.empty_channel(now, id);
        let channel = &mut self.links[id];
        assert_later(now, channel.link.next(), "a link");
        self.queue.settle(&mut channel.timer, channel.link.deadline());
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a hop is so short that calls would be a fifth of it")]
    fn empty_channel(&mut self, now: Instant, id: ChannelId) {
        loop {
            let link = &mut self.links[id].link;
            if link.next() > now {
                return;
            }
            if let Some(passing) = link.poll_plain(now) {
                self.arrive(now, id, passing);
            } else if let Some(passing) = self.poll_unusual(now, id) {
                self.arrive_unusually(now, id, passing);
            }
        }
    }

    /// What has come out of a link with impairments, a queue discipline or after an outage; [`None`]: nothing that arrives.
    #[inline(never)]
    fn poll_unusual(&mut self, now: Instant, id: ChannelId) -> Option<Passing> {
        let (passing, corrupted) = match self.links[id].link.poll(now)? {
            Exit::Delivered { handle, corrupted } => (handle, corrupted),
            Exit::Duplicated { handle, corrupted } => (self.packets.duplicate(handle.handle), corrupted),
            Exit::Marked { handle } => {
                self.mark(handle.handle);
                return None;
            }
            Exit::Lost { handle, cause } => {
                self.fail(now, id, handle.handle, cause);
                return None;
            }
        };
        if corrupted {
            self.packets.corrupt(passing.handle);
        }
        Some(passing)
    }

    /// A packet ends at a link.
    #[cold]
    pub(crate) fn fail(&mut self, now: Instant, id: ChannelId, handle: Handle, cause: Cause) {
        match cause {
            Cause::Outage => self.unheard(now, id),
            Cause::QueueFull => self.dropped(now, id, handle, cause),
            Cause::Aqm => {
                self.count_managed(handle, |counts| &mut counts.dropped);
                self.dropped(now, id, handle, cause);
            }
            // On the line: no node knows.
            Cause::Loss => {}
        }
        self.lose(handle);
    }

    /// A packet has passed a channel.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a hop is so short that calls would be a fifth of it")]
    fn arrive(&mut self, now: Instant, id: ChannelId, mut passing: Passing) {
        self.books.count_hop(passing.size());
        let node = self.links[id].to as usize;
        if self.inspection.looks_closer() {
            passing = self.look_closer(now, node, passing);
        }
        if self.inspection.records() {
            self.record_arrival(now, node, id, passing.handle);
        }
        self.show(now, node, id, passing);
    }

    /// A packet has come to a node by a channel: its agents see it, or it goes on.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a hop is so short that calls would be a fifth of it")]
    pub(crate) fn show(&mut self, now: Instant, node: NodeId, id: ChannelId, passing: Passing) {
        let rest = self.chains.at(node);
        if rest.is_empty() {
            return self.route(now, node, id, passing);
        }
        let port = Port(self.topology.arrival_port(id));
        self.consult(now, Course { node, rest, port, leave: Leave::Routed }, passing);
    }

    // A copy of it, so that the usual path stays short.
    #[inline(never)]
    fn arrive_unusually(&mut self, now: Instant, id: ChannelId, passing: Passing) {
        self.arrive(now, id, passing);
    }

    #[cold]
    fn record_arrival(&mut self, now: Instant, node: NodeId, id: ChannelId, handle: Handle) {
        let packet = self.packet(handle);
        self.inspection.taps().record(now, node, self.topology.arrival_port(id), &packet);
    }

    #[cold]
    fn record_departure(&mut self, now: Instant, id: ChannelId, handle: Handle) {
        let (node, port) = self.topology.departure(id);
        let packet = self.packet(handle);
        self.inspection.taps().record(now, node, port, &packet);
    }

    #[cold]
    fn look_closer(&mut self, now: Instant, node: NodeId, passing: Passing) -> Passing {
        let passing = if self.inspection.verifies_wire() { self.rewire(passing) } else { passing };
        self.show_router(now, node, passing)
    }

    fn rewire(&mut self, passing: Passing) -> Passing {
        match self.packet(passing.handle).through_wire() {
            Ok(packet) => self.packets.replace(passing.handle, packet),
            Err(error) => {
                self.failed = Some(error.into());
                passing
            }
        }
    }

    /// Sends a packet on, or delivers it.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a hop is so short that calls would be a fifth of it")]
    pub(crate) fn route(&mut self, now: Instant, node: NodeId, from: ChannelId, passing: Passing) {
        if passing.goal.node as usize == node {
            return self.deliver(now, node, passing.handle);
        }
        match self.topology.pass_on(node, passing.goal) {
            // A bridge sends nothing back to where it came from (IEEE 802.1Q §8.6.1): a station has roamed meanwhile.
            Some(channel) if channel as usize != reverse(from) => {
                self.transmit(now, channel as usize, passing);
            }
            _ => self.stray(now, node, passing),
        }
    }

    /// A packet has come to a node that has no path for it. Where its station has been before a make-before-break handover, the link to it
    /// is still there.
    #[cold]
    pub(crate) fn stray(&mut self, now: Instant, node: NodeId, passing: Passing) {
        let mut last = self.topology.ports(node).iter().filter(|port| port.neighbour == passing.goal.node);
        match last.find(|port| !self.links[port.out as usize].link.is_gone()).map(|port| port.out) {
            Some(channel) => self.transmit(now, channel as usize, passing),
            None => self.end(now, node, passing),
        }
    }

    /// Hands a packet to a link.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a hop is so short that calls would be a fifth of it")]
    pub(crate) fn transmit(&mut self, now: Instant, id: ChannelId, passing: Passing) {
        if self.links.transit(id).is_some_and(Transit::is_foreseen) {
            return self.fly(now, id, passing);
        }
        if self.inspection.records() {
            self.record_departure(now, id, passing.handle);
        }
        if self.links[id].on_air.is_somewhere() {
            return self.contend(now, id, passing);
        }
        self.propagate(now, id, passing);
    }

    /// Hands a packet to a link whose medium, if it has one, has let it through.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a hop is so short that calls would be a fifth of it")]
    pub(crate) fn propagate(&mut self, now: Instant, id: ChannelId, passing: Passing) {
        let channel = &mut self.links[id];
        let was_idle = channel.link.next() == Instant::MAX;
        let class = || self.packets.class(passing.handle);
        let accepted =
            channel.link.enqueue_classed(now, passing, passing.size(), passing.has_payload(), class);
        if let Err(cause) = accepted {
            return self.fail(now, id, passing.handle, cause);
        }
        self.queue.arm_link(&mut channel.timer, channel.link.next());
        if was_idle && !self.fits_cache {
            self.prefetch_hop(id, passing);
        }
    }
}
