//! The air in the simulator: what goes by a link on the air waits for its access point's medium first.

use handfast_core::{Dbm, Instant};
use handfast_net::queue::{Class, PacketMeta};
use handfast_net::{Cause, Occupancy};
use handfast_plan::Shared;
use handfast_plan::topology::{ChannelId, channel};
use handfast_radio::airtime::{Event, LaneId, Medium, Served};
use handfast_scenario::{LinkId, Scenario};

use crate::engine::queue::Timer;
use crate::net::network::{Network, assert_later};
use crate::net::packets::Passing;

/// The medium of one access point.
pub(crate) struct Air {
    medium: Medium<Passing>,
    /// For each lane the channel that goes on where it ends.
    channels: Vec<ChannelId>,
    pub(crate) timer: Timer,
}

impl Air {
    pub(crate) fn new(shared: Shared<Passing>, timer: Timer) -> Self {
        Self { medium: shared.medium, channels: shared.channels, timer }
    }

    /// Its lanes' channels.
    pub(crate) fn channels(&self) -> &[ChannelId] {
        &self.channels
    }
}

/// Where a channel's packets wait: which medium, which lane. [`OnAir::NOWHERE`] of a wire.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OnAir {
    pub(crate) medium: u16,
    pub(crate) lane: u16,
}

impl OnAir {
    /// There are fewer media.
    pub(crate) const MOST: u16 = u16::MAX;
    /// That of a wire.
    pub(crate) const NOWHERE: Self = Self { medium: Self::MOST, lane: u16::MAX };

    #[inline]
    pub(crate) fn is_somewhere(self) -> bool {
        self.medium < Self::MOST
    }
}

impl Network {
    /// Hands a packet to the medium of a channel.
    #[inline(never)]
    pub(crate) fn contend(&mut self, now: Instant, id: ChannelId, passing: Passing) {
        let channel = &self.channels[id];
        if channel.link.is_gone() {
            return self.fail(now, id, passing.handle, Cause::Outage);
        }
        let (air, lane) =
            (&mut self.airs[usize::from(channel.on_air.medium)], LaneId::from(channel.on_air.lane));
        let Class { flow, ecn } = self.packets.class(passing.handle);
        let (size, has_payload) = (passing.size(), passing.has_payload());
        let packet = PacketMeta { handle: passing, size, flow, ecn, has_payload, enqueued_at: now };
        if let Err(cause) = air.medium.enqueue(now, lane, packet) {
            return self.fail(now, id, passing.handle, cause);
        }
        self.queue.arm(&mut air.timer, air.medium.deadline());
    }

    /// A frame has been acknowledged or given up, or the discipline of a queue has decided about a packet.
    #[cold]
    pub(crate) fn wake_air(&mut self, now: Instant, medium: usize) {
        while let Some(event) = self.airs[medium].medium.poll(now) {
            match event {
                Event::Served(served) => self.served(now, self.airs[medium].channels[served.lane], served),
                Event::Marked(passing) => self.packets.mark(passing.handle),
                Event::Dropped { lane, handle } => {
                    self.fail(now, self.airs[medium].channels[lane], handle.handle, Cause::Aqm);
                }
            }
        }
        let air = &mut self.airs[medium];
        let deadline = air.medium.deadline();
        assert_later(now, deadline.unwrap_or(Instant::MAX), "a medium");
        self.queue.settle(&mut air.timer, deadline);
    }

    /// A frame has been acknowledged or given up: its packet goes on by channel `id`.
    fn served(&mut self, now: Instant, id: ChannelId, served: Served<Passing>) {
        let passing = served.handle;
        if !served.delivered {
            self.dropped(now, id, passing.handle, Cause::Loss);
            return self.lose(passing.handle);
        }
        if served.corrupted {
            self.packets.corrupt(passing.handle);
        }
        self.propagate(now, id, passing);
    }

    /// A link has gone down, on the air or not: what waits there for the medium is lost.
    pub(crate) fn clear_air(&mut self, now: Instant, link: LinkId) {
        for id in [0, 1].map(|end| channel(link, end)) {
            let at = self.channels[id].on_air;
            if !at.is_somewhere() {
                continue;
            }
            let lost = self.airs[usize::from(at.medium)].medium.clear(at.lane.into());
            for passing in lost {
                self.fail(now, id, passing.handle, Cause::Outage);
            }
        }
    }

    /// A link on the air has another signal.
    pub(crate) fn adapt_air(&mut self, scenario: &Scenario, link: LinkId, level: Dbm) {
        let Some(said) = scenario.on_air.get(&link) else { return };
        for end in [0, 1] {
            let at = self.channels[channel(link, end)].on_air;
            let Some(air) = self.airs.get_mut(usize::from(at.medium)) else { continue };
            let Some(current) = air.medium.rate(at.lane.into()) else { continue };
            let rate = if said.follows[end] { said.rates.at(level) } else { current };
            air.medium.adapt(at.lane.into(), rate, said.attempt(rate, Some(level)));
        }
    }

    /// What a channel's queue holds.
    pub(crate) fn occupancy(&mut self, now: Instant, id: ChannelId) -> Occupancy {
        let channel = &mut self.channels[id];
        match self.airs.get(usize::from(channel.on_air.medium)) {
            None => channel.link.queue(now),
            Some(air) => air.medium.held(channel.on_air.lane.into()),
        }
    }
}
