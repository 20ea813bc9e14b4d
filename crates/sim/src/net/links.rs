//! The links of the network: one machine a direction, the media that radio links share, and which channels packets fly through.

use std::ops::{Index, IndexMut};

use handfast_net::Link;
use handfast_plan::topology::ChannelId;

use crate::engine::fast_path::transit::Transit;
use crate::engine::queue::Timer;
use crate::net::medium::{Air, OnAir};
use crate::net::packets::Passing;

/// One direction of a link. Aligned, so that a hop touches as few cache lines as can be.
#[repr(C, align(64))]
pub(crate) struct Channel {
    pub(crate) timer: Timer,
    pub(crate) link: Link<Passing>,
    /// The node at its far end.
    pub(crate) to: u32,
    pub(crate) on_air: OnAir,
}

/// All of them.
pub(crate) struct Links {
    channels: Vec<Channel>,
    /// For each channel whether packets fly; empty where none does.
    transits: Vec<Transit>,
    /// The media that radio links share.
    airs: Vec<Air>,
}

impl Links {
    /// These, all of them wires so far.
    pub(crate) fn new(channels: Vec<Channel>) -> Self {
        Self { channels, transits: Vec::new(), airs: Vec::new() }
    }

    /// How many channels there are.
    pub(crate) fn len(&self) -> usize {
        self.channels.len()
    }

    #[inline]
    pub(crate) fn get(&self, id: ChannelId) -> Option<&Channel> {
        self.channels.get(id)
    }

    /// Adds a medium.
    pub(crate) fn add_air(&mut self, air: Air) {
        self.airs.push(air);
    }

    /// How many media there are.
    pub(crate) fn airs(&self) -> usize {
        self.airs.len()
    }

    /// A medium; [`None`]: the channel that names it is a wire.
    #[inline]
    pub(crate) fn air(&self, medium: u16) -> Option<&Air> {
        self.airs.get(usize::from(medium))
    }

    /// The same, to change it.
    #[inline]
    pub(crate) fn air_mut(&mut self, medium: u16) -> Option<&mut Air> {
        self.airs.get_mut(usize::from(medium))
    }

    /// From now on packets fly through some channels: one [`Transit`] for each channel.
    pub(crate) fn set_transits(&mut self, transits: Vec<Transit>) {
        self.transits = transits;
    }

    /// How packets pass a channel, where they fly anywhere.
    #[inline]
    pub(crate) fn transit(&self, id: ChannelId) -> Option<&Transit> {
        self.transits.get(id)
    }

    /// The same, to change it.
    #[inline]
    pub(crate) fn transit_mut(&mut self, id: ChannelId) -> Option<&mut Transit> {
        self.transits.get_mut(id)
    }
}

impl Index<ChannelId> for Links {
    type Output = Channel;

    #[inline]
    fn index(&self, id: ChannelId) -> &Channel {
        &self.channels[id]
    }
}

impl IndexMut<ChannelId> for Links {
    #[inline]
    fn index_mut(&mut self, id: ChannelId) -> &mut Channel {
        &mut self.channels[id]
    }
}
