//! Getting ready: what an event will need is asked for before it comes, so that it is in the cache by then. With thousands of
//! flows nearly all of that is not.

use crate::network::{Channel, Network};
use crate::prefetch::{CACHE_LINE, prefetch};
use crate::queue::Machine;
use crate::side::{Side, SideId};
use crate::wheel::VIEWS;

/// How many slots of the queue's wheel ahead of time a link is asked for, then the packet in front of it, then the end of the flow
/// that it comes to: each is found by the one before. A slot has one event or a few.
const AHEAD: [u64; VIEWS] = [6, 4, 2];

impl Network {
    /// Asks for what the event after this one is likely to begin with: a link, and the packet in front of it. That may not be
    /// at its end yet; but to wait here for who knows would cost more than to ask in vain.
    #[inline]
    pub(crate) fn get_next_ready(&self) {
        if let Some(id) = self.queue.next_link()
            && let Some(channel) = self.channels.get(id as usize)
        {
            prefetch::<CHANNEL_LINES, _>(Some(&channel.timer));
            if let Some(passing) = channel.link.front() {
                self.packets.prefetch(passing.handle);
            }
        }
    }

    /// Asks for what links will need soon.
    #[inline]
    pub(crate) fn get_ready(&mut self) {
        let [.., nearest] = AHEAD;
        if self.queue.comes_into_view(VIEWS - 1, nearest) {
            self.look_ahead();
        }
    }

    #[inline(never)]
    fn look_ahead(&mut self) {
        let Self { queue, channels, packets, sides, topology, .. } = self;
        let channel = |id: u32| channels.get(id as usize);
        let fetch = |id: u32| prefetch::<CHANNEL_LINES, _>(channel(id).map(|channel| &channel.timer));
        let [link, packet, side] = AHEAD;
        queue.look_ahead(0, link, fetch);
        queue.look_ahead(1, packet, |id| {
            let Some((channel, passing)) =
                channel(id).and_then(|channel| Some((channel, channel.link.front()?)))
            else {
                return;
            };
            prefetch::<1, _>(channel.link.behind_front());
            if passing.goal.node == channel.to {
                packets.prefetch(passing.handle);
                // The answer goes back by the same link.
                fetch(id ^ 1);
            }
        });
        queue.look_ahead(2, side, |id| {
            let Some((channel, passing)) =
                channel(id).and_then(|channel| Some((channel, channel.link.front()?)))
            else {
                return;
            };
            if passing.goal.node == channel.to {
                prefetch_side(sides, packets.label(passing.handle).origin ^ 1);
                return;
            }
            let Some(next) = topology.pass_on(channel.to as usize, passing.goal) else { return };
            fetch(next);
            // One in tandem with it is entered in the same event.
            if let Some(next) = channels.get(next as usize).filter(|next| next.on_air.is_relayed())
                && let Some(last) = topology.pass_on(next.to as usize, passing.goal)
            {
                fetch(last);
            }
        });
    }

    /// Asks for the link by which the end of a flow sends: its timer has come up.
    #[inline]
    pub(crate) fn get_way_ready(&self, id: SideId) {
        let out = self.sides[id].path.out as usize;
        prefetch::<CHANNEL_LINES, _>(self.channels.get(out).map(|channel| &channel.timer));
    }

    /// Asks for the end of a flow whose timer is likely to be the next that comes up.
    #[inline]
    pub(crate) fn get_next_timer_ready(&self) {
        if let Some(Machine::Side(next)) = self.queue.next_timer() {
            prefetch_side(&self.sides, next);
        }
    }
}

// A function of its own: within the loops over slots every line's distance would be reloaded.
#[inline(never)]
fn prefetch_side(sides: &[Side], id: u32) {
    let first = sides.get(id as usize).map(|side| &side.timer);
    if id.is_multiple_of(2) {
        prefetch::<SENDER_LINES, _>(first);
    } else {
        prefetch::<RECEIVER_LINES, _>(first);
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
const RECEIVER_LINES: usize = Side::RECEIVING.div_ceil(CACHE_LINE);
const CHANNEL_LINES: usize = size_of::<Channel>().div_ceil(CACHE_LINE);
const _: () = assert!(CHANNEL_LINES <= 3);
