//! What the network does with the air: a packet waits for its access point's medium before it enters a channel on the air.
//! `net/medium.rs` holds the media.

use handfast_core::{Dbm, Instant};
use handfast_net::queue::{Class, PacketMeta};
use handfast_net::{Cause, Occupancy};
use handfast_plan::topology::{ChannelId, channel};
use handfast_radio::medium::{Event, Served, TxQueueId};
use handfast_scenario::{LinkId, Scenario};

use crate::net::medium::OnAir;
use crate::net::packets::Passing;
use crate::run::network::{Network, assert_later};

impl Network {
    /// Hands a packet to the medium of a channel.
    #[inline(never)]
    pub(crate) fn contend(&mut self, now: Instant, id: ChannelId, passing: Passing) {
        let channel = &self.links[id];
        if channel.link.is_gone() {
            return self.fail(now, id, passing.handle, Cause::Outage);
        }
        let OnAir { medium, tx_queue } = channel.on_air;
        let Class { flow, ecn } = self.packets.class(passing.handle);
        let (size, has_payload) = (passing.size(), passing.has_payload());
        let packet = PacketMeta { handle: passing, size, flow, ecn, has_payload, enqueued_at: now };
        let Some(air) = self.links.air_mut(medium) else { return self.propagate(now, id, passing) };
        if let Err(cause) = air.medium.enqueue(now, TxQueueId::from(tx_queue), packet) {
            return self.fail(now, id, passing.handle, cause);
        }
        self.queue.arm(&mut air.timer, air.medium.deadline());
    }

    /// A frame has been acknowledged or given up, or the discipline of a queue has decided about a packet.
    #[cold]
    pub(crate) fn wake_air(&mut self, now: Instant, medium: u16) {
        while let Some((event, id)) = self.links.air_mut(medium).and_then(|air| air.poll(now)) {
            match event {
                Event::Served(served) => self.served(now, id, served),
                Event::Marked(passing) => self.mark(passing.handle),
                Event::Dropped { handle, .. } => self.fail(now, id, handle.handle, Cause::Aqm),
            }
        }
        let Some(air) = self.links.air_mut(medium) else { return };
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
            let at = self.links[id].on_air;
            let Some(air) = self.links.air_mut(at.medium) else { continue };
            let lost = air.medium.clear(at.tx_queue.into());
            for passing in lost {
                self.fail(now, id, passing.handle, Cause::Outage);
            }
        }
    }

    /// A link on the air has another signal.
    pub(crate) fn adapt_air(&mut self, scenario: &Scenario, link: LinkId, level: Dbm) {
        let Some(said) = scenario.on_air.get(&link) else { return };
        for end in [0, 1] {
            let at = self.links[channel(link, end)].on_air;
            let Some(air) = self.links.air_mut(at.medium) else { continue };
            let Some(current) = air.medium.rate(at.tx_queue.into()) else { continue };
            let rate = if said.follows[end] { said.rates.at(level) } else { current };
            air.medium.adapt(at.tx_queue.into(), rate, said.attempt(rate, Some(level)));
        }
    }

    /// What a channel's queue holds.
    pub(crate) fn occupancy(&mut self, now: Instant, id: ChannelId) -> Occupancy {
        let OnAir { medium, tx_queue } = self.links[id].on_air;
        match self.links.air(medium) {
            None => self.links[id].link.queue(now),
            Some(air) => air.medium.held(tx_queue.into()),
        }
    }
}
