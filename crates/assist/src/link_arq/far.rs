//! The far end: it puts frames in order, and says which have come.

use handfast_core::{Instant, SeqNum};
use handfast_wire::shim::{MOST_STATUS, Message, Shim};
use handfast_wire::{Ecn, Packet};

use super::Config;
use crate::shim::order::{Bounds, Order};
use crate::shim::{Made, Outgoing, opened};

#[derive(Debug)]
pub(super) struct Far {
    config: Config,
    pub(super) order: Order<Packet>,
    /// Frames that no status has told of yet, and when the first of them has waited for long enough.
    untold: u32,
    due: Option<Instant>,
    pub(super) statuses: u64,
    pub(super) malformed: u64,
}

/// A status tells of so many frames at most: of fewer, where one is missing or comes again.
const UNTOLD: u32 = 8;

impl Far {
    pub(super) fn new(config: Config) -> Self {
        // The near end has given a frame up by then. A status tells of so many.
        let bounds = Bounds { hold: config.persistence, packets: MOST_STATUS };
        Self { config, order: Order::new(bounds), untold: 0, due: None, statuses: 0, malformed: 0 }
    }

    pub(super) fn on_frame(
        &mut self,
        now: Instant,
        at: SeqNum,
        message: &Message,
        marks: Ecn,
        made: &mut Made,
    ) {
        let Message::Frame { base, packet } = message else { return };
        let Some(packet) = opened(packet, marks) else {
            self.malformed += 1;
            return;
        };
        self.order.skip_to(*base, &mut made.delivered);
        let (next, waited) = (self.order.next(), self.order.held());
        let is_new = self.order.insert(now, at, packet, &mut made.delivered);
        // The near end waits for none of this: a frame in its place, with nothing behind it.
        let as_expected = is_new && at == next && waited == 0;
        self.untold += 1;
        self.due.get_or_insert(now + self.config.status_delay);
        if !as_expected && !self.goes_on(at) || self.untold >= UNTOLD {
            self.tell(made);
        }
    }

    /// Whether a frame is the next one behind a hole that the near end knows of: no status tells it anything new.
    fn goes_on(&self, at: SeqNum) -> bool {
        let mut waiting = self.order.waiting();
        let last = waiting.next_back();
        let ahead = u64::try_from(at.distance(self.order.next())).ok();
        last.is_some() && last == ahead && waiting.next_back() == ahead.and_then(|ahead| ahead.checked_sub(1))
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.due.into_iter().chain(self.order.deadline()).min()
    }

    pub(super) fn on_timer(&mut self, now: Instant, made: &mut Made) {
        self.order.on_timer(now, &mut made.delivered);
        if self.due.is_some_and(|due| due <= now) {
            self.tell(made);
        }
    }

    fn tell(&mut self, made: &mut Made) {
        (self.untold, self.due) = (0, None);
        self.statuses += 1;
        let mut bits = Vec::new();
        for ahead in self.order.waiting().filter(|&ahead| (1..=MOST_STATUS as u64).contains(&ahead)) {
            let place = ahead as usize - 1;
            bits.resize(place / 8 + 1, 0);
            bits[place / 8] |= 1 << (place % 8);
        }
        let shim = Shim { sequence: self.order.next(), message: Message::Status(bits.into()) };
        made.out.push(Outgoing { shim, class: 0 });
    }
}
