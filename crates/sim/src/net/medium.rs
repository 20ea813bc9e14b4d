//! The air in the simulator: what goes by a link on the air waits for its access point's medium first.

use handfast_core::Instant;
use handfast_plan::Shared;
use handfast_plan::topology::ChannelId;
use handfast_radio::medium::{Event, Medium};

use crate::engine::queue::Timer;
use crate::net::packets::Passing;

/// The medium of one access point.
pub(crate) struct Air {
    pub(crate) medium: Medium<Passing>,
    /// For each lane the channel that goes on where it ends.
    channels: Vec<ChannelId>,
    pub(crate) timer: Timer,
}

impl Air {
    pub(crate) fn new(shared: Shared<Passing>, timer: Timer) -> Self {
        Self { medium: shared.medium, channels: shared.channels, timer }
    }

    /// What has happened by `now`, and the channel that the packet goes on by.
    pub(crate) fn poll(&mut self, now: Instant) -> Option<(Event<Passing>, ChannelId)> {
        let event = self.medium.poll(now)?;
        let lane = match &event {
            Event::Served(served) => served.lane,
            Event::Dropped { lane, .. } => *lane,
            // It stays where it is.
            Event::Marked(_) => 0,
        };
        Some((event, self.channels[lane]))
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
