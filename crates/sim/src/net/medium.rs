//! The state of the air: the medium of each access point, and which channels wait for it.

use handfast_core::Instant;
use handfast_plan::Shared;
use handfast_plan::topology::ChannelId;
use handfast_radio::medium::{Event, Medium};

use crate::engine::queue::Timer;
use crate::net::packets::Passing;

/// The medium of one access point.
pub(crate) struct Air {
    pub(crate) medium: Medium<Passing>,
    /// For each transmit queue the channel that takes its packets on.
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
        let tx_queue = match &event {
            Event::Served(served) => served.tx_queue,
            Event::Dropped { tx_queue, .. } => *tx_queue,
            // It stays where it is.
            Event::Marked(_) => 0,
        };
        Some((event, self.channels[tx_queue]))
    }

    /// The channels of its transmit queues.
    pub(crate) fn channels(&self) -> &[ChannelId] {
        &self.channels
    }
}

/// Where a channel's packets wait: which medium, which transmit queue. [`OnAir::NOWHERE`] of a wire.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OnAir {
    pub(crate) medium: u16,
    pub(crate) tx_queue: u16,
}

impl OnAir {
    /// There are fewer media.
    pub(crate) const MOST: u16 = u16::MAX;
    /// That of a wire.
    pub(crate) const NOWHERE: Self = Self { medium: Self::MOST, tx_queue: u16::MAX };

    #[inline]
    pub(crate) fn is_somewhere(self) -> bool {
        self.medium < Self::MOST
    }
}
