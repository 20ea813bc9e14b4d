//! Getting ready: what an event will need is asked for before it comes, so that it is in the cache by then. With thousands of
//! flows nearly all of that is not.

use std::ops::Range;

use handfast_plan::topology::ChannelId;

use crate::engine::entry::{Entry, Machine};
use crate::engine::fast_path::flight::Flight;
use crate::engine::prefetch::{CACHE_LINE, prefetch};
use crate::hosts::side::{Side, SideId};
use crate::net::network::{Channel, Network};
use crate::net::packets::Passing;

impl Network {
    /// Asks for what the event after this one is likely to begin with: a packet that lands and what it will need there, or a
    /// link and the packet in front of it. That may not be at its end yet; but to wait here for who knows would cost more than
    /// to ask in vain.
    #[inline]
    pub(crate) fn get_next_ready(&self, next: Entry, Flight { side, channel, .. }: Flight) {
        match next.machine() {
            Machine::Packet(handle) => {
                self.packets.prefetch(handle);
                if !self.fits_cache {
                    self.queue.prefetch_ahead();
                    self.packets.prefetch_sacks(handle);
                    prefetch_side(&self.sides, side);
                    self.prefetch_channel(channel as usize);
                }
            }
            Machine::Channel(id) => {
                self.prefetch_channel(id as usize);
                if let Some(passing) = self.channels.get(id as usize).and_then(|channel| channel.link.front())
                {
                    self.packets.prefetch(passing.handle);
                }
            }
            _ => {}
        }
    }

    /// Asks for what a packet will need where a channel takes it.
    #[inline(never)]
    pub(crate) fn get_ready(&self, id: ChannelId, passing: Passing) {
        let channel = &self.channels[id];
        if passing.goal.node == channel.to {
            prefetch_side(&self.sides, self.packets.label(passing.handle).origin ^ 1);
            // The answer goes back by the same link.
            self.prefetch_channel(id ^ 1);
        } else if let Some(next) = self.topology.pass_on(channel.to as usize, passing.goal) {
            self.prefetch_channel(next as usize);
        }
    }

    /// Where packets fly it is the first line of the way that they need.
    #[inline]
    fn prefetch_channel(&self, id: ChannelId) {
        match self.ways.get(id) {
            Some(way) => prefetch(Some(way), 0..1),
            None => prefetch(self.channels.get(id).map(|channel| &channel.timer), 0..CHANNEL_LINES),
        }
    }

    /// Asks for the link by which the end of a flow sends: its timer has come up.
    #[inline]
    pub(crate) fn get_way_ready(&self, id: SideId) {
        self.prefetch_channel(self.sides[id].path.out as usize);
    }

    /// Asks for the end of a flow whose timer is likely to be the next that comes up.
    #[inline]
    pub(crate) fn get_next_timer_ready(&self) {
        if let Some(Machine::Side(next)) = self.queue.next_timer() {
            prefetch_side(&self.sides, next);
        }
    }
}

#[inline]
fn prefetch_side(sides: &[Side], id: u32) {
    let first = sides.get(id as usize).map(|side| &side.key);
    if id.is_multiple_of(2) {
        prefetch(first, 0..NOT_SENDING.start);
        prefetch(first, NOT_SENDING.end..SENDER_LINES);
    } else {
        prefetch(first, 0..RECEIVER_LINES);
    }
}

/// What is taken to stay in the second level of a core's cache, where there is nothing else: half of what is common.
const CACHED: usize = 1 << 20;

/// Whether the tables of so many sides and channels fit there.
pub(crate) fn fits_cache(sides: usize, channels: usize) -> bool {
    sides * size_of::<Side>() + channels * size_of::<Channel>() <= CACHED
}

/// Cache lines of sides that send (the even ones), of those that receive, and of a channel.
const SENDER_LINES: usize = size_of::<Side>().div_ceil(CACHE_LINE);
/// Those of them that hold nothing that senders need.
const NOT_SENDING: Range<usize> =
    Side::NOT_SENDING.start.div_ceil(CACHE_LINE)..Side::NOT_SENDING.end / CACHE_LINE;
const RECEIVER_LINES: usize = Side::RECEIVING.div_ceil(CACHE_LINE);
const CHANNEL_LINES: usize = size_of::<Channel>().div_ceil(CACHE_LINE);
const _: () = assert!(CHANNEL_LINES <= 3);
